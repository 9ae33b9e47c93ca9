package quicnet

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

var (
	_ moqt.SendStream    = (*sendStream)(nil)
	_ moqt.ReceiveStream = (*receiveStream)(nil)
	_ moqt.Stream        = (*stream)(nil)
)

// Urgencies that streams have from their opening on.
const (
	// Bidirectional streams carry requests and their answers only: they are never to wait for media.
	requestUrgency = 0
	// Until SetPriority says otherwise; quic-go's own default.
	defaultUrgency = 3
)

// minResetDelay is the least time by which a reset follows the header, where the transport cannot reset reliably.
const minResetDelay = 50 * time.Millisecond

// sendHalf is what the sending streams of both libraries have in common.
type sendHalf interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
	Context() context.Context
}

// receiveHalf is what the receiving streams of both libraries have in common.
type receiveHalf interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

type sendStream struct {
	b *base
	w sendHalf
	q scheduled // nil if out of reach

	written atomic.Int64 // by the application
	header  int64        // bytes that the transport puts in front, as far as OnAcked needs them

	// For peers without RESET_STREAM_AT, see resetLater.
	boundary atomic.Bool
	resetted atomic.Pointer[moqt.StreamError]

	// For peers with it, see writeFirst.
	begun    bool        // something was written; owned by the writer
	credited atomic.Bool // the peer's flow control has room for the first write
	unsent   atomic.Bool // webtransport-go's own header may wait for room, and a reset would promise it
}

func (b *base) newSendStream(w sendHalf, q scheduled, urgency uint8) *sendStream {
	s := &sendStream{b: b, w: w, q: q}
	s.SetPriority(urgency)
	return s
}

func (s *sendStream) Write(p []byte) (int, error) {
	if !s.begun && s.q != nil && s.b.resetAt {
		s.begun = true
		return s.writeFirst(p)
	}
	return s.write(p)
}

// writeFirst writes the header of a stream. RESET_STREAM_AT counts what it promises to deliver as sent, but quic-go does not
// look whether the peer's flow control allows that: to a peer that does not read, such a reset breaks the limit, and the
// connection ends. So room is reserved for the header before a reset may promise it, if there is some.
func (s *sendStream) writeFirst(p []byte) (int, error) {
	if s.b.info.Transport == moqt.TransportWebTransport {
		s.unsent.Store(true)
		if _, err := s.write(nil); err != nil { // webtransport-go's header, which it has marked as promised
			return 0, err
		}
	}
	if len(p) > 0 && len(p) <= maxReserved && s.q.TryWriteAll(p) == nil {
		s.unsent.Store(false)
		s.credited.Store(true)
		s.written.Add(int64(len(p)))
		return len(p), nil
	}
	return s.write(p)
}

// maxReserved is the longest header that room is reserved for, with the first object behind it, in bytes.
const maxReserved = 2048

func (s *sendStream) write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.written.Add(int64(n))
	if err != nil {
		err = s.error(err)
	}
	return n, err
}

func (s *sendStream) Close() error {
	if se := s.resetted.Load(); se != nil {
		return se
	}
	if err := s.w.Close(); err != nil {
		return s.error(err)
	}
	return nil
}

// error prefers the stream's own story: some errors of the libraries do not carry the code.
func (s *sendStream) error(err error) error {
	if se := s.resetted.Load(); se != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return se
	}
	translated := s.b.streamError(err)
	if translated == err {
		if se, ok := errors.AsType[*quic.StreamError](context.Cause(s.w.Context())); ok {
			return s.b.streamError(se)
		}
	}
	return translated
}

func (s *sendStream) Reset(code uint64) {
	switch {
	case s.boundary.Load():
		s.resetLater(code)
	case s.unsent.Load():
		s.resetWithRoom(code)
	default:
		s.cancel(code)
	}
}

// resetWithRoom ends writing at once, and resets the stream when the peer has made room for what the reset promises.
func (s *sendStream) resetWithRoom(code uint64) {
	if !s.resetted.CompareAndSwap(nil, &moqt.StreamError{Code: code}) {
		return
	}
	s.w.SetWriteDeadline(time.Now()) // wakes a blocked Write
	s.tryReset(code)
}

// roomPeriod is how often it is looked whether there is room.
const roomPeriod = time.Second

func (s *sendStream) tryReset(code uint64) {
	if s.q.TryWriteAll([]byte{0}) == quic.ErrWouldBlock && s.b.ctx.Err() == nil {
		time.AfterFunc(roomPeriod, func() { s.tryReset(code) })
		return
	}
	s.cancel(code)
}

func (s *sendStream) cancel(code uint64) {
	switch w := s.w.(type) {
	case *quic.SendStream:
		w.CancelWrite(quic.StreamErrorCode(code))
	case *quic.Stream:
		w.CancelWrite(quic.StreamErrorCode(code))
	case *webtransport.SendStream:
		w.CancelWrite(webtransport.StreamErrorCode(wtCode(code)))
	case *webtransport.Stream:
		w.CancelWrite(webtransport.StreamErrorCode(wtCode(code)))
	}
}

// resetLater is for peers that do not know RESET_STREAM_AT (Chromium is one): a plain reset discards what was
// not sent yet, often the whole header, and the peer would not even know that there was a stream. So
// writing ends at once, what is left in the stream's buffer, at most a packet, is sent
// before everything else, and the reset follows when that should have arrived.
func (s *sendStream) resetLater(code uint64) {
	if !s.resetted.CompareAndSwap(nil, &moqt.StreamError{Code: code}) {
		return
	}
	s.SetPriority(requestUrgency)
	s.w.SetWriteDeadline(time.Now()) // wakes a blocked Write
	time.AfterFunc(linger(s.b.qc, minResetDelay), func() { s.cancel(code) })
}

func (s *sendStream) SetReliableBoundary() {
	switch {
	case !s.b.resetAt:
		s.boundary.Store(true)
	case s.q != nil && s.credited.Load():
		s.q.SetReliableBoundary()
	}
}

// SetPriority never asks for incremental delivery: equal urgencies go out in the order of opening.
func (s *sendStream) SetPriority(urgency uint8) {
	if s.q != nil {
		s.q.SetPriority(int8(min(urgency, 7)), false)
	}
}

func (s *sendStream) SetWriteDeadline(t time.Time) error {
	return s.b.streamError(s.w.SetWriteDeadline(t))
}

func (s *sendStream) Context() context.Context { return s.w.Context() }

type receiveStream struct {
	b *base
	r receiveHalf
}

func (s *receiveStream) Read(p []byte) (int, error) {
	if s.b.info.Transport == moqt.TransportWebTransport {
		// A stream of webtransport-go that ended with its session may wait for the session's end for good.
		defer context.AfterFunc(s.b.ctx, func() { s.r.SetReadDeadline(time.Now()) })()
	}
	n, err := s.r.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && s.b.ctx.Err() != nil {
		return n, context.Cause(s.b.ctx)
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	translated := s.b.streamError(err)
	if translated == err && !errors.Is(err, os.ErrDeadlineExceeded) {
		// All that is left is a reset of a WebTransport stream with a code outside of WebTransport's range.
		return n, &moqt.StreamError{Remote: true}
	}
	return n, translated
}

func (s *receiveStream) Stop(code uint64) {
	switch r := s.r.(type) {
	case *quic.ReceiveStream:
		r.CancelRead(quic.StreamErrorCode(code))
	case *quic.Stream:
		r.CancelRead(quic.StreamErrorCode(code))
	case *webtransport.ReceiveStream:
		r.CancelRead(webtransport.StreamErrorCode(wtCode(code)))
	case *webtransport.Stream:
		r.CancelRead(webtransport.StreamErrorCode(wtCode(code)))
	}
}

func (s *receiveStream) SetReadDeadline(t time.Time) error {
	return s.b.streamError(s.r.SetReadDeadline(t))
}

// stream is bidirectional.
type stream struct {
	*sendStream
	receiveStream
}

// Read ends with the session also where webtransport-go waits for ever: when its session has forgotten the stream before the
// peer's reset of it arrives, which says that the session is gone.
func (s *stream) Read(p []byte) (int, error) {
	if b := s.receiveStream.b; b.info.Transport == moqt.TransportWebTransport {
		defer context.AfterFunc(b.under, func() { s.SetReadDeadline(time.Now()) })()
	}
	return s.receiveStream.Read(p)
}

// bothHalves is a bidirectional stream of either library.
type bothHalves interface {
	sendHalf
	receiveHalf
}

func (b *base) newStream(s bothHalves, q scheduled) *stream {
	return &stream{b.newSendStream(s, q, requestUrgency), receiveStream{b, s}}
}
