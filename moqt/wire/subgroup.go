package wire

// Bits of the type of a SUBGROUP_HEADER.
//
// [MOQT-18] Section 11.4.2, Subgroup Header
const (
	subgroupProperties      = 0x01
	subgroupModeMask        = 0x06
	subgroupModeShift       = 1
	subgroupEndOfGroup      = 0x08
	subgroupAlways          = 0x10
	subgroupDefaultPriority = 0x20
	subgroupFirstObject     = 0x40

	subgroupTypeMax = 0x7f
)

// SubgroupIDMode says where the Subgroup ID of a stream is found.
//
// [MOQT-18] Section 11.4.2, Subgroup Header
type SubgroupIDMode uint8

// [MOQT-18] Section 11.4.2, Subgroup Header
const (
	SubgroupIDZero        SubgroupIDMode = 0 // it is 0
	SubgroupIDFirstObject SubgroupIDMode = 1 // it is the id of the first object on the stream
	SubgroupIDExplicit    SubgroupIDMode = 2 // it is in the header
)

// SubgroupHeader begins a stream that carries objects of one subgroup.
//
// [MOQT-18] Section 11.4.2, Subgroup Header
type SubgroupHeader struct {
	TrackAlias uint64
	GroupID    uint64
	IDMode     SubgroupIDMode
	SubgroupID uint64     // with SubgroupIDExplicit; else see ID
	Priority   Opt[uint8] // absent: that of the track

	HasProperties bool // every object has a properties block, perhaps an empty one
	EndOfGroup    bool // the last object before a FIN is the last of the group
	FirstObject   bool // the first object on the stream is the first of the subgroup
}

// ID returns the Subgroup ID, given the id of the first object on the stream. That
// is not looked at unless the mode is SubgroupIDFirstObject.
func (h *SubgroupHeader) ID(firstObject uint64) uint64 {
	switch h.IDMode {
	case SubgroupIDFirstObject:
		return firstObject
	case SubgroupIDExplicit:
		return h.SubgroupID
	default:
		return 0
	}
}

// isSubgroupType reports whether x is a type of a SUBGROUP_HEADER.
//
// "The following Type values are invalid. ... Type values with SUBGROUP_ID_MODE set
// to 0b11 ... Type values that do not match the form 0b0XX1XXXX"
// [MOQT-18] Section 11.4.2, Subgroup Header
func isSubgroupType(x uint64, v Version) bool {
	if v == Draft16 && x&subgroupFirstObject != 0 { // [MOQT-16] Section 10.4.2: 0b00X1XXXX
		return false
	}
	return x <= subgroupTypeMax && x&subgroupAlways != 0 && x&subgroupModeMask != subgroupModeMask
}

// Append appends the header, its stream type first. IDMode must be one of the
// constants.
func (h *SubgroupHeader) Append(b []byte, v Version) []byte {
	typ := uint64(subgroupAlways) | uint64(h.IDMode)<<subgroupModeShift&subgroupModeMask
	if h.HasProperties {
		typ |= subgroupProperties
	}
	if h.EndOfGroup {
		typ |= subgroupEndOfGroup
	}
	if !h.Priority.ok {
		typ |= subgroupDefaultPriority
	}
	if h.FirstObject && v != Draft16 {
		typ |= subgroupFirstObject
	}
	b = v.appendVarint(b, typ)
	b = v.appendVarint(b, h.TrackAlias)
	b = v.appendVarint(b, h.GroupID)
	if h.IDMode == SubgroupIDExplicit {
		b = v.appendVarint(b, h.SubgroupID)
	}
	if h.Priority.ok {
		b = append(b, h.Priority.value)
	}
	return b
}

// ConsumeSubgroupHeader reads the header, its stream type included. It is at most
// [MaxStreamHeaderLen] bytes long.
func ConsumeSubgroupHeader(b []byte, v Version) (h SubgroupHeader, n int, err error) {
	typ, n, err := v.consumeVarint(b)
	if err != nil {
		return SubgroupHeader{}, 0, err
	}
	if !isSubgroupType(typ, v) {
		return SubgroupHeader{}, 0, violation("stream type " + codeName("", typ) + " is not that of a subgroup")
	}
	h = SubgroupHeader{
		IDMode:        SubgroupIDMode(typ & subgroupModeMask >> subgroupModeShift),
		HasProperties: typ&subgroupProperties != 0,
		EndOfGroup:    typ&subgroupEndOfGroup != 0,
		FirstObject:   typ&subgroupFirstObject != 0,
	}
	if h.TrackAlias, n, err = v.varintAt(b, n); err != nil {
		return SubgroupHeader{}, 0, err
	}
	if h.GroupID, n, err = v.varintAt(b, n); err != nil {
		return SubgroupHeader{}, 0, err
	}
	if h.IDMode == SubgroupIDExplicit {
		if h.SubgroupID, n, err = v.varintAt(b, n); err != nil {
			return SubgroupHeader{}, 0, err
		}
	}
	if typ&subgroupDefaultPriority == 0 {
		if n >= len(b) {
			return SubgroupHeader{}, 0, ErrTruncated
		}
		h.Priority = Some(b[n])
		n++
	}
	return h, n, nil
}
