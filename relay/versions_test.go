package relay

import (
	"testing"
	"testing/synctest"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A publisher and a subscriber need not speak the same draft.
func TestVersions(t *testing.T) {
	versions := []wire.Version{wire.Draft16, wire.Draft18, wire.Draft19}
	for _, from := range versions {
		for _, to := range versions {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				runRelay(t, Config{}, func(rt *relayTest) { passOn(rt, from.ALPN(), to.ALPN()) })
			})
		}
	}
}

// passOn sends objects with properties, in groups and as datagram, from one draft to another, and fetches them.
func passOn(rt *relayTest, from, to string) {
	pub := rt.dial(moqt.PipeConfig{Protocol: from})
	immutable, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x88, Uint: 1 << 40}}, wire.Draft18)
	props, _ := wire.AppendProperties(nil, []wire.Property{
		{Type: 0x08, Uint: 90_000}, {Type: wire.PropertyImmutable, Bytes: immutable}, {Type: 0x101, Bytes: []byte("opaque")},
	}, wire.Draft18)
	track := make(chan *moqt.Publication, 1)
	rt.running.Go(func() {
		for {
			req, err := pub.Accept(rt.ctx)
			if err != nil {
				return
			}
			if s, ok := req.(*moqt.IncomingSubscribe); ok {
				p, err := s.Accept(moqt.AcceptSubscribe{Properties: props})
				if err != nil {
					rt.Error(err)
				}
				track <- p
				continue
			}
			req.Reject(nil)
		}
	})
	if _, err := pub.PublishNamespace(rt.ctx, wire.MustNamespace("live")); err != nil {
		rt.Fatal(err)
	}
	viewer := rt.dial(moqt.PipeConfig{Protocol: to})
	sub := viewer.subscribe("video", wire.Params{})
	if got := sub.Info().Properties; string(got) != string(props) {
		rt.Errorf("properties of the track: %x, want %x", got, props)
	}
	p := <-track
	for g := range uint64(3) {
		w, err := p.OpenSubgroup(rt.ctx, moqt.SubgroupHeader{Group: 300 + g, Properties: true, FirstObject: true, EndOfGroup: true})
		if err != nil {
			rt.Fatal(err)
		}
		for id := range uint64(3) {
			if err := w.WriteObject(moqt.ObjectHeader{ID: 70 * id, Properties: props}, make([]byte, 3000)); err != nil {
				rt.Fatal(err)
			}
		}
		w.Close()
		r := rt.next(sub)
		if h := r.Header(); h.Group != 300+g || !h.EndOfGroup || !h.FirstObject {
			rt.Errorf("header %+v", h)
		}
		for id := range uint64(3) {
			o, err := r.Next()
			if err != nil || o.ID != 70*id || o.PayloadLen != 3000 || string(o.Properties) != string(props) {
				rt.Errorf("object %+v, %v", o, err)
			}
		}
	}
	p.SendDatagram(moqt.Datagram{Group: 303, Object: 99, Properties: props, Payload: []byte("x")})
	in, err := sub.Next(rt.ctx)
	if err != nil || in.Datagram == nil || in.Datagram.Object != 99 || string(in.Datagram.Properties) != string(props) {
		rt.Errorf("datagram %+v, %v", in.Datagram, err)
	}
	f, err := viewer.Fetch(rt.ctx, moqt.FetchRequest{Track: name("video"), Start: wire.Location{Group: 301}, End: wire.Location{Group: 302, Object: 141}})
	if err != nil {
		rt.Fatal(err)
	}
	objects := 0
	for {
		o, err := f.Next()
		if err != nil {
			break
		}
		if o.Gap == 0 {
			if objects++; string(o.Properties) != string(props) {
				rt.Errorf("fetched %+v", o)
			}
		}
	}
	if objects != 6 {
		rt.Errorf("fetched %d objects, want 6", objects)
	}
	p.Done(wire.DoneTrackEnded, "")
	synctest.Wait()
	if _, err := sub.Next(rt.ctx); err == nil {
		rt.Error("the end of the track does not arrive")
	}
}
