package moqt

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// dataReader buffers what arrives on a unidirectional stream and keeps account of
// payloads. One goroutine reads; stop may be called from others.
//
// It begins with a few bytes of its own, so that a stream that waits for its track
// costs little, and takes a buffer from the pool when objects are read.
type dataReader struct {
	s      *Session
	stream ReceiveStream

	small   [wire.MaxStreamHeaderLen]byte
	pooled  *[readBufferSize]byte
	buf     []byte // small, pooled, or larger for properties that do not fit
	objects bool   // the header is behind; use pooled
	r, w    int    // buf[r:w] was read and not taken
	left    uint64 // bytes of the current payload that were not taken
	err     error  // why nothing more comes
}

func newDataReader(s *Session, stream ReceiveStream) *dataReader {
	d := &dataReader{s: s, stream: stream}
	d.buf = d.small[:]
	return d
}

// buffered returns what was read and not taken.
func (d *dataReader) buffered() []byte { return d.buf[d.r:d.w] }

// take drops the first n bytes of buffered.
func (d *dataReader) take(n int) { d.r += n }

// fill reads more. If it returns nil, buffered has grown.
func (d *dataReader) fill() error {
	if d.err != nil {
		return d.err
	}
	d.makeRoom()
	n, err := d.read(d.buf[d.w:])
	d.w += n
	return err
}

// makeRoom makes buf longer than w.
func (d *dataReader) makeRoom() {
	switch {
	case d.pooled == nil && (d.objects || d.w == len(d.buf)):
		d.pooled = readBufferPool.Get().(*[readBufferSize]byte)
		d.w = copy(d.pooled[:], d.buffered())
		d.buf, d.r = d.pooled[:], 0
	case d.pooled != nil && d.r == d.w:
		d.buf = d.pooled[:]
		d.r, d.w = 0, 0
	case d.w < len(d.buf):
	case d.r > 0:
		d.w = copy(d.buf, d.buffered())
		d.r = 0
	default:
		// One object header that is longer than the buffer. Its length is bounded by wire.MaxObjectHeaderLen.
		grown := make([]byte, 2*len(d.buf))
		d.w = copy(grown, d.buffered())
		d.buf, d.r = grown, 0
	}
}

// read reads from the stream, past the buffer. It returns an error only without bytes. Only a deadline lets reading go on
// after an error.
func (d *dataReader) read(b []byte) (int, error) {
	for {
		n, err := d.stream.Read(b)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			continue
		case errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case errors.Is(err, io.EOF):
			err = io.EOF
		case d.s.ctx.Err() != nil:
			err = context.Cause(d.s.ctx)
		}
		d.end(err)
		return 0, d.err
	}
}

// end notes that nothing more comes, and gives the buffer back.
func (d *dataReader) end(err error) {
	if d.err == nil {
		d.err = err
	}
	if d.pooled != nil {
		readBufferPool.Put(d.pooled)
		d.pooled = nil
	}
	d.buf = d.small[:]
	d.r, d.w = 0, 0
}

// broken ends the stream for what was on it.
func (d *dataReader) broken(err error) error {
	if errors.Is(err, wire.ErrTooLarge) {
		d.s.stats.streamsOversized.Add(1)
		d.stream.Stop(uint64(wire.StreamExcessiveLoad))
	} else {
		err = d.s.failWire(err)
	}
	d.end(err)
	return d.err
}

// finished returns the error for the end of the stream between two items, or in one, which is wrong.
//
// "If a stream ends gracefully (i.e., the stream terminates with a FIN) in the middle of a serialized Object, the
// session SHOULD be closed with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 11.4, Streams
func (d *dataReader) finished(err error, inItem bool) error {
	if err != io.EOF || !inItem {
		return err
	}
	d.err = nil
	return d.broken(&wire.Error{Code: wire.SessionProtocolViolation, Reason: "data stream ends inside an object"})
}

// header calls consume with what is there until it has found the whole header. A stream that has none in time is
// stopped.
func (d *dataReader) header(consume func([]byte) (int, error)) error {
	late := false // a deadline was set
	for {
		n, err := consume(d.buffered())
		if err == nil {
			if late {
				d.stream.SetReadDeadline(time.Time{})
			}
			d.take(n)
			return nil
		}
		if !errors.Is(err, wire.ErrTruncated) {
			return d.broken(err)
		}
		if !late {
			late = true
			d.stream.SetReadDeadline(time.Now().Add(d.s.cfg.MessageTimeout))
		}
		begun := d.r < d.w
		switch err := d.fill(); {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			d.s.stats.streamsStalled.Add(1)
			d.stream.Stop(uint64(wire.StreamCancelled))
			d.end(err)
			return err
		case err == io.EOF && begun:
			return d.finished(err, true)
		default:
			d.s.stats.streamsResetEarly.Add(1)
			return err
		}
	}
}

// streamType finds out what the stream is. The type stays in the buffer.
func (d *dataReader) streamType() (typ wire.StreamType, err error) {
	err = d.header(func(b []byte) (int, error) {
		var err error
		typ, _, err = wire.ConsumeStreamType(b, d.s.version)
		return 0, err
	})
	return typ, err
}

// skipPayload drops what is left of the current payload.
func (d *dataReader) skipPayload() error {
	for d.left > 0 {
		if _, err := d.chunk(); err != nil {
			return err
		}
	}
	return nil
}

// chunk takes the next piece of the current payload; io.EOF is its end.
func (d *dataReader) chunk() ([]byte, error) {
	if d.left == 0 {
		return nil, d.payloadEnd()
	}
	if d.r == d.w {
		if err := d.fill(); err != nil {
			return nil, d.finished(err, true)
		}
	}
	b := d.buffered()
	if uint64(len(b)) > d.left {
		b = b[:d.left]
	}
	d.left -= uint64(len(b))
	d.take(len(b))
	return b, nil
}

// readPayload is io.Reader for the current payload.
func (d *dataReader) readPayload(b []byte) (int, error) {
	if d.left == 0 {
		return 0, d.payloadEnd()
	}
	if uint64(len(b)) > d.left {
		b = b[:d.left]
	}
	var n int
	switch {
	case d.r < d.w:
		n = copy(b, d.buffered())
		d.take(n)
	case d.err != nil:
		return 0, d.finished(d.err, true)
	case len(b) > 0:
		var err error
		if n, err = d.read(b); err != nil {
			return 0, d.finished(err, true)
		}
	}
	d.left -= uint64(n)
	return n, nil
}

// payloadEnd returns io.EOF, or why there is no payload.
func (d *dataReader) payloadEnd() error {
	if d.err != nil && d.err != io.EOF {
		return d.err
	}
	return io.EOF
}
