package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/media/synthetic"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// counts is what all subscribers of a run have received. delays may be read when they have ended.
type counts struct {
	bytes   atomic.Uint64 // payload
	objects atomic.Uint64
	lost    atomic.Uint64 // objects that never came, came damaged or were cut off

	mu     sync.Mutex
	delays map[media.Kind]*media.Delay
}

func newCounts() *counts {
	return &counts{delays: map[media.Kind]*media.Delay{media.Audio: {}, media.Video: {}}}
}

// The kinds of tracks, as keys of counts.delays.
const (
	audio = media.Audio
	video = media.Video
)

// quantile returns a quantile of the delays of one kind in ms.
func (c *counts) quantile(kind media.Kind, q float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.delays[kind].Quantile(q).Microseconds()) / 1000
}

func (c *counts) merge(kind media.Kind, d *media.Delay) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays[kind].Merge(d)
}

// subscriber receives the synthetic call and checks every payload. Delays are taken while measuring is set.
type subscriber struct {
	dialer    *cli.Dialer
	namespace wire.Namespace
	counts    *counts
	measuring *atomic.Bool
	ready     func() // called when everything is subscribed
}

// run receives until ctx ends; what ends before is an error.
func (s *subscriber) run(ctx context.Context) error {
	err := s.dialer.WithSession(ctx, s.receive)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// receive subscribes to all tracks and receives until ctx ends.
func (s *subscriber) receive(ctx context.Context, ms *moqt.Session) error {
	renditions, err := s.catalog(ctx, ms)
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	var tracks sync.WaitGroup
	defer tracks.Wait()
	defer stop()
	for _, r := range renditions {
		sub, err := ms.Subscribe(ctx, moqt.SubscribeRequest{
			Track: wire.FullTrackName{Namespace: s.namespace, Name: r.Name},
			// Whole groups only, so that every object can be expected.
			Params: wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterNextGroupStart})},
		})
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", r.Name, err)
		}
		tracks.Go(func() { s.track(ctx, sub, r) })
	}
	s.ready()
	tracks.Wait()
	return errors.New("the tracks have ended")
}

// catalog returns the tracks of the call: both videos, and the audio that comes in datagrams.
func (s *subscriber) catalog(ctx context.Context, ms *moqt.Session) ([]media.Rendition, error) {
	sub, err := ms.Subscribe(ctx, moqt.SubscribeRequest{
		Track: wire.FullTrackName{Namespace: s.namespace, Name: catalog.MSFTrackName},
		Params: wire.Params{
			Filter:            wire.Some(wire.Filter{Type: wire.FilterLargestObject}),
			RendezvousTimeout: wire.Some(wire.MillisOf(10 * time.Second)),
		},
	})
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	in, err := sub.Next(ctx)
	if err != nil || in.Subgroup == nil {
		return nil, errors.Join(err, errors.New("no object came"))
	}
	defer in.Subgroup.Stop(wire.StreamCancelled)
	if _, err := in.Subgroup.Next(); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(in.Subgroup)
	if err != nil {
		return nil, err
	}
	c, err := catalog.ParseMSF(b)
	if err != nil {
		return nil, err
	}
	all, _ := c.Renditions()
	var renditions []media.Rendition
	for _, r := range all {
		if r.Track.Kind == media.Video || r.Datagram {
			renditions = append(renditions, r)
		}
	}
	if len(renditions) != 3 {
		return nil, fmt.Errorf("%d tracks, want the 3 of the synthetic call", len(renditions))
	}
	return renditions, nil
}

// track receives one track. Groups arrive side by side, so the order is looked at per group; what a whole
// group lacks is lost.
func (s *subscriber) track(ctx context.Context, sub *moqt.Subscription, r media.Rendition) {
	var groups sync.WaitGroup
	var delays trackDelays
	defer func() { s.counts.merge(r.Track.Kind, &delays.d) }()
	defer groups.Wait()
	var datagrams sequence
	for {
		in, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if d := in.Datagram; d != nil {
			s.object(&delays, &datagrams, d.Properties, d.Payload)
			continue
		}
		groups.Go(func() { s.group(ctx, in.Subgroup, &delays) })
	}
}

// group reads one group and expects every frame of it.
func (s *subscriber) group(ctx context.Context, sg *moqt.SubgroupReader, delays *trackDelays) {
	defer context.AfterFunc(ctx, func() { sg.Stop(wire.StreamCancelled) })()
	var seq sequence
	var payload []byte
	n := 0
	for {
		o, err := sg.Next()
		if err != nil {
			if ctx.Err() == nil && n < framesPerGroup {
				s.counts.lost.Add(uint64(framesPerGroup - n))
			}
			return
		}
		props := append(wire.Properties(nil), o.Properties...)
		payload = payload[:0]
		for {
			b, err := sg.ReadChunk()
			if err != nil {
				break
			}
			payload = append(payload, b...)
		}
		n++
		s.object(delays, &seq, props, payload)
	}
}

// object checks one object and takes its delay.
func (s *subscriber) object(delays *trackDelays, seq *sequence, props wire.Properties, payload []byte) {
	now := time.Now()
	s.counts.objects.Add(1)
	s.counts.bytes.Add(uint64(len(payload)))
	_, number, err := synthetic.Verify(payload)
	if err != nil {
		s.counts.lost.Add(1)
		return
	}
	s.counts.lost.Add(seq.missing(number))
	if !s.measuring.Load() {
		return
	}
	if loc, err := props.LOC(wire.Draft18); err == nil {
		if us, ok := loc.Timestamp.Get(); ok {
			delays.observe(now.Sub(time.UnixMicro(int64(us))))
		}
	}
}

// sequence finds gaps in numbers that rise by one.
type sequence struct {
	next    uint64
	started bool
}

// missing returns how many numbers were left out before n.
func (s *sequence) missing(n uint64) (gap uint64) {
	if s.started && n > s.next {
		gap = n - s.next
	}
	s.next, s.started = n+1, true
	return gap
}

type trackDelays struct {
	mu sync.Mutex
	d  media.Delay
}

func (t *trackDelays) observe(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.d.Observe(d)
}
