package relay

import (
	"errors"
	"log/slog"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// datagram is one object that came as a datagram.
type datagram struct {
	object  moqt.Datagram
	arrived time.Time
}

// charged is what the datagram costs in the cache's books, in bytes.
func (d *datagram) charged() int {
	return len(d.object.Payload) + len(d.object.Properties) + objectOverhead
}

// addDatagram appends an object that a publisher brings as a datagram, under the conditions of openSubgroup.
func (t *track) addDatagram(d moqt.Datagram, by *link, now time.Time) refusal {
	t.mu.Lock()
	if t.ended != nil {
		t.mu.Unlock()
		return notTaken
	}
	if why := t.stale(d.Group, by, now); why != taken {
		t.mu.Unlock()
		return why
	}
	if d.Group >= t.largest.Group {
		t.lead(by)
	}
	if len(t.datagrams) == maxDatagrams {
		t.dropDatagrams(1)
	}
	t.datagrams = append(t.datagrams, datagram{d, now})
	t.dgNext++
	t.addCost(t.datagrams[len(t.datagrams)-1].charged())
	t.saw(wire.Location{Group: d.Group, Object: d.Object})
	old := t.fit()
	t.changed.fire()
	t.mu.Unlock()
	cut(old, CutEvicted)
	t.cache.trim()
	if t.observer != nil {
		t.observer.Received(ReceivedObject{Priority: d.Priority, Bytes: len(d.Payload), Properties: d.Properties, At: now})
	}
	return taken
}

// tooLarge says, once for the track, that its objects do not fit into datagrams: nothing else does. Whoever publishes it has to
// send smaller ones, or on streams.
//
// "When the total size is larger than the maximum datagram size for the session, the Object will be dropped without any
// explicit notification."
// [MOQT-18] Section 11.3, Datagrams
func (t *track) tooLarge(err error, d *datagram, log *slog.Logger) {
	if large, ok := errors.AsType[*moqt.DatagramTooLargeError](err); ok && t.toldLarge.CompareAndSwap(false, true) {
		log.Warn("objects of a track are too large for datagrams and do not arrive", "track", t.name.String(),
			"object_bytes", len(d.object.Payload)+len(d.object.Properties), "datagram_bytes_max", large.Max)
	}
}

// dropDatagrams forgets the n oldest datagrams; t.mu is held.
func (t *track) dropDatagrams(n int) {
	for i := range t.datagrams[:n] {
		t.addCost(-t.datagrams[i].charged())
		t.datagrams[i] = datagram{}
	}
	t.datagrams = t.datagrams[n:]
	if len(t.datagrams) == 0 {
		t.datagrams = nil
	}
}
