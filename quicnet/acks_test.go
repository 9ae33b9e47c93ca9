package quicnet

import (
	"io"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
)

// A connection that is chosen tells when its peer has acknowledged what was written, over both transports, from both ends.
func TestAcks(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		config := TransportConfig{socket: n.socket}
		config.Acks = &ackwatch.Sampler{Least: 2}
		s := startServer(t, ListenConfig{TransportConfig: config})
		client, server := s.connect(tr, DialConfig{TransportConfig: config})
		for _, ends := range [][2]moqt.Conn{{server, client}, {client, server}} {
			if !ends[0].(moqt.AckTeller).TellsAcks() {
				t.Fatal("the connection was not chosen")
			}
			out, in := uniPair(t, ends[0], ends[1])
			go io.Copy(io.Discard, in)
			for _, size := range []int{1, 100, 30_000} {
				if _, err := out.Write(make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				acked := make(chan time.Time, 1)
				out.(moqt.AckTellerStream).OnAcked(func(at time.Time) { acked <- at })
				wantAcked(t, "stream", began, acked)
			}
			acked := make(chan time.Time, 1)
			began := time.Now()
			if err := ends[0].SendDatagram([]byte("a")); err != nil {
				t.Fatal(err)
			}
			if err := ends[0].(moqt.AckTeller).SendDatagramAcked([]byte("b"), func(at time.Time) { acked <- at }); err != nil {
				t.Fatal(err)
			}
			wantAcked(t, "datagram", began, acked)
		}
	})
}

// wantAcked checks that the acknowledgement comes a round trip later, and what the peer may hold it back.
func wantAcked(t *testing.T, what string, began time.Time, acked <-chan time.Time) {
	t.Helper()
	const rtt = 20 * time.Millisecond // of simNet in a bubble
	select {
	case at := <-acked:
		if took := at.Sub(began); took < rtt || took > rtt+60*time.Millisecond {
			t.Errorf("%s: acknowledged after %v, the round trip is %v", what, took, rtt)
		}
	case <-time.After(time.Second):
		t.Fatalf("%s: never acknowledged", what)
	}
}

// A connection that is not chosen says so, and asking it does no harm.
func TestNoAcks(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{socket: n.socket}})
		client, server := s.connect(tr, DialConfig{TransportConfig: TransportConfig{socket: n.socket}})
		if server.(moqt.AckTeller).TellsAcks() {
			t.Error("it can tell")
		}
		out, in := uniPair(t, server, client)
		go io.Copy(io.Discard, in)
		out.Write([]byte("x"))
		out.(moqt.AckTellerStream).OnAcked(func(time.Time) { t.Error("it has told") })
		if err := server.(moqt.AckTeller).SendDatagramAcked([]byte("x"), func(time.Time) { t.Error("it has told") }); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
	})
}
