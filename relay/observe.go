package relay

import (
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// An Observer is told what a relay does with the objects of its tracks, to measure it. See Config.Observer.
type Observer interface {
	// Track is called once for each track, before its first object. The result may be nil. A track that begins
	// anew is another one. It is called with locks held and must not call the relay.
	Track(name wire.FullTrackName) TrackObserver
}

// A TrackObserver is told of one track's objects, by many goroutines at once, for each object and subscriber: it must be
// quick.
type TrackObserver interface {
	// Received is called when the last byte of an object has come in.
	Received(o ReceivedObject)

	// Handed is called when the last byte of an object was handed to the transport of a subscriber, with the time since
	// it came in. What was in the cache before the subscriber came is left out. A datagram is handed to the
	// session's queue.
	Handed(priority uint8, took time.Duration)

	// Delivered is called when a subscriber has acknowledged all of an object, with the time since it was handed over.
	// Only some sessions are able to tell; see docs/operations.md.
	Delivered(priority uint8, took time.Duration)

	// Ended is called when the track is no longer carried, though some subscribers may still get the rest of it.
	Ended()
}

// ReceivedObject is an object that has come in.
type ReceivedObject struct {
	Priority   uint8           // the publisher's
	Bytes      int             // of payload
	Properties wire.Properties // as [wire.Draft18] has them; valid until Received returns
	At         time.Time       // of the last byte
}

// observe asks for the observer of a new track.
func (c *Config) observe(name wire.FullTrackName) TrackObserver {
	if c.Observer == nil {
		return nil
	}
	return c.Observer.Track(name)
}

// objectDone notes that the newest object has come in whole and tells the observer.
func (t *track) objectDone(s *subgroup, now time.Time) {
	if t.observer == nil {
		return
	}
	if o, ok := s.markDone(now); ok {
		t.observer.Received(ReceivedObject{Priority: s.header.Priority, Bytes: o.length, Properties: o.props, At: now})
	}
}

// markDone sets when the newest object was complete.
func (s *subgroup) markDone(now time.Time) (o objectRef, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.objects) == 0 {
		return objectRef{}, false
	}
	last := &s.objects[len(s.objects)-1]
	last.done = now
	return *last, true
}

// handed is how many objects a write carries at most for which a cursor takes one look into the log.
const handedAtOnce = 16

// handed tells the observer of the objects whose last byte lies in what was written up to offset.
func (c *cursor) handed(offset int) {
	observer := c.of.track.observer
	if observer == nil {
		return
	}
	now := c.cfg.Now()
	var took [handedAtOnce]time.Duration
	for {
		n, more := c.take(offset, now, &took)
		for _, d := range took[:n] {
			observer.Handed(c.subgroup.header.Priority, d)
		}
		if w := c.writer.Load(); n > 0 && c.tellsAcks && w != nil {
			w.OnAcked(func(at time.Time) {
				for range n {
					observer.Delivered(c.subgroup.header.Priority, max(0, at.Sub(now)))
				}
			})
		}
		if !more {
			return
		}
	}
}

// take moves c.next past the objects that end at offset or before, and returns how long ago each came in.
func (c *cursor) take(offset int, now time.Time, took *[handedAtOnce]time.Duration) (n int, more bool) {
	s := c.subgroup
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; c.next < len(s.objects); c.next++ {
		o := &s.objects[c.next]
		if o.end() > offset {
			return n, false
		}
		if n == handedAtOnce {
			return n, true
		}
		done := o.done
		if done.IsZero() { // this very moment: the ingest has not come back yet
			done = now
		}
		if done.Before(c.joined) || o.id < c.from {
			continue
		}
		took[n] = max(0, now.Sub(done))
		n++
	}
	return n, false
}
