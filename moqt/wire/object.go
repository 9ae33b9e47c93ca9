package wire

import (
	"fmt"
	"math"
)

// ObjectStatus says whether an object is one, or marks where no more are.
//
// [MOQT-18] Section 11.2.1.1, Object Status
type ObjectStatus uint64

// [MOQT-18] Section 11.2.1.1, Object Status
const (
	ObjectNormal     ObjectStatus = 0
	ObjectEndOfGroup ObjectStatus = 3 // no object of the group has this id or a larger one
	ObjectEndOfTrack ObjectStatus = 4 // no object of the track is at this location or after it
)

// String returns a name for logs.
func (s ObjectStatus) String() string {
	switch s {
	case ObjectNormal:
		return "normal"
	case ObjectEndOfGroup:
		return "end of group"
	case ObjectEndOfTrack:
		return "end of track"
	default:
		return codeName("", uint64(s))
	}
}

func (s ObjectStatus) valid() bool {
	return s == ObjectNormal || s == ObjectEndOfGroup || s == ObjectEndOfTrack
}

// checkStatus reports what the peer must not send.
//
// "Any other value SHOULD be treated as a protocol error and the session SHOULD be
// closed with a PROTOCOL_VIOLATION ..." [MOQT-18] Section 11.2.1.1, Object Status
//
// "If an endpoint receives properties on an Object with status that is not Normal,
// it MUST close the session with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 11.2.1.2, Object Properties
func checkStatus(s ObjectStatus, properties Properties) error {
	if !s.valid() {
		return violation("unknown object status " + s.String())
	}
	if s != ObjectNormal && len(properties) > 0 {
		return violation("properties on an object that is not normal")
	}
	return nil
}

// checkSentObject is checkStatus for what we send.
func checkSentObject(s ObjectStatus, properties Properties, payloadLen uint64) error {
	if !s.valid() {
		return fmt.Errorf("object status %v: %w", s, ErrInvalidValue)
	}
	if s != ObjectNormal && (len(properties) > 0 || payloadLen > 0) {
		return fmt.Errorf("object with status %v has properties or payload: %w", s, ErrInvalidValue)
	}
	if len(properties) > MaxObjectPropertiesLen {
		return fmt.Errorf("properties of %d bytes: %w", len(properties), ErrTooLarge)
	}
	return nil
}

// ObjectHeader is an object on a subgroup stream without its payload.
//
// [MOQT-18] Section 11.4.2, Subgroup Header
type ObjectHeader struct {
	ID         uint64
	Properties Properties // not parsed; see Properties.Object
	PayloadLen uint64     // bytes that follow the header
	Status     ObjectStatus
}

// SubgroupCursor is a place between two objects of a subgroup stream: what the
// next object's id counts from. The zero value stands before the first object of a
// stream without properties. It is a value: copy it to look ahead.
type SubgroupCursor struct {
	HasProperties bool // from the SubgroupHeader

	prev    uint64
	started bool
}

// Cursor returns the place before the first object.
func (h *SubgroupHeader) Cursor() SubgroupCursor {
	return SubgroupCursor{HasProperties: h.HasProperties}
}

// Last returns the id of the object before the cursor, if there is one.
func (c *SubgroupCursor) Last() (id uint64, ok bool) { return c.prev, c.started }

// Append appends the header of the next object and moves the cursor behind it. The
// payload, o.PayloadLen bytes, is to be written after it. It fails with
// [ErrInvalidValue] if the id is not above the last one, if there are properties and
// the stream has none, or if status, properties and payload do not go together; then
// b is returned as it was and the cursor stays.
func (c *SubgroupCursor) Append(b []byte, o *ObjectHeader, v Version) ([]byte, error) {
	if err := checkSentObject(o.Status, o.Properties, o.PayloadLen); err != nil {
		return b, err
	}
	if len(o.Properties) > 0 && !c.HasProperties {
		return b, fmt.Errorf("object with properties on a stream without: %w", ErrInvalidValue)
	}
	delta := o.ID
	if c.started {
		if o.ID <= c.prev {
			return b, fmt.Errorf("object %d after %d: %w", o.ID, c.prev, ErrInvalidValue)
		}
		delta = o.ID - c.prev - 1
	}
	b = v.appendVarint(b, delta)
	if c.HasProperties {
		b = v.appendVarint(b, uint64(len(o.Properties)))
		b = append(b, o.Properties...)
	}
	b = v.appendVarint(b, o.PayloadLen)
	if o.PayloadLen == 0 {
		b = v.appendVarint(b, uint64(o.Status))
	}
	c.prev, c.started = o.ID, true
	return b, nil
}

// Consume reads the header of the next object and moves the cursor behind it. The
// payload, PayloadLen bytes, follows at b[n:] and need not have arrived.
//
// Beside ErrTruncated and *Error, it returns an error that wraps [ErrTooLarge] for
// properties longer than [MaxObjectPropertiesLen]. On error the cursor stays.
func (c *SubgroupCursor) Consume(b []byte, v Version) (o ObjectHeader, n int, err error) {
	delta, n, err := v.varintAt(b, 0)
	if err != nil {
		return ObjectHeader{}, 0, err
	}
	o.ID = delta
	if c.started {
		// "The Object ID Delta + 1 is added to the previous Object ID in the Subgroup
		// stream if there was one. ... If the resulting Object ID would be greater than
		// 2^64 - 1, the endpoint MUST close the session with a PROTOCOL_VIOLATION."
		// [MOQT-18] Section 11.4.2, Subgroup Header
		if c.prev == math.MaxUint64 || delta > math.MaxUint64-c.prev-1 {
			return ObjectHeader{}, 0, violation("object id is above 2^64-1")
		}
		o.ID = c.prev + 1 + delta
	}
	if c.HasProperties {
		if o.Properties, n, err = consumeObjectProperties(b, n, v); err != nil {
			return ObjectHeader{}, 0, err
		}
	}
	if o.PayloadLen, n, err = v.varintAt(b, n); err != nil {
		return ObjectHeader{}, 0, err
	}
	if o.PayloadLen == 0 {
		var status uint64
		if status, n, err = v.varintAt(b, n); err != nil {
			return ObjectHeader{}, 0, err
		}
		o.Status = ObjectStatus(status)
		if err := checkStatus(o.Status, o.Properties); err != nil {
			return ObjectHeader{}, 0, err
		}
	}
	c.prev, c.started = o.ID, true
	return o, n, nil
}

// consumeObjectProperties reads the Object Properties structure at b[n:] and
// returns the place after it. Without properties the result is nil.
//
// [MOQT-18] Section 11.2.1.2, Object Properties
func consumeObjectProperties(b []byte, n int, v Version) (p Properties, end int, err error) {
	l, n, err := v.varintAt(b, n)
	if err != nil {
		return nil, 0, err
	}
	if l > MaxObjectPropertiesLen {
		return nil, 0, fmt.Errorf("%w: object properties of %d bytes", ErrTooLarge, l)
	}
	if l == 0 {
		return nil, n, nil
	}
	end = n + int(l)
	if len(b) < end {
		return nil, 0, ErrTruncated
	}
	return Properties(b[n:end:end]), end, nil
}
