package quicnet

import (
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

type (
	someSend   struct{ str io.Writer }
	otherBidi  struct{ sendStr *someSend }
	noStr      struct{ stream io.Writer }
	strPointer struct{ str *quic.SendStream }
	foreign    struct{ str interface{ Foreign() } }
	inner      struct{ str io.Writer }
	embedded   struct{ inner }
	noSendStr  struct{ s *someSend }
	byValue    struct{ sendStr someSend }
)

func TestReachRefusesOtherLayouts(t *testing.T) {
	typ := reflect.TypeOf
	if _, err := newReach(typ(someSend{}), typ(otherBidi{})); err != nil {
		t.Errorf("the known layout: %v", err)
	}
	for _, tt := range []struct {
		name       string
		send, bidi reflect.Type
		want       string
	}{
		{"no field", typ(noStr{}), typ(otherBidi{}), "no interface field str"},
		{"not an interface", typ(strPointer{}), typ(otherBidi{}), "no interface field str"},
		{"embedded", typ(embedded{}), typ(otherBidi{}), "no interface field str"},
		{"other interface", typ(foreign{}), typ(otherBidi{}), "cannot hold *quic.SendStream"},
		{"no sendStr", typ(someSend{}), typ(noSendStr{}), "no field sendStr"},
		{"sendStr by value", typ(someSend{}), typ(byValue{}), "no field sendStr"},
		{"sendStr of another type", typ(inner{}), typ(otherBidi{}), "no field sendStr"},
		{"not structs", typ(0), typ(0), "not structs"},
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
