package wire

import (
	"fmt"
	"math"
)

// FilterType is the kind of a subscription filter.
//
// [MOQT-18] Section 5.1.2, Subscription Filters
type FilterType uint64

// [MOQT-18] Section 5.1.2, Subscription Filters
const (
	FilterNextGroupStart FilterType = 1 // from the group after the largest
	FilterLargestObject  FilterType = 2 // from the object after the largest
	FilterAbsoluteStart  FilterType = 3 // from Start
	FilterAbsoluteRange  FilterType = 4 // from Start to the end of a group
)

// String returns the draft's name.
func (t FilterType) String() string {
	switch t {
	case FilterNextGroupStart:
		return "NextGroupStart"
	case FilterLargestObject:
		return "LargestObject"
	case FilterAbsoluteStart:
		return "AbsoluteStart"
	case FilterAbsoluteRange:
		return "AbsoluteRange"
	default:
		return codeName("", uint64(t))
	}
}

// Filter says which objects of a track a subscriber wants.
//
// [MOQT-18] Section 5.1.2, Subscription Filters
type Filter struct {
	Type     FilterType
	Start    Location // AbsoluteStart, AbsoluteRange
	EndGroup uint64   // AbsoluteRange: last group wanted, at least Start.Group
}

// Range returns what the filter lets pass when largest is the largest object of
// the track: every object from start on, up to the end of the group end. Without
// a largest object, filters relative to it start at {0, 0}. A filter without end
// has the end group 2^64-1.
func (f Filter) Range(largest Opt[Location]) (start Location, end uint64) {
	l, published := largest.Get()
	switch f.Type {
	case FilterNextGroupStart:
		if !published {
			return Location{}, math.MaxUint64
		}
		if l.Group == math.MaxUint64 { // there is no later group
			return Location{Group: math.MaxUint64, Object: math.MaxUint64}, math.MaxUint64
		}
		return Location{Group: l.Group + 1}, math.MaxUint64
	case FilterLargestObject:
		if !published {
			return Location{}, math.MaxUint64
		}
		if l.Object == math.MaxUint64 {
			return Filter{Type: FilterNextGroupStart}.Range(largest)
		}
		return Location{Group: l.Group, Object: l.Object + 1}, math.MaxUint64
	case FilterAbsoluteRange:
		return f.Start, f.EndGroup
	default:
		return f.Start, math.MaxUint64
	}
}

func (f Filter) check() error {
	switch f.Type {
	case FilterNextGroupStart, FilterLargestObject, FilterAbsoluteStart:
		return nil
	case FilterAbsoluteRange:
		if f.EndGroup < f.Start.Group {
			return fmt.Errorf("filter from group %d to %d: %w", f.Start.Group, f.EndGroup, ErrInvalidValue)
		}
		return nil
	default:
		return fmt.Errorf("filter type %v: %w", f.Type, ErrInvalidValue)
	}
}

// Append appends the Subscription Filter structure, without a length before it.
func (f Filter) Append(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(f.Type))
	if f.Type == FilterAbsoluteStart || f.Type == FilterAbsoluteRange {
		b = f.Start.append(b, v)
	}
	if f.Type == FilterAbsoluteRange {
		end := f.EndGroup - f.Start.Group
		if v == Draft16 { // End Group itself: [MOQT-16] Section 5.1.2, Subscription Filters
			end = f.EndGroup
		}
		b = v.appendVarint(b, end)
	}
	return b
}

// parseFilter reads a Subscription Filter structure that fills b.
func parseFilter(b []byte, v Version) (Filter, error) {
	r := bodyReader{b: b, v: v}
	f := Filter{Type: FilterType(r.varint())}
	switch f.Type {
	case FilterNextGroupStart, FilterLargestObject:
	case FilterAbsoluteStart:
		f.Start = r.location()
	case FilterAbsoluteRange:
		f.Start = r.location()
		delta := r.varint()
		if v == Draft16 { // End Group itself: [MOQT-16] Section 5.1.2, Subscription Filters
			if delta < f.Start.Group {
				r.fail(violation("end group of filter is before its start"))
				break
			}
			delta -= f.Start.Group
		}
		// "If the resulting Group ID would be greater than 2^64 - 1, the endpoint
		// MUST close the session with a PROTOCOL_VIOLATION."
		if delta > math.MaxUint64-f.Start.Group {
			r.fail(violation("end group of filter is above 2^64-1"))
		}
		f.EndGroup = f.Start.Group + delta
	default:
		// "An endpoint that receives a filter type other than the above MUST close
		// the session with PROTOCOL_VIOLATION."
		r.fail(violation("unknown filter type " + f.Type.String()))
	}
	if err := r.close("filter"); err != nil {
		return Filter{}, err
	}
	return f, nil
}
