package wire

import "fmt"

// Bits of the type of an OBJECT_DATAGRAM.
//
// [MOQT-18] Section 11.3.1, Object Datagram
const (
	datagramProperties      = 0x01
	datagramEndOfGroup      = 0x02
	datagramZeroObjectID    = 0x04
	datagramDefaultPriority = 0x08
	datagramStatus          = 0x20

	datagramTypeMask = 0x2f
)

// DatagramType is the integer a datagram begins with.
//
// [MOQT-18] Section 11, Data Streams and Datagrams
type DatagramType uint64

// DatagramTypePadding is the type of a datagram to be thrown away. All others that
// are known are objects.
//
// [MOQT-18] Section 11.5.2, Padding Datagrams
const DatagramTypePadding DatagramType = 0x132b3e29

// ConsumeDatagramType reads the type of a datagram: padding, or else an object for
// [ParseDatagram], which reads the type again. n is of use for padding only.
//
// "An endpoint that receives an unknown datagram type MUST close the session."
// [MOQT-18] Section 11, Data Streams and Datagrams
func ConsumeDatagramType(b []byte, v Version) (t DatagramType, n int, err error) {
	x, n, err := v.varintAt(b, 0)
	if err != nil {
		return 0, 0, complete(err, "datagram")
	}
	t = DatagramType(x)
	if (t != DatagramTypePadding || v == Draft16) && !isObjectDatagramType(x) {
		return 0, 0, violation("unknown datagram type " + codeName("", x))
	}
	return t, n, nil
}

// isObjectDatagramType reports whether x is a type of an OBJECT_DATAGRAM.
//
// "Type values with both the STATUS bit (0x20) and END_OF_GROUP bit (0x02) set ...
// An object status message cannot signal end of group."
// [MOQT-18] Section 11.3.1, Object Datagram
func isObjectDatagramType(x uint64) bool {
	const both = datagramStatus | datagramEndOfGroup
	return x&^datagramTypeMask == 0 && x&both != both
}

// Datagram is an object with its payload in one datagram.
//
// [MOQT-18] Section 11.3.1, Object Datagram
type Datagram struct {
	TrackAlias uint64
	GroupID    uint64
	ObjectID   uint64
	Priority   Opt[uint8] // absent: that of the track
	EndOfGroup bool       // this is the last object of the group
	Properties Properties // not parsed; see Properties.Object
	Status     ObjectStatus
	Payload    []byte
}

// Append appends the whole datagram. It fails with [ErrInvalidValue] if status,
// properties, payload and EndOfGroup do not go together.
func (d *Datagram) Append(b []byte, v Version) ([]byte, error) {
	b, err := d.appendHeader(b, v)
	if err != nil {
		return b, err
	}
	return append(b, d.Payload...), nil
}

// appendHeader appends everything before the payload.
func (d *Datagram) appendHeader(b []byte, v Version) ([]byte, error) {
	if err := checkSentObject(d.Status, d.Properties, uint64(len(d.Payload))); err != nil {
		return b, err
	}
	if d.Status != ObjectNormal && d.EndOfGroup {
		return b, fmt.Errorf("datagram with status %v and end of group: %w", d.Status, ErrInvalidValue)
	}
	var typ uint64
	if len(d.Properties) > 0 {
		typ |= datagramProperties
	}
	if d.EndOfGroup {
		typ |= datagramEndOfGroup
	}
	if d.ObjectID == 0 {
		typ |= datagramZeroObjectID
	}
	if !d.Priority.ok {
		typ |= datagramDefaultPriority
	}
	if d.Status != ObjectNormal {
		typ |= datagramStatus
	}
	b = v.appendVarint(b, typ)
	b = v.appendVarint(b, d.TrackAlias)
	b = v.appendVarint(b, d.GroupID)
	if d.ObjectID != 0 {
		b = v.appendVarint(b, d.ObjectID)
	}
	if d.Priority.ok {
		b = append(b, d.Priority.value)
	}
	if len(d.Properties) > 0 {
		b = v.appendVarint(b, uint64(len(d.Properties)))
		b = append(b, d.Properties...)
	}
	if d.Status != ObjectNormal {
		b = v.appendVarint(b, uint64(d.Status))
	}
	return b, nil
}

// ParseDatagram reads an object datagram. As a datagram is whole or not there, the
// error is an *Error, never ErrTruncated, or wraps [ErrTooLarge]. Properties and
// Payload point into b.
func ParseDatagram(b []byte, v Version) (Datagram, error) {
	d, err := parseDatagram(b, v)
	if err != nil {
		return Datagram{}, complete(err, "datagram")
	}
	return d, nil
}

func parseDatagram(b []byte, v Version) (d Datagram, err error) {
	typ, n, err := v.varintAt(b, 0)
	if err != nil {
		return d, err
	}
	if !isObjectDatagramType(typ) {
		return d, violation("datagram type " + codeName("", typ) + " is not that of an object")
	}
	d.EndOfGroup = typ&datagramEndOfGroup != 0
	if d.TrackAlias, n, err = v.varintAt(b, n); err != nil {
		return d, err
	}
	if d.GroupID, n, err = v.varintAt(b, n); err != nil {
		return d, err
	}
	if typ&datagramZeroObjectID == 0 {
		if d.ObjectID, n, err = v.varintAt(b, n); err != nil {
			return d, err
		}
	}
	if typ&datagramDefaultPriority == 0 {
		if n >= len(b) {
			return d, ErrTruncated
		}
		d.Priority = Some(b[n])
		n++
	}
	if typ&datagramProperties != 0 {
		if d.Properties, n, err = consumeObjectProperties(b, n, v); err != nil {
			return d, err
		}
		// "If an endpoint receives a datagram with the PROPERTIES bit set and an
		// Properties Length of 0, it MUST close the session with a PROTOCOL_VIOLATION."
		// [MOQT-18] Section 11.3.1, Object Datagram
		if len(d.Properties) == 0 {
			return d, violation("datagram with empty properties")
		}
	}
	if typ&datagramStatus == 0 {
		d.Payload = b[n:len(b):len(b)]
		return d, nil
	}
	status, n, err := v.varintAt(b, n)
	if err != nil {
		return d, err
	}
	// "Any object with a status code other than zero MUST have an empty payload." With
	// the STATUS bit "there is no Object Payload" at all.
	if n < len(b) {
		return d, violation("datagram with status has bytes after it")
	}
	d.Status = ObjectStatus(status)
	return d, checkStatus(d.Status, d.Properties)
}
