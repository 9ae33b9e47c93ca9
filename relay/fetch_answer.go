package relay

import (
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// fetchAnswer writes the objects of a FETCH, in the order asked for, and says what became of those that are not sent. The
// ranges without objects are merged, and left out where a gap says the same.
//
// "Any gaps in the Group and Object IDs in the response stream indicate objects that do not exist."
// [MOQT-18] Section 10.12.3, Fetch Handling
//
// "A publisher SHOULD NOT use `End of Non-Existent Range` in a FETCH response except to split a range of Objects that will
// not be serialized into those that are known not to exist and those with unknown status."
// [MOQT-18] Section 11.4.4.2, End of Range
type fetchAnswer struct {
	w *moqt.FetchWriter

	kind    moqt.FetchGap // of the range that was told last and not written yet; 0: there is none
	through wire.Location // its last location
}

// absent says that there are no objects from where the answer is now through a location.
func (a *fetchAnswer) absent(through wire.Location) error {
	return a.rangeOf(moqt.GapNonExistent, through)
}

// unknown says that nothing is known of the objects from where the answer is now through a location.
func (a *fetchAnswer) unknown(through wire.Location) error {
	return a.rangeOf(moqt.GapUnknown, through)
}

func (a *fetchAnswer) rangeOf(kind moqt.FetchGap, through wire.Location) error {
	if a.kind != 0 && a.kind != kind {
		if err := a.flush(); err != nil {
			return err
		}
	}
	a.kind, a.through = kind, through
	return nil
}

// flush writes the range that was told last.
func (a *fetchAnswer) flush() error {
	if a.kind == 0 {
		return nil
	}
	o := moqt.FetchObject{Group: a.through.Group, Object: a.through.Object, Gap: a.kind}
	a.kind = 0
	return a.w.WriteObject(o, nil)
}

// next makes ready for an object.
func (a *fetchAnswer) next() error {
	if a.kind == moqt.GapNonExistent {
		a.kind = 0 // the gap before the object says it
	}
	return a.flush()
}

// close ends the answer.
func (a *fetchAnswer) close() error {
	if err := a.next(); err != nil {
		return err
	}
	return a.w.Close()
}

// write sends an object with its payload from the cache.
func (o cached) write(w *moqt.FetchWriter) error {
	if o.kept != nil {
		return o.kept.write(w)
	}
	if d := o.dgram; d != nil {
		return w.WriteObject(moqt.FetchObject{
			Group: d.Group, Object: d.Object, Datagram: true, Priority: d.Priority,
			Properties: d.Properties, PayloadLen: uint64(len(d.Payload)),
		}, d.Payload)
	}
	err := w.WriteHeader(moqt.FetchObject{
		Group: o.at.Group, Object: o.at.Object, Subgroup: o.header.Subgroup, Priority: o.header.Priority,
		Properties: o.object.props, PayloadLen: uint64(o.object.length),
	})
	for at := o.object.payload; err == nil && at < o.object.end(); {
		b, _, _, _ := o.log.read(at)
		if len(b) == 0 {
			return errEvicted
		}
		b = b[:min(len(b), o.object.end()-at)]
		_, err = w.Write(b)
		at += len(b)
	}
	return err
}
