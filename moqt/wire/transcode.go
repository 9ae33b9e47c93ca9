package wire

import "fmt"

// TranscodeProperties rewrites properties from the encoding of one draft into that of another, those inside Immutable Properties
// too. It fails with [ErrInvalidValue] if a value does not fit, and with an *Error if p is not a list of key-value pairs. If
// nothing changes, the result is p itself.
//
// "... the serialization (e.g. variable-length integer encodings) of the Key-Value-Pairs MUST NOT change"
// [MOQT-18] Section 12.7, Immutable Properties
//
// Left as they are they could not be read at all by who reads integers in the other way, so they are rewritten too; the
// bytes stay where both ways are the same, which they are up to 63.
func TranscodeProperties(p Properties, from, to Version) (Properties, error) {
	if len(p) == 0 || from.quicVarints() == to.quicVarints() {
		return p, nil
	}
	return transcodeProperties(nil, p, from, to, true)
}

func transcodeProperties(b []byte, p Properties, from, to Version, outer bool) ([]byte, error) {
	it := p.Iter(from)
	prev := uint64(0)
	for it.Next() {
		q := it.cur
		if to.quicVarints() && (q.Type-prev > maxQUICVarint || q.Uint > maxQUICVarint) {
			return nil, fmt.Errorf("property 0x%x: integer above 2^62-1: %w", q.Type, ErrInvalidValue)
		}
		if outer && q.Type == PropertyImmutable {
			// What cannot be read is passed on: that it cannot is what the receiver has to find out.
			if in, err := transcodeProperties(nil, q.Bytes, from, to, false); err == nil && len(in) <= MaxPropertyLen {
				q.Bytes = in
			}
		}
		b = appendProperty(b, prev, &q, to)
		prev = q.Type
	}
	return b, it.err
}
