package wire

import (
	"fmt"
	"math"
)

// Serialization Flags of an object on a fetch stream.
//
// [MOQT-18] Section 11.4.4.1, Flags
const (
	fetchSubgroupMask  = 0x03
	fetchSubgroupZero  = 0x00
	fetchSubgroupPrior = 0x01
	fetchSubgroupNext  = 0x02
	fetchSubgroupField = 0x03
	fetchObjectDelta   = 0x04
	fetchGroupDelta    = 0x08
	fetchPriority      = 0x10
	fetchProperties    = 0x20
	fetchDatagram      = 0x40

	fetchFlagsMax = 0x7f
)

// FetchKind says what an item of a fetch stream is.
type FetchKind uint64

// The values of the range markers are those of the Serialization Flags.
//
// [MOQT-18] Section 11.4.4, Fetch Header
const (
	FetchObject           FetchKind = 0
	FetchNonExistentRange FetchKind = 0x8c  // nothing between the item before and this location exists
	FetchUnknownRange     FetchKind = 0x10c // it is not known whether anything there exists
)

// String returns a name for logs.
func (k FetchKind) String() string {
	switch k {
	case FetchObject:
		return "object"
	case FetchNonExistentRange:
		return "end of non-existent range"
	case FetchUnknownRange:
		return "end of unknown range"
	default:
		return codeName("", uint64(k))
	}
}

// FetchHeader begins the stream that carries the objects of a fetch.
//
// [MOQT-18] Section 11.4.4, Fetch Header
type FetchHeader struct {
	RequestID uint64
}

// Append appends the header, its stream type first.
func (h FetchHeader) Append(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(StreamTypeFetch))
	return v.appendVarint(b, h.RequestID)
}

// ConsumeFetchHeader reads the header, its stream type included.
func ConsumeFetchHeader(b []byte, v Version) (h FetchHeader, n int, err error) {
	typ, n, err := v.varintAt(b, 0)
	if err != nil {
		return FetchHeader{}, 0, err
	}
	if StreamType(typ) != StreamTypeFetch {
		return FetchHeader{}, 0, violation("not a fetch header")
	}
	if h.RequestID, n, err = v.varintAt(b, n); err != nil {
		return FetchHeader{}, 0, err
	}
	return h, n, nil
}

// FetchItem is an object on a fetch stream without its payload, or the end of a
// range without objects.
//
// [MOQT-18] Section 11.4.4, Fetch Header
type FetchItem struct {
	Kind     FetchKind
	Location Location // of the object, or last of the range

	// Objects only.
	SubgroupID uint64     // not with Datagram
	Datagram   bool       // the object's forwarding preference is datagram
	Priority   uint8      // publisher priority
	Properties Properties // not parsed; see Properties.Object
	PayloadLen uint64     // bytes that follow
}

// FetchCursor is a place between two items of a fetch stream: what the next item
// may refer to. The zero value stands before the first item of an ascending fetch.
// It is a value: copy it to look ahead.
type FetchCursor struct {
	Descending bool // groups come in descending order

	prev        Location // last item
	started     bool
	subgroup    uint64 // last object that has a subgroup
	hasSubgroup bool
	priority    uint8 // last object
	hasPriority bool
}

// Last returns the location of the item before the cursor, if there is one.
func (c *FetchCursor) Last() (l Location, ok bool) { return c.prev, c.started }

// advance moves the cursor behind item.
//
// "Prior Group ID and prior Object ID: The values from the End of Range indicator."
// "Prior Subgroup ID: The Subgroup ID from the last actual Object before the End of
// Range indicator." [MOQT-18] Section 11.4.4.2, End of Range
func (c *FetchCursor) advance(item *FetchItem) {
	c.prev, c.started = item.Location, true
	if item.Kind != FetchObject {
		return
	}
	c.priority, c.hasPriority = item.Priority, true
	if !item.Datagram {
		c.subgroup, c.hasSubgroup = item.SubgroupID, true
	}
}

// Append appends the next item in the fewest bytes and moves the cursor behind it.
// The payload, PayloadLen bytes, is to be written after it. It fails with
// [ErrInvalidValue] if the item does not come after the last one in the order of the
// fetch; then b is returned as it was and the cursor stays.
func (c *FetchCursor) Append(b []byte, item *FetchItem, v Version) ([]byte, error) {
	if c.started && !c.follows(item.Location) {
		return b, fmt.Errorf("fetch item at %v after %v: %w", item.Location, c.prev, ErrInvalidValue)
	}
	if len(item.Properties) > MaxObjectPropertiesLen {
		return b, fmt.Errorf("properties of %d bytes: %w", len(item.Properties), ErrTooLarge)
	}
	switch item.Kind {
	case FetchObject:
		b = c.appendObject(b, item, v)
	case FetchNonExistentRange, FetchUnknownRange:
		b = v.appendVarint(b, uint64(item.Kind))
		b = item.Location.append(b, v)
	default:
		return b, fmt.Errorf("fetch item kind %v: %w", item.Kind, ErrInvalidValue)
	}
	c.advance(item)
	return b, nil
}

// follows reports whether l may come after the last item.
func (c *FetchCursor) follows(l Location) bool {
	if l.Group == c.prev.Group {
		return l.Object > c.prev.Object
	}
	return (l.Group < c.prev.Group) == c.Descending
}

func (c *FetchCursor) appendObject(b []byte, item *FetchItem, v Version) []byte {
	var flags uint64
	newGroup := !c.started || item.Location.Group != c.prev.Group
	if newGroup {
		flags |= fetchGroupDelta
	}
	// The id after the largest of all does not exist, so nothing is it.
	if !c.started || c.prev.Object == math.MaxUint64 || item.Location.Object != c.prev.Object+1 {
		flags |= fetchObjectDelta
	}
	if !c.hasPriority || item.Priority != c.priority {
		flags |= fetchPriority
	}
	if len(item.Properties) > 0 {
		flags |= fetchProperties
	}
	switch {
	case item.Datagram:
		flags |= fetchDatagram
	case item.SubgroupID == 0:
		flags |= fetchSubgroupZero
	case c.hasSubgroup && item.SubgroupID == c.subgroup:
		flags |= fetchSubgroupPrior
	case c.hasSubgroup && item.SubgroupID == c.subgroup+1:
		flags |= fetchSubgroupNext
	default:
		flags |= fetchSubgroupField
	}
	b = v.appendVarint(b, flags)
	if flags&fetchGroupDelta != 0 {
		b = v.appendVarint(b, c.groupField(item.Location.Group, v))
	}
	if !item.Datagram && flags&fetchSubgroupMask == fetchSubgroupField {
		b = v.appendVarint(b, item.SubgroupID)
	}
	if flags&fetchObjectDelta != 0 {
		delta := item.Location.Object
		if !newGroup && v != Draft16 {
			delta -= c.prev.Object
		}
		b = v.appendVarint(b, delta)
	}
	if flags&fetchPriority != 0 {
		b = append(b, item.Priority)
	}
	if flags&fetchProperties != 0 {
		b = v.appendVarint(b, uint64(len(item.Properties)))
		b = append(b, item.Properties...)
	}
	return v.appendVarint(b, item.PayloadLen)
}

// groupField returns the Group ID Delta of a group that is not the last item's. In draft-16 it is the Group ID itself:
// [MOQT-16] Section 10.4.4, Fetch Header.
func (c *FetchCursor) groupField(group uint64, v Version) uint64 {
	switch {
	case !c.started, v == Draft16:
		return group
	case c.Descending:
		return c.prev.Group - group - 1
	default:
		return group - c.prev.Group - 1
	}
}

// Consume reads the next item and moves the cursor behind it. The payload,
// PayloadLen bytes, follows at b[n:] and need not have arrived.
//
// Beside ErrTruncated and *Error, it returns an error that wraps [ErrTooLarge] for
// properties longer than [MaxObjectPropertiesLen]. On error the cursor stays.
// Whether the objects of a group come in order is not looked at.
func (c *FetchCursor) Consume(b []byte, v Version) (item FetchItem, n int, err error) {
	flags, n, err := v.varintAt(b, 0)
	if err != nil {
		return FetchItem{}, 0, err
	}
	switch {
	case flags <= fetchFlagsMax:
		n, err = c.consumeObject(&item, flags, b, n, v)
	case flags == uint64(FetchNonExistentRange), flags == uint64(FetchUnknownRange):
		n, err = consumeRange(&item, FetchKind(flags), b, n, v)
	default:
		// "Any other value is a PROTOCOL_VIOLATION." [MOQT-18] Section 11.4.4, Fetch Header
		err = violation("unknown serialization flags " + codeName("", flags) + " of fetch object")
	}
	if err != nil {
		return FetchItem{}, 0, err
	}
	c.advance(&item)
	return item, n, nil
}

// consumeRange reads the location of a range marker. It is absolute: as deltas, the
// two fields could not name a later object of the group of the item before. No
// payload length follows, as there is no payload.
func consumeRange(item *FetchItem, kind FetchKind, b []byte, n int, v Version) (int, error) {
	var err error
	item.Kind = kind
	if item.Location.Group, n, err = v.varintAt(b, n); err != nil {
		return 0, err
	}
	if item.Location.Object, n, err = v.varintAt(b, n); err != nil {
		return 0, err
	}
	return n, nil
}

func (c *FetchCursor) consumeObject(item *FetchItem, flags uint64, b []byte, n int, v Version) (int, error) {
	if err := c.checkPrior(flags); err != nil {
		return 0, err
	}
	var err error
	item.Datagram = flags&fetchDatagram != 0
	if n, err = c.consumeGroup(item, flags, b, n, v); err != nil {
		return 0, err
	}
	if n, err = c.consumeSubgroup(item, flags, b, n, v); err != nil {
		return 0, err
	}
	if n, err = c.consumeObjectID(item, flags, b, n, v); err != nil {
		return 0, err
	}
	item.Priority = c.priority
	if flags&fetchPriority != 0 {
		if n >= len(b) {
			return 0, ErrTruncated
		}
		item.Priority = b[n]
		n++
	}
	if flags&fetchProperties != 0 {
		if item.Properties, n, err = consumeObjectProperties(b, n, v); err != nil {
			return 0, err
		}
	}
	if item.PayloadLen, n, err = v.varintAt(b, n); err != nil {
		return 0, err
	}
	return n, nil
}

// checkPrior reports flags that refer to something that was not there.
//
// "The first Object MUST include a Group ID Delta and Object ID Delta, and these
// values are the absolute Group ID and Object ID. If the first Object in the FETCH
// response uses a flag that references fields in the prior Object, the Subscriber
// MUST close the session with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 11.4.4.1, Flags
//
// After a range marker there is a prior location, but perhaps no prior subgroup or
// priority. A prior object that was a datagram has no subgroup; the last one that
// has one is taken then.
func (c *FetchCursor) checkPrior(flags uint64) error {
	if !c.started && flags&(fetchGroupDelta|fetchObjectDelta) != fetchGroupDelta|fetchObjectDelta {
		return violation("first fetch object refers to a location before it")
	}
	if !c.hasPriority && flags&fetchPriority == 0 {
		return violation("fetch object refers to a priority, and there is no object before it")
	}
	if flags&fetchDatagram != 0 || c.hasSubgroup {
		return nil
	}
	switch flags & fetchSubgroupMask {
	case fetchSubgroupPrior, fetchSubgroupNext:
		return violation("fetch object refers to a subgroup, and there is none before it")
	}
	return nil
}

func (c *FetchCursor) consumeGroup(item *FetchItem, flags uint64, b []byte, n int, v Version) (int, error) {
	item.Location.Group = c.prev.Group
	if flags&fetchGroupDelta == 0 {
		return n, nil
	}
	delta, n, err := v.varintAt(b, n)
	if err != nil {
		return 0, err
	}
	// "If the Group Order is Ascending, the Group ID is the prior Object's Group ID
	// plus the Group ID Delta + 1. If the Group Order is Descending, the Group ID is
	// the prior Object's Group ID minus the (Group ID Delta + 1). If the computed Group
	// ID would be less than 0 or greater than 2^64-1, the Subscriber MUST close the
	// Session with error 'PROTOCOL_VIOLATION'."
	// [MOQT-18] Section 11.4.4.1, Flags
	switch {
	case !c.started, v == Draft16:
		item.Location.Group = delta
	case c.Descending:
		if delta >= c.prev.Group {
			return 0, violation("group id of fetch object is below 0")
		}
		item.Location.Group = c.prev.Group - delta - 1
	default:
		if delta >= math.MaxUint64-c.prev.Group {
			return 0, violation("group id of fetch object is above 2^64-1")
		}
		item.Location.Group = c.prev.Group + delta + 1
	}
	return n, nil
}

func (c *FetchCursor) consumeSubgroup(item *FetchItem, flags uint64, b []byte, n int, v Version) (int, error) {
	if item.Datagram {
		return n, nil
	}
	var err error
	switch flags & fetchSubgroupMask {
	case fetchSubgroupZero:
	case fetchSubgroupPrior:
		item.SubgroupID = c.subgroup
	case fetchSubgroupNext:
		// Nothing is said about this sum; its neighbours say PROTOCOL_VIOLATION.
		if c.subgroup == math.MaxUint64 {
			return 0, violation("subgroup id of fetch object is above 2^64-1")
		}
		item.SubgroupID = c.subgroup + 1
	case fetchSubgroupField:
		if item.SubgroupID, n, err = v.varintAt(b, n); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// consumeObjectID reads the Object ID.
//
// "When the Group ID Delta field is present, the Object ID is the value of Object ID
// Delta if present. When the Group ID Delta field is not present, the Object ID is
// the prior Object's ID plus the Object ID Delta if present. If Object ID Delta is
// not present, the Object ID is the prior Object's ID plus one, regardless of which
// group it belongs to. If the computed Object ID would be greater than 2^64-1, the
// Subscriber MUST close the Session with error 'PROTOCOL_VIOLATION'."
// [MOQT-18] Section 11.4.4.1, Flags
func (c *FetchCursor) consumeObjectID(item *FetchItem, flags uint64, b []byte, n int, v Version) (int, error) {
	delta := uint64(1)
	if flags&fetchObjectDelta != 0 {
		var err error
		if delta, n, err = v.varintAt(b, n); err != nil {
			return 0, err
		}
		if flags&fetchGroupDelta != 0 || v == Draft16 {
			item.Location.Object = delta
			return n, nil
		}
	}
	if delta > math.MaxUint64-c.prev.Object {
		return 0, violation("object id of fetch object is above 2^64-1")
	}
	item.Location.Object = c.prev.Object + delta
	return n, nil
}
