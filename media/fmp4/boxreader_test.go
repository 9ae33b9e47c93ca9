package fmp4

import (
	"bytes"
	"io"
	"runtime"
	"testing"
)

// A source that is cut off and comes back again and again, or garbage that looks like that, costs no memory.
func TestResyncsDoNotPileUp(t *testing.T) {
	const times = 1000
	ftyp := []byte("\x00\x00\x00\x10ftypisom\x00\x00\x00\x00")
	var stream []byte
	for range times {
		stream = append(stream, "\x00\x00\x00\x10\x01\x01\x01\x01 nonsense "...)
		stream = append(stream, ftyp...)
	}
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	r := newBoxReader(bytes.NewReader(stream))
	for i := range times {
		h, err := r.header()
		if err == nil {
			t.Fatalf("%d: nonsense is a box", i)
		}
		if err := r.resync(h, err); err != nil {
			t.Fatal(err)
		}
		if h, err = r.header(); err != nil {
			t.Fatal(err)
		}
		if b, err := r.body(nil, h); err != nil || !bytes.Equal(b, ftyp) {
			t.Fatalf("%d: read %q, %v", i, b, err)
		}
	}
	if grown := int64(used() - before); grown > 4<<20 {
		t.Errorf("%d bytes more are in use after %d times", grown, times)
	}
	if _, err := r.header(); err != io.EOF || r.pos != int64(len(stream)) {
		t.Errorf("at the end: %v at %d", err, r.pos)
	}
	runtime.KeepAlive(r)
}
