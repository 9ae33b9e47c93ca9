package moqt

import (
	"errors"
	"testing"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// ruleTest is what a track does, one step after the other.
type ruleStep func(*TrackRules) error

func ruleObject(group, subgroup, id uint64, props ...wire.Property) ruleStep {
	return ruleObjectAt(group, wire.Some(subgroup), id, 128, wire.ObjectNormal, props...)
}

func ruleObjectAt(group uint64, subgroup wire.Opt[uint64], id uint64, priority uint8, status wire.ObjectStatus, props ...wire.Property) ruleStep {
	return func(r *TrackRules) error {
		p, err := wire.AppendProperties(nil, props, testVersion)
		if err != nil {
			panic(err)
		}
		return r.Object(loc(group, id), subgroup, priority, status, p, testVersion)
	}
}

func ruleStatus(group, id uint64, status wire.ObjectStatus) ruleStep {
	return ruleObjectAt(group, wire.Some(uint64(0)), id, 128, status)
}

func ruleFIN(group, subgroup, last uint64, endOfGroup bool) ruleStep {
	return func(r *TrackRules) error { return r.SubgroupEnded(group, subgroup, last, endOfGroup) }
}

func groupGap(n uint64) wire.Property {
	return wire.Property{Type: wire.PropertyPriorGroupIDGap, Uint: n}
}

func objectGap(n uint64) wire.Property {
	return wire.Property{Type: wire.PropertyPriorObjectIDGap, Uint: n}
}

// "Some example conditions that constitute a malformed track when detected by a receiver include: ..."
// [MOQT-18] Section 2.4.2, Malformed Tracks; Section 12.8, Prior Group ID Gap; Section 12.9, Prior Object ID Gap
func TestTrackRules(t *testing.T) {
	datagram := ruleObjectAt(5, wire.Opt[uint64]{}, 7, 1, wire.ObjectNormal)
	for _, tc := range []struct {
		name  string
		steps []ruleStep
		bad   bool // the last step is the one that shows it
	}{
		{"objects in order", []ruleStep{ruleObject(5, 0, 0), ruleObject(5, 0, 1), ruleObject(5, 1, 2), datagram}, false},
		{"a subgroup twice", []ruleStep{ruleObject(5, 0, 0), ruleFIN(5, 0, 0, true), ruleObject(5, 0, 0), ruleFIN(5, 0, 0, true)}, false},
		{"another priority", []ruleStep{ruleObject(5, 0, 0), ruleObjectAt(5, wire.Some(uint64(0)), 1, 3, wire.ObjectNormal)}, true},
		{"priorities of subgroups", []ruleStep{ruleObject(5, 0, 0), ruleObjectAt(5, wire.Some(uint64(1)), 1, 3, wire.ObjectNormal)}, false},
		{"after the end of a subgroup", []ruleStep{ruleObject(5, 0, 0), ruleFIN(5, 0, 0, false), ruleObject(5, 0, 1)}, true},
		{"another end of a subgroup", []ruleStep{ruleFIN(5, 0, 3, false), ruleFIN(5, 0, 2, false)}, true},
		{"after the end of a group by FIN", []ruleStep{ruleObject(5, 0, 3), ruleFIN(5, 0, 3, true), ruleObject(5, 1, 4)}, true},
		{"before the end of a group", []ruleStep{ruleObject(5, 0, 3), ruleFIN(5, 0, 3, true), ruleObject(5, 1, 2)}, false},
		{"after the end of a group by status", []ruleStep{ruleStatus(5, 4, wire.ObjectEndOfGroup), ruleObject(5, 0, 4)}, true},
		{"status and bit", []ruleStep{ruleStatus(5, 4, wire.ObjectEndOfGroup), ruleFIN(5, 0, 4, true)}, false},
		{"end of a group before its objects", []ruleStep{ruleObject(5, 0, 4), ruleStatus(5, 4, wire.ObjectEndOfGroup)}, true},
		{"two ends of a group", []ruleStep{ruleStatus(5, 4, wire.ObjectEndOfGroup), ruleStatus(5, 6, wire.ObjectEndOfGroup)}, true},
		{"after the end of the track", []ruleStep{ruleStatus(5, 4, wire.ObjectEndOfTrack), ruleObject(6, 0, 0)}, true},
		{"at the end of the track", []ruleStep{ruleStatus(5, 4, wire.ObjectEndOfTrack), ruleObject(5, 0, 4)}, true},
		{"before the end of the track", []ruleStep{ruleStatus(5, 4, wire.ObjectEndOfTrack), ruleObject(5, 0, 3)}, false},
		{"end of the track before its objects", []ruleStep{ruleObject(5, 0, 4), ruleStatus(5, 3, wire.ObjectEndOfTrack)}, true},
		{"gap of groups", []ruleStep{ruleObject(5, 0, 0), ruleObject(8, 0, 0, groupGap(2)), ruleObject(8, 0, 1, groupGap(2))}, false},
		{"two gaps of groups", []ruleStep{ruleObject(8, 0, 0, groupGap(2)), ruleObject(8, 0, 1, groupGap(1))}, true},
		{"gap covers a group", []ruleStep{ruleObject(7, 0, 0), ruleObject(8, 0, 0, groupGap(1))}, true},
		{"group in a gap", []ruleStep{ruleObject(8, 0, 0, groupGap(1)), ruleObject(7, 0, 0)}, true},
		{"gap below group 0", []ruleStep{ruleObject(1, 0, 0, groupGap(2))}, true},
		{"gap twice in one object", []ruleStep{ruleObject(8, 0, 0, groupGap(2), groupGap(2))}, true},
		{"gap of objects", []ruleStep{ruleObject(5, 0, 2), ruleObject(5, 0, 5, objectGap(2))}, false},
		{"gap covers an object", []ruleStep{ruleObject(5, 0, 3), ruleObject(5, 0, 5, objectGap(2))}, true},
		{"object in a gap", []ruleStep{ruleObject(5, 0, 5, objectGap(2)), ruleObject(5, 1, 4)}, true},
		{"mandatory property", []ruleStep{ruleObject(5, 0, 0, wire.Property{Type: 0x4000})}, true},
		{"an old group is forgotten", append(manyGroups(100), ruleObjectAt(1, wire.Some(uint64(0)), 1, 3, wire.ObjectNormal)), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r TrackRules
			for i, step := range tc.steps {
				err := step(&r)
				want := tc.bad && i == len(tc.steps)-1
				if (err != nil) != want || err != nil && !errors.Is(err, wire.ErrMalformedTrack) {
					t.Fatalf("step %d: %v", i, err)
				}
			}
		})
	}
}

func manyGroups(n int) (steps []ruleStep) {
	for g := range n {
		steps = append(steps, ruleObject(uint64(g), 0, 0))
	}
	return steps
}

// What a publisher can make grow has a bound.
func TestTrackRulesBounded(t *testing.T) {
	var r TrackRules
	for i := range uint64(10_000) {
		if err := ruleObject(1, i, 3*i+2, objectGap(1))(&r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range r.groups {
		if g := &r.groups[i]; len(g.subgroups) > ruleSubgroups || len(g.gaps) > ruleGaps {
			t.Errorf("%d subgroups, %d gaps", len(g.subgroups), len(g.gaps))
		}
	}
}
