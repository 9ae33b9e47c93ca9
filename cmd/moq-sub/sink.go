package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// datagramPatience is how long a missing datagram is waited for: they are not sent again.
const datagramPatience = 100 * time.Millisecond

// sink is where the objects of one track end up, over all the subscriptions that bring them. run owns
// all of it but the channel.
type sink struct {
	rendition media.Rendition
	unpack    media.Unpackager // nil if the catalog does not know the track
	seq       *sequencer
	stats     *trackStats
	csv       *csvWriter
	record    *recorder  // nil if nothing is recorded
	splice    *simulcast // nil if the track is recorded by itself
	rank      int        // in splice
	measure   *measurement
	log       *slog.Logger

	events chan event
}

// event is something that came in.
type event struct {
	packet  media.Packet
	arrived time.Time
	begin   bool // a subscription has begun; there is no packet
	end     bool // the stream of packet.Group has ended; there is no packet
	cut     bool // it was abandoned by the sender
	late    bool // it was given up here, as too late
	bad     bool // an object could not be read
}

func newSink(r media.Rendition, unpack media.Unpackager, patience time.Duration) *sink {
	if r.Datagram {
		patience = datagramPatience
	}
	return &sink{
		rendition: r, unpack: unpack, seq: newSequencer(!r.Datagram, patience), events: make(chan event, 256),
	}
}

// put hands over an event; it waits while the sink is busy.
func (s *sink) put(ctx context.Context, e event) {
	select {
	case s.events <- e:
	case <-ctx.Done():
	}
}

// run puts objects in order and deals with them until ctx ends, and then with what is left.
func (s *sink) run(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case e := <-s.events:
			if err := s.take(e); err != nil {
				return err
			}
		case <-timer.C:
		case <-ctx.Done():
			return s.rest()
		}
		if err := s.emit(time.Now()); err != nil {
			return err
		}
		if at, ok := s.seq.Deadline(); ok {
			timer.Reset(time.Until(at))
		}
	}
}

// rest empties the queue, and gives up waiting.
func (s *sink) rest() error {
	for {
		select {
		case e := <-s.events:
			if err := s.take(e); err != nil {
				return err
			}
			continue
		default:
		}
		return s.emit(time.Now().Add(time.Hour))
	}
}

func (s *sink) take(e event) error {
	if s.splice != nil {
		if err := s.splice.take(s.rank, e); err != nil {
			return err
		}
	}
	switch {
	case e.begin:
		s.seq.OnSubscription()
	case e.bad:
		s.stats.count(&s.stats.bad, 1)
	case e.end:
		if e.cut {
			s.stats.count(&s.stats.cut, 1)
		}
		if e.late {
			s.stats.count(&s.stats.givenUp, 1)
		}
		s.seq.OnEnd(e.packet.Group)
	default:
		s.stats.object(e.packet)
		s.seq.OnObject(e.arrived, e.packet)
	}
	return nil
}

// emit deals with the objects whose turn it is.
func (s *sink) emit(now time.Time) error {
	defer func() {
		s.stats.count(&s.stats.lost, s.seq.lost+s.seq.late)
		s.seq.lost, s.seq.late = 0, 0
	}()
	for {
		item, ok := s.seq.Poll(now)
		if !ok {
			return nil
		}
		if s.unpack == nil {
			continue
		}
		frames, err := s.unpack.Unpack(item.packet)
		if err != nil {
			s.stats.count(&s.stats.bad, 1)
			s.log.Debug("object cannot be read", "track", s.rendition.Name, "group", item.at.Group, "object", item.at.Object, "error", err)
		}
		for _, f := range frames {
			delay, late, known := s.stats.frame(f, item.arrived)
			s.measure.frame(f.Track.Kind, item.packet.Priority, delay, late, known)
			if err := s.csv.frame(item.arrived, item.packet, f, delay, known); err != nil {
				return err
			}
			if err := s.record.write(f); err != nil {
				return err
			}
		}
	}
}
