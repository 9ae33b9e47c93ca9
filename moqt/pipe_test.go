package moqt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var (
	_ Conn   = (*PipeConn)(nil)
	_ Stream = (*PipeStream)(nil)
)

// pipeTest drives both ends of a pipe in virtual time.
type pipeTest struct {
	*testing.T
	client, server *PipeConn
}

func runPipe(t *testing.T, cfg PipeConfig, f func(pipeTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe(cfg)
		defer c.Close(0, "")
		f(pipeTest{t, c, s})
	})
}

func (t pipeTest) uni() (*PipeStream, ReceiveStream) {
	t.Helper()
	out := t.openUni()
	if _, err := out.Write([]byte("h")); err != nil {
		t.Fatal(err)
	}
	in, err := t.server.AcceptUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return out, in
}

func (t pipeTest) openUni() *PipeStream {
	t.Helper()
	out, err := t.client.OpenUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out.(*PipeStream)
}

// pipeGo runs f in the background; the caller looks at the channel after synctest.Wait.
func pipeGo(f func() error) <-chan error {
	ch := make(chan error, 1)
	go func() { ch <- f() }()
	return ch
}

func (t pipeTest) wantBlocked(why string, ch <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ch:
		t.Fatalf("%s: ended with %v", why, err)
	default:
	}
}

func (t pipeTest) wantResult(why string, ch <-chan error, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ch:
		if !errors.Is(err, want) {
			t.Fatalf("%s: got %v, want %v", why, err, want)
		}
	default:
		t.Fatalf("%s: still blocked", why)
	}
}

func pipeWantStreamError(t pipeTest, err error, remote bool, code uint64) {
	t.Helper()
	var se *StreamError
	if !errors.As(err, &se) || se.Remote != remote || se.Code != code {
		t.Fatalf("got %v, want a stream error with code %#x, remote %v", err, code, remote)
	}
}

func pipeWantConnError(t pipeTest, err error, want ConnError) {
	t.Helper()
	var ce *ConnError
	if !errors.As(err, &ce) || *ce != want {
		t.Fatalf("got %#v, want %#v", err, want)
	}
}

func TestPipeBidi(t *testing.T) {
	runPipe(t, PipeConfig{}, func(t pipeTest) {
		cs, err := t.client.OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cs.Write([]byte("ping"))
		cs.Close()
		ss, err := t.server.AcceptStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(ss); string(got) != "ping" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		ss.Write([]byte("pong"))
		ss.Close()
		if got, err := io.ReadAll(cs); string(got) != "pong" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		if cs.Context().Err() == nil || ss.Context().Err() == nil {
			t.Error("stream contexts outlive FIN")
		}
		if _, err := cs.Write([]byte("x")); err == nil {
			t.Error("write after Close worked")
		}
	})
}

func TestPipeLatency(t *testing.T) {
	const latency = 40 * time.Millisecond
	runPipe(t, PipeConfig{Latency: latency}, func(t pipeTest) {
		start := time.Now()
		out := t.openUni()
		for i := range 100 {
			out.Write([]byte{byte(i)})
		}
		out.Close()
		t.client.SendDatagram([]byte("d"))
		in, err := t.server.AcceptUniStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if err != nil || len(got) != 100 || !slices.IsSorted(got) {
			t.Errorf("got %v, %v", got, err)
		}
		if _, err := t.server.ReceiveDatagram(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != latency {
			t.Errorf("arrived after %v, want %v", d, latency)
		}
	})
}

func TestPipeStreamUnknownBeforeFirstByte(t *testing.T) {
	runPipe(t, PipeConfig{}, func(t pipeTest) {
		first, second := t.openUni(), t.openUni()
		var got []ReceiveStream
		accepted := pipeGo(func() error {
			for range 2 {
				in, err := t.server.AcceptUniStream(t.Context())
				if err != nil {
					return err
				}
				got = append(got, in)
			}
			return nil
		})
		t.wantBlocked("accept before any byte", accepted)
		second.Write([]byte("2"))
		t.wantResult("a later stream makes the earlier known", accepted, nil)
		first.Write([]byte("1"))
		b := make([]byte, 1)
		if got[0].Read(b); b[0] != '1' {
			t.Errorf("streams are not accepted in the order of opening: got %q first", b)
		}
	})
}

func TestPipeWindow(t *testing.T) {
	const latency = 10 * time.Millisecond
	runPipe(t, PipeConfig{StreamWindow: 10, Latency: latency}, func(t pipeTest) {
		out := t.openUni()
		done := pipeGo(func() error {
			_, err := out.Write(make([]byte, 25))
			return err
		})
		in, err := t.server.AcceptUniStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.wantBlocked("write beyond the window", done)
		start := time.Now()
		if _, err := io.ReadFull(in, make([]byte, 25)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 4*latency {
			t.Errorf("two window updates took %v, want %v", d, 4*latency)
		}
		t.wantResult("all read", done, nil)
	})
}

func TestPipeStreamLimit(t *testing.T) {
	open := map[string]func(pipeTest) error{
		"uni": func(t pipeTest) error { _, err := t.client.OpenUniStream(t.Context()); return err },
		"bidi": func(t pipeTest) error {
			_, err := t.client.OpenStream(t.Context())
			return err
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			runPipe(t, PipeConfig{MaxStreams: 2, MaxUniStreams: 2}, func(t pipeTest) {
				open(t)
				open(t)
				third := pipeGo(func() error { return open(t) })
				t.wantBlocked("third stream", third)
				t.client.Close(1, "")
				var ce *ConnError
				if err := <-third; !errors.As(err, &ce) {
					t.Errorf("got %v, want a connection error", err)
				}
			})
		})
	}
}

// Every way in which a stream ends gives its place back, and only when both directions have ended.
func TestPipeStreamLimitReturns(t *testing.T) {
	tests := []struct {
		name string
		end  func(t pipeTest, out *PipeStream, in ReceiveStream)
	}{
		{"fin read", func(t pipeTest, out *PipeStream, in ReceiveStream) { out.Close(); io.ReadAll(in) }},
		{"reset read", func(t pipeTest, out *PipeStream, in ReceiveStream) { out.Reset(1); io.ReadAll(in) }},
		{"stopped", func(t pipeTest, out *PipeStream, in ReceiveStream) { in.Stop(1) }},
		{"stopped after fin", func(t pipeTest, out *PipeStream, in ReceiveStream) { out.Close(); in.Stop(1) }},
		{"stopped before fin", func(t pipeTest, out *PipeStream, in ReceiveStream) { in.Stop(1); out.Close() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runPipe(t, PipeConfig{MaxUniStreams: 1}, func(t pipeTest) {
				out, in := t.uni()
				next := pipeGo(func() error { _, err := t.client.OpenUniStream(t.Context()); return err })
				t.wantBlocked("stream still open", next)
				tt.end(t, out, in)
				t.wantResult("stream ended", next, nil)
			})
		})
	}
	t.Run("bidi", func(t *testing.T) {
		runPipe(t, PipeConfig{MaxStreams: 1}, func(t pipeTest) {
			cs, _ := t.client.OpenStream(t.Context())
			cs.Close()
			ss, _ := t.server.AcceptStream(t.Context())
			io.ReadAll(ss)
			next := pipeGo(func() error { _, err := t.client.OpenStream(t.Context()); return err })
			t.wantBlocked("the answer is not finished", next)
			ss.Close()
			t.wantResult("both directions ended", next, nil)
		})
	})
}

func TestPipeReset(t *testing.T) {
	runPipe(t, PipeConfig{}, func(t pipeTest) {
		out, in := t.uni()
		out.Write([]byte("header"))
		out.SetReliableBoundary()
		out.Write([]byte("object"))
		out.Reset(7)
		got, err := io.ReadAll(in)
		if string(got) != "header" {
			t.Errorf("got %q, want what lies before the reliable boundary", got)
		}
		pipeWantStreamError(t, err, true, 7)
		_, err = out.Write([]byte("x"))
		pipeWantStreamError(t, err, false, 7)
		pipeWantStreamError(t, context.Cause(out.Context()), false, 7)
	})
}

func TestPipeStop(t *testing.T) {
	runPipe(t, PipeConfig{StreamWindow: 4, Latency: time.Millisecond}, func(t pipeTest) {
		out, in := t.uni()
		blocked := make(chan error, 1)
		go func() {
			_, err := out.Write(make([]byte, 100))
			blocked <- err
		}()
		t.wantBlocked("write beyond the window", blocked)
		in.Stop(9)
		pipeWantStreamError(t, <-blocked, true, 9)
		_, err := in.Read(make([]byte, 1))
		pipeWantStreamError(t, err, false, 9)
		pipeWantStreamError(t, context.Cause(out.Context()), true, 9)
	})
}

func TestPipeDeadlines(t *testing.T) {
	runPipe(t, PipeConfig{StreamWindow: 4}, func(t pipeTest) {
		out, in := t.uni()
		start := time.Now()
		out.SetWriteDeadline(start.Add(time.Second))
		n, err := out.Write(make([]byte, 10))
		if n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("write: %d bytes, %v after %v", n, err, time.Since(start))
		}
		in.Read(make([]byte, 10))
		in.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		// A new deadline reaches a call that is waiting, and lifting it mends the stream.
		in.SetReadDeadline(time.Time{})
		read := pipeGo(func() error { _, err := in.Read(make([]byte, 1)); return err })
		t.wantBlocked("read without deadline", read)
		in.SetReadDeadline(time.Now())
		t.wantResult("read with a passed deadline", read, os.ErrDeadlineExceeded)
		out.SetWriteDeadline(time.Time{})
		if _, err := out.Write([]byte("x")); err != nil {
			t.Errorf("write after the deadline was lifted: %v", err)
		}
	})
}

func TestPipeDatagrams(t *testing.T) {
	runPipe(t, PipeConfig{DatagramQueue: 2, MaxDatagramSize: 5}, func(t pipeTest) {
		var tooLarge *DatagramTooLargeError
		if err := t.client.SendDatagram(make([]byte, 6)); !errors.As(err, &tooLarge) || tooLarge.Max != 5 {
			t.Errorf("got %v", err)
		}
		b := []byte{0}
		for i := range 3 {
			b[0] = byte(i)
			if err := t.client.SendDatagram(b); err != nil {
				t.Fatal(err)
			}
		}
		for want := range 2 {
			if got, err := t.server.ReceiveDatagram(t.Context()); err != nil || !bytes.Equal(got, []byte{byte(want)}) {
				t.Errorf("got %v, %v, want %d", got, err, want)
			}
		}
		if n := t.server.DroppedDatagrams(); n != 1 {
			t.Errorf("%d dropped, want 1", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := t.server.ReceiveDatagram(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPipeClose(t *testing.T) {
	const latency = 5 * time.Millisecond
	runPipe(t, PipeConfig{Latency: latency}, func(t pipeTest) {
		out, in := t.uni()
		results := map[string]<-chan error{
			"read":     pipeGo(func() error { _, err := in.Read(make([]byte, 1)); return err }),
			"accept":   pipeGo(func() error { _, err := t.server.AcceptStream(t.Context()); return err }),
			"uni":      pipeGo(func() error { _, err := t.server.AcceptUniStream(t.Context()); return err }),
			"datagram": pipeGo(func() error { _, err := t.server.ReceiveDatagram(t.Context()); return err }),
		}
		for why, ch := range results {
			t.wantBlocked(why, ch)
		}
		start := time.Now()
		t.client.Close(3, "bye")
		t.client.Close(4, "again")
		local, remote := ConnError{App: true, Code: 3, Reason: "bye"}, ConnError{Remote: true, App: true, Code: 3, Reason: "bye"}
		pipeWantConnError(t, context.Cause(t.client.Context()), local)
		for _, ch := range results {
			pipeWantConnError(t, <-ch, remote)
		}
		if d := time.Since(start); d != latency {
			t.Errorf("the peer learned of it after %v, want %v", d, latency)
		}
		pipeWantConnError(t, context.Cause(t.server.Context()), remote)
		_, err := out.Write([]byte("x"))
		pipeWantConnError(t, err, local)
		_, err = t.client.OpenStream(t.Context())
		pipeWantConnError(t, err, local)
		pipeWantConnError(t, t.client.SendDatagram(nil), local)
	})
}

func TestPipeLose(t *testing.T) {
	runPipe(t, PipeConfig{}, func(t pipeTest) {
		cause := errors.New("no answer")
		t.client.Lose(cause)
		pipeWantConnError(t, context.Cause(t.client.Context()), ConnError{Err: cause})
		pipeWantConnError(t, context.Cause(t.server.Context()), ConnError{Err: cause})
	})
}

func TestPipePriorities(t *testing.T) {
	runPipe(t, PipeConfig{}, func(t pipeTest) {
		out, in := t.uni()
		out.SetPriority(3)
		out.SetPriority(0)
		want := []uint8{3, 0}
		if got := out.Priorities(); !slices.Equal(got, want) {
			t.Errorf("at the sender: %v, want %v", got, want)
		}
		if got := in.(*PipeStream).PeerPriorities(); !slices.Equal(got, want) {
			t.Errorf("at the receiver: %v, want %v", got, want)
		}
		for range 2 * maxPipePriorities {
			out.SetPriority(1)
		}
		if got := len(out.Priorities()); got != maxPipePriorities {
			t.Errorf("%d remembered, want %d", got, maxPipePriorities)
		}
	})
}

func TestPipeInfo(t *testing.T) {
	runPipe(t, PipeConfig{Transport: TransportWebTransport, Protocol: "moqt-16", Authority: "a:1", Path: "/p?q"}, func(t pipeTest) {
		for _, c := range []*PipeConn{t.client, t.server} {
			i := c.Info()
			if i.Transport != TransportWebTransport || i.Protocol != "moqt-16" || i.Authority != "a:1" || i.Path != "/p?q" || i.Server != (c == t.server) || i.RemoteAddr == nil {
				t.Errorf("got %+v", i)
			}
		}
	})
}
