package quicnet

import (
	"context"
	"crypto/tls"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/moqt"
)

// slowRate is 10 Mbit/s, in bytes per second.
const slowRate = 1_250_000

// flood keeps an own stream of the given urgency busy until the connection ends.
// It returns the number of bytes that have arrived at the peer.
func flood(t *testing.T, from, to moqt.Conn, urgency uint8) *atomic.Int64 {
	t.Helper()
	out, in := uniPair(t, from, to)
	out.SetPriority(urgency)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			if _, err := out.Write(buf); err != nil {
				return
			}
		}
	}()
	var n atomic.Int64
	go func() {
		buf := make([]byte, 64<<10)
		for {
			m, err := in.Read(buf)
			n.Add(int64(m))
			if err != nil {
				return
			}
		}
	}()
	return &n
}

func simPair(t *testing.T, tr moqt.Transport, n *simNet, change func(*TransportConfig)) (client, server moqt.Conn) {
	t.Helper()
	tc := TransportConfig{socket: n.socket}
	if change != nil {
		change(&tc)
	}
	s := startServer(t, ListenConfig{TransportConfig: tc})
	synctest.Wait() // Run has to listen: packets before are not lost, but the client's retry would cost time
	return s.connect(tr, DialConfig{TransportConfig: tc})
}

// Object is a stream with some bytes, timed from its opening to the arrival of its last byte.
func sendObject(t *testing.T, from, to moqt.Conn, urgency uint8, size int) (done <-chan time.Duration) {
	t.Helper()
	out, err := from.OpenUniStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out.SetPriority(urgency)
	ch := make(chan time.Duration, 1)
	start := time.Now()
	go func() {
		out.Write(make([]byte, size))
		out.Close()
	}()
	go func() {
		in, err := to.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		if n, err := io.Copy(io.Discard, in); err == nil && n == int64(size) {
			ch <- time.Since(start)
		}
	}()
	return ch
}

func TestPriorities(t *testing.T) {
	const size = 100_000
	// At full rate, and one way.
	const alone = size*time.Second/slowRate + 10*time.Millisecond
	bubble(t, slowRate, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		bulk := flood(t, server, client, 6)
		time.Sleep(500 * time.Millisecond)
		before := bulk.Load()
		if before < slowRate/4 {
			t.Fatalf("the flood moved only %d bytes", before)
		}

		took := <-sendObject(t, server, client, 4, size)
		during := bulk.Load() - before
		t.Logf("urgency 4 over 6: %v (%v alone), %d bytes of the flood meanwhile", took, alone, during)
		// Beside the object: headers, and what was below the scheduler already.
		if took > alone+30*time.Millisecond {
			t.Errorf("took %v, want about %v", took, alone)
		}
		if during > 60_000 {
			t.Errorf("%d bytes of the flood arrived meanwhile", during)
		}

		// Less urgent: nearly nothing arrives. Not nothing, because the flood's writer leaves gaps of a packet.
		late := sendObject(t, server, client, 7, size)
		time.Sleep(500 * time.Millisecond)
		select {
		case d := <-late:
			t.Errorf("urgency 7 got through under a flood of urgency 6 in %v", d)
		default:
		}
	})
}

// Requests never wait for media, also in the answering direction.
func TestRequestsAreFirst(t *testing.T) {
	bubble(t, slowRate, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		for range 4 { // one alone leaves gaps of a packet, and more is not needed here
			flood(t, server, client, 1)
		}
		time.Sleep(500 * time.Millisecond)
		start := time.Now()
		req, err := client.OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		req.SetReadDeadline(start.Add(5 * time.Second))
		req.Write([]byte("subscribe"))
		answer, err := server.AcceptStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answer.Write([]byte("ok"))
		if _, err := io.ReadFull(req, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 60*time.Millisecond {
			t.Errorf("answered after %v, the round trip is 20 ms", d)
		}
	})
}

// Streams of one urgency are served in the order of opening, one after the other.
func TestEqualUrgencies(t *testing.T) {
	const size = 100_000
	const alone = size * time.Second / slowRate
	bubble(t, slowRate, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		flood(t, server, client, 6)
		time.Sleep(500 * time.Millisecond)
		start := time.Now()
		type arrival struct {
			which byte
			after time.Duration
		}
		arrivals := make(chan arrival, 2)
		for which := range byte(2) {
			out, err := server.OpenUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out.SetPriority(4)
			go func() {
				out.Write(append([]byte{which}, make([]byte, size)...))
				out.Close()
			}()
			go func() {
				in, err := client.AcceptUniStream(context.Background())
				if err != nil {
					return
				}
				if b, err := io.ReadAll(in); err == nil {
					arrivals <- arrival{b[0], time.Since(start)}
				}
			}()
		}
		first, second := <-arrivals, <-arrivals
		if first.which != 0 || first.after > alone+40*time.Millisecond || second.after < 2*alone {
			t.Errorf("first %d after %v, second after %v; one alone takes %v", first.which, first.after, second.after, alone)
		}
	})
}

// Without priorities, because the library's layout is unknown, everything else works.
func TestOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(slowRate, 10*time.Millisecond)
		before := unscheduledStreams.Load()
		client, server := simPair(t, moqt.TransportWebTransport, n, func(tc *TransportConfig) { tc.reach = &reach{} })
		flood(t, server, client, 6)
		time.Sleep(500 * time.Millisecond)
		took := <-sendObject(t, server, client, 4, 100_000)
		if took < 140*time.Millisecond {
			t.Errorf("took %v, as if it had priority", took)
		}
		s, err := client.OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.SetPriority(1)
		s.Write([]byte("x"))
		s.SetReliableBoundary()
		s.Reset(1)
		if got := unscheduledStreams.Load() - before; got != 3 {
			t.Errorf("%d streams counted, want 3", got)
		}
	})
}

// What was written before the boundary arrives although the stream was reset before any of it could be sent.
func TestReliableBoundary(t *testing.T) {
	bubble(t, slowRate, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		flood(t, server, client, 2)
		time.Sleep(500 * time.Millisecond)
		for _, reliable := range []bool{true, false} {
			out, err := server.OpenUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out.SetPriority(7) // below the flood
			out.Write([]byte("header"))
			if reliable {
				out.SetReliableBoundary()
			}
			go out.Write([]byte("object")) // may wait for the header
			synctest.Wait()
			out.Reset(0x21)
			out.SetPriority(1) // above it
			in, err := client.AcceptUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(in)
			wantStreamError(t, "reading", err, moqt.StreamError{Remote: true, Code: 0x21})
			if want := map[bool]string{true: "header", false: ""}[reliable]; string(got) != want {
				t.Errorf("reliable %v: got %q, want %q", reliable, got, want)
			}
		}
	})
}

// A peer that reads nothing and whose flow control has no room left for headers is not promised any by resets: that would
// break its limit, and end the connection.
func TestResetWithoutRoom(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		var full []moqt.SendStream
		for range 1 + initialConnWindow/initialStreamWindow {
			out, err := server.OpenUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			full = append(full, out)
			go out.Write(make([]byte, initialStreamWindow))
		}
		time.Sleep(time.Second)
		for range 3 {
			out, err := server.OpenUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if _, err := out.Write([]byte("header")); err == nil {
					out.SetReliableBoundary()
				}
			}()
			time.Sleep(100 * time.Millisecond)
			out.Reset(0x21)
		}
		time.Sleep(5 * time.Second)
		if err := context.Cause(client.Context()); err != nil {
			t.Fatalf("the connection has ended: %v", err)
		}
		// With room again, all of them end.
		for range full {
			in, err := client.AcceptUniStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			in.Stop(1)
		}
		time.Sleep(5 * time.Second)
		out, err := server.OpenUniStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte("header")); err != nil {
			t.Fatal(err)
		}
		out.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for {
			in, err := client.AcceptUniStream(ctx)
			if err != nil {
				t.Fatalf("nothing gets through any more: %v", err)
			}
			if b, err := io.ReadAll(in); err == nil && string(b) == "header" {
				break
			}
		}
	})
}

// For a peer without RESET_STREAM_AT the reset follows after the header.
func TestReliableBoundaryWithoutResetAt(t *testing.T) {
	bubble(t, slowRate, func(t *testing.T, tr moqt.Transport, n *simNet) {
		var client, server moqt.Conn
		if tr == moqt.TransportQUIC {
			client, server = pairWithoutResetAt(t, n)
		} else { // webtransport-go's client insists on it
			client, server = simPair(t, tr, n, nil)
			server.(*wtConn).resetAt = false
		}
		for range 4 { // see TestRequestsAreFirst
			flood(t, server, client, 2)
		}
		time.Sleep(500 * time.Millisecond)

		out, err := server.OpenUniStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out.SetPriority(7) // below the flood
		out.Write([]byte("header"))
		out.SetReliableBoundary()
		blocked := make(chan error, 1)
		go func() {
			_, err := out.Write(make([]byte, 100_000))
			blocked <- err
		}()
		synctest.Wait()
		start := time.Now()
		out.Reset(0x21)
		out.Reset(0x22)
		want := moqt.StreamError{Code: 0x21}
		wantStreamError(t, "blocked Write", <-blocked, want)
		_, err = out.Write([]byte("more"))
		wantStreamError(t, "Write", err, want)
		wantStreamError(t, "Close", out.Close(), want)
		if d := time.Since(start); d > 0 {
			t.Errorf("writing ended after %v, want at once", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		in, err := client.AcceptUniStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		wantStreamError(t, "reading", err, moqt.StreamError{Remote: true, Code: 0x21})
		if len(got) < 6 || string(got[:6]) != "header" || len(got) > 3000 {
			t.Errorf("got %d bytes %.6q", len(got), got)
		}
		if d := time.Since(start); d > 300*time.Millisecond {
			t.Errorf("the reset arrived after %v", d)
		}
		if out.Context().Err() == nil {
			t.Error("the stream's context did not end")
		}

		// Nothing to protect: at once, and nothing arrives.
		out, err = server.OpenUniStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out.Reset(1)
		if out.Context().Err() == nil && tr == moqt.TransportQUIC {
			t.Error("not reset at once")
		}
	})
}

// pairWithoutResetAt is on raw QUIC.
func pairWithoutResetAt(t *testing.T, n *simNet) (client, server moqt.Conn) {
	t.Helper()
	tc := TransportConfig{socket: n.socket}
	s := startServer(t, ListenConfig{TransportConfig: tc})
	synctest.Wait()
	pc, _ := n.socket("udp4", ":0")
	qt := &quic.Transport{Conn: pc}
	conf := tc.quicConfig()
	conf.EnableStreamResetPartialDelivery = false
	qc, err := qt.Dial(t.Context(), s.Addrs()[0], &tls.Config{InsecureSkipVerify: true, NextProtos: defaultProtocols}, conf)
	if err != nil {
		t.Fatal(err)
	}
	client = newQUICConn(qc, false, func() { qt.Close() })
	t.Cleanup(func() { client.Close(0, "") })
	if server, err = s.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client, server
}
