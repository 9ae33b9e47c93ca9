package wire

import (
	"encoding/binary"
	"math/bits"
)

// maxVarintLen is the length in bytes of the longest variable-length integer.
const maxVarintLen = 9

// AppendVarint appends x as vi64 in the fewest bytes.
//
// "The variable-length integer encoding uses the number of leading 1 bits of the
// first byte to indicate the length of the encoding in bytes."
// [MOQT-18] Section 1.4.1, Variable-Length Integers
func AppendVarint(b []byte, x uint64) []byte {
	switch varintLen(x) {
	case 1:
		return append(b, byte(x))
	case 2:
		return append(b, 0x80|byte(x>>8), byte(x))
	case 3:
		return append(b, 0xc0|byte(x>>16), byte(x>>8), byte(x))
	case 4:
		return append(b, 0xe0|byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
	case 5:
		return append(b, 0xf0|byte(x>>32), byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
	case 6:
		return append(b, 0xf8|byte(x>>40), byte(x>>32), byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
	case 7:
		return append(b, 0xfc|byte(x>>48), byte(x>>40), byte(x>>32), byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
	case 8:
		return append(b, 0xfe, byte(x>>48), byte(x>>40), byte(x>>32), byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xff), x)
	}
}

// varintLen returns the number of bytes AppendVarint uses for x, 1 to 9.
func varintLen(x uint64) int {
	n := (max(bits.Len64(x), 1) + 6) / 7
	// Nine bytes hold 64 bits, not 63, so there is no tenth.
	return min(n, maxVarintLen)
}

// ConsumeVarint reads a vi64. Every encoding is accepted, the shortest or not:
//
// "Variable length integers do not need to be encoded using the minimum number of
// bytes; any encoding length that can represent the value is valid."
// [MOQT-18] Section 1.4.1, Variable-Length Integers
//
// The only error is [ErrTruncated].
func ConsumeVarint(b []byte) (x uint64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, ErrTruncated
	}
	first := b[0]
	if first < 0x80 {
		return uint64(first), 1, nil
	}
	ones := bits.LeadingZeros8(^first)
	n = ones + 1
	if len(b) < n {
		return 0, 0, ErrTruncated
	}
	// The bits of the first byte after its first 0; none from 7 ones on.
	x = uint64(first & (0x7f >> ones))
	for _, c := range b[1:n] {
		x = x<<8 | uint64(c)
	}
	return x, n, nil
}
