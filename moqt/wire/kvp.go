package wire

import (
	"bytes"
	"fmt"
	"math"
)

// Property is one key-value pair: a Track or Object Property or a Setup Option.
// Even types carry an integer, odd types bytes.
//
// [MOQT-18] Section 1.4.3, Key-Value-Pair Structure
type Property struct {
	Type  uint64
	Uint  uint64 // value of an even type
	Bytes []byte // value of an odd type
}

// IsBytes reports whether the value is Bytes rather than Uint.
func (p Property) IsBytes() bool { return p.Type&1 == 1 }

// Properties is a sequence of key-value pairs as it stands on the wire. It is kept
// in this form so that what is not understood is passed on byte by byte.
type Properties []byte

// Clone returns a copy that does not share memory with p.
func (p Properties) Clone() Properties { return bytes.Clone(p) }

// PropertyIter walks over Properties in order. It allocates nothing.
//
//	for it := p.Iter(v); it.Next(); {
//		use(it.Property())
//	}
//	return it.Err()
type PropertyIter struct {
	rest Properties
	cur  Property
	err  error
	v    Version
}

// Iter returns an iterator before the first property. The Bytes it yields point
// into p.
func (p Properties) Iter(v Version) PropertyIter { return PropertyIter{rest: p, v: v} }

// Property returns the current property.
func (it *PropertyIter) Property() Property { return it.cur }

// Err returns what ended the iteration early: an *Error, or nil.
func (it *PropertyIter) Err() error { return it.err }

// Next moves to the next property. It returns false at the end and on error.
func (it *PropertyIter) Next() bool {
	if it.err != nil || len(it.rest) == 0 {
		return false
	}
	p, n, err := consumeProperty(it.rest, it.cur.Type, it.v)
	if err != nil {
		it.err = err
		return false
	}
	it.cur, it.rest = p, it.rest[n:]
	return true
}

// consumeProperty reads the property that follows one of type prev. The block it
// is in is complete, so an end in the middle of it is an error of its form.
func consumeProperty(b []byte, prev uint64, v Version) (p Property, n int, err error) {
	delta, n, err := v.consumeVarint(b)
	if err != nil {
		return Property{}, 0, kvpError("key-value pair ends in its type")
	}
	// "If a Delta Type is received that would be too large, the Session MUST be
	// closed with a PROTOCOL_VIOLATION."
	// [MOQT-18] Section 1.4.3, Key-Value-Pair Structure
	if delta > math.MaxUint64-prev {
		return Property{}, 0, violation("type of key-value pair is above 2^64-1")
	}
	p.Type = prev + delta
	x, m, err := v.consumeVarint(b[n:])
	if err != nil {
		return Property{}, 0, kvpError("key-value pair ends before its value")
	}
	n += m
	if !p.IsBytes() {
		p.Uint = x
		return p, n, nil
	}
	if x > MaxPropertyLen {
		return Property{}, 0, violation("value of key-value pair is longer than 65535 bytes")
	}
	if uint64(len(b)-n) < x {
		return Property{}, 0, kvpError("key-value pair is longer than its block")
	}
	end := n + int(x)
	p.Bytes = b[n:end:end]
	return p, end, nil
}

// AppendProperties appends list, which must be in ascending order of type; equal
// types may follow each other. It fails with [ErrInvalidValue] if the order is
// wrong or a value is too long, and then returns b as it was.
func AppendProperties(b []byte, list []Property, v Version) ([]byte, error) {
	start := len(b)
	prev := uint64(0)
	for i := range list {
		p := &list[i]
		if p.Type < prev {
			return b[:start], fmt.Errorf("property 0x%x after 0x%x: %w", p.Type, prev, ErrInvalidValue)
		}
		if p.IsBytes() && len(p.Bytes) > MaxPropertyLen {
			return b[:start], fmt.Errorf("property 0x%x of %d bytes: %w", p.Type, len(p.Bytes), ErrInvalidValue)
		}
		b = appendProperty(b, prev, p, v)
		prev = p.Type
	}
	return b, nil
}

// appendProperty appends the property that follows one of type prev.
func appendProperty(b []byte, prev uint64, p *Property, v Version) []byte {
	b = v.appendVarint(b, p.Type-prev)
	if !p.IsBytes() {
		return v.appendVarint(b, p.Uint)
	}
	b = v.appendVarint(b, uint64(len(p.Bytes)))
	return append(b, p.Bytes...)
}

// Lookup returns the property of the given type. Both the list itself and the
// contents of Immutable Properties are searched; the list itself comes first,
// because what a relay may change is there. Of several in one list the first is
// returned. The error is that of the iteration, up to where the search ended.
//
// "When looking for the value of a property, processors MUST search both the
// mutable properties and the contents of Immutable Properties."
// [MOQT-18] Section 12.7, Immutable Properties
func (p Properties) Lookup(typ uint64, v Version) (Property, bool, error) {
	var nested Property
	found := false
	it := p.Iter(v)
	for it.Next() {
		if it.cur.Type == typ {
			return it.cur, true, nil
		}
		if it.cur.Type != PropertyImmutable || found {
			continue
		}
		in := Properties(it.cur.Bytes).Iter(v)
		for in.Next() {
			if in.cur.Type == typ {
				nested, found = in.cur, true
				break
			}
		}
		if in.err != nil {
			return Property{}, false, malformedImmutable(in.err)
		}
	}
	return nested, found, it.err
}

func malformedImmutable(err error) error {
	return fmt.Errorf("%w: immutable properties: %v", ErrMalformedTrack, err)
}
