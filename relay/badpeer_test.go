package relay

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// What one peer does wrong ends its own session with the draft's code, and nobody else's.
func TestOtherSessionsSurviveABadOne(t *testing.T) {
	setup := []byte{0xaf, 0x00, 0x00, 0x00}
	// bidi and uni open a stream, write and, if fin, end it.
	type conn = *moqt.PipeConn
	bidi := func(b ...byte) func(conn, context.Context) {
		return func(c conn, ctx context.Context) {
			if s, err := c.OpenStream(ctx); err == nil {
				s.Write(b)
			}
		}
	}
	uni := func(fin bool, b ...byte) func(conn, context.Context) {
		return func(c conn, ctx context.Context) {
			if s, err := c.OpenUniStream(ctx); err == nil {
				s.Write(b)
				if fin {
					s.Close()
				}
			}
		}
	}
	datagram := func(b ...byte) func(conn, context.Context) {
		return func(c conn, _ context.Context) { c.SendDatagram(b) }
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for _, tt := range []struct {
		name  string
		setup bool // a right SETUP comes first
		do    func(conn, context.Context)
		want  wire.SessionCode
	}{
		{"no SETUP at all", false, func(conn, context.Context) {}, wire.SessionControlMessageTimeout},
		{"half a SETUP", false, uni(false, 0xaf, 0x00, 0x00, 0x09, 0x07), wire.SessionControlMessageTimeout},
		{"half a SETUP and FIN", false, uni(true, 0xaf, 0x00, 0x00, 0x09, 0x07), wire.SessionProtocolViolation},
		{"control stream ends", false, uni(true, setup...), wire.SessionProtocolViolation},
		{"control stream is reset", false, func(c conn, ctx context.Context) {
			s, _ := c.OpenUniStream(ctx)
			s.Write(setup)
			synctest.Wait()
			s.Reset(0)
		}, wire.SessionProtocolViolation},
		{"SETUP with an option that is too long", false, uni(false, 0xaf, 0x00, 0x00, 0x04, 0x07, 0xc1, 0x00, 0x00), wire.SessionProtocolViolation},
		{"two SETUPs", true, uni(false, setup...), wire.SessionProtocolViolation},
		{"a request before any SETUP, then none", false, bidi(0x50, 0x00, 0x03, 0x00, 0x00, 0x00), wire.SessionControlMessageTimeout},
		{"unknown stream", true, uni(false, 0x7f, 1, 2, 3), wire.SessionProtocolViolation},
		{"unknown datagram", true, datagram(0x1f, 1, 2, 3), wire.SessionProtocolViolation},
		{"empty datagram", true, datagram(), wire.SessionProtocolViolation},
		{"truncated datagram", true, datagram(0x01, 0x80), wire.SessionProtocolViolation},
		{"unknown request", true, bidi(0x77, 0x00, 0x01, 0x00), wire.SessionProtocolViolation},
		{"an answer without a request", true, bidi(0x07, 0x00, 0x01, 0x00), wire.SessionProtocolViolation},
		{"request that is shorter than it says", true, bidi(0x50, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00), wire.SessionProtocolViolation},
		{"request id of the other side", true, bidi(0x50, 0x00, 0x03, 0x01, 0x00, 0x00), wire.SessionInvalidRequestID},
		{"33 namespace fields", true, bidi(append([]byte{0x50, 0x00, 0x44, 0x00, 0x21}, bytes.Repeat([]byte{1, 'a'}, 33)...)...), wire.SessionProtocolViolation},
		{"huge namespace field", true, bidi(append([]byte{0x50, 0x00, 0x0c, 0x00, 0x01}, append(huge, 0x00)...)...), wire.SessionProtocolViolation},
		{"huge number of parameters", true, bidi(append([]byte{0x50, 0x00, 0x0b, 0x00, 0x00}, huge...)...), wire.SessionProtocolViolation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runRelay(t, Config{}, func(rt *relayTest) {
				pub := rt.publisher()
				s := rt.dial(moqt.PipeConfig{}).subscribe("video", wire.Params{})
				client, server := moqt.Pipe(moqt.PipeConfig{})
				rt.running.Go(func() { rt.relay.Serve(rt.ctx, server) })
				if tt.setup {
					uni(false, setup...)(client, rt.ctx)
					synctest.Wait()
				}
				tt.do(client, rt.ctx)
				select {
				case <-client.Context().Done():
				case <-time.After(time.Minute):
					t.Fatal("the session is still there")
				}
				var closed *moqt.ConnError
				if err := context.Cause(client.Context()); !errors.As(err, &closed) || !closed.Remote || wire.SessionCode(closed.Code) != tt.want {
					t.Errorf("the session ended with %v, want %v", err, tt.want)
				}
				pub.groups("video", 2, 1)
				rt.wantGroup(s, 1, 0, 2)
			})
		})
	}
}
