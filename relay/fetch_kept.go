package relay

import (
	"cmp"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Bounds of what a track keeps of answers to FETCH, beside those of the cache's Config.
const (
	// keptShare is the part of Config.CacheTrackBytes that it may take: one half. The rest is for what comes by subscription.
	keptShare = 2

	// maxKept is how many groups it may be.
	maxKept = 512

	// keptOverhead is what the cache's books charge for each object beside properties and payload.
	keptOverhead = 256
)

// kept is a group below the largest that a publisher sends in answer to a FETCH. Once it is there as a whole it answers others.
// It is in the books from its first object on.
//
// It is apart from the groups that come by subscription: subscribers do not get it, a group of the same id that comes late
// replaces it in answers, and it is evicted before any of them and never makes one go.
type kept struct {
	id    uint64
	began time.Time // when its first object began to arrive

	// Guarded by track.mu.
	cost    int
	gap     uint64       // so many groups right before it do not exist
	objects []keptObject // by rising id, all that there are; empty until the group is whole, then they do not change
	gone    bool         // not among those of the track any more
}

// keptObject is an object of such a group.
type keptObject struct {
	header  moqt.FetchObject
	gap     uint64   // so many objects right before it do not exist
	payload [][]byte // in pieces of slabMax at most
	arrived time.Time
}

// keep begins a group. It returns nil if it cannot be kept.
func (t *track) keep(id uint64, now time.Time) *kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != nil || !t.published || id >= t.largest.Group {
		return nil
	}
	if slices.ContainsFunc(t.kept, func(k *kept) bool { return k.id == id }) {
		return nil // another FETCH brings it
	}
	if len(t.kept) == maxKept {
		t.evictKept(EvictCount)
	}
	k := &kept{id: id, began: now}
	t.kept = append(t.kept, k)
	return k
}

// charge makes room for n more bytes of a group, at the expense of those that are kept for longer. If there is none, the group
// is dropped.
func (t *track) charge(k *kept, n int) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !k.gone && (t.keptCost+n > t.cache.maxTrack/keptShare || t.cost+n > t.cache.maxTrack || t.cache.total.Load()+int64(n) > t.cache.max) {
		t.evictKept(EvictBytes)
	}
	if k.gone {
		return false
	}
	k.cost += n
	t.keptCost += n
	t.addCost(n)
	return true
}

// evictKept evicts the oldest of the kept groups, of which there is one; t.mu is held.
func (t *track) evictKept(why Evict) {
	t.dropKept(0)
	t.stats.CacheEvictions[why].Add(1)
}

// dropKept forgets one of the kept groups; t.mu is held.
func (t *track) dropKept(i int) {
	k := t.kept[i]
	t.kept = slices.Delete(t.kept, i, i+1)
	t.keptCost -= k.cost
	t.addCost(-k.cost)
	k.objects, k.gone = nil, true
}

// abandon forgets a group that does not become whole.
func (t *track) abandon(k *kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.kept, k); i >= 0 {
		t.dropKept(i)
	}
}

// expireKept evicts the groups that began to arrive longer than age ago; t.mu is held.
func (t *track) expireKept(now time.Time, age time.Duration) {
	age = min(age, t.maxCache.Or(age))
	for len(t.kept) > 0 && now.Sub(t.kept[0].began) > age {
		t.evictKept(EvictAge)
	}
}

// complete lets a group answer FETCHes from now on.
func (t *track) complete(k *kept, objects []keptObject, gap uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !k.gone && t.ended == nil {
		k.objects, k.gap = objects, gap
		t.stats.GroupsKept.Add(1)
	}
}

// keptFrom returns up to n objects of a kept group from some id on, and the smallest id of which there is no object there.
func (t *track) keptFrom(id, from uint64, n int) (objects []cached, end wire.Opt[uint64]) {
	at := slices.IndexFunc(t.kept, func(k *kept) bool { return k.id == id && len(k.objects) > 0 })
	if at < 0 {
		return nil, end
	}
	all := t.kept[at].objects
	i, _ := slices.BinarySearchFunc(all, from, func(o keptObject, id uint64) int { return cmp.Compare(o.header.Object, id) })
	for ; i < len(all) && len(objects) < n; i++ {
		o := &all[i]
		objects = append(objects, cached{
			at: wire.Location{Group: id, Object: o.header.Object}, gap: o.gap, kept: o, object: objectRef{arrived: o.arrived},
		})
	}
	if last := all[len(all)-1].header.Object; last != lastObject {
		end = wire.Some(last + 1)
	}
	return objects, end
}

// write sends the object.
func (o *keptObject) write(w *moqt.FetchWriter) error {
	err := w.WriteHeader(o.header)
	for _, b := range o.payload {
		if err == nil {
			_, err = w.Write(b)
		}
	}
	return err
}

// keeper makes kept groups of what publishers answer to one FETCH. The zero value keeps nothing. It is used by the goroutine
// that reads the answers.
type keeper struct {
	track           *track // nil: nothing is kept
	now             func() time.Time
	descending      bool
	low, high, last wire.Location // what was asked for, and how far the publisher has answered that

	group   *kept // nil: that of the objects now is not kept
	objects []keptObject
	gap     uint64
	id      uint64 // of the group now, if any is
	any     bool
	rest    int // bytes of the last object that are still to come
}

// answer begins a publisher's answer, whose last location is last.
func (k *keeper) answer(low, high, last wire.Location) {
	k.low, k.high, k.last, k.any = low, high, last, false
}

// object takes the header of an object. What became of all before next, in the order of the answer, is known already.
func (k *keeper) object(o moqt.FetchObject, next wire.Location) {
	if k.track == nil {
		return
	}
	if !k.any || k.id != o.Group {
		if k.descending {
			k.gap = k.id - o.Group - 1
		}
		k.groupEnds()
		k.any, k.id = true, o.Group
		if k.wholeFrom(o.Group, next) {
			k.group = k.track.keep(o.Group, k.now())
		}
		if !k.descending {
			k.gap = o.Group - next.Group
			if next.Object > 0 && k.gap > 0 {
				k.gap--
			}
		}
	}
	if k.group == nil {
		return
	}
	if k.rest > 0 || !k.track.charge(k.group, keptOverhead+len(o.Properties)) {
		k.giveUp()
		return
	}
	o.Properties = o.Properties.Clone()
	gap := o.Object
	if n := len(k.objects); n > 0 {
		gap -= k.objects[n-1].header.Object + 1
	}
	k.objects = append(k.objects, keptObject{header: o, gap: gap, arrived: k.now()})
	k.rest = int(o.PayloadLen)
}

// wholeFrom reports whether all of a group is still to come when an object of it comes.
func (k *keeper) wholeFrom(group uint64, next wire.Location) bool {
	return (next.Group != group || next.Object == 0) &&
		(k.low.Group != group || k.low.Object == 0) &&
		(k.high.Group != group || k.high.Object == lastObject) &&
		(k.last.Group != group || k.last.Object == lastObject)
}

// payload takes a piece of the last object's payload.
func (k *keeper) payload(b []byte) {
	for k.group != nil && len(b) > 0 {
		o := &k.objects[len(k.objects)-1]
		n := len(o.payload)
		if n == 0 || len(o.payload[n-1]) == cap(o.payload[n-1]) {
			size := min(k.rest, slabMax)
			if size == 0 || !k.track.charge(k.group, size) {
				k.giveUp()
				return
			}
			o.payload = append(o.payload, make([]byte, 0, size))
			n++
		}
		piece := &o.payload[n-1]
		take := min(len(b), cap(*piece)-len(*piece))
		*piece = append(*piece, b[:take]...)
		b, k.rest = b[take:], k.rest-take
	}
}

// groupEnds says that there are no more objects in the group now.
func (k *keeper) groupEnds() {
	if k.group != nil && k.rest == 0 {
		k.track.complete(k.group, k.objects, k.gap)
		k.group = nil
	}
	k.giveUp()
}

// giveUp forgets the group now.
func (k *keeper) giveUp() {
	if k.group != nil {
		k.track.abandon(k.group)
	}
	k.group, k.objects, k.gap, k.rest = nil, nil, 0, 0
}
