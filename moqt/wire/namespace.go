package wire

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
)

// Namespace is a Track Namespace, or a prefix or suffix of one: 0 to 32 fields of
// at least one byte each. The zero value has no fields.
//
// Namespaces are equal exactly if == says so, and can be map keys.
//
// [MOQT-18] Section 2.4.1, Track Naming
type Namespace struct {
	// fields holds each field after its length (2 bytes, big endian). Whole fields
	// make up every string, so a string prefix that ends with a field is a prefix
	// of the namespace, and joining is concatenation.
	fields string
}

// fieldHeader is the number of bytes before each field in Namespace.fields.
const fieldHeader = 2

// NewNamespace returns the namespace with the given fields. It fails if the draft
// does not allow it: a field is empty, or there are too many, or they are too long.
func NewNamespace(fields ...string) (Namespace, error) {
	if len(fields) > MaxNamespaceFields {
		return Namespace{}, fmt.Errorf("namespace of %d fields: %w", len(fields), ErrInvalidValue)
	}
	var b strings.Builder
	size := 0
	for _, f := range fields {
		size += len(f)
		if f == "" || size > MaxNameLen {
			return Namespace{}, fmt.Errorf("namespace with field of %d bytes: %w", len(f), ErrInvalidValue)
		}
		writeField(&b, f)
	}
	return Namespace{fields: b.String()}, nil
}

// MustNamespace is NewNamespace for fields known to be right. It panics if they
// are not.
func MustNamespace(fields ...string) Namespace {
	ns, err := NewNamespace(fields...)
	if err != nil {
		panic(err)
	}
	return ns
}

func writeField(b *strings.Builder, f string) {
	var l [fieldHeader]byte
	binary.BigEndian.PutUint16(l[:], uint16(len(f))) // at most MaxNameLen
	b.Write(l[:])
	b.WriteString(f)
}

// All iterates over the fields in order.
func (ns Namespace) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := ns.fields; rest != ""; {
			var f string
			f, rest = cutField(rest)
			if !yield(f) {
				return
			}
		}
	}
}

// cutField splits a non-empty sequence of fields after the first.
func cutField(s string) (first, rest string) {
	end := fieldHeader + int(s[0])<<8 + int(s[1])
	return s[fieldHeader:end], s[end:]
}

// Fields returns the fields as a new slice.
func (ns Namespace) Fields() []string {
	fields := make([]string, 0, ns.Len())
	for f := range ns.All() {
		fields = append(fields, f)
	}
	return fields
}

// Len returns the number of fields.
func (ns Namespace) Len() int {
	n := 0
	for range ns.All() {
		n++
	}
	return n
}

// Size returns the sum of the lengths of the fields in bytes.
func (ns Namespace) Size() int { return len(ns.fields) - fieldHeader*ns.Len() }

// Compare orders namespaces so that those with a common prefix stand together, the prefix first.
func (n Namespace) Compare(m Namespace) int { return strings.Compare(n.fields, m.fields) }

// HasPrefix reports whether ns begins with all fields of prefix.
func (ns Namespace) HasPrefix(prefix Namespace) bool {
	return strings.HasPrefix(ns.fields, prefix.fields)
}

// Overlaps reports whether one of the two is a prefix of the other. The draft's
// PREFIX_OVERLAP means this.
func (ns Namespace) Overlaps(other Namespace) bool {
	return ns.HasPrefix(other) || other.HasPrefix(ns)
}

// CutPrefix returns what follows prefix in ns, and whether ns begins with it.
func (ns Namespace) CutPrefix(prefix Namespace) (suffix Namespace, ok bool) {
	rest, ok := strings.CutPrefix(ns.fields, prefix.fields)
	if !ok {
		return Namespace{}, false
	}
	return Namespace{fields: rest}, true
}

// Join returns the fields of ns followed by those of suffix. It fails if the
// result has too many fields or is too long; for a suffix from a peer, that is a
// protocol violation.
func (ns Namespace) Join(suffix Namespace) (Namespace, error) {
	if ns.Len()+suffix.Len() > MaxNamespaceFields || ns.Size()+suffix.Size() > MaxNameLen {
		return Namespace{}, violation("namespace prefix and suffix are too long together")
	}
	return Namespace{fields: ns.fields + suffix.fields}, nil
}

// first returns the first field, or "".
func (ns Namespace) first() string {
	if ns.fields == "" {
		return ""
	}
	f, _ := cutField(ns.fields)
	return f
}

// IsReserved reports whether the first field begins with a period. Unknown
// reserved namespaces go to the application, but see IsSession and IsForbidden.
//
// [MOQT-18] Section 3.2.1, Reserved Namespaces
func (ns Namespace) IsReserved() bool { return strings.HasPrefix(ns.first(), ".") }

// IsForbidden reports whether the first field is a single period. Requests for
// such names are rejected with DOES_NOT_EXIST.
//
// [MOQT-18] Section 3.2.1, Reserved Namespaces
func (ns Namespace) IsForbidden() bool { return ns.first() == "." }

// IsSession reports whether the namespace belongs to the session itself and must
// not be forwarded.
//
// [MOQT-18] Section 3.2.2, Session-Level Tracks and Namespaces
func (ns Namespace) IsSession() bool { return ns.first() == ".session" }

// append writes the Track Namespace structure.
func (ns Namespace) append(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(ns.Len()))
	for f := range ns.All() {
		b = v.appendVarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	return b
}

// consumeNamespace reads a Track Namespace structure. Its size is checked as that
// of a namespace; a name that follows is checked with it by FullTrackName.
func consumeNamespace(b []byte, v Version) (ns Namespace, n int, err error) {
	count, n, err := v.consumeVarint(b)
	if err != nil {
		return Namespace{}, 0, err
	}
	// "If an endpoint receives a Track Namespace consisting of greater than 32
	// Track Namespace Fields, it MUST close the session with a PROTOCOL_VIOLATION."
	// [MOQT-18] Section 2.4.1, Track Naming
	if count > MaxNamespaceFields {
		return Namespace{}, 0, violation("namespace has more than 32 fields")
	}
	// One look at the lengths first, so that nothing is copied from a bad namespace.
	size, end := 0, n
	for range count {
		l, m, err := v.consumeVarint(b[end:])
		if err != nil {
			return Namespace{}, 0, err
		}
		if l == 0 {
			return Namespace{}, 0, violation("namespace field is empty")
		}
		if l > MaxNameLen || size+int(l) > MaxNameLen {
			return Namespace{}, 0, violation("namespace is longer than 4096 bytes")
		}
		size += int(l)
		end += m + int(l)
		if end > len(b) {
			return Namespace{}, 0, ErrTruncated
		}
	}
	var fields strings.Builder
	fields.Grow(size + fieldHeader*int(count))
	for range count {
		l, m, _ := v.consumeVarint(b[n:])
		n += m
		writeField(&fields, string(b[n:n+int(l)]))
		n += int(l)
	}
	return Namespace{fields: fields.String()}, n, nil
}
