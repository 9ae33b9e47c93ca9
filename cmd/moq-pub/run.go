package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/object"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/broadcast"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// drainTime is how long the relay may take to get the rest of the stream after the source has ended.
const drainTime = 3 * time.Second

// run is the whole command.
func run(ctx context.Context, env cli.Env) error {
	f, err := parseFlags(env)
	if err != nil {
		return err
	}
	m := newMeasurement(f.ops.Registry())
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served, err := f.ops.Serve(serving, m.registry(), f.log)
	if err != nil {
		stop()
		return err
	}
	defer served()
	defer stop()
	in, err := openWhile(ctx, f, env.Stdin)
	if err != nil {
		return err
	}
	p, err := newPublisher(f, m, in.Tracks())
	if err != nil {
		in.close()
		return err
	}
	return p.run(ctx, in)
}

// publisher holds a broadcast in a relay of its own, from which whoever asks is served.
type publisher struct {
	flags     *flags
	log       *slog.Logger
	relay     *relay.Relay
	broadcast *broadcast.Broadcast
	tracks    map[string]*relay.LocalTrack // by track name
	measure   *measurement                 // nil with --ops off
	catalogs  uint64                       // the newest group of the catalogs
	leaving   atomic.Bool                  // the end of the session is no reason to connect again
}

func newPublisher(f *flags, m *measurement, tracks []*media.Track) (*publisher, error) {
	b, err := broadcast.New(broadcast.Config{Packaging: f.packaging, Start: time.Now()}, tracks)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	cfg := relay.Config{Logger: f.log}
	m.attach(&cfg, &f.dialer)
	p := &publisher{
		flags: f, log: f.log, relay: relay.New(cfg), broadcast: b,
		tracks: make(map[string]*relay.LocalTrack), measure: m,
	}
	m.export(p.relay)
	return p, p.update(time.Now())
}

// update publishes the tracks that there are now, and the catalogs that list them.
func (p *publisher) update(now time.Time) error {
	// Ids of the catalogs' groups rise by one, and over restarts because they begin with the clock.
	p.catalogs = max(p.catalogs+1, media.FirstGroup(now))
	for _, c := range []struct {
		name    string
		content []byte
	}{
		{catalog.MSFTrackName, p.broadcast.MSF(now)},
		{catalog.HangTrackName, p.broadcast.Hang()},
	} {
		if c.content == nil {
			continue
		}
		t, err := p.track(c.name, nil)
		if err != nil {
			return err
		}
		o := relay.LocalObject{Group: p.catalogs, Priority: media.PriorityCatalog, Payload: c.content, EndOfGroup: true}
		if err := t.Write(o); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
	}
	for _, r := range p.broadcast.Renditions() {
		props, err := p.properties(r)
		if err != nil {
			return err
		}
		if _, err := p.track(r.Name, props); err != nil {
			return err
		}
		p.log.Info("track", "name", r.Name, "codec", r.Track.Codec, "packaging", string(r.Packaging), "priority", r.Priority, "datagrams", r.Datagram)
	}
	return nil
}

// track returns the track with this name, new if need be.
func (p *publisher) track(name string, props wire.Properties) (*relay.LocalTrack, error) {
	if t := p.tracks[name]; t != nil {
		return t, nil
	}
	t, err := p.relay.Publish(wire.FullTrackName{Namespace: p.flags.namespace, Name: name}, props)
	if err != nil {
		return nil, err
	}
	p.tracks[name] = t
	return t, nil
}

// run publishes until the source or ctx ends.
func (p *publisher) run(ctx context.Context, in *input) error {
	// Everything but the source outlives ctx, so that the relay is told that the tracks have ended.
	parts, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { p.relay.Run(parts) })
	running.Go(func() { p.stayConnected(parts) })
	if in.newGroup != nil {
		running.Go(func() { p.followGroupRequests(parts, in.newGroup) })
	}

	// read may stay blocked on a standard input that cannot be closed; then it ends with the process.
	frames, readErr := make(chan sourced, sourceQueue), make(chan error, 1)
	go func() { readErr <- in.read(ctx, frames) }()
	err := p.publish(ctx, frames)
	if err == nil {
		err = <-readErr
	}
	in.close()
	p.finish(parts)
	return err
}

// publish packs the frames into the tracks until there are no more.
func (p *publisher) publish(ctx context.Context, frames <-chan sourced) error {
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				return nil
			}
			if err := p.frame(f); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *publisher) frame(f sourced) error {
	if f.tracks != nil {
		changed, err := p.broadcast.Update(f.tracks)
		if err != nil {
			return fmt.Errorf("input has begun anew: %w", err)
		}
		if changed {
			if err := p.update(time.Now()); err != nil {
				return err
			}
		}
	}
	packets, events, err := p.broadcast.Package(f.Frame)
	for _, e := range events {
		p.log.Warn("input", "event", e.Kind.String(), "track", e.Track.ID, "shift", e.Shift)
		if e.Kind == media.EventMisaligned { // the catalogs no longer offer these tracks for each other
			if err := p.update(time.Now()); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	for _, packet := range packets {
		t := p.tracks[packet.Track]
		o, err := object.FromPacket(packet)
		switch {
		case err != nil:
			return err
		case packet.Datagram:
			t.WriteDatagram(o)
		default:
			if err := t.Write(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// stayConnected keeps a session with the relay until ctx ends.
func (p *publisher) stayConnected(ctx context.Context) {
	var backoff cli.Backoff
	for ctx.Err() == nil {
		err := p.session(ctx, &backoff)
		if ctx.Err() != nil || p.leaving.Load() {
			return
		}
		wait := backoff.Next()
		p.log.Warn("not connected", "url", p.flags.dialer.URL, "error", err, "retry_in", wait)
		if cli.Sleep(ctx, wait) != nil {
			return
		}
	}
}

func (p *publisher) session(ctx context.Context, backoff *cli.Backoff) error {
	conn, err := p.flags.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	err = p.relay.Connect(ctx, conn, p.flags.dialer.SessionConfig(), []wire.Namespace{p.flags.namespace}, func() {
		backoff.Reset()
		p.measure.connected()
		p.log.Info("publishing", "url", p.flags.dialer.URL, "namespace", cli.FormatNamespace(p.flags.namespace))
	})
	if err == nil {
		err = cli.ErrSessionOver
	}
	return err
}

// finish ends the tracks, and leaves when the relay has everything that was sent.
func (p *publisher) finish(ctx context.Context) {
	for _, t := range p.tracks {
		t.End()
	}
	p.leaving.Store(true)
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := p.relay.Shutdown(ctx); err != nil {
		p.log.Warn("the relay may not have got the end of the stream", "error", err)
	}
}
