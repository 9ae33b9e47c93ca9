package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/object"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/broadcast"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/priority"
)

// maxObjectBytes bounds one object. A larger one is skipped.
const maxObjectBytes = 64 << 20

// receiver takes in a broadcast over as many sessions as it needs.
type receiver struct {
	flags   *flags
	log     *slog.Logger
	stats   *statistics
	csv     *csvWriter
	record  *recorder
	measure *measurement // nil with --ops off
	late    *punctuality

	simulcast *simulcast // nil without --simulcast, or before the catalog

	// Sinks live as long as the receiver, subscriptions as long as their session or the catalog's word.
	sinks   map[string]*sink
	ctx     context.Context // of the sinks
	running sync.WaitGroup
	stop    context.CancelCauseFunc // ends everything after a local failure

	received atomic.Bool // the broadcast has been there
}

// run receives until ctx ends or, if that is not to be waited for, there is nothing to receive.
func (r *receiver) run(ctx context.Context) error {
	ctx, r.stop = context.WithCancelCause(ctx)
	r.ctx = ctx
	defer r.running.Wait()
	defer r.stop(context.Canceled)
	var backoff cli.Backoff
	for {
		err := r.flags.dialer.WithSession(ctx, func(ctx context.Context, s *moqt.Session) error {
			backoff.Reset()
			return r.broadcast(ctx, s)
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !r.waits() {
			return err
		}
		wait := backoff.Next()
		r.log.Warn("not receiving", "error", err, "retry_in", wait)
		if cli.Sleep(ctx, wait) != nil {
			return context.Cause(ctx)
		}
	}
}

// waits reports whether what is not there is waited for.
func (r *receiver) waits() bool { return r.flags.wait || r.received.Load() }

// broadcast follows the catalog and receives the tracks it lists, until the session ends.
func (r *receiver) broadcast(ctx context.Context, s *moqt.Session) error {
	if len(r.flags.tracks) > 0 && r.record == nil {
		// Without a catalog too: a publisher may have none.
		listed, err := r.firstCatalog(ctx, s)
		if err != nil && r.waits() {
			// The publisher may not be there yet. The track tells when it is.
			track := wire.FullTrackName{Namespace: r.flags.namespace, Name: r.flags.tracks[0]}
			if sub, err := subscribe(ctx, s, track, true); err == nil {
				sub.Close()
			}
			listed, err = r.firstCatalog(ctx, s)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.log.Info("no catalog; objects are only counted", "reason", err)
		}
		return r.receiveAll(ctx, s, append(r.choose(listed), r.unlisted(listed)...))
	}
	var tracks subscriptions
	defer tracks.end()
	return followCatalog(ctx, s, r.flags, r.waits(), func(renditions []media.Rendition) error {
		chosen := r.choose(renditions)
		if len(chosen) == 0 {
			return cli.NotFound("the broadcast has no track to receive")
		}
		r.received.Store(true)
		if err := r.beginSimulcast(chosen); err != nil {
			return err
		}
		if err := r.record.begin(r.recorded(chosen)); err != nil {
			return err
		}
		return r.set(ctx, s, &tracks, chosen)
	})
}

// beginSimulcast prepares to record the renditions of the video as one track.
func (r *receiver) beginSimulcast(chosen []media.Rendition) (err error) {
	if !r.flags.simulcast || r.simulcast != nil {
		return nil
	}
	if r.simulcast, err = newSimulcast(chosen, r.flags.patience, r.record, r.log); err != nil {
		return err
	}
	if r.simulcast == nil {
		r.log.Warn("the broadcast has no two renditions of a video whose groups go together")
		return nil
	}
	for _, c := range r.simulcast.renditions[:len(r.simulcast.renditions)-1] {
		if _, given := r.flags.late[c.Name]; !given {
			r.flags.late[c.Name] = priority.LateAfter
		}
	}
	r.running.Go(func() {
		for cli.Sleep(r.ctx, simulcastPeriod) == nil {
			if err := r.simulcast.tick(time.Now()); err != nil {
				r.stop(err)
			}
		}
	})
	return nil
}

// simulcastPeriod is how often it is looked whether a rendition was waited for long enough.
const simulcastPeriod = 50 * time.Millisecond

// recorded are the tracks of the recording.
func (r *receiver) recorded(chosen []media.Rendition) (tracks []*media.Track) {
	if r.simulcast != nil {
		tracks = append(tracks, r.simulcast.out)
	}
	for _, c := range chosen {
		if _, spliced := r.simulcast.rankOf(c.Name); !spliced {
			tracks = append(tracks, c.Track)
		}
	}
	return tracks
}

// set receives the chosen tracks and no others.
func (r *receiver) set(ctx context.Context, s *moqt.Session, tracks *subscriptions, chosen []media.Rendition) error {
	sinks := make(map[string]*sink)
	for _, c := range chosen {
		var err error
		if sinks[c.Name], err = r.sink(c); err != nil {
			return err
		}
	}
	tracks.set(ctx, chosen, func(ctx context.Context, c media.Rendition) { r.receive(ctx, s, sinks[c.Name]) })
	return nil
}

// firstCatalog returns what the first catalog object lists, if there is a catalog now.
func (r *receiver) firstCatalog(ctx context.Context, s *moqt.Session) (renditions []media.Rendition, err error) {
	err = followCatalog(ctx, s, r.flags, false, func(list []media.Rendition) error {
		renditions = list
		return errStop
	})
	if errors.Is(err, errStop) {
		return renditions, nil
	}
	return nil, err
}

// receiveAll receives a fixed set of tracks until the session ends.
func (r *receiver) receiveAll(ctx context.Context, s *moqt.Session, renditions []media.Rendition) error {
	if len(renditions) == 0 {
		return cli.NotFound("the broadcast has none of the tracks asked for")
	}
	var tracks subscriptions
	defer tracks.end()
	if err := r.set(ctx, s, &tracks, renditions); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// choose picks the tracks to receive from those of a catalog.
func (r *receiver) choose(renditions []media.Rendition) (chosen []media.Rendition) {
	both := map[bool]bool{} // audio in datagrams, on streams
	for _, c := range renditions {
		if c.Track.Kind == media.Audio {
			both[c.Datagram] = true
		}
	}
	for _, c := range renditions {
		switch {
		case len(r.flags.tracks) > 0:
			if !slices.Contains(r.flags.tracks, c.Name) {
				continue
			}
		case c.Track.Kind == media.Audio && len(both) == 2 && c.Datagram == r.flags.wantsStreams():
			continue
		}
		chosen = append(chosen, c)
	}
	return chosen
}

// unlisted makes renditions of the tracks asked for that the catalog does not list.
func (r *receiver) unlisted(listed []media.Rendition) (more []media.Rendition) {
	for _, name := range r.flags.tracks {
		known := false
		for _, c := range listed {
			known = known || c.Name == name
		}
		if !known {
			more = append(more, media.Rendition{Name: name})
		}
	}
	return more
}

// sink returns the sink of a track, and starts it if it is new.
func (r *receiver) sink(c media.Rendition) (*sink, error) {
	if s := r.sinks[c.Name]; s != nil {
		return s, nil
	}
	var unpack media.Unpackager
	var kind media.Kind
	if c.Track != nil {
		var err error
		if unpack, err = broadcast.NewUnpackager(c); err != nil {
			return nil, err
		}
		kind = c.Track.Kind
	}
	s := newSink(c, unpack, r.flags.patience)
	s.stats, s.csv, s.record, s.log = r.stats.track(c.Name, kind), r.csv, r.record, r.log
	s.measure = r.measure
	if rank, ok := r.simulcast.rankOf(c.Name); ok {
		s.splice, s.rank, s.record = r.simulcast, rank, nil
	}
	r.sinks[c.Name] = s
	r.running.Go(func() {
		if err := s.run(r.ctx); err != nil {
			r.stop(err)
		}
	})
	return s, nil
}

// receive subscribes to a track, again and again, until ctx ends.
func (r *receiver) receive(ctx context.Context, s *moqt.Session, sink *sink) {
	name := wire.FullTrackName{Namespace: r.flags.namespace, Name: sink.rendition.Name}
	var backoff cli.Backoff
	for ctx.Err() == nil {
		// That a track is in the catalog, or was there before, is reason to wait for it.
		sub, err := subscribe(ctx, s, name, r.waits() || sink.rendition.Track != nil)
		var refused *moqt.RequestError
		if errors.As(err, &refused) && !r.waits() && sink.rendition.Track == nil {
			r.stop(notFound(err, "track "+name.Name))
			return
		}
		if err == nil {
			r.received.Store(true)
			backoff.Reset()
			r.log.Debug("subscribed", "track", name.Name)
			err = r.take(ctx, sub, sink)
			sub.Close()
		}
		if ctx.Err() != nil {
			return
		}
		r.log.Info("track interrupted", "track", name.Name, "error", err)
		if cli.Sleep(ctx, backoff.Next()) != nil {
			return
		}
	}
}

// take hands what a subscription brings to the sink, until it ends.
func (r *receiver) take(ctx context.Context, sub *moqt.Subscription, sink *sink) error {
	sink.put(ctx, event{begin: true})
	var groups sync.WaitGroup
	defer groups.Wait()
	for {
		in, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if d := in.Datagram; d != nil {
			p, err := object.FromDatagram(sink.rendition.Name, d)
			r.late.arrived(sink.rendition.Name, p, time.Now())
			sink.put(ctx, event{packet: p, arrived: time.Now(), bad: err != nil})
			continue
		}
		groups.Go(func() { r.takeGroup(ctx, in.Subgroup, sink) })
	}
}

// takeGroup reads the objects of one stream.
func (r *receiver) takeGroup(ctx context.Context, sg *moqt.SubgroupReader, sink *sink) {
	defer context.AfterFunc(ctx, func() { sg.Stop(wire.StreamCancelled) })()
	for {
		o, err := sg.Next()
		if err != nil {
			var reset *moqt.StreamError
			end := event{packet: media.Packet{Group: sg.Header().Group}, end: true}
			end.cut = errors.As(err, &reset) && reset.Remote
			sink.put(ctx, end)
			return
		}
		if o.Status != wire.ObjectNormal {
			continue
		}
		p, propsErr := object.FromHeader(sink.rendition.Name, sg.Header(), o)
		// A frame that is not there when it is due can only come too late.
		due, limited := r.late.due(sink.rendition.Name, p)
		if limited {
			sg.SetReadDeadline(due)
		}
		p.Payload, err = readPayload(sg, o.PayloadLen)
		if limited {
			sg.SetReadDeadline(time.Time{})
		}
		at := time.Now()
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !late {
			if errors.Is(err, errTooLarge) {
				sink.put(ctx, event{bad: true})
			}
			continue // Next says how the stream ended
		}
		if err == nil {
			sink.put(ctx, event{packet: p, arrived: at, bad: propsErr != nil})
		}
		if late = r.late.arrived(sink.rendition.Name, p, at) || late; late {
			sg.Stop(wire.StreamDeliveryTimeout)
			sink.put(ctx, event{packet: media.Packet{Group: p.Group}, end: true, late: true})
			return
		}
	}
}

var errTooLarge = fmt.Errorf("object is larger than %d bytes", maxObjectBytes)

// readPayload reads an object's payload. Memory grows with what arrives, not with what is announced.
func readPayload(sg *moqt.SubgroupReader, size uint64) ([]byte, error) {
	if size > maxObjectBytes {
		return nil, errTooLarge
	}
	b := make([]byte, 0, min(size, 1<<20))
	for {
		chunk, err := sg.ReadChunk()
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		b = append(b, chunk...)
	}
}

// subscriptions are the goroutines that receive tracks. The one who calls set owns them.
type subscriptions struct {
	running sync.WaitGroup
	stop    map[string]context.CancelFunc // by track name
}

// set starts receiving the tracks that are new and stops with those that are gone.
func (t *subscriptions) set(ctx context.Context, chosen []media.Rendition, receive func(context.Context, media.Rendition)) {
	if t.stop == nil {
		t.stop = make(map[string]context.CancelFunc)
	}
	listed := make(map[string]bool)
	for _, c := range chosen {
		listed[c.Name] = true
		if t.stop[c.Name] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		t.stop[c.Name] = cancel
		t.running.Go(func() { receive(ctx, c) })
	}
	for name, cancel := range t.stop {
		if !listed[name] {
			cancel()
			delete(t.stop, name)
		}
	}
}

// end stops all and waits for them.
func (t *subscriptions) end() {
	for _, cancel := range t.stop {
		cancel()
	}
	t.running.Wait()
}
