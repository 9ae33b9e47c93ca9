package quicnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
)

func TestStreams(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		client, server := connectPair(t, tr)
		for _, dir := range []struct {
			name     string
			from, to moqt.Conn
		}{{"client", client, server}, {"server", server, client}} {
			s, err := dir.from.OpenStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Write([]byte("ping"))
			s.Close()
			peer, err := dir.to.AcceptStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(peer); string(b) != "ping" || err != nil {
				t.Errorf("%s: got %q, %v", dir.name, b, err)
			}
			peer.Write([]byte("pong"))
			peer.Close()
			if b, err := io.ReadAll(s); string(b) != "pong" || err != nil {
				t.Errorf("%s: got %q, %v", dir.name, b, err)
			}
			big := bytes.Repeat([]byte("0123456789"), 100_000)
			out, in := uniPair(t, dir.from, dir.to)
			go func() {
				out.Write(big)
				out.Close()
			}()
			if b, err := io.ReadAll(in); !bytes.Equal(b, big) || err != nil {
				t.Errorf("%s: got %d bytes, %v", dir.name, len(b), err)
			}
			if out.Context().Err() == nil {
				t.Errorf("%s: the stream's context outlives FIN", dir.name)
			}
		}
	})
}

func TestInfo(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		s := startServer(t, ListenConfig{})
		client, server := s.connect(tr, DialConfig{})
		want := moqt.ConnInfo{Transport: tr, Protocol: "moqt-18"}
		if tr == moqt.TransportWebTransport {
			want.Authority, want.Path = s.Addrs()[0].String(), "/app/path?a=b"
		}
		for _, c := range []moqt.Conn{client, server} {
			got := c.Info()
			if got.RemoteAddr == nil {
				t.Error("no remote address")
			}
			got.RemoteAddr = nil
			want.Server = c == server
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestResetAndStop(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		client, server := connectPair(t, tr)
		for _, dir := range []struct {
			name     string
			from, to moqt.Conn
		}{{"client", client, server}, {"server", server, client}} {
			out, in := uniPair(t, dir.from, dir.to)
			out.Reset(0x12)
			_, err := io.ReadAll(in)
			wantStreamError(t, dir.name+": reading a reset stream", err, moqt.StreamError{Remote: true, Code: 0x12})
			_, err = out.Write([]byte("x"))
			wantStreamError(t, dir.name+": writing a reset stream", err, moqt.StreamError{Code: 0x12})

			out, in = uniPair(t, dir.from, dir.to)
			in.Stop(0x13)
			<-out.Context().Done()
			_, err = out.Write([]byte("x"))
			wantStreamError(t, dir.name+": writing a stopped stream", err, moqt.StreamError{Remote: true, Code: 0x13})
			_, err = in.Read(make([]byte, 1))
			wantStreamError(t, dir.name+": reading a stopped stream", err, moqt.StreamError{Code: 0x13})

			out, in = uniPair(t, dir.from, dir.to)
			in.Stop(0x14)
			<-out.Context().Done()
			wantStreamError(t, dir.name+": closing a stopped stream", out.Close(), moqt.StreamError{Remote: true, Code: 0x14})

			// Both halves of a bidirectional stream, each with its code.
			s, err := dir.from.OpenStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Write([]byte("x"))
			peer, err := dir.to.AcceptStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Reset(1)
			s.Stop(2)
			_, err = io.ReadAll(peer)
			wantStreamError(t, dir.name+": reset half", err, moqt.StreamError{Remote: true, Code: 1})
			<-peer.Context().Done()
			_, err = peer.Write([]byte("x"))
			wantStreamError(t, dir.name+": stopped half", err, moqt.StreamError{Remote: true, Code: 2})
		}
	})
}

func TestDeadlines(t *testing.T) {
	bubble(t, slowRate, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		out, in := uniPair(t, server, client)
		out.SetWriteDeadline(time.Now().Add(5 * time.Second))
		// More than the receive window: blocks until the deadline.
		if n, err := out.Write(make([]byte, 8*initialConnWindow)); !errors.Is(err, os.ErrDeadlineExceeded) || n < initialStreamWindow-100 {
			t.Fatalf("write: %d bytes, %v", n, err)
		}
		in.SetReadDeadline(time.Now().Add(-time.Second))
		if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		in.SetReadDeadline(time.Time{})
		if _, err := in.Read(make([]byte, 1)); err != nil {
			t.Errorf("read after the deadline was lifted: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for name, call := range map[string]func() error{
			"AcceptStream":    func() error { _, err := client.AcceptStream(ctx); return err },
			"AcceptUniStream": func() error { _, err := client.AcceptUniStream(ctx); return err },
			"ReceiveDatagram": func() error { _, err := client.ReceiveDatagram(ctx); return err },
		} {
			if err := call(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestStreamLimit(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		// HTTP/3 needs some of them for itself.
		client, server := simPair(t, tr, n, func(tc *TransportConfig) { tc.MaxUniStreams = 5 })
		var opened []moqt.SendStream
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			out, err := server.OpenUniStream(ctx)
			cancel()
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				break
			}
			out.Write([]byte("x"))
			out.Close()
			if opened = append(opened, out); len(opened) > 5 {
				t.Fatal("no limit")
			}
		}
		if len(opened) == 0 {
			t.Fatal("no stream at all")
		}
		in, err := client.AcceptUniStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(in)
		if _, err := server.OpenUniStream(t.Context()); err != nil {
			t.Errorf("a place that was given back: %v", err)
		}
	})
}

func TestDatagrams(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		client, server := connectPair(t, tr)
		big := make([]byte, 70_000)
		err := client.SendDatagram(big)
		tooLarge, ok := errors.AsType[*moqt.DatagramTooLargeError](err)
		if !ok || tooLarge.Max < 1000 || tooLarge.Max > 1500 {
			t.Fatalf("got %v", err)
		}
		for _, dir := range []struct{ from, to moqt.Conn }{{client, server}, {server, client}} {
			for _, n := range []int{0, 1, 80, tooLarge.Max} {
				if err := dir.from.SendDatagram(big[:n]); err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if got, err := dir.to.ReceiveDatagram(t.Context()); len(got) != n || err != nil {
					t.Fatalf("%d bytes: got %d, %v", n, len(got), err)
				}
			}
		}
	})
}

// Everything that waits on a connection ends with its end, and both sides know code and reason.
func TestClose(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		for _, closer := range []string{"client", "server"} {
			t.Run(closer, func(t *testing.T) {
				client, server := connectPair(t, tr)
				near, far := client, server
				if closer == "server" {
					near, far = server, client
				}
				out, in := uniPair(t, near, far)
				waiting := map[string]func() error{
					"Read":            func() error { _, err := in.Read(make([]byte, 1)); return err },
					"AcceptStream":    func() error { _, err := far.AcceptStream(t.Context()); return err },
					"AcceptUniStream": func() error { _, err := far.AcceptUniStream(t.Context()); return err },
					"ReceiveDatagram": func() error { _, err := far.ReceiveDatagram(t.Context()); return err },
				}
				type result struct {
					name string
					err  error
				}
				results := make(chan result)
				for name, f := range waiting {
					go func() { results <- result{name, f()} }()
				}
				start := time.Now()
				near.Close(0x11, "enough")
				if d := time.Since(start); d > 2*time.Second {
					t.Errorf("Close took %v", d)
				}
				local := moqt.ConnError{App: true, Code: 0x11, Reason: "enough"}
				remote := moqt.ConnError{Remote: true, App: true, Code: 0x11, Reason: "enough"}
				wantConnError(t, "closing side", ended(t, near), local)
				wantConnError(t, "other side", ended(t, far), remote)
				for range waiting {
					r := <-results
					wantConnError(t, r.name, r.err, remote)
				}
				near.Close(0x12, "again")
				far.Close(0x13, "too late")
				wantConnError(t, "closing side, later", context.Cause(near.Context()), local)
				wantConnError(t, "other side, later", context.Cause(far.Context()), remote)
				_, err := out.Write([]byte("x"))
				wantConnError(t, "Write", err, local)
				_, err = near.OpenUniStream(t.Context())
				wantConnError(t, "OpenUniStream", err, local)
				_, err = near.OpenStream(t.Context())
				wantConnError(t, "OpenStream", err, local)
				wantConnError(t, "SendDatagram", near.SendDatagram([]byte("x")), local)
				wantConnError(t, "SendDatagram", far.SendDatagram([]byte("x")), remote)
			})
		}
	})
}

func TestCloseLongReason(t *testing.T) {
	forEach(t, func(t *testing.T, tr moqt.Transport) {
		client, server := connectPair(t, tr)
		client.Close(1, string(bytes.Repeat([]byte("ä"), 2000)))
		wantConnError(t, "other side", ended(t, server), moqt.ConnError{Remote: true, App: true, Code: 1, Reason: string(bytes.Repeat([]byte("ä"), maxReason/2))})
	})
}
