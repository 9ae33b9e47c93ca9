package quicnet

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"time"
	"unicode/utf8"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// causeTimeout is how long an operation that failed with its connection waits to hear why.
// The end of a connection is told to its streams a moment before it is told to its context.
const causeTimeout = time.Second

// connError translates what ended a QUIC connection.
func connError(err error) *moqt.ConnError {
	if app, ok := errors.AsType[*quic.ApplicationError](err); ok {
		return &moqt.ConnError{Remote: app.Remote, App: true, Code: uint64(app.ErrorCode), Reason: app.ErrorMessage}
	}
	ce := &moqt.ConnError{Err: err}
	if te, ok := errors.AsType[*quic.TransportError](err); ok {
		ce.Remote = te.Remote
	}
	return ce
}

// sessionError translates what ended a WebTransport session. ok is false if only
// the QUIC connection below can tell.
func sessionError(err error) (ce *moqt.ConnError, ok bool) {
	if se, ok := errors.AsType[*webtransport.SessionError](err); ok {
		return &moqt.ConnError{Remote: se.Remote, App: true, Code: uint64(se.ErrorCode), Reason: se.Message}, true
	}
	return &moqt.ConnError{Remote: true, Err: err}, false
}

// cause returns the error that ended the connection.
func (b *base) cause(err error) error {
	t := time.NewTimer(causeTimeout)
	defer t.Stop()
	select {
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	case <-t.C:
		return &moqt.ConnError{Err: err}
	}
}

// connFailed says whether err means that the connection is over.
func (b *base) connFailed(err error) bool {
	if b.under.Err() != nil || errors.Is(err, net.ErrClosed) {
		return true
	}
	if _, ok := errors.AsType[*webtransport.SessionError](err); ok {
		return true
	}
	_, ok := errors.AsType[*http3.Error](err)
	return ok
}

// callError translates the error of an operation on the connection that ctx may have ended.
// Nothing but these two makes such an operation fail.
func (b *base) callError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && !b.connFailed(err) {
		return ctx.Err()
	}
	return b.cause(err)
}

// streamError translates the error of an operation on a stream.
func (b *base) streamError(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if ws, ok := errors.AsType[*webtransport.StreamError](err); ok {
		return &moqt.StreamError{Remote: ws.Remote, Code: uint64(ws.ErrorCode)}
	}
	if b.connFailed(err) {
		return b.cause(err)
	}
	if qs, ok := errors.AsType[*quic.StreamError](err); ok {
		code := uint64(qs.ErrorCode)
		if b.info.Transport == moqt.TransportWebTransport {
			code = fromHTTPCode(code)
		}
		return &moqt.StreamError{Remote: qs.Remote, Code: code}
	}
	return err
}

// The range of HTTP/3 error codes that stand for WebTransport's.
// [WT] Section 4.4, Resetting Data Streams
const (
	wtFirstCode = 0x52e4a40fa8db
	wtLastCode  = 0x52e5ac983162
)

// fromHTTPCode maps a code of HTTP/3 to WebTransport's, and those outside the range, which say nothing of MOQT, to 0.
// The range skips every code of the form 0x1f * N + 0x21.
func fromHTTPCode(h uint64) uint64 {
	if h < wtFirstCode || h > wtLastCode || (h-0x21)%0x1f == 0 {
		return 0
	}
	shifted := h - wtFirstCode
	return shifted - shifted/0x1f
}

// wtCode fits an MOQT code into WebTransport's 32 bits; all codes of MOQT do.
func wtCode(code uint64) uint32 { return uint32(min(code, math.MaxUint32)) }

// truncate cuts s to at most n bytes of whole characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
