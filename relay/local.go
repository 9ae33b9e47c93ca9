package relay

import (
	"errors"
	"fmt"
	"sync"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

var (
	// ErrDuplicateTrack is returned by Publish for a name that is carried here already.
	ErrDuplicateTrack = errors.New("track is published already")

	// ErrTrackEnded is returned for objects of a track that has ended.
	ErrTrackEnded = errors.New("track has ended")
)

// LocalTrack is a track that this process publishes. Its subscribers are served from the same log, by the same
// rules, as those of a track that a relay carries. One goroutine writes.
type LocalTrack struct {
	relay *Relay
	route *route

	mu   sync.Mutex // guards open against End
	open *subgroup
	done bool
}

// LocalObject is an object of a LocalTrack. Its group is one subgroup, number 0.
type LocalObject struct {
	Group, Object uint64
	Priority      uint8
	Properties    wire.Properties
	Payload       []byte
	EndOfGroup    bool // nothing follows in this group
}

// Publish begins a track of this process.
func (r *Relay) Publish(name wire.FullTrackName, props wire.Properties) (*LocalTrack, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.routes[name] != nil {
		return nil, fmt.Errorf("publish %v: %w", name, ErrDuplicateTrack)
	}
	rt := r.newRoute(name, true)
	rt.track.setProperties(props, wire.Opt[wire.Location]{})
	rt.establish()
	r.arrived.fire()
	return &LocalTrack{relay: r, route: rt}, nil
}

// Watched reports whether anybody subscribes to the track.
func (t *LocalTrack) Watched() bool {
	t.relay.mu.Lock()
	defer t.relay.mu.Unlock()
	return t.route.holds > 0
}

// WantsGroup reports whether a subscriber has asked for a new group that has not begun yet, and returns a channel that is
// closed at the next such request. Only a track with the DYNAMIC_GROUPS property is asked.
func (t *LocalTrack) WantsGroup() (wanted bool, asked <-chan struct{}) {
	n, asked := t.route.track.wantsGroup()
	return n.IsSet(), asked
}

// Write appends an object to the stream of its group. A new group ends the one before.
// Groups must not go back, objects must rise.
func (t *LocalTrack) Write(o LocalObject) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.relay.cfg.Now()
	if t.done {
		return ErrTrackEnded
	}
	if t.open == nil || t.open.header.Group != o.Group {
		t.finish()
		t.open, _ = t.route.track.openSubgroup(moqt.SubgroupHeader{
			Group: o.Group, Priority: o.Priority, HasPriority: true,
			Properties: true, EndOfGroup: true, FirstObject: true,
		}, nil, now)
		if t.open == nil {
			return nil // the group has left the cache already
		}
	}
	h := moqt.ObjectHeader{ID: o.Object, Properties: o.Properties, PayloadLen: uint64(len(o.Payload))}
	grown, err := t.open.beginObject(h, now)
	if err != nil {
		return fmt.Errorf("object %d of group %d: %w", o.Object, o.Group, err)
	}
	t.route.track.objectBegan(wire.Location{Group: o.Group, Object: o.Object}, grown)
	t.route.track.grew(t.open.append(o.Payload))
	t.route.track.objectDone(t.open, now)
	if o.EndOfGroup {
		t.finish()
	}
	return nil
}

// WriteDatagram sends an object as a datagram.
func (t *LocalTrack) WriteDatagram(o LocalObject) {
	t.route.track.addDatagram(moqt.Datagram{
		Group: o.Group, Object: o.Object, Priority: o.Priority, HasPriority: true,
		EndOfGroup: o.EndOfGroup, Properties: o.Properties, Payload: o.Payload,
	}, nil, t.relay.cfg.Now())
}

func (t *LocalTrack) finish() {
	if t.open != nil {
		t.open.finish(endFinished, 0)
		t.open = nil
	}
}

// End ends the track: its subscribers get PUBLISH_DONE.
func (t *LocalTrack) End() {
	t.mu.Lock()
	t.finish()
	t.done = true
	t.mu.Unlock()
	t.relay.mu.Lock()
	t.relay.remove(t.route)
	t.relay.mu.Unlock()
	t.route.track.end(wire.DoneTrackEnded, "")
}
