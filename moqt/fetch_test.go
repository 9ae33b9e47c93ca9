package moqt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestFetch(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*FetchReader, error) {
			return st.s.Fetch(st.Context(), FetchRequest{Track: trackA, Start: loc(1, 2), End: loc(3, 0)})
		})
		ps := st.wantRequest("", &wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, Start: loc(1, 2), End: loc(3, 0)})
		a.wantBlocked("not answered")
		// "The FETCH_OK or REQUEST_ERROR can come at any time relative to object delivery."
		// [MOQT-18] Section 10.12.3, Fetch Handling
		s := st.openUni(`05 00 | 1f 01 06 02 09 03 "abc" | 01 01 "d"`)
		ps.send(&wire.FetchOK{End: loc(3, 5), EndOfTrack: true})
		ps.fin()
		r := a.ok("answered")
		if ok := r.OK(); ok.End != loc(3, 5) || !ok.EndOfTrack {
			st.Errorf("got %+v", ok)
		}
		o, err := r.Next()
		if err != nil || o.Group != 1 || o.Object != 2 || o.Subgroup != 6 || o.Priority != 9 || o.PayloadLen != 3 || o.Gap != 0 {
			st.Fatalf("got %+v, %v", o, err)
		}
		if b, err := io.ReadAll(r); string(b) != "abc" || err != nil {
			st.Errorf("got %q, %v", b, err)
		}
		if o, err = r.Next(); err != nil || o.Group != 1 || o.Object != 3 || o.Subgroup != 6 || o.Priority != 9 {
			st.Fatalf("got %+v, %v", o, err)
		}
		if b, err := r.ReadChunk(); string(b) != "d" || err != nil {
			st.Errorf("got %q, %v", b, err)
		}
		if _, err := r.ReadChunk(); err != io.EOF {
			st.Errorf("got %v", err)
		}
		next := background(st, func() (FetchObject, error) { return r.Next() })
		next.wantBlocked("nothing has come")
		st.write(s, `810c 02 07 | 808c 02 09`)
		if o := next.ok("range"); o.Gap != GapUnknown || o.Group != 2 || o.Object != 7 {
			st.Errorf("got %+v", o)
		}
		if o, err := r.Next(); err != nil || o.Gap != GapNonExistent || o.Group != 2 || o.Object != 9 {
			st.Errorf("got %+v, %v", o, err)
		}
		if r.Context().Err() != nil {
			st.Error("over before its end")
		}
		s.Close()
		if _, err := r.Next(); err != io.EOF {
			st.Errorf("got %v", err)
		}
		if cause := context.Cause(r.Context()); cause != io.EOF {
			st.Errorf("cause %v", cause)
		}
		ps.wantFIN("over")
		if len(st.s.registry.fetches) > 0 {
			st.Error("something is left")
		}
		wantStopped(st, "a second stream", st.openUni(`05 00`), wire.StreamCancelled)
	})
}

func TestFetchDescending(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		params := wire.Params{GroupOrder: wire.Some(wire.GroupOrderDescending)}
		a := background(st, func() (*FetchReader, error) {
			return st.s.Fetch(st.Context(), FetchRequest{Track: trackA, End: loc(9, 0), Params: params})
		})
		ps := st.acceptStream()
		ps.message("FETCH")
		ps.send(&wire.FetchOK{End: loc(9, 0)})
		st.openUni(`05 00 | 1c 09 00 80 00 | 0c 01 00 00`).Close()
		r := a.ok("")
		r.Next()
		if o, err := r.Next(); err != nil || o.Group != 7 {
			st.Errorf("got %+v, %v", o, err)
		}
		r.Next()
	})
}

func TestFetchJoining(t *testing.T) {
	for _, absolute := range []bool{false, true} {
		runSession(t, testSession{}, func(st *sessionTest) {
			sub, _ := st.subscribing(wire.SubscribeOK{Params: wire.Params{LargestObject: wire.Some(loc(5, 6))}})
			background(st, func() (*FetchReader, error) {
				return st.s.Fetch(st.s.Context(), FetchRequest{Joining: sub, JoiningStart: 1, Absolute: absolute})
			})
			want := &wire.Fetch{RequestID: 2, FetchType: wire.FetchRelativeJoining, JoiningStart: 1}
			if absolute {
				want.FetchType = wire.FetchAbsoluteJoining
			}
			st.wantRequest("", want)
		})
	}
}

func TestFetchFails(t *testing.T) {
	start := func(st *sessionTest) (*async[*FetchReader], *peerStream) {
		a := background(st, func() (*FetchReader, error) {
			return st.s.Fetch(context.Background(), FetchRequest{Track: trackA, Start: loc(1, 2), End: loc(3, 0)})
		})
		ps := st.acceptStream()
		ps.message("FETCH")
		return a, ps
	}
	runSession(t, testSession{}, func(st *sessionTest) {
		a, ps := start(st)
		s := st.openUni(`05 00 | 1c 01 02 80 00`) // "some Objects could be received even if the FETCH results in error"
		ps.send(&wire.RequestError{Code: wire.RequestInvalidRange})
		ps.fin()
		_, err := a.result("refused")
		wantRequestError(st, "refused", err, wire.RequestInvalidRange)
		wantStopped(st, "refused", s, wire.StreamCancelled)
		ps.wantFIN("refused")
	})
	for name, do := range map[string]func(*peerStream){
		"reset": func(ps *peerStream) { ps.reset(wire.StreamInternalError) },
		"FIN":   func(ps *peerStream) { ps.fin() },
	} {
		runSession(t, testSession{}, func(st *sessionTest) {
			a, ps := start(st)
			do(ps)
			if _, err := a.result(name); err == nil {
				st.Errorf("%s: no error", name)
			}
			if len(st.s.registry.fetches) > 0 {
				st.Error("something is left")
			}
		})
		// After the answer, a FIN is right and a reset ends it.
		runSession(t, testSession{}, func(st *sessionTest) {
			a, ps := start(st)
			ps.send(&wire.FetchOK{End: loc(3, 0)})
			r := a.ok("")
			next := background(st, func() (FetchObject, error) { return r.Next() })
			next.wantBlocked("no stream yet")
			do(ps)
			if name == "FIN" {
				ps.stop(wire.StreamCancelled) // some peers do both
				time.Sleep(time.Minute)
				next.wantBlocked("the stream is still to come")
				st.openUni(`05 00`).Close()
				if _, err := next.result(name); err != io.EOF {
					st.Errorf("got %v", err)
				}
				return
			}
			var se *StreamError
			if _, err := next.result(name); !errors.As(err, &se) || se.Code != uint64(wire.StreamInternalError) {
				st.Errorf("got %v", err)
			}
		})
	}
	// A stream that was reset before its header was there never comes.
	runSession(t, testSession{}, func(st *sessionTest) {
		a, ps := start(st)
		ps.send(&wire.FetchOK{End: loc(3, 0)})
		ps.fin()
		r := a.ok("")
		next := background(st, func() (FetchObject, error) { return r.Next() })
		time.Sleep(fetchStreamTimeout)
		if _, err := next.result("no stream"); err != ErrCancelled || len(st.s.registry.fetches) > 0 {
			st.Errorf("got %v", err)
		}
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		a, ps := start(st)
		ps.send(&wire.FetchOK{End: loc(3, 0)})
		s := st.openUni(`05 00 | 1c 01 02 80 05 "ab"`)
		r := a.ok("")
		r.Next()
		s.SetReliableBoundary()
		s.Reset(uint64(wire.StreamUnknownObjectStatus))
		_, err := io.Copy(io.Discard, r)
		var se *StreamError
		if !errors.As(err, &se) || se.Code != uint64(wire.StreamUnknownObjectStatus) {
			st.Errorf("got %v", err)
		}
		ps.wantReset("over", wire.StreamCancelled)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		a, ps := start(st)
		ps.send(&wire.FetchOK{End: loc(3, 0)})
		s := st.openUni(`05 00 | 1c 01 02 80 05 "ab"`)
		r := a.ok("")
		r.Next()
		r.ReadChunk()
		chunk := background(st, r.ReadChunk)
		chunk.wantBlocked("")
		r.Stop(wire.StreamTooFarBehind)
		if _, err := chunk.result("stopped"); err != ErrClosed {
			st.Errorf("got %v", err)
		}
		// "It MUST send STOP_SENDING for the bidi request stream." [MOQT-18] Section 5.2, Fetch State Management
		ps.wantStopped("stopped", wire.StreamTooFarBehind)
		wantStopped(st, "stopped", s, wire.StreamTooFarBehind)
	})
	runSession(t, testSession{}, func(st *sessionTest) {
		ctx, cancel := context.WithCancel(st.Context())
		a := background(st, func() (*FetchReader, error) { return st.s.Fetch(ctx, FetchRequest{Track: trackA, End: loc(1, 0)}) })
		ps := st.acceptStream()
		ps.message("FETCH")
		cancel()
		if _, err := a.result("given up"); !errors.Is(err, context.Canceled) {
			st.Errorf("got %v", err)
		}
		ps.wantStopped("given up", wire.StreamCancelled)
		wantStopped(st, "late", st.openUni(`05 00`), wire.StreamCancelled)
	})
	// "For FETCH_OK messages: the subscriber MUST cancel the fetch ..."
	// [MOQT-18] Section 2.5.1, Mandatory Track Properties
	runSession(t, testSession{}, func(st *sessionTest) {
		a, ps := start(st)
		mandatory, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x4002, Uint: 1}}, testVersion)
		ps.send(&wire.FetchOK{End: loc(3, 0), Properties: mandatory})
		_, err := a.result("refused here")
		wantRequestError(st, "refused here", err, wire.RequestUnsupportedExtension)
		ps.wantStopped("cancelled", wire.StreamCancelled)
	})
}

func TestFetchViolations(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []wire.Message
		streams  []string
	}{
		// "If End Location is smaller than the Start Location in the corresponding FETCH the receiver MUST close the session
		// with a PROTOCOL_VIOLATION." [MOQT-18] Section 10.13, FETCH_OK
		"end before start":      {[]wire.Message{&wire.FetchOK{End: loc(1, 1)}}, nil},
		"two answers":           {[]wire.Message{&wire.FetchOK{End: loc(3, 0)}, &wire.FetchOK{End: loc(3, 0)}}, nil},
		"SUBSCRIBE_OK":          {[]wire.Message{&wire.SubscribeOK{}}, nil},
		"REQUEST_OK":            {[]wire.Message{&wire.RequestOK{}}, nil},
		"PUBLISH_DONE":          {[]wire.Message{&wire.FetchOK{End: loc(3, 0)}, &wire.PublishDone{}}, nil},
		"two streams":           {nil, []string{`05 00`, `05 00`}},
		"never asked for":       {nil, []string{`05 04`}},
		"not ours":              {nil, []string{`05 01`}},
		"refers to nothing":     {nil, []string{`05 00 | 00 00`}},
		"unknown flags":         {nil, []string{`05 00 | 8080`}},
		"group overflow":        {nil, []string{`05 00 | 1c 01 02 80 00 | 08 ffffffffffffffffff 00`}},
		"subgroup of no object": {nil, []string{`05 00 | 1d 01 02 80 00`}},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				a := background(st, func() (*FetchReader, error) {
					return st.s.Fetch(context.Background(), FetchRequest{Track: trackA, Start: loc(1, 2), End: loc(3, 0)})
				})
				ps := st.acceptStream()
				ps.message("FETCH")
				for _, s := range tc.streams {
					st.openUni(s)
				}
				if tc.messages == nil {
					tc.messages = []wire.Message{&wire.FetchOK{End: loc(3, 0)}}
				}
				if st.s.Context().Err() == nil {
					ps.send(tc.messages...)
				}
				if st.s.Context().Err() == nil {
					r := a.ok("")
					for {
						if _, err := r.Next(); err != nil {
							break
						}
					}
				}
				st.wantClose("", wire.SessionProtocolViolation)
			})
		})
	}
	stream := unhex(`05 00 | 3c 01 02 80 02 0209 03 "abc"`)
	const header, first = 2, 13
	for n := range len(stream) + 1 {
		t.Run(fmt.Sprintf("FIN after %d", n), func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				a := background(st, func() (*FetchReader, error) {
					return st.s.Fetch(context.Background(), FetchRequest{Track: trackA, End: loc(3, 0)})
				})
				ps := st.acceptStream()
				ps.message("FETCH")
				ps.send(&wire.FetchOK{End: loc(3, 0)})
				st.openUni(fmt.Sprintf("%x", stream[:n])).Close()
				if n == 0 {
					st.wantAlive("a stream without a byte is nothing")
					return
				}
				if n >= header {
					r := a.ok("")
					_, err := r.Next()
					if err == nil {
						_, err = io.Copy(io.Discard, r)
					}
					if err == nil {
						_, err = r.Next()
					}
					if (err == io.EOF) != (n == header || n == first) {
						st.Errorf("got %v", err)
					}
				}
				if n == header || n == first {
					st.wantAlive("complete")
				} else {
					st.wantClose("cut", wire.SessionProtocolViolation)
				}
			})
		})
	}
}

func TestFetchUpdate(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		a := background(st, func() (*FetchReader, error) {
			return st.s.Fetch(st.Context(), FetchRequest{Track: trackA, End: loc(3, 0)})
		})
		ps := st.acceptStream()
		ps.message("FETCH")
		ps.send(&wire.FetchOK{End: loc(3, 0)})
		r := a.ok("")
		params := wire.Params{SubscriberPriority: wire.Some[uint8](3)}
		update := background(st, func() (int, error) { return 0, r.Update(st.Context(), params) })
		ps.wantMessage("", &wire.RequestUpdate{RequestID: 2, Params: params})
		ps.send(&wire.RequestOK{})
		update.ok("")
		if err := r.Update(st.Context(), wire.Params{Forward: wire.Some(true)}); err == nil {
			st.Error("a FETCH has no forward state")
		}
	})
}

func TestIncomingFetch(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, Start: loc(1, 2), End: loc(3, 0)})
		ps.fin() // will not change anything
		req := accept[*IncomingFetch](st)
		if req.Track != trackA || req.Start != loc(1, 2) || req.End != loc(3, 0) || req.Joining != nil {
			st.Errorf("got %+v", req)
		}
		if _, err := req.Accept(FetchOK{End: loc(1, 1)}); err == nil {
			st.Error("end before start")
		}
		w, err := req.Accept(FetchOK{End: loc(2, 5), EndOfTrack: true, Properties: wire.Properties{0x30, 1}})
		if err != nil {
			st.Fatal(err)
		}
		ps.wantMessage("", &wire.FetchOK{End: loc(2, 5), EndOfTrack: true, Properties: wire.Properties{0x30, 1}})
		w.WriteObject(FetchObject{Group: 1, Object: 2, Subgroup: 6, Priority: 9, Properties: wire.Properties{2, 9}}, []byte("abc"))
		w.WriteObject(FetchObject{Group: 1, Object: 3, Subgroup: 6, Priority: 9}, []byte("d"))
		w.WriteObject(FetchObject{Group: 1, Object: 9, Gap: GapUnknown}, nil)
		w.WriteObject(FetchObject{Group: 2, Object: 1, Gap: GapNonExistent}, nil)
		if err := w.WriteHeader(FetchObject{Group: 2, Object: 4, Datagram: true, Priority: 9, PayloadLen: 3}); err != nil {
			st.Fatal(err)
		}
		w.Write([]byte("e"))
		if err := w.WriteObject(FetchObject{Group: 3}, nil); err == nil {
			st.Error("object before the end of the one before")
		}
		if err := w.Close(); err == nil {
			st.Error("closed before the end of the last object")
		}
		if _, err := w.Write([]byte("fgh")); err == nil {
			st.Error("too much payload")
		}
		w.Write([]byte("fg"))
		if err := w.WriteObject(FetchObject{Group: 1}, nil); !errors.Is(err, wire.ErrInvalidValue) {
			st.Errorf("wrong order: %v", err)
		}
		if err := w.Close(); err != nil {
			st.Fatal(err)
		}
		data := st.acceptUni()
		if got := data.s.PeerPriorities(); len(got) == 0 || got[0] != 1 {
			st.Errorf("urgencies %v", got)
		}
		data.wantHex("", `05 00 | 3f 01 06 02 09 02 0209 03 "abc" | 01 01 "d" | 810c 01 09 | 808c 02 01 | 44 03 03 "efg"`)
		data.wantFIN("")
		ps.wantFIN("")
		if w.Context().Err() == nil {
			st.Error("goes on")
		}
		synctest.Wait()
		if st.s.priorities.ranking.Len() > 0 {
			st.Error("something is left")
		}
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(3, 0)})
		w, err := accept[*IncomingFetch](st).Accept(FetchOK{End: loc(2, 5)})
		if err != nil {
			st.Fatal(err)
		}
		ps.message("FETCH_OK")
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{SubscriberPriority: wire.Some[uint8](3)}})
		ps.wantMessage("update", &wire.RequestOK{})
		if w.Priority() != 3 {
			st.Errorf("priority %d", w.Priority())
		}
		// "If no Objects exist in the requested range, the publisher opens the unidirectional stream, sends the FETCH_HEADER
		// ... and closes the stream with a FIN." [MOQT-18] Section 10.12.3, Fetch Handling
		w.Close()
		data := st.acceptUni()
		data.wantHex("nothing", `05 00`)
		data.wantFIN("")
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(3, 0)})
		w, _ := accept[*IncomingFetch](st).Accept(FetchOK{End: loc(2, 5)})
		big := bytes.Repeat([]byte("x"), 5000)
		if err := w.WriteObject(FetchObject{}, big); err != nil {
			st.Fatal(err)
		}
		w.Reset(wire.StreamUnknownObjectStatus)
		w.Reset(wire.StreamInternalError)
		st.acceptUni().wantReset("", wire.StreamUnknownObjectStatus)
		ps.message("FETCH_OK")
		ps.wantFIN("")
		if err := w.WriteObject(FetchObject{Object: 1}, nil); err == nil {
			st.Error("written after reset")
		}
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(3, 0)})
		accept[*IncomingFetch](st).Reject(&RequestError{Code: wire.RequestDoesNotExist})
		ps.wantMessage("", &wire.RequestError{Code: wire.RequestDoesNotExist})
		ps.wantFIN("")
		ps = st.requestBytes(unhex(`16 0015 02 01 02 04"live" 01"a" 05"video" 03 02 03 02 00`)) // from {3, 2} to before {3, 2}
		if m, ok := ps.message("empty range").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidRange {
			st.Errorf("got %+v", m)
		}
	})
	// "The Publisher can destroy fetch state as soon as it has received a STOP_SENDING. It MUST reset the bidi request stream
	// and unidirectional data stream associated with the FETCH." [MOQT-18] Section 5.2, Fetch State Management
	for name, leave := range map[string]func(*peerStream){
		"stop":  func(ps *peerStream) { ps.stop(wire.StreamCancelled) },
		"reset": func(ps *peerStream) { ps.reset(wire.StreamCancelled) },
	} {
		runSession(t, testSession{server: true}, func(st *sessionTest) {
			ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(3, 0)})
			w, _ := accept[*IncomingFetch](st).Accept(FetchOK{End: loc(2, 5)})
			w.WriteObject(FetchObject{}, []byte("x"))
			leave(ps)
			st.acceptUni().wantReset(name, wire.StreamCancelled)
			if w.Context().Err() == nil {
				st.Errorf("%s: goes on", name)
			}
			if err := w.WriteObject(FetchObject{Object: 1}, nil); err == nil {
				st.Error("written after the end")
			}
			if err := w.Close(); err == nil {
				st.Error("closed after the end")
			}
		})
		runSession(t, testSession{server: true}, func(st *sessionTest) {
			ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(3, 0)})
			req := accept[*IncomingFetch](st)
			leave(ps)
			if _, err := req.Accept(FetchOK{End: loc(2, 5)}); err == nil {
				st.Errorf("%s: accepted", name)
			}
		})
	}
}

func TestIncomingFetchBlocked(t *testing.T) {
	ts := testSession{server: true, pipe: PipeConfig{MaxUniStreams: 1}} // the control stream
	runSession(t, ts, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{FetchType: wire.FetchStandalone, Track: trackA, End: loc(3, 0)})
		req := accept[*IncomingFetch](st)
		w := background(st, func() (*FetchWriter, error) { return req.Accept(FetchOK{End: loc(2, 5)}) })
		w.wantBlocked("no stream is free")
		ps.message("but it is answered")
		ps.stop(wire.StreamCancelled)
		if _, err := w.result("cancelled"); err == nil {
			st.Error("opened")
		}
	})
}

func TestIncomingFetchJoining(t *testing.T) {
	for _, tc := range []struct {
		name    string
		largest func() (wire.Location, bool)
		params  wire.Params
		fetch   wire.Fetch
		start   wire.Location
		end     wire.Location
		refused wire.RequestCode
	}{
		{"relative", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining, JoiningStart: 2}, loc(3, 0), loc(5, 7), 0},
		{"this group", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining}, loc(5, 0), loc(5, 7), 0},
		{"before the first group", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining, JoiningStart: 6}, loc(0, 0), loc(5, 7), 0},
		{"absolute", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchAbsoluteJoining, JoiningStart: 4}, loc(4, 0), loc(5, 7), 0},
		{"last object of all", largestAt(5, 1<<64-1), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining}, loc(5, 0), loc(5, 0), 0},
		{"in the future", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchAbsoluteJoining, JoiningStart: 6}, loc(0, 0), loc(0, 0), wire.RequestInvalidRange},
		{"no objects", nil, wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining}, loc(0, 0), loc(0, 0), wire.RequestInvalidRange},
		{"not forwarding", largestAt(5, 6), wire.Params{Forward: wire.Some(false)}, wire.Fetch{FetchType: wire.FetchRelativeJoining}, loc(0, 0), loc(0, 0), wire.RequestInvalidRange},
		{"unknown id", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining, JoiningRequestID: 1}, loc(0, 0), loc(0, 0), wire.RequestInvalidJoiningRequestID},
		{"its own id", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining, JoiningRequestID: 2}, loc(0, 0), loc(0, 0), wire.RequestInvalidJoiningRequestID},
		{"later id", largestAt(5, 6), wire.Params{}, wire.Fetch{FetchType: wire.FetchRelativeJoining, JoiningRequestID: 4}, loc(0, 0), loc(0, 0), wire.RequestInvalidJoiningRequestID},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				p, _ := st.subscribed(tc.params, AcceptSubscribe{Largest: tc.largest})
				tc.fetch.RequestID = 2
				ps := st.request(&tc.fetch)
				if tc.refused != 0 {
					if m, ok := ps.message("refused").(*wire.RequestError); !ok || m.Code != tc.refused {
						st.Errorf("got %+v", m)
					}
					return
				}
				req := accept[*IncomingFetch](st)
				if req.Track != trackA || req.Joining != p || req.Start != tc.start || req.End != tc.end {
					st.Errorf("got %+v", req)
				}
			})
		})
	}
	// "... if that subscription has not yet been established, the Publisher receiving the Joining Fetch buffers the pending
	// Joining Fetch until either the Subscription is established or the request times out."
	// [MOQT-18] Section 10.12.2, Joining Fetches
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.Subscribe{Track: trackA})
		sub := accept[*IncomingSubscribe](st)
		ps := st.request(&wire.Fetch{RequestID: 2, FetchType: wire.FetchRelativeJoining})
		st.wantNoRequest("the subscription is pending")
		sub.Accept(AcceptSubscribe{Largest: largestAt(5, 6)})
		req := accept[*IncomingFetch](st)
		if req.Start != loc(5, 0) || req.End != loc(5, 7) {
			st.Errorf("got %+v", req)
		}
		ps.wantIdle("up to the application")
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.Subscribe{Track: trackA})
		accept[*IncomingSubscribe](st)
		ps := st.request(&wire.Fetch{RequestID: 2, FetchType: wire.FetchRelativeJoining})
		time.Sleep(joinTimeout)
		if m, ok := ps.message("too late").(*wire.RequestError); !ok || m.Code != wire.RequestTimeout {
			st.Errorf("got %+v", m)
		}
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.Subscribe{Track: trackA})
		sub := accept[*IncomingSubscribe](st)
		ps := st.request(&wire.Fetch{RequestID: 2, FetchType: wire.FetchRelativeJoining})
		sub.Reject(nil)
		if m, ok := ps.message("refused with it").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidJoiningRequestID {
			st.Errorf("got %+v", m)
		}
	})
	// The FETCH overtakes its SUBSCRIBE: streams race.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		st.request(&wire.Fetch{RequestID: 2, FetchType: wire.FetchRelativeJoining})
		st.wantNoRequest("the SUBSCRIBE is to come")
		st.request(&wire.Subscribe{RequestID: 0, Track: trackA})
		accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{Largest: largestAt(5, 6)})
		accept[*IncomingFetch](st)
	})
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		ps := st.request(&wire.Fetch{RequestID: 2, FetchType: wire.FetchRelativeJoining})
		time.Sleep(joinRaceTimeout)
		if m, ok := ps.message("it never came").(*wire.RequestError); !ok || m.Code != wire.RequestInvalidJoiningRequestID {
			st.Errorf("got %+v", m)
		}
	})
	// A PUBLISH can be joined, too, by its id.
	runSession(t, testSession{}, func(st *sessionTest) {
		pub := background(st, func() (*Publication, error) {
			return st.s.Publish(st.Context(), PublishRequest{Track: trackA, Largest: largestAt(5, 6)})
		})
		ps := st.acceptStream()
		ps.message("PUBLISH")
		st.request(&wire.Fetch{RequestID: 1, FetchType: wire.FetchRelativeJoining, JoiningRequestID: 0})
		st.wantNoRequest("the answer may be on its way")
		ps.send(&wire.RequestOK{})
		if req := accept[*IncomingFetch](st); req.Joining != pub.ok("") {
			st.Errorf("got %+v", req)
		}
	})
	// An update that began to forward moves the joining location.
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		at := loc(5, 6)
		largest := func() (wire.Location, bool) { return at, true }
		_, ps := st.subscribed(wire.Params{Forward: wire.Some(false)}, AcceptSubscribe{Largest: largest})
		at = loc(8, 1)
		ps.send(&wire.RequestUpdate{RequestID: 2, Params: wire.Params{Forward: wire.Some(true)}})
		ps.wantMessage("", &wire.RequestOK{Params: wire.Params{LargestObject: wire.Some(at)}})
		at = loc(9, 9)
		st.request(&wire.Fetch{RequestID: 4, FetchType: wire.FetchRelativeJoining})
		if req := accept[*IncomingFetch](st); req.End != loc(8, 2) {
			st.Errorf("got %+v", req)
		}
	})
}
