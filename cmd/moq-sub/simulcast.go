package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/broadcast"
	"github.com/moq-c4/moq-c4/media/codec"
)

// simulcast turns the renditions of one video into one track of a recording. It is safe for use by several goroutines.
type simulcast struct {
	// Fixed.
	renditions []media.Rendition // from the best to the least
	out        *media.Track      // what is recorded
	record     *recorder         // nil if nothing is recorded
	log        *slog.Logger

	mu       sync.Mutex // guards what follows
	splicer  *splicer
	unpack   []media.Unpackager // by rank
	lastDTS  int64              // of what was recorded, in out's timescale
	rank     int                // of the last group; -1 before the first
	taken    []uint64           // groups by rank
	partial  uint64             // groups that did not come whole in any rendition
	switches uint64
}

// newSimulcast finds the renditions of a video that stand for each other. It returns nil if there are not two.
func newSimulcast(chosen []media.Rendition, patience time.Duration, record *recorder, log *slog.Logger) (*simulcast, error) {
	var set []media.Rendition
	for _, r := range chosen {
		if r.Track != nil && r.Track.Kind == media.Video && r.AltGroup != 0 && (len(set) == 0 || r.AltGroup == set[0].AltGroup) {
			set = append(set, r)
		}
	}
	if len(set) < 2 {
		return nil, nil
	}
	byQuality(set)
	s := &simulcast{
		renditions: set, out: inBand(set[0].Track), record: record, log: log,
		splicer: newSplicer(len(set), patience), rank: -1, lastDTS: -1, taken: make([]uint64, len(set)),
	}
	for _, r := range set {
		u, err := broadcast.NewUnpackager(r)
		if err != nil {
			return nil, err
		}
		s.unpack = append(s.unpack, u)
	}
	return s, nil
}

// inBand is the track with its parameter sets in the frames, so that pictures of other renditions can follow.
func inBand(t *media.Track) *media.Track {
	out := *t
	out.Codec, out.Init = codec.InBand(t.Codec), nil
	if out.Codec == t.Codec {
		out.Init = t.Init // a codec whose key frames say all
	}
	return &out
}

// rankOf returns the rank of a track; false if it is none of the renditions. A nil simulcast has none.
func (s *simulcast) rankOf(name string) (int, bool) {
	if s != nil {
		for i, r := range s.renditions {
			if r.Name == name {
				return i, true
			}
		}
	}
	return 0, false
}

// take hands over an event of the rendition with this rank and records what it decides.
func (s *simulcast) take(rank int, e event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.begin:
		s.splicer.OnSubscription(rank)
	case e.end:
		s.splicer.OnEnd(time.Now(), rank, e.packet.Group, !e.cut && !e.late)
	case e.packet.Payload != nil: // a bad one leaves a gap
		s.splicer.OnObject(rank, e.packet)
	}
	return s.poll(time.Now())
}

// tick looks whether something was waited for long enough. A nil simulcast does nothing.
func (s *simulcast) tick(now time.Time) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.poll(now)
}

// poll records what is decided. s.mu is held.
func (s *simulcast) poll(now time.Time) error {
	for {
		p, ok := s.splicer.Poll(now)
		if !ok {
			return nil
		}
		if p.rank != s.rank && s.rank >= 0 {
			s.switches++
			s.log.Debug("rendition switched", "group", p.group, "track", s.renditions[p.rank].Name)
		}
		s.rank = p.rank
		s.taken[p.rank]++
		if !p.complete {
			s.partial++
		}
		for i, packet := range p.packets {
			frames, err := s.unpack[p.rank].Unpack(packet)
			if err != nil {
				s.log.Debug("object cannot be read", "track", packet.Track, "group", packet.Group, "object", packet.Object, "error", err)
				break // what follows refers to it
			}
			for j, f := range frames {
				if err := s.record.write(s.frame(f, i == 0 && j == 0)); err != nil {
					return err
				}
			}
		}
	}
}

// frame makes a frame of a rendition one of the recorded track. first marks the first one of a group.
func (s *simulcast) frame(f media.Frame, first bool) media.Frame {
	from := f.Track
	if first {
		if sets := codec.ParameterSets(from.Codec, from.Config); len(sets) > 0 {
			f.Payload = append(sets, f.Payload...)
		}
	}
	f.Track, f.Raw = s.out, nil
	f.DTS = media.Rescale(f.DTS, from.Timescale, s.out.Timescale)
	f.PTS = media.Rescale(f.PTS, from.Timescale, s.out.Timescale)
	f.Duration = media.Rescale(f.Duration, from.Timescale, s.out.Timescale)
	// Renditions may reorder their pictures by different amounts, so their decode times may overlap at a switch.
	f.DTS = max(f.DTS, s.lastDTS+1)
	f.PTS = max(f.PTS, f.DTS)
	s.lastDTS = f.DTS
	return f
}

// spliced is how the recording was put together, as JSON.
type spliced struct {
	Groups   map[string]uint64 `json:"groups"` // by rendition
	Partial  uint64            `json:"partial_groups"`
	Switches uint64            `json:"switches"`
}

// report returns nil of a nil simulcast.
func (s *simulcast) report() *spliced {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &spliced{Groups: make(map[string]uint64), Partial: s.partial, Switches: s.switches}
	for i, n := range s.taken {
		r.Groups[s.renditions[i].Name] = n
	}
	return r
}
