package wire

import "unicode/utf8"

// appendReason writes a Reason Phrase. One that is too long is cut, at the border
// of a character: it is for people to read, and no request should fail for it.
func appendReason(b []byte, s string, v Version) []byte {
	s = cutReason(s)
	b = v.appendVarint(b, uint64(len(s)))
	return append(b, s...)
}

func cutReason(s string) string {
	if len(s) <= MaxReasonLen {
		return s
	}
	end := MaxReasonLen
	for end > MaxReasonLen-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
