package moqt

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// What @moq/net 0.2.8 sends on moqt-18, seen in a trial: its priorities take two bytes, as draft-16 writes them.
const kvpSubscribe = `03 0026 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 10809b 010102 0102`

func TestKVPParams(t *testing.T) {
	var log bytes.Buffer
	cfg := Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))}
	runSession(t, testSession{server: true, raw: true, cfg: cfg}, func(st *sessionTest) {
		st.setup(`07 0b "moq-lite-js" c40b53 01`)
		disc := st.requestBytes(unhex(`50 000f 00 02 04"live" 06"a.hang" 00`))
		name := ns("live", "a.hang")
		req := accept[*IncomingSubscribeNamespace](st)
		if req.Prefix != name {
			st.Fatalf("got %v", req.Prefix)
		}
		req.Accept()
		req.Announce(name)
		disc.wantHex("accepted, and the prefix itself is a namespace", `07 0001 00 | 08 0001 00`)

		ps := st.requestBytes(unhex(kvpSubscribe))
		sub := accept[*IncomingSubscribe](st)
		if sub.Track != (wire.FullTrackName{Namespace: name, Name: "catalog.json"}) {
			st.Errorf("got %v", sub.Track)
		}
		want := wire.Params{
			Forward:            wire.Some(true),
			SubscriberPriority: wire.Some[uint8](155),
			Filter:             wire.Some(wire.Filter{Type: wire.FilterLargestObject}),
			GroupOrder:         wire.Some(wire.GroupOrderDescending),
		}
		if sub.Params.SubscriberPriority != want.SubscriberPriority || sub.Params.Filter != want.Filter ||
			sub.Params.GroupOrder != want.GroupOrder || sub.Params.Forward != want.Forward {
			st.Errorf("got %+v", sub.Params)
		}
		p, err := sub.Accept(AcceptSubscribe{Largest: largestAt(2, 0)})
		if err != nil {
			st.Fatal(err)
		}
		ps.wantHex("without LARGEST_OBJECT, which it would read wrongly", `04 0002 01 00`)
		if p.State().Start != loc(2, 1) {
			st.Errorf("starts at %v", p.State().Start)
		}

		w, err := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: 0, FirstObject: true})
		if err != nil {
			st.Fatal(err)
		}
		w.WriteObject(ObjectHeader{}, []byte("{}"))
		w.Close()
		data := st.acceptUni()
		data.wantHex("a catalog", `70 01 00 | 00 02 "{}"`)
		data.wantFIN("")

		// Once it is known, it is known of the session, also where both readings would do.
		st.requestBytes(unhex(`03 0026 04 02 04"live" 06"a.hang" 0c"catalog.jso2" 04 1001 10809b 010102 0102`))
		accept[*IncomingSubscribe](st)
		status := st.request(&wire.TrackStatus{RequestID: 6, Track: trackA})
		accept[*IncomingTrackStatus](st).Accept(TrackStatus{Largest: wire.Some(loc(1, 1))})
		status.wantHex("here as well", `07 0001 00`)
		if !st.s.Stats().KVPParams {
			st.Error("not counted")
		}
	})
	if n := strings.Count(log.String(), "draft-16"); n != 1 || !strings.Contains(log.String(), "moq-lite-js") {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}

// Strict is the default: who conforms is read as the draft says, and garbage is garbage.
func TestKVPParamsNotForOthers(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.requestBytes(unhex(`03 0029 04 02 0464656d6f 0a616c6963652e68616e67 0c636174616c6f672e6a736f6e 04 1001 109b 010102 0102`))
		sub := accept[*IncomingSubscribe](st)
		if sub.Params.SubscriberPriority != wire.Some[uint8](155) {
			st.Errorf("got %+v", sub.Params)
		}
		sub.Accept(AcceptSubscribe{Largest: largestAt(0, 0)})
		ps.wantHex("with LARGEST_OBJECT", `04 0005 01 01 09 00 00`)
		if st.s.Stats().KVPParams {
			st.Error("taken for the other kind")
		}
	})
	for name, request := range map[string]string{
		"neither reading":         `03 0026 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 10809b 010102 0103`,
		"a byte too many":         `03 0027 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 10809b 010102 0102 00`,
		"priority 256":            `03 0026 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 108100 010102 0102`,
		"unknown parameter":       `03 0026 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 14809b 010102 0102`,
		"not in SUBSCRIBE":        `50 0013 02 02 04"live" 06"a.hang" 01 10809b 010102`,
		"not in another, either":  `0d 0026 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 10809b 010102 0102`,
		"cut in the middle":       `03 0024 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 10809b 010102`,
		"length beyond the block": `03 0026 02 02 04"live" 06"a.hang" 0c"catalog.json" 04 1001 10809b 012002 0102`,
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				st.requestBytes(unhex(request))
				synctest.Wait()
				st.wantClose("", wire.SessionProtocolViolation)
			})
		})
	}
}
