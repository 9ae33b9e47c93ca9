package wire

import "fmt"

// FullTrackName identifies a track. Two are equal exactly if == says so, and they
// can be map keys.
//
// [MOQT-18] Section 2.4.1, Track Naming
type FullTrackName struct {
	Namespace Namespace
	Name      string // bytes, possibly none
}

// NewFullTrackName returns the full track name, or an error if it is longer than
// [MaxNameLen].
func NewFullTrackName(ns Namespace, name string) (FullTrackName, error) {
	t := FullTrackName{Namespace: ns, Name: name}
	return t, t.check()
}

// Size returns the length of the full track name as the draft counts it: the sum
// of the lengths of the fields and the name.
func (t FullTrackName) Size() int { return t.Namespace.Size() + len(t.Name) }

func (t FullTrackName) check() error {
	if t.Size() > MaxNameLen {
		return fmt.Errorf("full track name of %d bytes: %w", t.Size(), ErrInvalidValue)
	}
	return nil
}

// append writes a Track Namespace, a Track Name Length and a Track Name, as all
// messages do that name a track.
func (t FullTrackName) append(b []byte, v Version) []byte {
	b = t.Namespace.append(b, v)
	b = v.appendVarint(b, uint64(len(t.Name)))
	return append(b, t.Name...)
}

func consumeFullTrackName(b []byte, v Version) (t FullTrackName, n int, err error) {
	ns, n, err := consumeNamespace(b, v)
	if err != nil {
		return FullTrackName{}, 0, err
	}
	l, m, err := v.consumeVarint(b[n:])
	if err != nil {
		return FullTrackName{}, 0, err
	}
	n += m
	// "If an endpoint receives a Track Namespace or a Full Track Name exceeding
	// 4,096 bytes, it MUST close the session with a PROTOCOL_VIOLATION."
	// [MOQT-18] Section 2.4.1, Track Naming
	if l > MaxNameLen || ns.Size()+int(l) > MaxNameLen {
		return FullTrackName{}, 0, violation("full track name is longer than 4096 bytes")
	}
	if len(b)-n < int(l) {
		return FullTrackName{}, 0, ErrTruncated
	}
	return FullTrackName{Namespace: ns, Name: string(b[n : n+int(l)])}, n + int(l), nil
}
