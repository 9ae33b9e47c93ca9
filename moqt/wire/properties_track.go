package wire

import "fmt"

// Values that hold when a track does not carry the property.
const (
	// [MOQT-18] Section 12.4, DEFAULT PUBLISHER PRIORITY
	DefaultPublisherPriority uint8 = 128
	// [MOQT-18] Section 12.5, DEFAULT PUBLISHER GROUP ORDER
	DefaultPublisherGroupOrder = GroupOrderAscending
)

// TrackProperties are the Track Properties this package understands. A relay keeps
// and forwards the [Properties] they were read from, not this.
//
// [MOQT-18] Section 12, MOQT Properties
type TrackProperties struct {
	ObjectDeliveryTimeout   Opt[Millis] // 0 is none
	MaxCacheDuration        Opt[Millis]
	SubgroupDeliveryTimeout Opt[Millis] // 0 is none
	DefaultPriority         Opt[uint8]  // see Priority
	DefaultGroupOrder       Opt[GroupOrder]
	DynamicGroups           Opt[bool] // default false

	// Immutable holds the contents of Immutable Properties. The fields above are
	// also filled from it, where the list itself does not have them.
	Immutable Properties

	// Mandatory is the first Mandatory Track Property, if there is one. As none is
	// understood, the track must then be refused with UNSUPPORTED_EXTENSION.
	Mandatory Opt[uint64]

	// Other holds all other properties of the list itself, in order.
	Other []Property
}

// Priority returns the publisher priority of what does not carry its own.
func (t *TrackProperties) Priority() uint8 { return t.DefaultPriority.Or(DefaultPublisherPriority) }

// GroupOrder returns the order of groups the publisher prefers.
func (t *TrackProperties) GroupOrder() GroupOrder {
	return t.DefaultGroupOrder.Or(DefaultPublisherGroupOrder)
}

// Track reads p as Track Properties and checks them. Where a property is given
// more than once, the first counts, and those of the list itself come before those
// inside Immutable Properties. Bytes in the result point into p.
//
// The error is an *Error, or wraps [ErrMalformedTrack] if Immutable Properties
// cannot be read or contain themselves.
func (p Properties) Track(v Version) (TrackProperties, error) {
	var t TrackProperties
	hasImmutable := false
	it := p.Iter(v)
	for it.Next() {
		if it.cur.Type == PropertyImmutable && !hasImmutable {
			t.Immutable, hasImmutable = it.cur.Bytes, true
			continue
		}
		known, err := t.set(it.cur)
		if err != nil {
			return TrackProperties{}, err
		}
		if !known {
			t.Other = append(t.Other, it.cur)
		}
	}
	if it.err != nil {
		return TrackProperties{}, it.err
	}
	in := t.Immutable.Iter(v)
	for in.Next() {
		if in.cur.Type == PropertyImmutable {
			return TrackProperties{}, malformed("immutable properties contain themselves")
		}
		if _, err := t.set(in.cur); err != nil {
			return TrackProperties{}, err
		}
	}
	if in.err != nil {
		return TrackProperties{}, malformedImmutable(in.err)
	}
	return t, nil
}

func malformed(reason string) error { return fmt.Errorf("%w: %s", ErrMalformedTrack, reason) }

// set takes over one property unless it was set before, and returns whether it is
// one that has a field. Bad values are reported in any case.
func (t *TrackProperties) set(p Property) (known bool, err error) {
	switch p.Type {
	case PropertyObjectDeliveryTimeout:
		setOnce(&t.ObjectDeliveryTimeout, Millis(p.Uint))
	case PropertyMaxCacheDuration:
		setOnce(&t.MaxCacheDuration, Millis(p.Uint))
	case PropertySubgroupDeliveryTimeout:
		setOnce(&t.SubgroupDeliveryTimeout, Millis(p.Uint))
	case PropertyDefaultPriority:
		// "Priorities above 255 are invalid." [MOQT-18] Section 12.4, DEFAULT PUBLISHER
		// PRIORITY. No code is given; its neighbours say PROTOCOL_VIOLATION.
		if p.Uint > 255 {
			return false, violation("DEFAULT_PUBLISHER_PRIORITY is above 255")
		}
		setOnce(&t.DefaultPriority, uint8(p.Uint))
	case PropertyDefaultGroupOrder:
		// "The allowed values are Ascending (0x1) or Descending (0x2). If an endpoint
		// receives a value outside this range, it MUST close the session with
		// PROTOCOL_VIOLATION." [MOQT-18] Section 12.5, DEFAULT PUBLISHER GROUP ORDER
		if p.Uint != uint64(GroupOrderAscending) && p.Uint != uint64(GroupOrderDescending) {
			return false, violation("DEFAULT_PUBLISHER_GROUP_ORDER is neither 1 nor 2")
		}
		setOnce(&t.DefaultGroupOrder, GroupOrder(p.Uint))
	case PropertyDynamicGroups:
		// "If an endpoint receives a value larger than 1, it MUST close the session
		// with PROTOCOL_VIOLATION." [MOQT-18] Section 12.6, DYNAMIC GROUPS
		if p.Uint > 1 {
			return false, violation("DYNAMIC_GROUPS is above 1")
		}
		setOnce(&t.DynamicGroups, p.Uint == 1)
	default:
		if isMandatoryTrackProperty(p.Type) {
			setOnce(&t.Mandatory, p.Type)
		}
		return false, nil
	}
	return true, nil
}

func setOnce[T any](o *Opt[T], x T) {
	if !o.ok {
		*o = Some(x)
	}
}

// Properties returns t in the form messages carry: the fields, and Other, which
// must be in ascending order of type and must not hold types that have a field.
// Mandatory is not looked at; such a property is in Other.
func (t *TrackProperties) Properties(v Version) (Properties, error) {
	list := make([]Property, 0, 7+len(t.Other))
	rest := t.Other
	add := func(present bool, p Property) {
		if !present {
			return
		}
		for len(rest) > 0 && rest[0].Type < p.Type {
			list, rest = append(list, rest[0]), rest[1:]
		}
		list = append(list, p)
	}
	add(t.ObjectDeliveryTimeout.ok, Property{Type: PropertyObjectDeliveryTimeout, Uint: uint64(t.ObjectDeliveryTimeout.value)})
	add(t.MaxCacheDuration.ok, Property{Type: PropertyMaxCacheDuration, Uint: uint64(t.MaxCacheDuration.value)})
	add(t.SubgroupDeliveryTimeout.ok, Property{Type: PropertySubgroupDeliveryTimeout, Uint: uint64(t.SubgroupDeliveryTimeout.value)})
	add(t.Immutable != nil, Property{Type: PropertyImmutable, Bytes: t.Immutable})
	add(t.DefaultPriority.ok, Property{Type: PropertyDefaultPriority, Uint: uint64(t.DefaultPriority.value)})
	add(t.DefaultGroupOrder.ok, Property{Type: PropertyDefaultGroupOrder, Uint: uint64(t.DefaultGroupOrder.value)})
	add(t.DynamicGroups.ok, Property{Type: PropertyDynamicGroups, Uint: uint64(boolByte(t.DynamicGroups.value))})
	list = append(list, rest...)
	return AppendProperties(nil, list, v)
}
