package relay

import (
	"cmp"
	"iter"
	"slices"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// index has names in order, so that those below a prefix are found without a look at the others. Each change wakes all who
// have subscribed to a prefix, with Relay.mu held while they look: what that costs must not grow with what does not concern
// them.
type index []wire.FullTrackName

func compareNames(a, b wire.FullTrackName) int {
	return cmp.Or(a.Namespace.Compare(b.Namespace), cmp.Compare(a.Name, b.Name))
}

// add adds a name that may be there already.
func (x *index) add(name wire.FullTrackName) {
	if i, found := slices.BinarySearchFunc(*x, name, compareNames); !found {
		*x = slices.Insert(*x, i, name)
	}
}

// remove removes a name, if it is there.
func (x *index) remove(name wire.FullTrackName) {
	if i, found := slices.BinarySearchFunc(*x, name, compareNames); found {
		*x = slices.Delete(*x, i, i+1)
	}
}

// below iterates over the names whose namespaces have a prefix.
func (x index) below(prefix wire.Namespace) iter.Seq[wire.FullTrackName] {
	return func(yield func(wire.FullTrackName) bool) {
		i, _ := slices.BinarySearchFunc(x, wire.FullTrackName{Namespace: prefix}, compareNames)
		for ; i < len(x) && x[i].Namespace.HasPrefix(prefix); i++ {
			if !yield(x[i]) {
				return
			}
		}
	}
}
