package moqt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

func TestSubgroupWriter(t *testing.T) {
	big := strings.Repeat("B", 5000)
	for _, tc := range []struct {
		name   string
		header SubgroupHeader
		write  func(*SubgroupWriter)
		want   string
	}{
		{"plain", SubgroupHeader{Group: 5}, func(w *SubgroupWriter) {
			w.WriteObject(ObjectHeader{ID: 0}, []byte("abc"))
			w.WriteObject(ObjectHeader{ID: 1}, []byte("d"))
			w.WriteObject(ObjectHeader{ID: 4}, nil)
			w.Close()
		}, `30 01 05 | 00 03 "abc" | 00 01 "d" | 02 00 00`},
		{"all of it", SubgroupHeader{
			Group: 5, Subgroup: 6, Priority: 7, HasPriority: true, Properties: true, EndOfGroup: true, FirstObject: true,
		}, func(w *SubgroupWriter) {
			w.WriteObject(ObjectHeader{ID: 3, Properties: wire.Properties{2, 9}}, []byte("a"))
			w.WriteObject(ObjectHeader{ID: 4, Status: wire.ObjectEndOfGroup}, nil)
			w.Close()
		}, `5d 01 05 06 07 | 03 02 0209 01 "a" | 00 00 00 03`},
		{"encoded before", SubgroupHeader{Group: 5}, func(w *SubgroupWriter) {
			w.Write(unhex(`00 03 "a`))
			w.Write([]byte("bc"))
			w.Close()
		}, `30 01 05 | 00 03 "abc"`},
		{"large first object", SubgroupHeader{}, func(w *SubgroupWriter) {
			w.WriteObject(ObjectHeader{}, []byte(big))
			w.Close()
		}, `30 01 00 | 00 9388 "` + big + `"`},
		{"large first write", SubgroupHeader{}, func(w *SubgroupWriter) {
			w.Write(append(unhex("00 9388"), big...))
			w.Close()
		}, `30 01 00 | 00 9388 "` + big + `"`},
		{"no object", SubgroupHeader{Group: 5}, func(w *SubgroupWriter) { w.Close() }, `30 01 05`},
		{"wrong object first", SubgroupHeader{Group: 5}, func(w *SubgroupWriter) {
			if err := w.WriteObject(ObjectHeader{Properties: wire.Properties{2, 9}}, nil); !errors.Is(err, wire.ErrInvalidValue) {
				panic(err)
			}
			w.WriteObject(ObjectHeader{}, []byte("a"))
			w.Close()
		}, `30 01 05 | 00 01 "a"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runSession(t, testSession{server: true}, func(st *sessionTest) {
				p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
				w, err := p.OpenSubgroup(st.Context(), tc.header)
				if err != nil {
					st.Fatal(err)
				}
				tc.write(w)
				data := st.acceptUni()
				data.wantHex("", tc.want)
				data.wantFIN("")
				if w.Context().Err() == nil {
					st.Error("stream goes on")
				}
				synctest.Wait()
				if len(p.writers) > 0 || st.s.priorities.ranking.Len() > 0 {
					st.Error("something is left")
				}
				if err := w.WriteObject(ObjectHeader{ID: 9}, []byte("x")); err == nil {
					st.Error("written after the end")
				}
			})
		})
	}
}

// The header and the first object go out in one piece.
func TestSubgroupHeaderIsHeld(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		w, err := p.OpenSubgroup(st.Context(), SubgroupHeader{})
		if err != nil {
			st.Fatal(err)
		}
		synctest.Wait()
		out := w.stream.(*PipeStream)
		if out.out.sent != 0 {
			st.Fatalf("%d bytes went out without an object", out.out.sent)
		}
		w.Write(unhex(`00 01 "a"`))
		if out.out.sent != 6 || out.out.boundary != 6 {
			st.Errorf("sent %d bytes, %d survive a reset", out.out.sent, out.out.boundary)
		}
		w.Write(unhex(`00 01 "b"`))
		if out.out.boundary != 6 {
			st.Errorf("%d bytes survive a reset", out.out.boundary)
		}
	})
}

func TestSubgroupReset(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		for i, write := range []func(*SubgroupWriter){
			func(*SubgroupWriter) {},
			func(w *SubgroupWriter) { w.WriteObject(ObjectHeader{}, []byte("x")) },
		} {
			w, err := p.OpenSubgroup(st.Context(), SubgroupHeader{Group: uint64(i)})
			if err != nil {
				st.Fatal(err)
			}
			write(w)
			w.Reset(wire.StreamDeliveryTimeout)
			w.Reset(wire.StreamInternalError)
			data := st.acceptUni()
			data.wantReset("", wire.StreamDeliveryTimeout)
			if want := unhex(fmt.Sprintf("30 01 %02x", i)); !bytes.HasPrefix(data.buf, want) {
				st.Errorf("header was lost: %x", data.buf)
			}
			if _, err := w.Write([]byte("x")); err == nil {
				st.Error("written after reset")
			}
			if err := w.Close(); err == nil {
				st.Error("closed after reset")
			}
		}
		// The subscriber does not want it.
		w, _ := p.OpenSubgroup(st.Context(), SubgroupHeader{})
		w.Write([]byte{0, 1})
		data := st.acceptUni()
		data.stop(wire.StreamTooFarBehind)
		if w.Context().Err() == nil {
			st.Error("stream goes on")
		}
		var se *StreamError
		if _, err := w.Write([]byte{1}); !errors.As(err, &se) || !se.Remote || se.Code != uint64(wire.StreamTooFarBehind) {
			st.Errorf("got %v", err)
		}
		if p.Context().Err() != nil {
			st.Error("the subscription has ended")
		}
	})
}

func TestOpenSubgroupBlocks(t *testing.T) {
	ts := testSession{server: true, pipe: PipeConfig{MaxUniStreams: 2}} // one is the control stream
	runSession(t, ts, func(st *sessionTest) {
		p, ps := st.subscribed(wire.Params{}, AcceptSubscribe{})
		first, err := p.OpenSubgroup(st.Context(), SubgroupHeader{})
		if err != nil {
			st.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(st.Context(), time.Second)
		defer cancel()
		if _, err := p.OpenSubgroup(ctx, SubgroupHeader{Group: 1}); !errors.Is(err, context.DeadlineExceeded) {
			st.Errorf("got %v", err)
		}
		second := background(st, func() (*SubgroupWriter, error) {
			return p.OpenSubgroup(context.Background(), SubgroupHeader{Group: 1})
		})
		second.wantBlocked("no stream is free")
		first.Close()
		data := st.acceptUni()
		data.wantHex("", "30 01 00")
		second.ok("one is free")

		// The subscription ends while a stream is waited for.
		third := background(st, func() (*SubgroupWriter, error) {
			return p.OpenSubgroup(context.Background(), SubgroupHeader{Group: 2})
		})
		third.wantBlocked("no stream is free")
		ps.stop(wire.StreamCancelled)
		st.acceptUni().wantReset("", wire.StreamCancelled)
		if _, err := third.result("ended"); err == nil {
			st.Error("opened")
		}
		if p.streams != 2 {
			st.Errorf("%d streams counted", p.streams)
		}
	})
}

func TestSubgroupWriteDeadline(t *testing.T) {
	runSession(t, testSession{server: true, pipe: PipeConfig{StreamWindow: 100}}, func(st *sessionTest) {
		p, _ := st.subscribed(wire.Params{}, AcceptSubscribe{})
		w, _ := p.OpenSubgroup(st.Context(), SubgroupHeader{})
		w.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := w.Write(make([]byte, 200)); !errors.Is(err, os.ErrDeadlineExceeded) {
			st.Errorf("got %v", err)
		}
		// A writer that is blocked does not keep Reset from its work.
		w.SetWriteDeadline(time.Time{})
		write := background(st, func() (int, error) { return w.Write(make([]byte, 200)) })
		write.wantBlocked("no window")
		w.Reset(wire.StreamTooFarBehind)
		var se *StreamError
		if _, err := write.result("reset"); !errors.As(err, &se) {
			st.Errorf("got %v", err)
		}
	})
}

// wantUrgencies checks the urgencies of streams as they are now.
func wantUrgencies(st *sessionTest, why string, want map[*SubgroupWriter]uint8) {
	st.Helper()
	synctest.Wait()
	for w, u := range want {
		got := w.stream.(*PipeStream).Priorities()
		if got[len(got)-1] != u {
			st.Errorf("%s: group %d has urgency %d, want %d", why, w.head.Group, got[len(got)-1], u)
		}
	}
}

func TestPriorities(t *testing.T) {
	runSession(t, testSession{server: true}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{DefaultPriority: wire.Some[uint8](4)}).Properties(testVersion)
		p, ps := st.subscribed(wire.Params{SubscriberPriority: wire.Some[uint8](100)}, AcceptSubscribe{Properties: props})
		other := st.request(&wire.Subscribe{RequestID: 2, Track: trackB, Params: wire.Params{SubscriberPriority: wire.Some[uint8](50)}})
		q, err := accept[*IncomingSubscribe](st).Accept(AcceptSubscribe{})
		if err != nil {
			st.Fatal(err)
		}
		other.message("SUBSCRIBE_OK")
		open := func(p *Publication, h SubgroupHeader) *SubgroupWriter {
			w, err := p.OpenSubgroup(st.Context(), h)
			if err != nil {
				st.Fatal(err)
			}
			return w
		}
		g1 := open(p, SubgroupHeader{Group: 1})
		audio := open(p, SubgroupHeader{Group: 1, Subgroup: 1, Priority: 2, HasPriority: true})
		g2 := open(p, SubgroupHeader{Group: 2})
		wantUrgencies(st, "publisher priority, then group", map[*SubgroupWriter]uint8{audio: 1, g1: 2, g2: 3})
		urgent := open(q, SubgroupHeader{Group: 9})
		wantUrgencies(st, "subscriber priority first", map[*SubgroupWriter]uint8{urgent: 1, audio: 2, g1: 3, g2: 4})
		ps.send(&wire.RequestUpdate{RequestID: 4, Params: wire.Params{SubscriberPriority: wire.Some[uint8](1)}})
		wantUrgencies(st, "updated", map[*SubgroupWriter]uint8{audio: 1, g1: 2, g2: 3, urgent: 4})
		audio.Close()
		g1.Reset(wire.StreamCancelled)
		wantUrgencies(st, "an abandoned stream goes at once, of one that was closed something may be left",
			map[*SubgroupWriter]uint8{g2: 2, urgent: 3})
		time.Sleep(time.Second)
		for _, w := range []*SubgroupWriter{urgent, g2} {
			w.WriteObject(ObjectHeader{}, nil)
		}
		wantUrgencies(st, "streams go", map[*SubgroupWriter]uint8{g2: 1, urgent: 2})
		if first := g2.stream.(*PipeStream).Priorities()[0]; first == 0 {
			st.Error("a data stream had the urgency of control streams")
		}
		if got := ps.s.PeerPriorities(); len(got) != 1 || got[0] != 0 {
			st.Errorf("urgencies of a request stream: %v", got)
		}
		if got := st.in.s.PeerPriorities(); len(got) != 1 || got[0] != 0 {
			st.Errorf("urgencies of the control stream: %v", got)
		}
	})
}

// next takes a subgroup.
func (st *sessionTest) next(sub *Subscription) *SubgroupReader {
	st.Helper()
	ctx, cancel := context.WithTimeout(st.Context(), time.Second)
	defer cancel()
	in, err := sub.Next(ctx)
	if err != nil || in.Subgroup == nil {
		st.Fatalf("got %+v, %v", in, err)
	}
	return in.Subgroup
}

func TestSubgroupReader(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		props, _ := (&wire.TrackProperties{DefaultPriority: wire.Some[uint8](4)}).Properties(testVersion)
		sub, _ := st.subscribing(wire.SubscribeOK{Properties: props})
		s := st.openUni(`5d 07 05 06 09 | 03 02 0209 03 "abc" | 00 00 01 "d" | 01 00 00 03`)
		r := st.next(sub)
		want := SubgroupHeader{Group: 5, Subgroup: 6, Priority: 9, HasPriority: true, Properties: true, EndOfGroup: true, FirstObject: true}
		if got := r.Header(); got != want || !r.SubgroupKnown() {
			st.Errorf("\n got %+v\nwant %+v", got, want)
		}
		o, err := r.Next()
		if err != nil || o.ID != 3 || string(o.Properties) != "\x02\x09" || o.PayloadLen != 3 {
			st.Fatalf("got %+v, %v", o, err)
		}
		b, err := io.ReadAll(r)
		if string(b) != "abc" || err != nil {
			st.Errorf("got %q, %v", b, err)
		}
		if o, err = r.Next(); err != nil || o.ID != 4 || o.Properties != nil {
			st.Fatalf("got %+v, %v", o, err)
		}
		// Not read: Next skips it.
		if o, err = r.Next(); err != nil || o.ID != 6 || o.Status != wire.ObjectEndOfGroup || o.PayloadLen != 0 {
			st.Fatalf("got %+v, %v", o, err)
		}
		if b, err := r.ReadChunk(); b != nil || err != io.EOF {
			st.Errorf("payload of a status: %q, %v", b, err)
		}
		next := background(st, func() (ObjectHeader, error) { return r.Next() })
		next.wantBlocked("more may come")
		s.Close()
		if _, err := next.result("FIN"); err != io.EOF {
			st.Errorf("got %v", err)
		}
		if _, err := r.Next(); err != io.EOF {
			st.Errorf("again: %v", err)
		}
		if len(sub.readers) > 0 {
			st.Error("something is left")
		}

		// Default priority, and the subgroup is the first object's id.
		st.openUni(`32 07 05 | 08 01 "a"`).Close()
		r = st.next(sub)
		if r.SubgroupKnown() {
			st.Error("subgroup is known before the first object")
		}
		if _, err := r.Next(); err != nil {
			st.Fatal(err)
		}
		if got := r.Header(); got.Subgroup != 8 || got.Priority != 4 || got.HasPriority || !r.SubgroupKnown() {
			st.Errorf("got %+v", got)
		}
		r.Next()
	})
}

// A payload is handed on while it arrives, and pieces may be cut anywhere.
func TestSubgroupReaderCutThrough(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		s := st.openUni(`30 07 05 | 00 a710`) // 10000 bytes
		r := st.next(sub)
		if o, err := r.Next(); err != nil || o.PayloadLen != 10000 {
			st.Fatalf("got %+v, %v", o, err)
		}
		var got []byte
		for i := range 10 {
			chunk := background(st, r.ReadChunk)
			chunk.wantBlocked("nothing has come")
			piece := bytes.Repeat([]byte{byte(i)}, 1000)
			s.Write(piece)
			got = append(got, chunk.ok("what has come")...)
			if len(got) != 1000*(i+1) {
				st.Fatalf("%d bytes after %d pieces", len(got), i+1)
			}
		}
		if _, err := r.ReadChunk(); err != io.EOF {
			st.Errorf("got %v", err)
		}
		for i, b := range got {
			if b != byte(i/1000) {
				st.Fatalf("byte %d is %d", i, b)
			}
		}
	})
}

// Whatever the pieces, the objects are the same.
func TestSubgroupReaderPieces(t *testing.T) {
	var stream []byte
	header := wire.SubgroupHeader{TrackAlias: 7, GroupID: 1 << 40, IDMode: wire.SubgroupIDExplicit, SubgroupID: 1 << 30, HasProperties: true}
	stream = header.Append(stream, testVersion)
	cursor := header.Cursor()
	sizes := []int{0, 1, 100, 40000, 3, 16384, 0, 70000}
	for i, n := range sizes {
		props, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x1001, Bytes: make([]byte, n)}}, testVersion)
		if n > 65535 {
			props = nil
		}
		stream, _ = cursor.Append(stream, &wire.ObjectHeader{ID: uint64(i * i), Properties: props, PayloadLen: uint64(n)}, testVersion)
		stream = append(stream, bytes.Repeat([]byte{byte(i)}, n)...)
	}
	for _, size := range []int{1, 7, 1000, 16384, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			runSession(t, testSession{pipe: PipeConfig{StreamWindow: max(size, 100)}}, func(st *sessionTest) {
				sub, _ := st.subscribing(wire.SubscribeOK{})
				go func() {
					s, _ := st.peer.OpenUniStream(st.s.Context())
					for b := stream; len(b) > 0; {
						n := min(size, len(b))
						s.Write(b[:n])
						b = b[n:]
					}
					s.Close()
				}()
				r := st.next(sub)
				for i, n := range sizes {
					o, err := r.Next()
					if err != nil || o.ID != uint64(i*i) || o.PayloadLen != uint64(n) {
						st.Fatalf("object %d: %+v, %v", i, o, err)
					}
					want := n
					if n <= 65535 {
						want += len("\x90\x01") + len(wire.AppendVarint(nil, uint64(n)))
					} else {
						want = 0
					}
					if len(o.Properties) != want {
						st.Fatalf("object %d: %d bytes of properties, want %d", i, len(o.Properties), want)
					}
					b, err := io.ReadAll(r)
					if err != nil || len(b) != n || bytes.Count(b, []byte{byte(i)}) != n {
						st.Fatalf("object %d: %d bytes, %v", i, len(b), err)
					}
				}
				if _, err := r.Next(); err != io.EOF {
					st.Errorf("got %v", err)
				}
			})
		})
	}
}

// Each way a subgroup stream can end, at each point.
func TestSubgroupEnds(t *testing.T) {
	stream := unhex(`5d 07 05 06 09 | 03 02 0209 03 "abc" | 00 00 01 "d"`)
	const header, first, all = 5, 13, 17
	for n := range len(stream) + 1 {
		// "If a stream ends gracefully ... in the middle of a serialized Object, the session SHOULD be closed with a
		// PROTOCOL_VIOLATION." [MOQT-18] Section 11.4, Streams
		t.Run(fmt.Sprintf("FIN after %d", n), func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				sub, _ := st.subscribing(wire.SubscribeOK{})
				st.openUni(fmt.Sprintf("%x", stream[:n])).Close()
				clean := n == 0 || n == header || n == first || n == all
				if n < header {
					if !clean {
						st.wantClose("in the header", wire.SessionProtocolViolation)
					} else {
						st.wantAlive("a stream without a byte is nothing")
					}
					return
				}
				err := readAll(st.next(sub))
				if clean {
					if err != io.EOF {
						st.Errorf("got %v", err)
					}
					st.wantAlive("complete")
					return
				}
				var se *SessionError
				if !errors.As(err, &se) {
					st.Errorf("got %v", err)
				}
				st.wantClose("in an object", wire.SessionProtocolViolation)
			})
		})
		t.Run(fmt.Sprintf("reset after %d", n), func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				sub, _ := st.subscribing(wire.SubscribeOK{})
				s := st.openUni(fmt.Sprintf("%x", stream[:n]))
				s.SetReliableBoundary()
				s.Reset(uint64(wire.StreamDeliveryTimeout))
				st.wantAlive("resets are no fault")
				if n < header {
					if got := st.s.Stats().StreamsResetEarly; got != 1 {
						st.Errorf("%d early resets", got)
					}
					return
				}
				var se *StreamError
				if err := readAll(st.next(sub)); !errors.As(err, &se) || se.Code != uint64(wire.StreamDeliveryTimeout) {
					st.Errorf("got %v", err)
				}
				st.wantAlive("resets are no fault")
			})
		})
	}
}

// readAll reads a stream to its end and returns why it ended.
func readAll(r *SubgroupReader) error {
	for {
		if _, err := r.Next(); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return err
		}
	}
}

func TestSubgroupGarbage(t *testing.T) {
	for name, tc := range map[string]struct {
		stream string
		want   wire.SessionCode
	}{
		"mode 3":              {"36 07 05", wire.SessionProtocolViolation},
		"status 1":            {"30 07 05 | 00 00 01", wire.SessionProtocolViolation},
		"status with props":   {"31 07 05 | 00 02 0209 00 03", wire.SessionProtocolViolation},
		"id overflow":         {"30 07 05 | ffffffffffffffffff 00 00 | 00 00 00", wire.SessionProtocolViolation},
		"id overflow by more": {"30 07 05 | 05 00 00 | ffffffffffffffffff 00 00", wire.SessionProtocolViolation},
	} {
		t.Run(name, func(t *testing.T) {
			runSession(t, testSession{}, func(st *sessionTest) {
				sub, _ := st.subscribing(wire.SubscribeOK{})
				st.openUni(tc.stream)
				if name != "mode 3" {
					readAll(st.next(sub))
				}
				st.wantClose("", tc.want)
			})
		})
	}
	// Lengths that are huge but allowed cost nothing.
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		st.openUni(`30 07 05 | 00 ffffffffffffffffff "abc"`)
		r := st.next(sub)
		if o, err := r.Next(); err != nil || o.PayloadLen != 1<<64-1 {
			st.Fatalf("got %+v, %v", o, err)
		}
		if b, err := r.ReadChunk(); string(b) != "abc" || err != nil {
			st.Errorf("got %q, %v", b, err)
		}
		r.Stop(wire.StreamExcessiveLoad)

		props := st.openUni(`31 07 06 | 00 ffffffffffffffffff`)
		if err := readAll(st.next(sub)); !errors.Is(err, wire.ErrTooLarge) {
			st.Errorf("got %v", err)
		}
		wantStopped(st, "properties above the limit", props, wire.StreamExcessiveLoad)
		if n := st.s.Stats().StreamsOversized; n != 1 {
			st.Errorf("%d streams were counted as oversized", n)
		}
		st.wantAlive("")
	})
}

func TestSubgroupStop(t *testing.T) {
	runSession(t, testSession{}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		s := st.openUni(`30 07 05 | 00 05 "ab"`)
		r := st.next(sub)
		r.Next()
		r.ReadChunk()
		chunk := background(st, r.ReadChunk)
		chunk.wantBlocked("nothing has come")
		r.Stop(wire.StreamTooFarBehind)
		if _, err := chunk.result("stopped"); err == nil || err == io.EOF {
			st.Errorf("got %v", err)
		}
		wantStopped(st, "", s, wire.StreamTooFarBehind)
		if sub.Context().Err() != nil {
			st.Error("the subscription has ended")
		}

		s = st.openUni(`30 07 06 | 00 05 "ab"`)
		r = st.next(sub)
		r.Next()
		r.ReadChunk()
		r.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := r.ReadChunk(); !errors.Is(err, os.ErrDeadlineExceeded) {
			st.Errorf("got %v", err)
		}
		r.SetReadDeadline(time.Time{})
		st.write(s, `"cde" 00 01 "x"`)
		if b, err := io.ReadAll(r); string(b) != "cde" || err != nil {
			st.Errorf("after a deadline: %q, %v", b, err)
		}
	})
}

// Streams and datagrams that nobody takes are dropped, oldest first.
func TestSubscriptionQueue(t *testing.T) {
	runSession(t, testSession{cfg: Config{SubgroupQueue: 2, IncomingDatagrams: 2}}, func(st *sessionTest) {
		sub, _ := st.subscribing(wire.SubscribeOK{})
		var streams []*PipeStream
		for g := range 4 {
			streams = append(streams, st.openUni(fmt.Sprintf("70 07 %02x", g)))
			st.peer.SendDatagram(unhex(fmt.Sprintf("0c 07 %02x", g)))
			synctest.Wait()
		}
		wantStopped(st, "oldest", streams[0], wire.StreamExcessiveLoad)
		wantStopped(st, "second", streams[1], wire.StreamExcessiveLoad)
		var got []string
		for range 4 {
			in, err := sub.Next(st.Context())
			switch {
			case err != nil:
				st.Fatal(err)
			case in.Subgroup != nil:
				got = append(got, fmt.Sprint("s", in.Subgroup.Header().Group))
			default:
				got = append(got, fmt.Sprint("d", in.Datagram.Group))
			}
		}
		if s := strings.Join(got, " "); s != "s2 d2 s3 d3" {
			st.Errorf("got %s", s)
		}
		if s := st.s.Stats(); s.StreamsUnread != 2 || s.DatagramsUnread != 2 || s.SubgroupsReceived != 4 {
			st.Errorf("got %+v", s)
		}
	})
}
