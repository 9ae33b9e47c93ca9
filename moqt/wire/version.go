package wire

// Version is the draft of MOQT that the bytes follow.
type Version uint8

// The drafts this package implements.
const (
	Draft16 Version = 16 // draft-ietf-moq-transport-16; for its control messages see [Message16]
	Draft18 Version = 18 // draft-ietf-moq-transport-18
	Draft19 Version = 19 // draft-ietf-moq-transport-19
)

// quicVarints reports whether integers are those of QUIC (RFC 9000, Section 16) instead of vi64.
func (v Version) quicVarints() bool { return v == Draft16 }

// ALPN returns the name under which the version is negotiated: as ALPN protocol
// on native QUIC and in WT-Available-Protocols on WebTransport. It is empty for
// a version this package does not implement.
func (v Version) ALPN() string {
	switch v {
	case Draft16:
		return "moqt-16"
	case Draft18:
		return "moqt-18"
	case Draft19:
		return "moqt-19"
	default:
		return ""
	}
}

// String returns the same as ALPN, or "unknown".
func (v Version) String() string {
	if s := v.ALPN(); s != "" {
		return s
	}
	return "unknown"
}

// VersionFromALPN returns the version negotiated under name.
func VersionFromALPN(name string) (Version, bool) {
	switch name {
	case "moqt-16":
		return Draft16, true
	case "moqt-18":
		return Draft18, true
	case "moqt-19":
		return Draft19, true
	default:
		return 0, false
	}
}

// appendVarint appends x in the integer encoding of the version.
func (v Version) appendVarint(b []byte, x uint64) []byte {
	if v.quicVarints() {
		return appendQUICVarint(b, x)
	}
	return AppendVarint(b, x)
}

// consumeVarint reads an integer in the encoding of the version.
func (v Version) consumeVarint(b []byte) (x uint64, n int, err error) {
	if v.quicVarints() {
		return consumeQUICVarint(b)
	}
	return ConsumeVarint(b)
}

// varintAt reads an integer at b[n:] and returns the place after it.
func (v Version) varintAt(b []byte, n int) (x uint64, end int, err error) {
	// Nearly all fields of the data plane are one byte long.
	if n < len(b) && (b[n] < 0x40 || b[n] < 0x80 && !v.quicVarints()) {
		return uint64(b[n]), n + 1, nil
	}
	x, m, err := v.consumeVarint(b[n:])
	return x, n + m, err
}
