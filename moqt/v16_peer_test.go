package moqt

import (
	"context"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// session16 runs f with a session whose peer the test plays byte by byte, in draft-16.
func session16(t *testing.T, server bool, f func(st *sessionTest, control *peerStream)) {
	t.Helper()
	runSession(t, testSession{server: server, raw: true, pipe: PipeConfig{Protocol: "moqt-16"}}, func(st *sessionTest) {
		if !server {
			ps := st.acceptStream()
			ps.wantHex("CLIENT_SETUP", `20 000c 02 02 4800 05 06 "moq-c4"`)
			ps.sendHex("21 0004 01 02 4064")
			f(st, ps)
			return
		}
		ps := st.requestBytes(unhex("20 0004 01 02 4064"))
		ps.wantHex("SERVER_SETUP", `21 000c 02 02 4800 05 06 "moq-c4"`)
		f(st, ps)
	})
}

// The bytes of each message, written by hand from [MOQT-16] Section 9, Control Messages.
func TestDraft16Bytes(t *testing.T) {
	const demo = `01 04 "demo"`
	session16(t, true, func(st *sessionTest, c *peerStream) {
		c.sendHex(`03 0012 00 ` + demo + ` 01 "v" 03 10 01 10 409b 01 01 02`) // SUBSCRIBE: FORWARD, PRIORITY 155, FILTER
		r := accept[*IncomingSubscribe](st)
		if r.Params.SubscriberPriority != wire.Some(uint8(155)) || r.Params.Filter.Or(wire.Filter{}).Type != wire.FilterLargestObject {
			st.Errorf("got %+v", r.Params)
		}
		p, err := r.Accept(AcceptSubscribe{Largest: largestAt(100, 5), Properties: unhexProps(`04 bb80`)})
		if err != nil {
			st.Fatal(err)
		}
		// SUBSCRIBE_OK: id 0, alias 1, LARGEST_OBJECT with a length, MAX_CACHE_DURATION 15232 as a QUIC integer
		c.wantHex("", `04 000b 00 01 01 09 03 4064 05 04 7b80`)
		w, _ := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: 100, EndOfGroup: true, FirstObject: true})
		w.WriteObject(ObjectHeader{ID: 70}, []byte("abc"))
		w.Close()
		st.acceptUni().wantHex("", `38 01 4064 | 4046 03 "abc"`)

		c.sendHex(`02 0007 02 00 02 10 00 12 01`) // REQUEST_UPDATE: FORWARD 0, and a GROUP_ORDER that is ignored there
		c.wantHex("", `07 0007 02 01 09 03 4064 05`)
		if p.State().Forward {
			st.Error("forwards")
		}
		go p.Done(wire.DoneTooFarBehind, "x")
		c.wantHex("", `0b 0005 00 06 01 01 "x"`)

		c.sendHex(`06 0008 04 ` + demo + ` 00`) // PUBLISH_NAMESPACE
		ns := accept[*IncomingPublishNamespace](st)
		ns.Accept()
		c.wantHex("", `07 0002 04 00`)
		ns.Revoke(wire.StreamCancelled)
		c.wantHex("PUBLISH_NAMESPACE_CANCEL", `0c 0003 04 00 00`)

		c.sendHex(`06 0008 06 ` + demo + ` 00  09 0001 06`) // PUBLISH_NAMESPACE, PUBLISH_NAMESPACE_DONE
		c.wantIdle("withdrawn before it was answered")

		c.sendHex(`1d 000b 08 ` + demo + ` 01 "v" 07 00`) // PUBLISH
		sub, err := accept[*IncomingPublish](st).Accept(wire.Params{Forward: wire.Some(true)})
		if err != nil {
			st.Fatal(err)
		}
		c.wantHex("PUBLISH_OK", `1e 0004 08 01 10 01`)
		sub.Close()
		c.wantHex("UNSUBSCRIBE", `0a 0001 08`)
		c.sendHex(`0b 0004 08 03 00 00`) // PUBLISH_DONE of what has ended

		c.sendHex(`16 000f 0a 01 ` + demo + ` 01 "v" 00 00 05 00 00`) // FETCH
		fw, err := accept[*IncomingFetch](st).Accept(FetchOK{End: loc(5, 0)})
		if err != nil {
			st.Fatal(err)
		}
		c.wantHex("FETCH_OK", `18 0005 0a 00 05 00 00`)
		fw.WriteObject(FetchObject{Group: 2, Object: 3, Priority: 1}, []byte("a"))
		fw.WriteObject(FetchObject{Group: 2, Object: 7, Priority: 1}, []byte("b"))
		fw.WriteObject(FetchObject{Group: 4, Object: 8, Priority: 1}, []byte("c"))
		fw.Close()
		// All ids are absolute: [MOQT-16] Section 10.4.4, Fetch Header
		st.acceptUni().wantHex("", `05 0a | 1c 02 03 01 01 "a" | 04 07 01 "b" | 08 04 01 "c"`)

		c.sendHex(`0d 000a 0c ` + demo + ` 01 "v" 00`) // TRACK_STATUS
		accept[*IncomingTrackStatus](st).Reject(&RequestError{Code: wire.RequestDoesNotExist, Reason: "no"})
		c.wantHex("REQUEST_ERROR", `05 0006 0c 10 00 02 "no"`)
	})
	session16(t, false, func(st *sessionTest, c *peerStream) {
		a := background(st, func() (*Subscription, error) {
			return st.s.Subscribe(context.Background(), SubscribeRequest{
				Track: wire.FullTrackName{Namespace: ns("demo"), Name: "v"},
				Params: wire.Params{
					Filter: wire.Some(wire.Filter{Type: wire.FilterAbsoluteRange, Start: loc(5, 0), EndGroup: 9}),
					// What draft-16 does not have is left out.
					RendezvousTimeout: wire.Some(wire.Millis(1)), SubgroupDeliveryTimeout: wire.Some(wire.Millis(1)),
					ObjectDeliveryTimeout: wire.Some(wire.Millis(0)),
				},
			})
		})
		c.wantHex("SUBSCRIBE", `03 0010 00 `+demo+` 01 "v" 01 21 04 04 05 00 09`)
		c.sendHex(`04 0003 00 07 00`)
		sub := a.ok("")
		st.openUni(`18 07 05 00 | 00 01 "x" | 09 00 00`)
		in, err := sub.Next(st.Context())
		if err != nil || !in.Subgroup.Header().FirstObject || !in.Subgroup.Header().EndOfGroup {
			st.Errorf("got %+v, %v", in, err)
		}
		sub.Close()
		c.wantHex("UNSUBSCRIBE", `0a 0001 00`)

		n := background(st, func() (*NamespaceSubscription, error) {
			return st.s.SubscribeNamespace(context.Background(), ns("demo"))
		})
		own := st.acceptStream()
		own.wantHex("SUBSCRIBE_NAMESPACE", `11 0009 02 `+demo+` 01 00`)
		own.sendHex(`07 0002 02 00 08 0005 01 03 "bob"`)
		if e, err := n.ok("").Next(st.Context()); err != nil || e.Namespace != ns("demo", "bob") {
			st.Errorf("got %+v, %v", e, err)
		}
		background(st, func() (*FetchReader, error) {
			return st.s.Fetch(context.Background(), FetchRequest{Track: wire.FullTrackName{Namespace: ns("demo"), Name: "v"}, End: loc(5, 0)})
		})
		c.wantHex("FETCH", `16 000f 04 01 `+demo+` 01 "v" 00 00 05 00 00`)
	})
}

func unhexProps(s string) wire.Properties { return unhex(s) }

// "Subscribe Options: Allows subscribers to request PUBLISH (0x00), NAMESPACE (0x01), or both (0x02) ..."
// [MOQT-16] Section 9.25, SUBSCRIBE_NAMESPACE
func TestDraft16Both(t *testing.T) {
	session16(t, true, func(st *sessionTest, c *peerStream) {
		own := st.requestBytes(unhex(`11 000b 00 01 04 "demo" 02 01 10 00`))
		var namespaces *IncomingSubscribeNamespace
		var tracks *IncomingSubscribeTracks
		for range 2 {
			r, err := st.s.Accept(st.Context())
			if err != nil {
				st.Fatal(err)
			}
			switch r := r.(type) {
			case *IncomingSubscribeNamespace:
				namespaces = r
			case *IncomingSubscribeTracks:
				tracks = r
			}
		}
		if tracks == nil || namespaces == nil || tracks.Forward || tracks.Prefix != ns("demo") {
			st.Fatalf("got %+v, %+v", tracks, namespaces)
		}
		tracks.Accept()
		own.wantIdle("one answer, to the other half")
		namespaces.Accept()
		namespaces.Announce(ns("demo", "a"))
		own.wantHex("", `07 0002 00 00 08 0003 01 01 "a"`)
		own.fin()
		if tracks.Context().Err() == nil || namespaces.Context().Err() == nil {
			st.Error("goes on")
		}
	})
}

func TestDraft16Violations(t *testing.T) {
	const demo = `01 04 "demo"`
	for _, tc := range []struct {
		name string
		msgs string // on the control stream, after SETUP
		want wire.SessionCode
	}{
		// "If an endpoint receives MAX_REQUEST_ID message with an equal or smaller Request ID it MUST close the session ..."
		{"MAX_REQUEST_ID does not grow", `15 0002 4064`, wire.SessionProtocolViolation},
		// "... the endpoint MUST close the session with an error of TOO_MANY_REQUESTS."
		{"above MAX_REQUEST_ID", `06 0009 4800 ` + demo + ` 00`, wire.SessionTooManyRequests},
		{"id of the other side", `06 0008 01 ` + demo + ` 00`, wire.SessionInvalidRequestID},
		{"id twice", `06 0008 00 ` + demo + ` 00 06 0008 00 ` + demo + ` 00`, wire.SessionInvalidRequestID},
		{"unknown message", `30 0000`, wire.SessionProtocolViolation},
		{"message of draft-18", `51 0008 00 ` + demo + ` 00`, wire.SessionProtocolViolation},
		{"second SETUP", `20 0001 00`, wire.SessionProtocolViolation},
		{"SUBSCRIBE_NAMESPACE on the control stream", `11 0009 00 ` + demo + ` 01 00`, wire.SessionProtocolViolation},
		{"answer to nothing", `07 0002 01 00`, wire.SessionProtocolViolation},
		{"UNSUBSCRIBE of nothing", `0a 0001 00`, wire.SessionProtocolViolation},
		{"UNSUBSCRIBE of an announcement", `06 0008 00 ` + demo + ` 00 0a 0001 00`, wire.SessionProtocolViolation},
		{"update of nothing", `02 0003 00 02 00`, wire.SessionProtocolViolation},
		{"unknown parameter", `06 000a 00 ` + demo + ` 01 3a 00`, wire.SessionProtocolViolation},
		{"DELIVERY_TIMEOUT 0", `03 000c 00 ` + demo + ` 01 "v" 01 02 00`, wire.SessionProtocolViolation},
		{"message continues", `0a 0002 00 00`, wire.SessionProtocolViolation},
		{"message is cut", `06 0002 00 01`, wire.SessionProtocolViolation},
		{"second GOAWAY", `10 0001 00 10 0001 00`, wire.SessionProtocolViolation},
		{"GOAWAY with URI", `10 0002 01 "x"`, wire.SessionProtocolViolation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			session16(t, true, func(st *sessionTest, c *peerStream) {
				c.sendHex(tc.msgs)
				st.wantClose("", tc.want)
			})
		})
	}
	for name, data := range map[string]string{
		"FIRST_OBJECT bit":      "50 01 00 00",
		"padding":               "932b3e28",
		"SETUP of draft-18":     "6f00 0000",
		"FETCH that is not":     "05 01",
		"FIN inside a header":   "10 01 00 80 | 00",
		"status does not exist": "10 01 00 80 | 00 00 05",
	} {
		t.Run(name, func(t *testing.T) {
			session16(t, true, func(st *sessionTest, c *peerStream) {
				st.openUni(data).Close()
				time.Sleep(time.Second)
				st.wantClose("", wire.SessionProtocolViolation)
			})
		})
	}
	session16(t, true, func(st *sessionTest, c *peerStream) {
		c.fin()
		st.wantClose("control stream ends", wire.SessionProtocolViolation)
	})
	session16(t, true, func(st *sessionTest, c *peerStream) {
		st.requestBytes(unhex(`06 0008 00 01 04 "demo" 00`))
		st.wantClose("request on a stream of its own", wire.SessionProtocolViolation)
	})
	session16(t, true, func(st *sessionTest, c *peerStream) {
		st.peer.SendDatagram(unhex("40"))
		st.wantClose("datagram", wire.SessionProtocolViolation)
	})
}

// What comes before SETUP waits for it, and a peer that never says it is let go.
func TestDraft16BeforeSetup(t *testing.T) {
	ts := testSession{server: true, raw: true, pipe: PipeConfig{Protocol: "moqt-16"}}
	runSession(t, ts, func(st *sessionTest) {
		st.openUni(`38 07 05 | 00 01 "x"`)
		own := st.requestBytes(unhex(`11 0009 02 01 04 "demo" 01 00`))
		st.peer.SendDatagram(unhex(`0c 07 05 "y"`))
		c := st.requestBytes(unhex("20 0001 00"))
		c.message16("SERVER_SETUP")
		accept[*IncomingSubscribeNamespace](st).Accept()
		own.wantHex("", `07 0002 02 00`)
		c.sendHex(`1d 000b 00 01 04 "demo" 01 "v" 07 00`)
		sub, err := accept[*IncomingPublish](st).Accept(wire.Params{})
		if err != nil {
			st.Fatal(err)
		}
		for range 2 {
			if _, err := sub.Next(st.Context()); err != nil {
				st.Error(err)
			}
		}
	})
	runSession(t, ts, func(st *sessionTest) {
		st.openUni(`38 07 05 | 00 01 "x"`)
		time.Sleep(defaultSetupTimeout)
		st.wantClose("no SETUP", wire.SessionControlMessageTimeout)
	})
	runSession(t, ts, func(st *sessionTest) {
		st.requestBytes(unhex("20 0004 01")).fin()
		st.wantClose("half a SETUP", wire.SessionProtocolViolation)
	})
	runSession(t, ts, func(st *sessionTest) {
		st.requestBytes(unhex(`af00 0000`))
		st.wantClose("SETUP of draft-18", wire.SessionProtocolViolation)
	})
	// "The default value is 0, so if not specified, the peer MUST NOT send requests."
	// [MOQT-16] Section 9.3.1.3, MAX_REQUEST_ID
	runSession(t, ts, func(st *sessionTest) {
		c := st.requestBytes(unhex("20 0001 00"))
		c.message16("SERVER_SETUP")
		a := background(st, func() (*Announcement, error) { return st.s.PublishNamespace(context.Background(), ns("demo")) })
		c.wantHex("REQUESTS_BLOCKED", `1a 0001 00`)
		a.wantBlocked("no request is allowed")
		c.sendHex(`15 0001 02`)
		c.wantHex("PUBLISH_NAMESPACE", `06 0008 01 01 04 "demo" 00`)
		c.sendHex(`07 0002 01 00`)
		a.ok("")
	})
	// Some servers never say more, and take requests all the same.
	ts.cfg.AssumedMaxRequestID = 4
	for _, setup := range []struct{ hex, next string }{{"20 0001 00", `06 0008 01 01 04 "demo" 00`}, {"20 0003 01 02 00", `1a 0001 00`}} {
		runSession(t, ts, func(st *sessionTest) {
			c := st.requestBytes(unhex(setup.hex))
			c.message16("SERVER_SETUP")
			go st.s.PublishNamespace(st.s.Context(), ns("demo"))
			c.wantHex("what follows the peer's SETUP", setup.next)
			c.sendHex(`15 0001 04`) // it says what was assumed: no violation
			st.wantAlive("after that")
		})
	}
}

// message16 takes the next message of draft-16.
func (ps *peerStream) message16(why string) {
	ps.st.Helper()
	end := ps.poll()
	_, _, n, err := wire.ConsumeFrame(ps.buf, wire.Draft16)
	if err != nil {
		ps.st.Fatalf("%s: no message (%v) in %x, stream: %v", why, err, ps.buf, end)
	}
	ps.buf = ps.buf[n:]
}

// "If it appears in some other type of message, it MUST be ignored." [MOQT-16] Section 9.2.2, Message Parameters
func TestDraft16MisplacedParameter(t *testing.T) {
	session16(t, false, func(st *sessionTest, c *peerStream) {
		answered := make(chan TrackStatus, 1)
		go func() {
			status, err := st.s.TrackStatus(st.s.Context(), wire.FullTrackName{Namespace: wire.MustNamespace("demo"), Name: "v"})
			if err != nil {
				st.Error(err)
			}
			answered <- status
		}()
		c.wantHex("", `0d 000a 00 01 04 "demo" 01 "v" 00`)
		c.sendHex(`07 0009 00 02 09 03 4064 05 19 01`) // LARGEST_OBJECT, and a GROUP_ORDER that no such answer has
		if status := <-answered; status.Largest != wire.Some(loc(100, 5)) {
			st.Errorf("got %+v", status)
		}
	})
}
