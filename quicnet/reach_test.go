package quicnet

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/quic-go/quic-go"
)

// The pinned webtransport-go has the known layout.
func TestReachOfPinnedVersion(t *testing.T) {
	if _, err := checkWebTransport(); err != nil {
		t.Fatal(err)
	}
}

func TestReachRefusesOtherLayouts(t *testing.T) {
	structOf := func(field string, typ reflect.Type) reflect.Type {
		return reflect.StructOf([]reflect.StructField{
			{Name: "before", PkgPath: "p", Type: reflect.TypeFor[int]()},
			{Name: field, PkgPath: "p", Type: typ},
		})
	}
	writer := reflect.TypeFor[io.Writer]()
	send := structOf("str", writer)
	bidi := structOf("sendStr", reflect.PointerTo(send))
	if _, err := newReach(send, bidi); err != nil {
		t.Errorf("the known layout: %v", err)
	}
	for _, tt := range []struct {
		name       string
		send, bidi reflect.Type
		want       string
	}{
		{"no str", structOf("stream", writer), bidi, "no interface field str"},
		{"str is not an interface", structOf("str", reflect.TypeFor[*quic.SendStream]()), bidi, "no interface field str"},
		{"str in an embedded struct", reflect.TypeFor[struct{ bytes.Buffer }](), bidi, "no interface field str"},
		{"str of another interface", structOf("str", reflect.TypeFor[interface{ Foreign() }]()), bidi, "cannot hold *quic.SendStream"},
		{"no sendStr", send, structOf("s", reflect.PointerTo(send)), "no field sendStr"},
		{"sendStr by value", send, structOf("sendStr", send), "no field sendStr"},
		{"sendStr of another type", send, structOf("sendStr", reflect.TypeFor[*int]()), "no field sendStr"},
		{"no structs", writer, writer, "not structs"},
	} {
		r, err := newReach(tt.send, tt.bidi)
		if err == nil || r != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v", tt.name, r, err)
		}
	}
}

// A field that holds something else than a QUIC stream is not an accident to die of.
func TestReachOfNothing(t *testing.T) {
	r, err := checkWebTransport()
	if err != nil {
		t.Fatal(err)
	}
	if q := r.sendStream(nil); q != nil {
		t.Errorf("got %v", q)
	}
}
