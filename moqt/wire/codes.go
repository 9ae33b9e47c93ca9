package wire

import "strconv"

// codeName returns the draft's name of a code, or the code in hex. Names are
// looked up in a switch of each code type, which returns "" for the unknown.
func codeName(name string, code uint64) string {
	if name != "" {
		return name
	}
	return "0x" + strconv.FormatUint(code, 16)
}

// Grease values are reserved so that unknown values are met in practice.
//
// "Grease values follow the pattern 0x7f * N + 0x9D for non-negative integer
// values of N ..." [MOQT-18] Section 14, Grease
const (
	greaseStep  = 0x7f
	greaseFirst = 0x9d
)

// IsGrease reports whether x is one of the values reserved for greasing.
func IsGrease(x uint64) bool { return x >= greaseFirst && (x-greaseFirst)%greaseStep == 0 }
