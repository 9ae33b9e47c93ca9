package wire

// ObjectProperties are the Object Properties of the transport.
//
// [MOQT-18] Section 12, MOQT Properties
type ObjectProperties struct {
	PriorGroupIDGap  Opt[uint64] // so many groups before this one do not exist
	PriorObjectIDGap Opt[uint64] // so many objects before this one do not exist
	Immutable        Properties  // contents of Immutable Properties
}

// Object reads p as the properties of the object at l and checks what can be seen
// from one object. Bytes in the result point into p; nothing is allocated unless
// there is an error.
//
// The error is an *Error if p is not a list of key-value pairs, and wraps
// [ErrMalformedTrack] if it breaks a rule of Object Properties.
func (p Properties) Object(l Location, v Version) (ObjectProperties, error) {
	var o ObjectProperties
	hasImmutable := false
	it := p.Iter(v)
	for it.Next() {
		if it.cur.Type == PropertyImmutable {
			// "An Object MUST NOT contain more than one instance of this property."
			// [MOQT-18] Section 12.7, Immutable Properties
			if hasImmutable {
				return ObjectProperties{}, malformed("more than one immutable properties")
			}
			o.Immutable, hasImmutable = it.cur.Bytes, true
			continue
		}
		if err := o.set(it.cur, l); err != nil {
			return ObjectProperties{}, err
		}
	}
	if it.err != nil {
		return ObjectProperties{}, it.err
	}
	in := o.Immutable.Iter(v)
	for in.Next() {
		if in.cur.Type == PropertyImmutable {
			return ObjectProperties{}, malformed("immutable properties contain themselves")
		}
		if err := o.set(in.cur, l); err != nil {
			return ObjectProperties{}, err
		}
	}
	if in.err != nil {
		return ObjectProperties{}, malformedImmutable(in.err)
	}
	return o, nil
}

func (o *ObjectProperties) set(p Property, l Location) error {
	switch p.Type {
	case PropertyPriorGroupIDGap:
		return setGap(&o.PriorGroupIDGap, p.Uint, l.Group, "group")
	case PropertyPriorObjectIDGap:
		return setGap(&o.PriorObjectIDGap, p.Uint, l.Object, "object")
	default:
		// "An Object received with a Mandatory Track Property as an Object Property is
		// malformed ..." [MOQT-18] Section 2.5.1, Mandatory Track Properties
		if isMandatoryTrackProperty(p.Type) {
			return malformed("object with a mandatory track property")
		}
		return nil
	}
}

// setGap sets a gap before the id of an object.
//
// "A Track is considered malformed ... if any of the following conditions are
// detected: ... An Object contains more than one instance of Prior Group ID Gap. ...
// An Object has a Prior Group ID Gap larger than the
// Group ID." [MOQT-18] Section 12.8, Prior Group ID Gap; the same in Section 12.9
func setGap(o *Opt[uint64], gap, id uint64, kind string) error {
	if o.ok {
		return malformed("more than one prior " + kind + " gap")
	}
	if gap > id {
		return malformed("prior " + kind + " gap is larger than the " + kind + " id")
	}
	*o = Some(gap)
	return nil
}
