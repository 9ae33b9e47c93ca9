package moqt

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// fuzzPeer plays a peer that does what the fuzzer says.
type fuzzPeer struct {
	t      *testing.T
	s      *Session
	conn   *PipeConn
	data   []byte // what to do
	uni    []*PipeStream
	bidi   []*PipeStream
	nextID uint64
}

func (p *fuzzPeer) byte() byte {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return b
}

func (p *fuzzPeer) bytes() []byte {
	n := min(int(p.byte()), len(p.data))
	b := p.data[:n]
	p.data = p.data[n:]
	return b
}

func pick[T any](p *fuzzPeer, from []T) (v T, ok bool) {
	if len(from) == 0 {
		return v, false
	}
	return from[int(p.byte())%len(from)], true
}

// briefly gives an operation of the peer that can block a moment of virtual time.
func (p *fuzzPeer) briefly() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func (p *fuzzPeer) write(s *PipeStream, b []byte) {
	s.SetWriteDeadline(time.Now().Add(time.Millisecond))
	s.Write(b)
}

func (p *fuzzPeer) openUni(b []byte) {
	if s, err := p.conn.OpenUniStream(p.briefly()); err == nil {
		p.uni = append(p.uni, s.(*PipeStream))
		p.write(s.(*PipeStream), b)
	}
}

func (p *fuzzPeer) openBidi(b []byte) {
	if s, err := p.conn.OpenStream(p.briefly()); err == nil {
		p.bidi = append(p.bidi, s.(*PipeStream))
		p.write(s.(*PipeStream), b)
	}
}

var (
	fuzzTracks   = []wire.FullTrackName{trackA, trackB, {Namespace: ns("."), Name: "x"}}
	fuzzPrefixes = []wire.Namespace{ns(), ns("live"), ns("live", "a"), ns(".session")}
)

// message makes one that is right in itself.
func (p *fuzzPeer) message() wire.Message {
	track, _ := pick(p, fuzzTracks)
	prefix, _ := pick(p, fuzzPrefixes)
	id := p.nextID
	if p.byte() > 240 {
		id = uint64(p.byte()) // perhaps wrong
	}
	kind := p.byte() % 18
	if kind < 8 {
		p.nextID = id + 2
	}
	x := uint64(p.byte() % 8)
	var params wire.Params
	if x&1 == 1 {
		params.Forward = wire.Some(x&2 == 0)
	}
	var props wire.Properties
	if x == 7 {
		props = wire.Properties{0x30, 1}
	}
	switch kind {
	case 0:
		params.Filter = wire.Some(wire.Filter{Type: wire.FilterType(1 + x%4), Start: loc(x, x), EndGroup: x + 1})
		return &wire.Subscribe{RequestID: id, Track: track, Params: params}
	case 1:
		return &wire.Publish{RequestID: id, Track: track, TrackAlias: x, Params: params, Properties: props}
	case 2:
		return &wire.Fetch{RequestID: id, FetchType: wire.FetchType(1 + x%3), Track: track, End: loc(x, 0), JoiningRequestID: x, JoiningStart: x}
	case 3:
		return &wire.TrackStatus{RequestID: id, Track: track}
	case 4:
		return &wire.PublishNamespace{RequestID: id, Namespace: prefix}
	case 5:
		return &wire.SubscribeNamespace{RequestID: id, Prefix: prefix}
	case 6:
		return &wire.SubscribeTracks{RequestID: id, Prefix: prefix}
	case 7:
		return &wire.RequestUpdate{RequestID: id, Params: params}
	case 8:
		return &wire.SubscribeOK{TrackAlias: x, Properties: props}
	case 9:
		return &wire.RequestOK{}
	case 10:
		return &wire.RequestError{Code: wire.RequestCode(x)}
	case 11:
		return &wire.FetchOK{End: loc(x, x)}
	case 12:
		return &wire.PublishDone{StreamCount: x}
	case 13:
		return &wire.NamespaceAdded{Suffix: prefix}
	case 14:
		return &wire.NamespaceDone{Suffix: prefix}
	case 15:
		return &wire.PublishBlocked{Track: track}
	case 16:
		return &wire.GoAway{}
	default:
		return &wire.RequestUpdate{RequestID: id, Params: wire.Params{TrackNamespacePrefix: wire.Some(prefix)}}
	}
}

func (p *fuzzPeer) encoded() []byte {
	b, _ := wire.AppendMessage(nil, p.message(), testVersion)
	return b
}

// subgroup makes the beginning of a stream that is right in itself.
func (p *fuzzPeer) subgroup() []byte {
	h := wire.SubgroupHeader{TrackAlias: uint64(p.byte() % 8), GroupID: uint64(p.byte()), IDMode: wire.SubgroupIDMode(p.byte() % 3)}
	b := h.Append(nil, testVersion)
	c := h.Cursor()
	for i := range uint64(p.byte() % 4) {
		n := int(p.byte())
		b, _ = c.Append(b, &wire.ObjectHeader{ID: i, PayloadLen: uint64(n)}, testVersion)
		b = append(b, make([]byte, n)...)
	}
	return b
}

// step does one thing.
func (p *fuzzPeer) step(app *fuzzApp) {
	switch p.byte() % 20 {
	case 0:
		p.openUni(p.bytes())
	case 1:
		p.openUni(p.subgroup())
	case 2:
		p.openUni(append([]byte{5, p.byte() % 16}, p.bytes()...))
	case 3:
		if s, ok := pick(p, p.uni); ok {
			p.write(s, p.bytes())
		}
	case 4:
		if s, ok := pick(p, p.uni); ok {
			s.Close()
		}
	case 5:
		if s, ok := pick(p, p.uni); ok {
			s.Reset(uint64(p.byte()))
		}
	case 6:
		p.openBidi(p.bytes())
	case 7, 8:
		p.openBidi(p.encoded())
	case 9, 10, 11:
		if s, ok := pick(p, p.bidi); ok {
			p.write(s, p.encoded())
		}
	case 12:
		if s, ok := pick(p, p.bidi); ok {
			s.Close()
		}
	case 13:
		if s, ok := pick(p, p.bidi); ok {
			s.Reset(uint64(p.byte()))
		}
	case 14:
		if s, ok := pick(p, p.bidi); ok {
			s.Stop(uint64(p.byte()))
		}
	case 15:
		p.conn.SendDatagram(p.bytes())
	case 16:
		time.Sleep(time.Duration(p.byte()) * 50 * time.Millisecond)
	case 17: // takes what the session has opened
		if s, err := p.conn.AcceptStream(p.briefly()); err == nil {
			p.bidi = append(p.bidi, s.(*PipeStream))
		}
	case 18:
		if s, err := p.conn.AcceptUniStream(p.briefly()); err == nil && p.byte()%2 == 0 {
			s.Stop(uint64(p.byte()))
		}
	case 19:
		app.act(p.byte())
	}
	synctest.Wait()
}

// fuzzApp is an application that answers everything and asks for things when told to.
type fuzzApp struct {
	s       *Session
	answers byte
}

// serve answers the peer's requests, with yes or no in turn.
func (a *fuzzApp) serve() {
	ctx := context.Background()
	for n := a.answers; ; n++ {
		r, err := a.s.Accept(ctx)
		if err != nil {
			return
		}
		if n%8 == 7 {
			r.Reject(nil)
			continue
		}
		switch r := r.(type) {
		case *IncomingSubscribe:
			if p, err := r.Accept(AcceptSubscribe{Largest: largestAt(3, 4)}); err == nil {
				go a.send(p)
			}
		case *IncomingPublish:
			if sub, err := r.Accept(wire.Params{}); err == nil {
				go a.receive(sub)
			}
		case *IncomingFetch:
			go func() {
				if w, err := r.Accept(FetchOK{End: r.End}); err == nil {
					w.WriteObject(FetchObject{Group: r.Start.Group, Object: r.Start.Object}, []byte("x"))
					w.Close()
				}
			}()
		case *IncomingTrackStatus:
			r.Accept(TrackStatus{})
		case *IncomingPublishNamespace:
			r.Accept()
		case *IncomingSubscribeNamespace:
			r.Accept()
			r.Announce(ns("live", "a"))
			r.Withdraw(ns("live", "a"))
		case *IncomingSubscribeTracks:
			r.Accept()
			r.Blocked(trackA)
		case *IncomingPrefixUpdate:
			r.Accept()
		}
	}
}

func (a *fuzzApp) send(p *Publication) {
	for g := range uint64(3) {
		p.SendDatagram(Datagram{Group: g, Payload: []byte("x")})
		w, err := p.OpenSubgroup(p.Context(), SubgroupHeader{Group: g})
		if err != nil {
			continue
		}
		w.SetWriteDeadline(time.Now().Add(time.Second))
		w.WriteObject(ObjectHeader{}, make([]byte, 3000))
		if g == 1 {
			w.Close()
		}
	}
	p.Done(wire.DoneTrackEnded, "")
}

func (a *fuzzApp) receive(sub *Subscription) {
	for {
		in, err := sub.Next(context.Background())
		if err != nil {
			return
		}
		if in.Subgroup != nil {
			go func() {
				for {
					if _, err := in.Subgroup.Next(); err != nil {
						return
					}
					io.Copy(io.Discard, in.Subgroup)
				}
			}()
		}
	}
}

// act makes the application ask for something, for some time.
func (a *fuzzApp) act(what byte) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(what)*20*time.Millisecond)
	go func() {
		defer cancel()
		switch what % 9 {
		case 0, 1:
			if sub, err := a.s.Subscribe(ctx, SubscribeRequest{Track: fuzzTracks[what%2]}); err == nil {
				go a.receive(sub)
				sub.Update(ctx, wire.Params{Forward: wire.Some(false)})
				if r, err := a.s.Fetch(ctx, FetchRequest{Joining: sub}); err == nil {
					for {
						if _, err := r.Next(); err != nil {
							break
						}
						io.Copy(io.Discard, r)
					}
				}
				if what > 128 {
					sub.Close()
				}
			}
		case 2:
			if p, err := a.s.Publish(ctx, PublishRequest{Track: trackA}); err == nil {
				a.send(p)
			}
		case 3:
			if n, err := a.s.SubscribeNamespace(ctx, ns("live")); err == nil {
				n.Update(ctx, ns())
				n.Next(ctx)
				n.Close()
			}
		case 4:
			if t, err := a.s.SubscribeTracks(ctx, ns("live"), true); err == nil {
				t.Blocked(ctx)
				t.Close()
			}
		case 5:
			if ann, err := a.s.PublishNamespace(ctx, ns("live")); err == nil {
				<-ctx.Done()
				ann.Withdraw()
			}
		case 6:
			a.s.TrackStatus(ctx, trackA)
		case 7:
			if r, err := a.s.Fetch(ctx, FetchRequest{Track: trackA, End: loc(5, 0)}); err == nil {
				r.Update(ctx, wire.Params{})
				r.Next()
				r.Stop(0)
			}
		case 8:
			a.s.GoAway("", time.Duration(what)*time.Second)
		}
	}()
}

// begin puts a session with small limits and an application at one end of a pipe and the peer at the other. The first byte
// says which: with an odd one the session is the server's. done is closed when the session has ended.
func (p *fuzzPeer) begin(protocol string) (app *fuzzApp, first byte, done chan struct{}) {
	client, server := Pipe(PipeConfig{Protocol: protocol, StreamWindow: 2000, MaxStreams: 20, MaxUniStreams: 20})
	conn, peer := client, server
	first = p.byte()
	if first&1 == 1 {
		conn, peer = server, client
		p.nextID = 0
	}
	p.conn = peer
	p.s = New(conn, Config{MaxRequests: 8, PendingStreams: 4, SubgroupQueue: 4, IncomingDatagrams: 4, MaxNamespaces: 4, DatagramQueue: 2})
	done = make(chan struct{})
	go func() {
		p.s.Run(context.Background())
		close(done)
	}()
	app = &fuzzApp{s: p.s, answers: first}
	go app.serve()
	return app, first, done
}

// FuzzSession lets a peer do anything in any order. Whatever it does, the session must not panic, must end when the
// connection ends, and must leave no goroutine behind, which synctest checks.
func FuzzSession(f *testing.F) {
	f.Add([]byte{1, 7, 0, 1, 0, 1, 0, 0, 0, 1, 7, 5, 0, 1, 3})
	f.Add([]byte{0, 19, 0, 17, 9, 0, 0, 0, 0, 8, 3, 1, 3, 5, 0, 2, 9, 9, 9, 0, 0, 0, 0, 12, 2})
	f.Add([]byte{1, 7, 0, 0, 0, 0, 2, 9, 0, 0, 0, 0, 7, 1, 14, 0, 1})
	f.Add([]byte{1, 7, 1, 0, 0, 5, 0, 9, 0, 1, 0, 0, 17, 0, 12, 0})
	f.Add([]byte{0, 19, 7, 17, 9, 0, 0, 0, 0, 11, 5, 2, 0, 4, 28, 0, 0, 128, 0})
	f.Add([]byte{1, 15, 4, 0x0c, 0, 5, 'x', 6, 3, 0x3f, 0, 0, 0, 2, 0x70, 3, 5, 0, 1, 16, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			p := &fuzzPeer{t: t, data: data, nextID: 1}
			app, first, done := p.begin("")
			if first&2 == 0 {
				p.openUni([]byte{0xaf, 0, 0, 0})
			}
			synctest.Wait()
			for len(p.data) > 0 && p.s.Context().Err() == nil {
				p.step(app)
			}
			p.conn.Close(0, "")
			<-done
			time.Sleep(10 * time.Second) // what the application has begun is over by then
			p.s.mu.Lock()
			defer p.s.mu.Unlock()
			if p.s.open < 0 || p.s.openPeer < 0 {
				t.Errorf("%d open requests, %d of the peer", p.s.open, p.s.openPeer)
			}
		})
	})
}

// FuzzStreamBytes writes bytes on one kind of stream of a session with a subscription in each direction, in two pieces, and then ends
// the stream in one way or the other.
func FuzzStreamBytes(f *testing.F) {
	for kind := range byte(7) {
		f.Add(kind, byte(0), unhex(`30 07 05 00 03 "abc" 00 01 "d"`))
		f.Add(kind, byte(1), unhex(kvpSubscribe))
		f.Add(kind, byte(5), unhex(`05 02 1f 01 06 02 09 03 "abc"`))
		f.Add(kind, byte(6), unhex(`10 0003 00 00 01`))
		f.Add(kind, byte(2), unhex(`03 07 05 06 09 02 0209 "d"`))
		f.Add(kind, byte(4), unhex(`02 0003 06 01 1001`))
		f.Add(kind, byte(4), unhex(`0b 0003 02 01 00`))
		f.Add(kind, byte(4), unhex(`07 0001 00 07 0001 00`))
		f.Add(kind, byte(4), unhex(`18 0004 00 05 00 00`))
		f.Add(kind, byte(4), unhex(`f0132b3e28 0000`))
	}
	f.Fuzz(func(t *testing.T, kind, end byte, b []byte) {
		if len(b) > 2000 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			client, server := Pipe(PipeConfig{StreamWindow: 1 << 20})
			st := &sessionTest{T: t, conn: server, peer: client, done: make(chan struct{}), s: New(server, Config{})}
			go func() {
				st.err = st.s.Run(context.Background())
				close(st.done)
			}()
			st.setup("")
			app := &fuzzApp{s: st.s}
			_, in := st.subscribed(wire.Params{}, AcceptSubscribe{})
			sub, out := st.subscribing(wire.SubscribeOK{})
			go app.serve()
			go app.receive(sub)
			app.act(7 + 9*10) // FETCH
			fetch := st.acceptStream()

			var s *PipeStream
			switch kind % 7 {
			case 0:
				u, _ := st.peer.OpenUniStream(t.Context())
				s = u.(*PipeStream)
			case 1:
				u, _ := st.peer.OpenStream(t.Context())
				s = u.(*PipeStream)
			case 2:
				st.peer.SendDatagram(b)
				b = nil
				s = in.s
			case 3:
				s = st.out
			case 4:
				s = in.s
			case 5:
				s = out.s
			case 6:
				s = fetch.s
			}
			half := len(b) / 2
			s.Write(b[:half])
			synctest.Wait()
			s.Write(b[half:])
			synctest.Wait()
			switch end % 4 {
			case 0:
				s.Close()
			case 1:
				s.Reset(uint64(end))
			case 2:
				if s.in != nil {
					s.Stop(uint64(end))
				}
			}
			time.Sleep(time.Duration(end) * time.Second)
			client.Close(0, "")
			<-st.done
			time.Sleep(10 * time.Second) // what the application has begun is over by then
		})
	})
}
