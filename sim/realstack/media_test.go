//go:build linux

package realstack

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// media runs the sources of a flow and returns when the last one has ended.
//
// As in the simulator the subscriber asks for each group at its time, here with NEW_GROUP_REQUEST, and the publisher's clock of a
// group begins when that has arrived. So what happens on the way up counts, and is compared.
func (s *stack) media(f *scenario.Flow, m *measured) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range f.Sources {
		src := &f.Sources[i]
		l := &lateness{}
		m.sources[src.Name] = l
		track := s.publish(src.Name)
		all.Go(func() { s.source(track, src) })
		all.Go(func() {
			n := s.receive(src, l, m.began, s.scenario.MeasureFrom-m.handshake)
			mu.Lock()
			m.cancelled += n
			mu.Unlock()
		})
	}
	all.Wait()
}

// source writes the frames of a source at their times.
func (s *stack) source(track *relay.LocalTrack, src *scenario.Source) {
	defer track.End()
	for !track.Watched() {
		time.Sleep(100 * time.Microsecond)
	}
	start := time.Now()
	payload := make([]byte, max(src.Key, src.Size))
	if src.Datagrams {
		for n := range src.Frames {
			time.Sleep(time.Until(start.Add(src.FrameTime(n))))
			track.WriteDatagram(relay.LocalObject{Group: uint64(n), Priority: uint8(src.Priority), Payload: payload[:src.Size], EndOfGroup: true})
		}
		time.Sleep(time.Until(start.Add(src.FrameTime(src.Frames)))) // its end is one period after the last frame
		return
	}
	for g := range src.Groups() {
		if g > 0 {
			start = requested(track, start.Add(2*src.GroupTime()))
		}
		frames := min(src.Group, src.Frames-g*src.Group)
		for i := range frames {
			// The next group ends this one. If it is asked for early, because this one was asked for late, what
			// is left of this one is written at once.
			_, next := track.WantsGroup()
			wait := time.NewTimer(time.Until(start.Add(src.FrameTime(i))))
			select {
			case <-wait.C:
			case <-next:
			}
			wait.Stop()
			size := src.Size
			if i == 0 {
				size = src.Key
			}
			o := relay.LocalObject{
				Group: uint64(g), Object: uint64(i), Priority: uint8(src.Priority), Payload: payload[:size],
				EndOfGroup: i == frames-1,
			}
			if err := track.Write(o); err != nil {
				s.Error(err)
			}
		}
	}
}

// requested waits for the request for the next group and returns its time. One that is lost for good, with its
// connection, is given up at a deadline.
func requested(track *relay.LocalTrack, deadline time.Time) time.Time {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	for {
		wanted, asked := track.WantsGroup()
		if wanted {
			return time.Now()
		}
		select {
		case <-asked:
		case <-late.C:
			return time.Now()
		}
	}
}

// ask asks for the groups of a source after the first, each at its time.
func (s *stack) ask(sub *moqt.Subscription, src *scenario.Source, began time.Time) {
	for g := range src.Groups() {
		if g == 0 {
			continue
		}
		time.Sleep(time.Until(began.Add(time.Duration(g) * src.GroupTime())))
		go sub.Update(s.ctx, wire.Params{NewGroupRequest: wire.Some(uint64(g))})
	}
}

// receive measures how late the frames of a source are against the subscriber's clock, which
// begins with the subscription, and returns the number of groups it gave up.
func (s *stack) receive(src *scenario.Source, l *lateness, began time.Time, measureFrom time.Duration) (cancelled int) {
	sub, err := s.session.Subscribe(s.ctx, moqt.SubscribeRequest{Track: trackName(src.Name)})
	if err != nil {
		s.Error(err)
		return 0
	}
	var groups sync.WaitGroup
	var mu sync.Mutex
	groups.Go(func() { s.ask(sub, src, began) })
	for {
		in, err := sub.Next(s.ctx)
		if done := (*moqt.DoneError)(nil); errors.As(err, &done) {
			break
		} else if err != nil {
			s.Error(err)
			break
		}
		if d := in.Datagram; d != nil {
			due := src.FrameTime(int64(d.Group))
			l.add(time.Since(began)-due, due, int(d.Group))
			continue
		}
		groups.Go(func() {
			if !s.group(src, l, in.Subgroup, began, measureFrom) {
				mu.Lock()
				cancelled++
				mu.Unlock()
			}
		})
	}
	groups.Wait()
	return cancelled
}

// group receives one group of video. It returns false if it was given up.
func (s *stack) group(src *scenario.Source, l *lateness, r *moqt.SubgroupReader, began time.Time, measureFrom time.Duration) bool {
	start := time.Duration(r.Header().Group) * src.GroupTime()
	for {
		o, err := r.Next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if reset := (*moqt.StreamError)(nil); errors.As(err, &reset) {
			return false // the relay has given it up
		}
		if err != nil {
			s.Errorf("%s: %v", src.Name, err)
			return true
		}
		now := time.Since(began)
		if due := start + src.FrameTime(int64(o.ID)); due >= measureFrom {
			l.add(now-due, due, int(r.Header().Group)*int(src.Group)+int(o.ID))
		}
		received := int64(o.ID) + 1
		if src.Cancel > 0 && received < src.Group && now > start+src.Cancel+src.FrameTime(received) {
			r.Stop(wire.StreamCancelled)
			return false
		}
	}
}
