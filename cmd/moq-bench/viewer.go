package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/object"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/priority"
)

// The tracks of the synthetic call, by the names that package broadcast gives them.
const (
	audioTrack = "audio"
	lowTrack   = "video-low"
	midTrack   = "video-mid"
)

// viewer watches tracks of the call and notes each frame, to tell what a path does to them.
type viewer struct {
	namespace wire.Namespace
	tracks    []string
	late      []string  // of these, a group is given up when a frame of it is too late
	began     time.Time // when the connection was begun; set by the one who needs it
	ready     func()    // called when everything is subscribed; may be nil

	mu       sync.Mutex
	lateness priority.Lateness
	seen     map[string]*trackSeen
}

// trackSeen is what came of a track.
type trackSeen struct {
	frames []frameSeen // in the order of arrival
	groups map[uint64]*groupSeen
	bytes  int64 // payload, also of objects that did not come whole
}

type frameSeen struct {
	group, object     uint64
	captured, arrived time.Time
}

func (f frameSeen) delay() time.Duration { return f.arrived.Sub(f.captured) }

// groupSeen is how a group went.
type groupSeen struct {
	began, ended time.Time // arrival of the header of its first object, and of the end; zero if it goes on
	frames       int
	complete     bool // all of it came
	stopped      bool // given up here, as too late
	reset        bool // by the sender, for other reasons
}

func newViewer(namespace wire.Namespace, tracks, late []string) *viewer {
	v := &viewer{namespace: namespace, tracks: tracks, late: late, seen: make(map[string]*trackSeen)}
	for _, name := range tracks {
		v.seen[name] = &trackSeen{groups: make(map[uint64]*groupSeen)}
	}
	return v
}

// watch subscribes to the tracks, from the next group on, and receives until ctx ends.
func (v *viewer) watch(ctx context.Context, s *moqt.Session) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, name := range v.tracks {
		sub, err := s.Subscribe(ctx, moqt.SubscribeRequest{
			Track: wire.FullTrackName{Namespace: v.namespace, Name: name},
			Params: wire.Params{
				Filter:            wire.Some(wire.Filter{Type: wire.FilterNextGroupStart}),
				RendezvousTimeout: wire.Some(wire.MillisOf(10 * time.Second)),
			},
		})
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", name, err)
		}
		running.Go(func() { v.track(ctx, sub, name) })
	}
	if v.ready != nil {
		v.ready()
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("the tracks have ended")
}

func (v *viewer) track(ctx context.Context, sub *moqt.Subscription, name string) {
	var groups sync.WaitGroup
	defer groups.Wait()
	defer sub.Close()
	for {
		in, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if d := in.Datagram; d != nil {
			p, _ := object.FromDatagram(name, d)
			v.frame(name, p, time.Now())
			continue
		}
		groups.Go(func() { v.group(ctx, name, in.Subgroup) })
	}
}

// group reads one group to its end, or until a frame of it is too late.
func (v *viewer) group(ctx context.Context, name string, sg *moqt.SubgroupReader) {
	defer context.AfterFunc(ctx, func() { sg.Stop(wire.StreamCancelled) })()
	g := v.begin(name, sg.Header().Group)
	for {
		o, err := sg.Next()
		if err != nil {
			v.end(g, func() { g.complete, g.reset = errors.Is(err, io.EOF), !errors.Is(err, io.EOF) })
			return
		}
		p, _ := object.FromHeader(name, sg.Header(), o)
		whole := v.payload(name, sg)
		if !whole {
			continue // Next says why
		}
		late := v.frame(name, p, time.Now())
		v.mu.Lock()
		g.frames++
		v.mu.Unlock()
		if late {
			sg.Stop(wire.StreamDeliveryTimeout)
			v.end(g, func() { g.stopped = true })
			return
		}
	}
}

// payload reads an object's payload away and reports whether all of it came.
func (v *viewer) payload(name string, sg *moqt.SubgroupReader) bool {
	for {
		b, err := sg.ReadChunk()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		v.mu.Lock()
		v.seen[name].bytes += int64(len(b))
		v.mu.Unlock()
	}
}

func (v *viewer) begin(name string, group uint64) *groupSeen {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.seen[name].groups[group]
	if g == nil {
		g = &groupSeen{began: time.Now()}
		v.seen[name].groups[group] = g
	}
	return g
}

func (v *viewer) end(g *groupSeen, how func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g.ended = time.Now()
	how()
}

// frame notes a whole frame and reports whether it is too late for its track.
func (v *viewer) frame(name string, p media.Packet, arrived time.Time) (late bool) {
	captured, ok := media.CaptureTime(p.Properties)
	if !ok {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.seen[name]
	t.frames = append(t.frames, frameSeen{p.Group, p.Object, captured, arrived})
	t.bytes += int64(len(p.Payload))
	return v.lateness.OnFrame(captured, arrived) > priority.LateAfter && slices.Contains(v.late, name)
}
