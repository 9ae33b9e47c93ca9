package moqt

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// fuzzPeer16 is a fuzzPeer that speaks draft-16.
type fuzzPeer16 struct {
	fuzzPeer
	control *PipeStream // nil before it is there
}

// message16 makes a message that is right in itself.
func (p *fuzzPeer16) message16() *wire.Message16 {
	x := uint64(p.byte() % 16)
	switch p.byte() % 24 {
	case 0:
		return &wire.Message16{Type: wire.MsgUnsubscribe, RequestID: x}
	case 1:
		return &wire.Message16{Type: wire.MsgFetchCancel, RequestID: x}
	case 2:
		return &wire.Message16{Type: wire.MsgPublishNamespaceDone, RequestID: x}
	case 3:
		return &wire.Message16{Type: wire.MsgPublishNamespaceCancel, RequestID: x}
	case 4:
		return &wire.Message16{Type: wire.MsgMaxRequestID, Max: 16 * x}
	case 5:
		return &wire.Message16{Type: wire.MsgRequestsBlocked, Max: x}
	}
	id := p.nextID
	msg := p.message()
	m := &wire.Message16{Type: msg.Type(), RequestID: x, Existing: x, Message: msg}
	switch {
	case wire.Opens16(m.Type), m.Type == wire.MsgRequestUpdate:
		m.RequestID = id
	case m.Type == wire.MsgSubscribeNamespace, m.Type == wire.MsgSubscribeTracks:
		m.Type, m.RequestID, m.Options = wire.MsgSubscribeNamespace16, id, x%3
	case m.Type == wire.MsgRequestOK && x&1 == 1:
		m.Type = wire.MsgPublishOK
	}
	return m
}

func (p *fuzzPeer16) encoded16() []byte {
	b, _ := wire.AppendMessage16(nil, p.message16())
	return b
}

// subgroup16 makes the beginning of a stream that is right in itself.
func (p *fuzzPeer16) subgroup16() []byte {
	h := wire.SubgroupHeader{
		TrackAlias: uint64(p.byte() % 8), GroupID: uint64(p.byte()), IDMode: wire.SubgroupIDMode(p.byte() % 3),
		HasProperties: p.byte()%2 == 0,
	}
	b := h.Append(nil, wire.Draft16)
	c := h.Cursor()
	for i := range uint64(p.byte() % 4) {
		n := int(p.byte())
		o := wire.ObjectHeader{ID: i * uint64(n), PayloadLen: uint64(n)}
		if h.HasProperties {
			o.Properties, _ = wire.AppendProperties(nil, []wire.Property{{Type: 2 * i, Uint: uint64(n) << n % 60}}, wire.Draft16)
		}
		b, _ = c.Append(b, &o, wire.Draft16)
		b = append(b, make([]byte, n)...)
	}
	return b
}

// step does one thing.
func (p *fuzzPeer16) step(app *fuzzApp) {
	switch p.byte() % 16 {
	case 0:
		p.openUni(p.subgroup16())
	case 1:
		p.openBidi(p.encoded16())
	case 2, 3, 4, 5, 6, 7:
		if p.control != nil {
			p.write(p.control, p.encoded16())
		}
	case 8:
		if s, ok := pick(&p.fuzzPeer, p.bidi); ok {
			p.write(s, p.encoded16())
		}
	case 9:
		if p.control != nil && p.byte() > 200 {
			p.write(p.control, p.bytes())
		}
	case 10, 11:
		app.act(p.byte())
	default:
		p.fuzzPeer.step(app)
		return
	}
	synctest.Wait()
}

// FuzzDraft16 is FuzzSession with a peer that speaks draft-16.
func FuzzDraft16(f *testing.F) {
	f.Add([]byte{1, 2, 9, 8, 0, 0, 0, 1, 2, 3, 4, 0, 1, 2, 5, 0, 1, 0})
	f.Add([]byte{0, 10, 7, 2, 9, 8, 0, 0, 0, 0, 8, 3, 2, 4, 4, 0, 0, 1, 5, 2, 9, 9})
	f.Add([]byte{1, 1, 5, 9, 0, 0, 0, 0, 5, 2, 0, 9, 8, 0, 0, 1, 0, 0, 1, 15, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			p := &fuzzPeer16{fuzzPeer: fuzzPeer{t: t, data: data, nextID: 1}}
			app, first, done := p.begin("moqt-16")
			if first&1 == 1 {
				p.openBidi(unhex("20 0003 01 02 20"))
				p.control = p.bidi[0]
			} else if s, err := p.conn.AcceptStream(p.briefly()); err == nil {
				p.control = s.(*PipeStream)
				p.write(p.control, unhex("21 0003 01 02 20"))
			}
			synctest.Wait()
			for len(p.data) > 0 && p.s.Context().Err() == nil {
				p.step(app)
			}
			p.conn.Close(0, "")
			<-done
			time.Sleep(10 * time.Second) // what the application has begun is over by then
			p.s.adapter.mu.Lock()
			defer p.s.adapter.mu.Unlock()
			if n := len(p.s.adapter.bySess) + len(p.s.adapter.byID); n > 0 {
				t.Errorf("%d requests are left", n)
			}
		})
	})
}

// FuzzRewrite16 cuts what is written on a data stream in other places, which must not change what comes out.
func FuzzRewrite16(f *testing.F) {
	f.Add(unhex(`70 01 4064 | 00 03 "abc" | 00 00 03`), uint8(3))
	f.Add(unhex(`71 01 02 | 00 04 3c 01 02 05 03 "abc"`), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		write := func(pieces ...[]byte) ([]byte, error) {
			var out writeRecorder
			w := &send16{SendStream: &out}
			for _, piece := range pieces {
				if len(piece) == 0 {
					continue
				}
				if _, err := w.Write(piece); err != nil {
					return out.written, err
				}
			}
			return out.written, nil
		}
		if typ, _, err := wire.ConsumeStreamType(b, adaptedVersion); err != nil || typ.Kind() == wire.StreamKindFetch {
			return // needs a request
		}
		whole, err1 := write(b)
		at := min(int(cut), len(b))
		parts, err2 := write(b[:at], b[at:])
		if (err1 == nil) != (err2 == nil) {
			t.Errorf("whole: %v, in parts: %v", err1, err2)
		}
		if err1 == nil && !bytes.Equal(whole, parts) {
			t.Errorf("whole: %x\nin parts: %x", whole, parts)
		}
	})
}

// writeRecorder is a SendStream that remembers.
type writeRecorder struct {
	SendStream
	written []byte
}

func (w *writeRecorder) Write(b []byte) (int, error) {
	w.written = append(w.written, b...)
	return len(b), nil
}
