package moqtransport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	peer "github.com/Eyevinn/moqtransport"
	"github.com/Eyevinn/moqtransport/quicmoq"
	"github.com/Eyevinn/moqtransport/webtransportmoq"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"

	"github.com/moq-c4/moq-c4/cmd/internal/relaytest"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
)

const timeout = 10 * time.Second

// dial connects one of our sessions.
func dial(t *testing.T, addr, protocol string) *moqt.Session {
	t.Helper()
	conn, err := quicnet.Dial(t.Context(), "moqt://"+addr, quicnet.DialConfig{Protocols: []string{protocol}, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	s := moqt.New(conn, moqt.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("our session: %v", err)
		}
	})
	return s
}

// dialPeer connects a session of the peer's.
func dialPeer(t *testing.T, transport moqt.Transport, addr string, s *peer.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	alpn := "moqt-16"
	if transport == moqt.TransportWebTransport {
		alpn = "h3"
	}
	conn, err := quic.DialAddr(ctx, addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}},
		&quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true})
	if err != nil {
		t.Fatal(err)
	}
	s.InitialMaxRequestID = 100
	over := quicmoq.NewClient(conn)
	if transport == moqt.TransportWebTransport {
		over = webTransport(ctx, t, addr, conn)
	}
	if err := s.RunContext(ctx, over); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		conn.CloseWithError(0, "")
	})
}

// webTransport asks for a session on a connection.
func webTransport(ctx context.Context, t *testing.T, addr string, conn *quic.Conn) peer.Connection {
	t.Helper()
	tr := &webtransport.Transport{ApplicationProtocols: []string{"moqt-16"}}
	cc, err := tr.NewClientConn(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, session, err := cc.Dial(ctx, "https://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return webtransportmoq.NewClient(session)
}

// forEach runs f with the peer on each transport, and our session in each version.
func forEach(t *testing.T, f func(t *testing.T, transport moqt.Transport, protocol string)) {
	for _, transport := range []moqt.Transport{moqt.TransportQUIC, moqt.TransportWebTransport} {
		for _, protocol := range []string{"moqt-18", "moqt-16"} {
			t.Run(string(transport)+" "+protocol, func(t *testing.T) { f(t, transport, protocol) })
		}
	}
}

// payload is what object id of a group holds: large enough for several packets.
func payload(group, id uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%d/%d.", group, id), 500)
}

const groups, objects = 5, 4

// A publisher that is moqtransport, a subscriber that is ours, in each of our versions.
func TestPublisher(t *testing.T) {
	forEach(t, func(t *testing.T, transport moqt.Transport, protocol string) {
		addr := relaytest.Start(t).Addr
		publishing := make(chan error, 1)
		next := make(chan struct{}, 1) // what was sent has arrived
		pub := &peer.Session{
			SubscribeHandler: peer.SubscribeHandlerFunc(func(w *peer.SubscribeResponseWriter, m *peer.SubscribeMessage) {
				if err := w.Accept(); err != nil {
					publishing <- err
					return
				}
				go func() { publishing <- publish(w, next) }()
			}),
			Handler: peer.HandlerFunc(func(w peer.ResponseWriter, m *peer.Message) {}),
		}
		dialPeer(t, transport, addr, pub)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		if err := pub.Announce(ctx, []string{"demo"}); err != nil {
			t.Fatalf("announce: %v", err)
		}
		s := dial(t, addr, protocol)
		sub, err := s.Subscribe(ctx, moqt.SubscribeRequest{Track: wire.FullTrackName{Namespace: wire.MustNamespace("demo"), Name: "video"}})
		if err != nil {
			t.Fatalf("subscribe: %v", err)
		}
		got := 0
		for {
			next <- struct{}{}
			in, err := sub.Next(ctx)
			var done *moqt.DoneError
			if errors.As(err, &done) {
				break
			}
			if err != nil {
				t.Fatalf("after %d objects: %v", got, err)
			}
			if in.Datagram != nil {
				if string(in.Datagram.Payload) != "datagram" {
					t.Errorf("datagram %q", in.Datagram.Payload)
				}
				got++
				continue
			}
			for {
				o, err := in.Subgroup.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(in.Subgroup)
				if err != nil || !bytes.Equal(b, payload(in.Subgroup.Header().Group, o.ID)) {
					t.Errorf("object %d of group %d: %d bytes, %v", o.ID, in.Subgroup.Header().Group, len(b), err)
				}
				got++
			}
		}
		if err := <-publishing; err != nil {
			t.Errorf("publisher: %v", err)
		}
		if got != groups*objects+1 {
			t.Errorf("got %d objects, want %d", got, groups*objects+1)
		}
	})
}

// publish sends all objects of a track, and one datagram.
func publish(p peer.Publisher, next <-chan struct{}) error {
	for g := range uint64(groups) {
		<-next
		w, err := p.OpenSubgroup(g, 0, 128, peer.WithEndOfGroup())
		if err != nil {
			return err
		}
		for id := range uint64(objects) {
			if _, err := w.WriteObject(id, payload(g, id)); err != nil {
				return err
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	<-next
	if err := p.SendDatagram(peer.Object{GroupID: groups, ObjectID: 100, Payload: []byte("datagram")}); err != nil {
		return err
	}
	<-next // it does not wait for its datagrams before it ends the track
	return p.CloseWithError(2, "ended")
}

// A publisher that is ours, in each of our versions, a subscriber that is moqtransport.
func TestSubscriber(t *testing.T) {
	forEach(t, func(t *testing.T, transport moqt.Transport, protocol string) {
		addr := relaytest.Start(t).Addr
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		s := dial(t, addr, protocol)
		next := make(chan struct{}, 1) // what was sent has arrived
		go serve(ctx, t, s, next)
		if _, err := s.PublishNamespace(ctx, wire.MustNamespace("demo")); err != nil {
			t.Fatal(err)
		}
		sub := &peer.Session{Handler: peer.HandlerFunc(func(peer.ResponseWriter, *peer.Message) {})}
		dialPeer(t, transport, addr, sub)
		if _, err := sub.Subscribe(ctx, []string{"nothing"}, "here"); err == nil {
			t.Error("a track that does not exist was accepted")
		}
		track, err := sub.Subscribe(ctx, []string{"demo"}, "video")
		if err != nil {
			t.Fatalf("subscribe: %v", err)
		}
		got := 0
		for got < groups*objects+1 {
			if got%objects == 0 {
				next <- struct{}{}
			}
			o, err := track.ReadObject(ctx)
			if err != nil {
				t.Fatalf("after %d objects: %v", got, err)
			}
			want := payload(o.GroupID, o.ObjectID)
			if o.ObjectID == 100 {
				want = []byte("datagram")
			}
			if !bytes.Equal(o.Payload, want) {
				t.Errorf("object %d of group %d: %d bytes", o.ObjectID, o.GroupID, len(o.Payload))
			}
			got++
		}
		// No FETCH: the peer writes that of draft-14, whose priority and order are fields, whatever was negotiated.
		next <- struct{}{}
		var done *peer.ErrSubscribeDone
		if _, err := track.ReadObject(ctx); !errors.As(err, &done) || done.Status != uint64(wire.DoneTrackEnded) {
			t.Errorf("got %v", err)
		}
	})
}

// serve answers the SUBSCRIBE of the relay and sends the track.
func serve(ctx context.Context, t *testing.T, s *moqt.Session, next <-chan struct{}) {
	for {
		r, err := s.Accept(ctx)
		if err != nil {
			return
		}
		req, ok := r.(*moqt.IncomingSubscribe)
		if !ok {
			r.Reject(nil)
			continue
		}
		pub, err := req.Accept(moqt.AcceptSubscribe{})
		if err != nil {
			t.Error(err)
			return
		}
		for g := range uint64(groups) {
			<-next
			w, err := pub.OpenSubgroup(ctx, moqt.SubgroupHeader{Group: g, EndOfGroup: true, FirstObject: true})
			if err != nil {
				t.Error(err)
				return
			}
			for id := range uint64(objects) {
				if err := w.WriteObject(moqt.ObjectHeader{ID: id}, payload(g, id)); err != nil {
					t.Error(err)
				}
			}
			w.Close()
		}
		<-next
		// The peer does not know of datagrams without a priority.
		pub.SendDatagram(moqt.Datagram{Group: groups, Object: 100, HasPriority: true, Payload: []byte("datagram")})
		<-next
		pub.Done(wire.DoneTrackEnded, "ended")
	}
}
