package wire

// AppendPaddingStream appends the beginning of a padding stream and n bytes of
// padding. More zero bytes may follow.
//
// [MOQT-18] Section 11.5.1, Padding Streams
func AppendPaddingStream(b []byte, n int, v Version) []byte {
	return append(v.appendVarint(b, uint64(StreamTypePadding)), make([]byte, n)...)
}

// AppendPaddingDatagram appends a padding datagram with n bytes of padding.
//
// [MOQT-18] Section 11.5.2, Padding Datagrams
func AppendPaddingDatagram(b []byte, n int, v Version) []byte {
	return append(v.appendVarint(b, uint64(DatagramTypePadding)), make([]byte, n)...)
}

// CheckPadding reports whether b, what follows the type of a padding stream or
// datagram, is as it must be. Padding is thrown away in any case.
//
// "zero or more bytes that MUST all be set to zero"
// [MOQT-18] Section 11.5.1, Padding Streams
func CheckPadding(b []byte) error {
	for _, c := range b {
		if c != 0 {
			return violation("padding is not zero")
		}
	}
	return nil
}
