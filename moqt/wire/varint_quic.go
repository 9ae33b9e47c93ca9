package wire

// maxQUICVarint is the largest integer QUIC's encoding can carry.
const maxQUICVarint = 1<<62 - 1

// appendQUICVarint appends x as QUIC writes integers, in the fewest bytes. What does not fit becomes the largest that does;
// who cannot live with that looks at x first.
//
// [MOQT-16] Section 1.4.1; RFC 9000, Section 16
func appendQUICVarint(b []byte, x uint64) []byte {
	switch {
	case x < 1<<6:
		return append(b, byte(x))
	case x < 1<<14:
		return append(b, 0x40|byte(x>>8), byte(x))
	case x < 1<<30:
		return append(b, 0x80|byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
	}
	x = min(x, maxQUICVarint)
	return append(b, 0xc0|byte(x>>56), byte(x>>48), byte(x>>40), byte(x>>32), byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
}

// consumeQUICVarint reads an integer of QUIC. The only error is [ErrTruncated].
func consumeQUICVarint(b []byte) (x uint64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, ErrTruncated
	}
	n = 1 << (b[0] >> 6)
	if len(b) < n {
		return 0, 0, ErrTruncated
	}
	x = uint64(b[0] & 0x3f)
	for _, c := range b[1:n] {
		x = x<<8 | uint64(c)
	}
	return x, n, nil
}
