package moqt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// wantDatagrams checks what the peer has got.
func (st *sessionTest) wantDatagrams(why string, want ...string) {
	st.Helper()
	synctest.Wait()
	for _, w := range want {
		ctx, cancel := context.WithTimeout(st.Context(), time.Nanosecond)
		got, err := st.peer.ReceiveDatagram(ctx)
		cancel()
		if err != nil || string(got) != string(unhex(w)) {
			st.Fatalf("%s: got %x, %v, want %x", why, got, err, unhex(w))
		}
	}
	ctx, cancel := context.WithTimeout(st.Context(), time.Nanosecond)
	defer cancel()
	if got, err := st.peer.ReceiveDatagram(ctx); err == nil {
		st.Fatalf("%s: got %x, too", why, got)
	}
}

func TestSendDatagram(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		for _, d := range []Datagram{
			{Group: 5, Object: 0, Payload: []byte("abc")},
			{Group: 5, Object: 6, Priority: 7, HasPriority: true, EndOfGroup: true, Properties: wire.Properties{2, 9}, Payload: []byte("d")},
			{Group: 5, Object: 7, Status: wire.ObjectEndOfGroup},
		} {
			if err := p.SendDatagram(d); err != nil {
				st.Fatal(err)
			}
			synctest.Wait()
		}
		st.wantDatagrams("", `0c 01 05 "abc"`, `03 01 05 06 07 02 0209 "d"`, `28 01 05 07 03`)
		if err := p.SendDatagram(Datagram{Status: 3, Payload: []byte("x")}); !errors.Is(err, wire.ErrInvalidValue) {
			st.Errorf("payload with status: %v", err)
		}
		if s := st.s.Stats(); s.DatagramsSent != 3 {
			st.Errorf("got %+v", s)
		}
	})
}

func TestSendDatagramTooLarge(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		large := Datagram{Payload: make([]byte, 1300)}
		if err := p.SendDatagram(large); err != nil {
			st.Errorf("the first is tried: %v", err)
		}
		synctest.Wait()
		var tooLarge *DatagramTooLargeError
		if err := p.SendDatagram(large); !errors.As(err, &tooLarge) || tooLarge.Max != defaultPipeMaxDatagramSize {
			st.Errorf("got %v", err)
		}
		if err := p.SendDatagram(Datagram{Payload: make([]byte, 1190)}); err != nil {
			st.Errorf("smaller: %v", err)
		}
		time.Sleep(tooLargeFor)
		if err := p.SendDatagram(large); err != nil {
			st.Errorf("packets may have grown: %v", err)
		}
		synctest.Wait()
		if s := st.s.Stats(); s.DatagramsTooLarge != 3 || s.DatagramsSent != 1 {
			st.Errorf("got %+v", s)
		}
	})
}

// blockedConn is a connection whose transport takes no datagrams until it is told to.
type blockedConn struct {
	*PipeConn
	mu   sync.Mutex
	open chan struct{}
}

func (c *blockedConn) SendDatagram(b []byte) error {
	c.mu.Lock()
	open := c.open
	c.mu.Unlock()
	select {
	case <-open:
	case <-c.Context().Done():
		return context.Cause(c.Context())
	}
	return c.PipeConn.SendDatagram(b)
}

// runBlocked runs a session on a connection that takes no datagrams.
func runBlocked(t *testing.T, cfg Config, f func(st *sessionTest, unblock func(), block func())) {
	synctest.Test(t, func(t *testing.T) {
		client, server := Pipe(PipeConfig{})
		conn := &blockedConn{PipeConn: server, open: make(chan struct{})}
		st := &sessionTest{T: t, conn: server, peer: client, done: make(chan struct{}), s: New(conn, cfg)}
		go func() {
			st.err = st.s.Run(context.Background())
			close(st.done)
		}()
		defer func() {
			client.Close(0, "")
			<-st.done
		}()
		st.setup("")
		f(st, func() {
			conn.mu.Lock()
			defer conn.mu.Unlock()
			close(conn.open)
		}, func() {
			conn.mu.Lock()
			defer conn.mu.Unlock()
			conn.open = make(chan struct{})
		})
	})
}

func TestDatagramQueue(t *testing.T) {
	runBlocked(t, Config{DatagramQueue: 3}, func(st *sessionTest, unblock, _ func()) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		for g := range uint64(6) {
			if err := p.SendDatagram(Datagram{Group: g}); err != nil {
				st.Fatal(err)
			}
			synctest.Wait()
		}
		// One is with the transport, three wait.
		if s := st.s.Stats(); s.DatagramsOverflow != 2 {
			st.Errorf("got %+v", s)
		}
		unblock()
		st.wantDatagrams("the oldest were dropped", `0c 01 00`, `0c 01 03`, `0c 01 04`, `0c 01 05`)
	})
	runBlocked(t, Config{}, func(st *sessionTest, unblock, _ func()) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		p.SendDatagram(Datagram{Group: 0}) // is with the transport
		synctest.Wait()
		p.SendDatagram(Datagram{Group: 1})
		time.Sleep(200 * time.Millisecond)
		p.SendDatagram(Datagram{Group: 2})
		time.Sleep(50 * time.Millisecond)
		unblock()
		st.wantDatagrams("what is too old was dropped", `0c 01 00`, `0c 01 02`)
		if s := st.s.Stats(); s.DatagramsExpired != 1 {
			st.Errorf("got %+v", s)
		}
	})
	// "... if both are non-zero, the smaller of the two is used."
	// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
	runBlocked(t, Config{}, func(st *sessionTest, unblock, _ func()) {
		p, _ := st.subscribed(wire.Params{
			ObjectDeliveryTimeout: wire.Some[wire.Millis](100), SubgroupDeliveryTimeout: wire.Some[wire.Millis](50),
		}, AcceptSubscribe{})
		p.SendDatagram(Datagram{Group: 0})
		synctest.Wait()
		p.SendDatagram(Datagram{Group: 1})
		time.Sleep(50 * time.Millisecond)
		unblock()
		st.wantDatagrams("what is too old was dropped", `0c 01 00`)
	})
	runBlocked(t, Config{}, func(st *sessionTest, unblock, _ func()) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		p.SendDatagram(Datagram{Group: 9})
		synctest.Wait()
		p.SendDatagram(Datagram{Group: 1, Priority: 6, HasPriority: true})
		p.SendDatagram(Datagram{Group: 2, Priority: 2, HasPriority: true})
		unblock()
		st.wantDatagrams("the more urgent goes first", `0c 01 09`, `04 01 02 02`, `04 01 01 06`)
	})
}

// "A sender MUST NOT send PUBLISH_DONE until it has closed all streams it will ever open, and has no further datagrams to
// send, for a subscription."
// [MOQT-18] Section 10.11, PUBLISH_DONE
func TestDoneWaitsForDatagrams(t *testing.T) {
	runBlocked(t, Config{}, func(st *sessionTest, unblock, _ func()) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		p.SendDatagram(Datagram{Group: 0})
		p.SendDatagram(Datagram{Group: 1})
		done := background(st, func() (int, error) { return 0, p.Done(wire.DoneTrackEnded, "") })
		done.wantBlocked("datagrams wait")
		ps.wantIdle("datagrams wait")
		if err := p.SendDatagram(Datagram{Group: 2}); err == nil {
			st.Error("sent after Done")
		}
		unblock()
		done.ok("all are sent")
		st.wantDatagrams("", `0c 01 00`, `0c 01 01`)
		ps.wantMessage("", &wire.PublishDone{Status: wire.DoneTrackEnded})
	})
	runBlocked(t, Config{}, func(st *sessionTest, _, _ func()) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		p.SendDatagram(Datagram{Group: 0})
		p.SendDatagram(Datagram{Group: 1})
		done := background(st, func() (int, error) { return 0, p.Done(wire.DoneTrackEnded, "") })
		time.Sleep(defaultDatagramExpiry)
		done.ok("they are too old now")
		ps.wantMessage("", &wire.PublishDone{Status: wire.DoneTrackEnded})
		if s := st.s.Stats(); s.DatagramsCancelled != 1 {
			st.Errorf("got %+v", s)
		}
	})
	runBlocked(t, Config{}, func(st *sessionTest, unblock, _ func()) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		p.SendDatagram(Datagram{Group: 0})
		synctest.Wait()
		p.SendDatagram(Datagram{Group: 1})
		ps.stop(wire.StreamCancelled)
		unblock()
		st.wantDatagrams("of an ended subscription", `0c 01 00`)
	})
}

func TestReceiveDatagram(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{DefaultPriority: wire.Some[uint8](4)}).Properties(testVersion)
		sub, _ := st.subscribing(wire.SubscribeOK{Properties: props})
		st.peer.SendDatagram(unhex(`03 07 05 06 09 02 0209 "d"`))
		in, err := sub.Next(st.Context())
		if err != nil {
			st.Fatal(err)
		}
		want := Datagram{
			Group: 5, Object: 6, Priority: 9, HasPriority: true, EndOfGroup: true, Properties: wire.Properties{2, 9}, Payload: []byte("d"),
		}
		if fmt.Sprintf("%+v", *in.Datagram) != fmt.Sprintf("%+v", want) {
			st.Errorf("\n got %+v\nwant %+v", *in.Datagram, want)
		}
		st.peer.SendDatagram(unhex(`2c 07 05 03`))
		if in, err = sub.Next(st.Context()); err != nil || in.Datagram.Status != wire.ObjectEndOfGroup || in.Datagram.Priority != 4 {
			st.Errorf("got %+v, %v", in.Datagram, err)
		}
		sub.Close()
		st.peer.SendDatagram(unhex(`0c 07 05 "x"`))
		synctest.Wait()
		if s := st.s.Stats(); s.DatagramsLate != 1 || s.DatagramsReceived != 3 {
			st.Errorf("got %+v", s)
		}
	})
}

func TestDatagramViolations(t *testing.T) {
	for name, datagram := range map[string]string{
		"empty":                "",
		"unknown type":         "10 01 01",
		"large unknown type":   "ff0000000000000000 01",
		"status, end of group": "22 01 01 01 00 03",
		"empty properties":     "01 01 01 01 00 00",
		"cut":                  "00 01 01",
		"status and payload":   "2c 01 01 03 00",
		"unknown status":       "2c 01 01 01",
		"status, properties":   "2d 01 01 02 0209 03",
		"padding not zero":     "f0132b3e29 0001",
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				st.peer.SendDatagram(unhex(datagram))
				st.wantClose("", wire.SessionProtocolViolation)
			})
		})
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		st.peer.SendDatagram(unhex("f0132b3e29 0000"))
		st.wantAlive("padding")
		st.peer.SendDatagram(unhex("01 01 01 01 00 ffffffffffffffffff"))
		st.wantAlive("properties above the limit")
		if n := st.s.Stats().DatagramsOversized; n != 1 {
			st.Errorf("%d datagrams were counted as oversized", n)
		}
	})
}

// Objects that come before the message that tells their alias wait for it.
func TestAliasRace(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(st.Context(), SubscribeRequest{Track: trackA})
		})
		ps := st.acceptStream()
		ps.message("SUBSCRIBE")
		s := st.openUni(`70 07 05 | 00 01 "a"`)
		st.openUni(`70 07 06 | 00 01 "b"`)
		st.peer.SendDatagram(unhex(`0c 07 08 "c"`))
		other := st.openUni(`70 08 05 | 00 01 "d"`)
		time.Sleep(defaultPendingTimeout - time.Millisecond)
		wantNotStopped(st, "waits", s)
		ps.send(&wire.SubscribeOK{TrackAlias: 7})
		var got []string
		for range 3 {
			in, err := sub.ok("answered").Next(st.Context())
			switch {
			case err != nil:
				st.Fatal(err)
			case in.Subgroup != nil:
				got = append(got, fmt.Sprint("s", in.Subgroup.Header().Group))
				in.Subgroup.Stop(0)
			default:
				got = append(got, fmt.Sprint("d", in.Datagram.Group))
			}
		}
		if s := strings.Join(got, " "); s != "s5 s6 d8" {
			st.Errorf("got %s", s)
		}
		wantNotStopped(st, "still waits", other)
		time.Sleep(time.Millisecond)
		wantStopped(st, "its time is over", other, wire.StreamCancelled)
		if s := st.s.Stats(); s.StreamsUnknownAlias != 1 || s.DatagramsUnknownAlias != 0 {
			st.Errorf("got %+v", s)
		}
	})
}

func TestPendingBounds(t *testing.T) {
	runSession(t, testSession{cfg: Config{PendingStreams: 2}}, func(st *sessionTest) {
		var streams []*PipeStream
		for g := range 4 {
			streams = append(streams, st.openUni(fmt.Sprintf("70 07 %02x", g)))
			st.peer.SendDatagram(unhex(fmt.Sprintf("0c 07 %02x", g)))
			synctest.Wait()
		}
		wantStopped(st, "oldest", streams[0], wire.StreamCancelled)
		wantStopped(st, "second", streams[1], wire.StreamCancelled)
		wantNotStopped(st, "third", streams[2])
		if s := st.s.Stats(); s.StreamsPendingFull != 2 || s.DatagramsUnknownAlias != 2 {
			st.Errorf("got %+v", s)
		}
		time.Sleep(defaultPendingTimeout)
		wantStopped(st, "third", streams[2], wire.StreamCancelled)
		if s := st.s.Stats(); s.StreamsUnknownAlias != 2 || s.DatagramsUnknownAlias != 4 {
			st.Errorf("got %+v", s)
		}
		if st.s.aliases.timer != nil {
			st.Error("a timer is left")
		}
	})
}

// Aliases of ended subscriptions are remembered, but not all of them.
func TestRetiredAliases(t *testing.T) {
	var a aliasTable
	for alias := range uint64(3 * maxRetired) {
		a.retire(alias)
		a.retire(alias)
	}
	if len(a.retired) != maxRetired || a.isRetired(2*maxRetired-1) || !a.isRetired(2*maxRetired) {
		t.Errorf("remembers %v", a.retired)
	}
	a.revive(2*maxRetired + 1)
	a.revive(5)
	if len(a.retired) != maxRetired-1 || a.isRetired(2*maxRetired+1) || !a.isRetired(2*maxRetired+2) {
		t.Errorf("remembers %v", a.retired)
	}
}
