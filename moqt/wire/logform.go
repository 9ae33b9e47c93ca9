package wire

import (
	"fmt"
	"strings"
)

// String returns the fields joined by hyphens, in a form fit for logs and file
// names: letters, digits and underscores stand for themselves, every other byte
// is a period and two hex digits.
//
// [MOQT-18] Section 1.5, Representing Namespace and Track Names
func (ns Namespace) String() string {
	var b strings.Builder
	b.Grow(len(ns.fields))
	first := true
	for f := range ns.All() {
		if !first {
			b.WriteByte('-')
		}
		first = false
		writeLogForm(&b, f)
	}
	return b.String()
}

// String returns the namespace, two hyphens, and the track name, in the same form
// as Namespace.String.
func (t FullTrackName) String() string {
	var b strings.Builder
	b.WriteString(t.Namespace.String())
	b.WriteString("--")
	writeLogForm(&b, t.Name)
	return b.String()
}

// ParseNamespace is the inverse of Namespace.String. Each namespace has exactly
// one form; anything else is an error.
//
// [MOQT-18] Section 1.5.1, Parsing Serialized Names
func ParseNamespace(s string) (Namespace, error) {
	if s == "" {
		return Namespace{}, nil
	}
	parts := strings.Split(s, "-")
	for i, p := range parts {
		f, err := parseLogForm(p)
		if err != nil {
			return Namespace{}, fmt.Errorf("namespace %q: %w", s, err)
		}
		parts[i] = f
	}
	ns, err := NewNamespace(parts...)
	if err != nil {
		return Namespace{}, fmt.Errorf("namespace %q: %w", s, err)
	}
	return ns, nil
}

// ParseFullTrackName is the inverse of FullTrackName.String.
func ParseFullTrackName(s string) (FullTrackName, error) {
	// No field is empty and no hyphen stands for itself, so the first two hyphens in
	// a row are the ones before the track name.
	nsPart, namePart, ok := strings.Cut(s, "--")
	if !ok {
		return FullTrackName{}, fmt.Errorf("track name %q: no -- before the name", s)
	}
	ns, err := ParseNamespace(nsPart)
	if err != nil {
		return FullTrackName{}, fmt.Errorf("track name %q: %w", s, err)
	}
	name, err := parseLogForm(namePart)
	if err != nil {
		return FullTrackName{}, fmt.Errorf("track name %q: %w", s, err)
	}
	return NewFullTrackName(ns, name)
}

const hexDigits = "0123456789abcdef"

func isLiteral(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func writeLogForm(b *strings.Builder, s string) {
	for i := range len(s) {
		if c := s[i]; isLiteral(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('.')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&0xf])
		}
	}
}

func parseLogForm(s string) (string, error) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isLiteral(c) {
			b.WriteByte(c)
			continue
		}
		if c != '.' {
			return "", fmt.Errorf("byte %q must be written as a period and two hex digits", c)
		}
		if len(s)-i < 3 {
			return "", fmt.Errorf("period without two hex digits")
		}
		hi, lo := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("%q is not two lowercase hex digits", s[i+1:i+3])
		}
		d := byte(hi<<4 | lo)
		if isLiteral(d) {
			return "", fmt.Errorf("%q must be written as itself", d)
		}
		b.WriteByte(d)
		i += 2
	}
	return b.String(), nil
}
