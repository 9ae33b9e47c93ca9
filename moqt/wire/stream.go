package wire

// StreamType is the integer a unidirectional stream begins with.
//
// [MOQT-18] Section 3.4, Unidirectional Stream Types
type StreamType uint64

// Stream types that are one number. Those of subgroups are many: see Kind.
//
// [MOQT-18] Section 3.4, Unidirectional Stream Types
const (
	StreamTypeFetch   StreamType = 0x05
	StreamTypeSetup   StreamType = 0x2f00
	StreamTypePadding StreamType = 0x132b3e28
)

// StreamKind is what a unidirectional stream carries.
type StreamKind uint8

const (
	StreamKindUnknown  StreamKind = iota // the session must be closed
	StreamKindControl                    // SETUP, then other control messages
	StreamKindSubgroup                   // SubgroupHeader, then objects
	StreamKindFetch                      // FetchHeader, then objects
	StreamKindPadding                    // to be read and thrown away
)

// String returns a name for logs and metric labels.
func (k StreamKind) String() string {
	switch k {
	case StreamKindControl:
		return "control"
	case StreamKindSubgroup:
		return "subgroup"
	case StreamKindFetch:
		return "fetch"
	case StreamKindPadding:
		return "padding"
	default:
		return "unknown"
	}
}

// Kind returns what a stream of the type carries.
func (t StreamType) Kind() StreamKind { return t.kind(Draft18) }

func (t StreamType) kind(v Version) StreamKind {
	switch {
	case v == Draft16 && (t == StreamTypeSetup || t == StreamTypePadding):
		return StreamKindUnknown // [MOQT-16] Section 10, Data Streams and Datagrams
	case t == StreamTypeSetup:
		return StreamKindControl
	case isSubgroupType(uint64(t), v):
		return StreamKindSubgroup
	case t == StreamTypeFetch:
		return StreamKindFetch
	case t == StreamTypePadding:
		return StreamKindPadding
	default:
		return StreamKindUnknown
	}
}

// ConsumeStreamType reads the type of a unidirectional stream. The type belongs to
// the header or message that begins the stream, so consume that from the same
// bytes; n is of use for padding only.
//
// "An endpoint that receives an unknown stream type MUST close the session."
// [MOQT-18] Section 3.4, Unidirectional Stream Types
func ConsumeStreamType(b []byte, v Version) (t StreamType, n int, err error) {
	x, n, err := v.consumeVarint(b)
	if err != nil {
		return 0, 0, err
	}
	t = StreamType(x)
	if t.kind(v) == StreamKindUnknown {
		return 0, 0, violation("unknown stream type " + codeName("", x))
	}
	return t, n, nil
}
