package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// vector is an entry of testdata/vectors.json; testdata/README.md describes it.
type vector struct {
	Kind      string
	Name      string
	Section   string
	Hex       string
	Text      string
	Context   jContext
	Value     json.RawMessage
	Canonical *bool
	Error     string
	Note      string
}

type jContext struct {
	At         string
	Transport  string
	Stream     string
	Answers    string
	Updates    string
	Start      *jLocation
	Location   *jLocation
	GroupOrder string `json:"group_order"`
}

type vectorFile struct {
	Version string
	Codes   map[string]map[string]uint64
	Vectors []vector
}

func loadVectors(t testing.TB) vectorFile {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var f vectorFile
	strictJSON(t, data, &f)
	return f
}

// strictJSON decodes data and does not let a misspelt field go by.
func strictJSON(t testing.TB, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// eachVector runs f for each vector of the kind, and fails if there is none.
func eachVector(t *testing.T, kind string, f func(t *testing.T, v vector)) {
	t.Helper()
	n := 0
	for _, v := range loadVectors(t).Vectors {
		if v.Kind != kind {
			continue
		}
		n++
		t.Run(v.Name, func(t *testing.T) { f(t, v) })
	}
	if n == 0 {
		t.Fatalf("no vectors of kind %s", kind)
	}
}

// seedVectors adds the bytes of each vector of the kind to a fuzz target.
func seedVectors(f *testing.F, kind string) {
	f.Helper()
	for _, v := range loadVectors(f).Vectors {
		if v.Kind == kind {
			f.Add(v.bytes(f))
		}
	}
}

func (v *vector) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(v.Hex, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v *vector) canonical() bool { return v.Canonical == nil || *v.Canonical }

// value decodes the value of the vector.
func (v *vector) value(t testing.TB, into any) {
	t.Helper()
	strictJSON(t, v.Value, into)
}

// errorName returns the name vectors have for an error.
func errorName(err error) string {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrMalformedTrack):
		return "MALFORMED_TRACK"
	case errors.As(err, &e):
		return e.Code.String()
	case errors.Is(err, ErrTruncated):
		return "TRUNCATED"
	case errors.Is(err, ErrTooLarge):
		return "TOO_LARGE"
	default:
		return "?"
	}
}

// failed checks err against the vector and reports whether decoding is over: it
// failed as it should.
func (v *vector) failed(t *testing.T, err error) bool {
	t.Helper()
	if got := errorName(err); got != v.Error {
		t.Fatalf("error %q (%v), want %q", got, err, v.Error)
	}
	return err != nil
}

// wantBytes checks the encoding of the vector's value.
func (v *vector) wantBytes(t *testing.T, got []byte, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	if want := v.bytes(t); v.canonical() != bytes.Equal(got, want) {
		t.Fatalf("append gives %x, hex is %x, canonical is %v", got, want, v.canonical())
	}
}

// jUint is an integer of up to 64 bits.
type jUint uint64

func (x *jUint) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*x = jUint(n)
	return err
}

// jBytes is text or bytes.
type jBytes []byte

func (x *jBytes) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*x = jBytes(s)
		return nil
	}
	var h struct{ Hex string }
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	var err error
	*x, err = hex.DecodeString(h.Hex)
	return err
}

type jLocation Location

func (x *jLocation) UnmarshalJSON(b []byte) error {
	var l []jUint
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	if len(l) != 2 {
		return fmt.Errorf("location %s", b)
	}
	*x = jLocation{Group: uint64(l[0]), Object: uint64(l[1])}
	return nil
}

func optUint(x *jUint) Opt[uint64] {
	if x == nil {
		return Opt[uint64]{}
	}
	return Some(uint64(*x))
}

func optMillis(x *jUint) Opt[Millis] {
	if x == nil {
		return Opt[Millis]{}
	}
	return Some(Millis(*x))
}

func optUint8(x *uint8) Opt[uint8] {
	if x == nil {
		return Opt[uint8]{}
	}
	return Some(*x)
}

func optBool(x *bool) Opt[bool] {
	if x == nil {
		return Opt[bool]{}
	}
	return Some(*x)
}

func optString(x *jBytes) Opt[string] {
	if x == nil {
		return Opt[string]{}
	}
	return Some(string(*x))
}

func optLocation(x *jLocation) Opt[Location] {
	if x == nil {
		return Opt[Location]{}
	}
	return Some(Location(*x))
}

type jNamespace []jBytes

func (x jNamespace) wire(t testing.TB) Namespace {
	t.Helper()
	fields := make([]string, len(x))
	for i, f := range x {
		fields[i] = string(f)
	}
	return MustNamespace(fields...)
}

type jProperty struct {
	Type  jUint
	Uint  jUint
	Bytes jBytes
}

func (p jProperty) wire() Property {
	return Property{Type: uint64(p.Type), Uint: uint64(p.Uint), Bytes: p.Bytes}
}

func propertyList(list []jProperty) []Property {
	var props []Property
	for _, p := range list {
		props = append(props, p.wire())
	}
	return props
}

// properties returns the bytes of the list. The key-value pairs themselves are
// checked by their own vectors.
func properties(t testing.TB, list []jProperty) Properties {
	t.Helper()
	b, err := AppendProperties(nil, propertyList(list), Draft18)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type jToken struct {
	AliasType string `json:"alias_type"`
	Alias     jUint
	Type      jUint
	Value     jBytes
}

func (x jToken) wire(t testing.TB) Token {
	t.Helper()
	for a := TokenDelete; a <= TokenUseValue; a++ {
		if a.String() == x.AliasType {
			return Token{AliasType: a, Alias: uint64(x.Alias), Type: uint64(x.Type), Value: x.Value}
		}
	}
	t.Fatalf("no alias type %q", x.AliasType)
	return Token{}
}

type jFilter struct {
	Type     string
	Start    jLocation
	EndGroup jUint `json:"end_group"`
}

func (x jFilter) wire(t testing.TB) Filter {
	t.Helper()
	for f := FilterNextGroupStart; f <= FilterAbsoluteRange; f++ {
		if f.String() == x.Type {
			return Filter{Type: f, Start: Location(x.Start), EndGroup: uint64(x.EndGroup)}
		}
	}
	t.Fatalf("no filter type %q", x.Type)
	return Filter{}
}

func groupOrder(t testing.TB, s string) GroupOrder {
	t.Helper()
	for o := GroupOrderAscending; o <= GroupOrderDescending; o++ {
		if o.String() == s {
			return o
		}
	}
	t.Fatalf("no group order %q", s)
	return 0
}
