package moqt

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// messageReader reads the messages of a control or request stream. One goroutine
// reads; limit may be called from others.
type messageReader struct {
	s       *Session
	version wire.Version
	stream  ReceiveStream
	buf     []byte // what was read and not yet used
	taken   int    // of buf, by the message next returned last
	tokens  chan struct{}
	big     bool // holds a token

	mu      sync.Mutex // guards what follows; a time of zero means never
	until   time.Time  // when reading must end
	first   time.Time  // when the first message must be there
	partial time.Time  // when the rest of the message must be there
}

// messageBuffer is the room a messageReader begins with.
const messageBuffer = 256

func newMessageReader(s *Session, stream ReceiveStream, ahead []byte) *messageReader {
	return &messageReader{s: s, version: s.version, stream: stream, buf: ahead, tokens: s.bigMessages}
}

// next returns the next message, which is valid until the next call. The error is
//   - io.EOF after a FIN between messages;
//   - os.ErrDeadlineExceeded at the time given to limit;
//   - what the stream returned;
//   - a [*SessionError] if it has closed the session, because the peer broke a
//     rule or left a message unfinished.
func (r *messageReader) next() (wire.MessageType, []byte, error) {
	r.release()
	r.buf = r.buf[r.taken:]
	r.taken = 0
	for {
		typ, size, n, err := wire.ConsumeFrameHeader(r.buf, r.version)
		need := n + size
		if errors.Is(err, wire.ErrTruncated) {
			need = len(r.buf) + 1
		} else if err != nil {
			return 0, nil, r.s.failWire(err)
		}
		if err == nil && len(r.buf) >= need {
			r.setPartial(false)
			r.taken = need
			return typ, r.buf[n:need:need], nil
		}
		if err := r.fill(need); err != nil {
			return 0, nil, err
		}
	}
}

// fill reads until buf has more bytes, with room for need.
func (r *messageReader) fill(need int) error {
	if need > smallMessage && !r.big {
		select {
		case r.tokens <- struct{}{}:
			r.big = true
		case <-r.s.ctx.Done():
			return r.s.ctx.Err()
		}
	}
	if cap(r.buf) < need || cap(r.buf) == len(r.buf) {
		grown := make([]byte, len(r.buf), max(need, messageBuffer))
		copy(grown, r.buf)
		r.buf = grown
	}
	if len(r.buf) > 0 {
		r.setPartial(true)
	}
	n, err := r.stream.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	switch {
	case n > 0 || err == nil:
		return nil
	case errors.Is(err, io.EOF) && len(r.buf) > 0:
		return r.s.violation("stream ends inside a message")
	case errors.Is(err, os.ErrDeadlineExceeded) && r.overdue():
		return r.s.fail(wire.SessionControlMessageTimeout, "the rest of a message did not come in time")
	}
	return err
}

// release gives back what a long message has taken.
func (r *messageReader) release() {
	if !r.big {
		return
	}
	r.big = false
	<-r.tokens
	r.buf = append([]byte(nil), r.buf[r.taken:]...)
	r.taken = 0
}

// close must be called when no more is read.
func (r *messageReader) close() {
	r.release()
	r.buf = nil
}

// limit makes reading end at t at the latest, so that a peer that never closes its
// side of a stream does not hold it for ever.
func (r *messageReader) limit(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = earlier(r.until, t)
	r.setDeadline()
}

// limitFirst is limit for the time until the first message is there, when it is called again with zero.
func (r *messageReader) limitFirst(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = t
	r.setDeadline()
}

// earlier returns the earlier one of two times that are not zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// setPartial notes whether a message has begun and is not complete.
func (r *messageReader) setPartial(begun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if begun != r.partial.IsZero() {
		return
	}
	r.partial = time.Time{}
	if begun {
		r.partial = time.Now().Add(r.s.cfg.MessageTimeout)
	}
	r.setDeadline()
}

func (r *messageReader) setDeadline() {
	r.stream.SetReadDeadline(earlier(earlier(r.partial, r.first), r.until))
}

// overdue reports whether it was the message that took too long.
func (r *messageReader) overdue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.partial.IsZero() && !time.Now().Before(r.partial)
}
