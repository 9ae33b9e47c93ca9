package quicnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// noProtocolTimeout is how long to wait for a server's words about versions.
const noProtocolTimeout = time.Second

// maxErrorBody bounds what is shown of a refused request's answer, in bytes.
const maxErrorBody = 200

// statusError says that the server refused the WebTransport request.
type statusError struct {
	code int
	text string // the server's words: untrusted
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("the server refused the WebTransport session: HTTP status %d", e.code)
	if text := http.StatusText(e.code); text != "" {
		s += " " + text
	}
	if e.text != "" {
		s += fmt.Sprintf(", %q", e.text)
	}
	return s
}

// dialWebTransport asks for a session on a new connection, which the caller closes if that fails.
func dialWebTransport(ctx context.Context, t target, qc *quic.Conn, cfg *DialConfig, release func()) (moqt.Conn, error) {
	tr := &webtransport.Transport{ApplicationProtocols: cfg.Protocols}
	cc, err := tr.NewClientConn(qc)
	if err != nil {
		return nil, err
	}
	defer tr.Close() // ends the waiting for SETTINGS, not the session

	// Waiting for the response does not heed ctx.
	stop := context.AfterFunc(ctx, func() { qc.CloseWithError(codeNoError, "") })
	rsp, sess, err := cc.Dial(ctx, t.url.String(), cfg.header())
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if rsp != nil && (rsp.StatusCode < 200 || rsp.StatusCode > 299) {
			return nil, &statusError{rsp.StatusCode, errorBody(rsp)}
		}
		if se, ok := errors.AsType[*webtransport.SessionError](err); ok && se.ErrorCode == webtransport.WTALPNErrorCode {
			return nil, fmt.Errorf("%w: the server chose a version that was not offered", moqt.ErrNoProtocol)
		}
		return nil, err
	}
	c := newWTConn(sess, nil, qc, cfg.reach, moqt.ConnInfo{Authority: t.url.Host, Path: t.url.RequestURI()}, release)
	if c.info.Protocol == "" {
		err := noProtocolError(c)
		c.Close(codeVersionNegotiationFailed, "no common MOQT version, this client speaks "+strings.Join(cfg.Protocols, ", "))
		return nil, err
	}
	return c, nil
}

// noProtocolError waits a moment for the server to say which versions it has.
func noProtocolError(c *wtConn) error {
	if waitDone(c.ctx, noProtocolTimeout) {
		if ce, ok := errors.AsType[*moqt.ConnError](context.Cause(c.ctx)); ok && ce.Reason != "" {
			return fmt.Errorf("%w: the server says %.200q", moqt.ErrNoProtocol, ce.Reason)
		}
	}
	return moqt.ErrNoProtocol
}

// errorBody is the beginning of the answer as one line.
func errorBody(rsp *http.Response) string {
	if rsp.Body == nil {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(rsp.Body, maxErrorBody))
	return strings.Join(strings.Fields(string(b)), " ")
}
