package moqt

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Requests and streams that have ended leave nothing behind, however many there were.
func TestChurn(t *testing.T) {
	mandatory, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x4002, Uint: 1}}, testVersion)
	for name, cycle := range map[string]func(*sessionTest){
		"SUBSCRIBE, cancelled": func(st *sessionTest) {
			p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
			w, err := p.OpenSubgroup(st.Context(), SubgroupHeader{})
			if err != nil {
				st.Fatal(err)
			}
			w.WriteObject(ObjectHeader{}, []byte("x"))
			p.SendDatagram(Datagram{})
			st.wantDatagrams("", "0c"+hexVarint(p.Alias())+"00")
			ps.reset(wire.StreamCancelled)
			ps.stop(wire.StreamCancelled)
			st.acceptUni().wantReset("", wire.StreamCancelled)
		},
		"SUBSCRIBE, done": func(st *sessionTest) {
			p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
			p.Done(wire.DoneTrackEnded, "")
			ps.message("PUBLISH_DONE")
			ps.wantFIN("")
			ps.fin()
		},
		"SUBSCRIBE, never finished": func(st *sessionTest) {
			p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
			p.Done(wire.DoneTrackEnded, "")
			ps.message("PUBLISH_DONE")
			ps.wantFIN("")
			time.Sleep(lingerTimeout)
			ps.wantStopped("", wire.StreamCancelled)
		},
		"PUBLISH, refused here": func(st *sessionTest) {
			ps := st.request(&wire.Publish{RequestID: st.peerID(), Track: trackA, TrackAlias: 9, Properties: mandatory})
			ps.message("REQUEST_ERROR")
			ps.wantFIN("")
			ps.fin()
		},
		"PUBLISH, done": func(st *sessionTest) {
			ps := st.request(&wire.Publish{RequestID: st.peerID(), Track: trackA, TrackAlias: 9})
			sub, err := accept[*IncomingPublish](st).Accept(wire.Params{})
			if err != nil {
				st.Fatal(err)
			}
			ps.message("REQUEST_OK")
			st.openUni(`70 09 00 | 00 01 "a"`).Close()
			if readAll(st.next(sub)) == nil {
				st.Error("no end")
			}
			ps.send(&wire.PublishDone{StreamCount: 1})
			ps.fin()
			ps.wantFIN("")
			sub.Next(st.Context())
		},
		"our SUBSCRIBE, closed": func(st *sessionTest) {
			sub, ps := st.subscribing(wire.SubscribeOK{})
			s := st.openUni(`70 07 00 | 00 01 "a"`)
			sub.Close()
			ps.wantReset("", wire.StreamCancelled)
			wantStopped(st, "", s, wire.StreamCancelled)
		},
		"our FETCH": func(st *sessionTest) {
			a := background(st, func() (*FetchReader, error) {
				return st.s.Fetch(context.Background(), FetchRequest{Track: trackA, End: loc(1, 0)})
			})
			ps := st.acceptStream()
			id := ps.message("FETCH").(*wire.Fetch).RequestID
			ps.send(&wire.FetchOK{End: loc(1, 0)})
			ps.fin()
			s := st.openUni("05" + hexVarint(id))
			s.Close()
			a.ok("").Next()
			ps.wantFIN("")
		},
		"their FETCH": func(st *sessionTest) {
			ps := st.request(&wire.Fetch{RequestID: st.peerID(), FetchType: wire.FetchStandalone, Track: trackA, End: loc(1, 0)})
			w, err := accept[*IncomingFetch](st).Accept(FetchOK{End: loc(1, 0)})
			if err != nil {
				st.Fatal(err)
			}
			w.Close()
			ps.message("FETCH_OK")
			ps.wantFIN("")
			ps.fin()
			data := st.acceptUni()
			data.poll()
		},
		"namespaces": func(st *sessionTest) {
			ps := st.request(&wire.SubscribeNamespace{RequestID: st.peerID(), Prefix: ns("live")})
			req := accept[*IncomingSubscribeNamespace](st)
			req.Accept()
			ps.message("REQUEST_OK")
			req.Announce(ns("live", "x"))
			ps.message("NAMESPACE")
			ps.fin()
			ps.wantFIN("")
		},
		"unknown aliases": func(st *sessionTest) {
			s := st.openUni(`70 55 00 | 00 01 "a"`)
			st.peer.SendDatagram(unhex(`0c 55 01 "b"`))
			time.Sleep(defaultPendingTimeout)
			wantStopped(st, "", s, wire.StreamCancelled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				heap := func() uint64 {
					synctest.Wait()
					for range 3 {
						runtime.GC()
					}
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					return m.HeapAlloc
				}
				run := func(n int) {
					for range n {
						cycle(st)
					}
				}
				run(100)
				before, goroutines := heap(), runtime.NumGoroutine()
				cycles := int64(2000)
				if raceEnabled {
					cycles = 50 // the detector keeps memory of its own, so only the counts are looked at
				}
				run(int(cycles))
				after := heap()
				if grown := int64(after) - int64(before); grown > cycles*40 && !raceEnabled {
					st.Errorf("heap has grown by %d bytes, %d a cycle", grown, grown/cycles)
				}
				if n := runtime.NumGoroutine(); n > goroutines+2 {
					st.Errorf("%d goroutines, %d before", n, goroutines)
				}
				st.s.mu.Lock()
				defer st.s.mu.Unlock()
				if st.s.open != 0 || st.s.openPeer != 0 {
					st.Errorf("%d open requests, %d of the peer", st.s.open, st.s.openPeer)
				}
			})
		})
	}
}

func hexVarint(x uint64) string {
	const digits = "0123456789abcdef"
	var s []byte
	for _, b := range wire.AppendVarint(nil, x) {
		s = append(s, digits[b>>4], digits[b&15])
	}
	return string(s)
}
