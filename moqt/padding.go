package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// paddingPiece is how many bytes of padding are written at once.
const paddingPiece = 4 << 10

// SendPadding sends n bytes that the peer throws away, on a stream that is sent after everything else. It returns when they are
// written or ctx ends, and is of use to find out how much the path carries.
//
// [MOQT-18] Section 11.5.1, Padding Streams
func (s *Session) SendPadding(ctx context.Context, n int) error {
	if err := s.Ready(ctx); err != nil {
		return err
	}
	stream, err := s.conn.OpenUniStream(ctx)
	if err != nil {
		return err
	}
	stream.SetPriority(urgencyPadding)
	defer context.AfterFunc(ctx, func() { stream.Reset(uint64(wire.StreamCancelled)) })()
	b := wire.AppendPaddingStream(nil, min(n, paddingPiece), s.version)
	for {
		if _, err := stream.Write(b); err != nil {
			return err
		}
		if n -= min(n, paddingPiece); n == 0 {
			return stream.Close()
		}
		b = make([]byte, min(n, paddingPiece))
	}
}

// urgencyPadding is the least urgent one.
const urgencyPadding = 7
