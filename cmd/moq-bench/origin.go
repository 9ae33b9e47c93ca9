package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/object"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/broadcast"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/media/synthetic"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// roleOrigin is the role of a process that publishes the synthetic call: on the relay that --url names, or
// at --listen, where subscribers come to it directly.
const roleOrigin = "origin"

// origin holds the synthetic call.
type origin struct {
	relay     *relay.Relay
	source    *synthetic.Source
	broadcast *broadcast.Broadcast
	namespace wire.Namespace
	tracks    map[string]*relay.LocalTrack
}

// The bulk track, for whoever subscribes to it: more than a path with a bottleneck carries, behind all media.
const (
	bulkTrack    = "bulk"
	bulkPriority = 200
	bulkRate     = 1_000_000 // bytes per second
	bulkPeriod   = 20 * time.Millisecond
	bulkGroup    = 50 // objects
)

func newOrigin(namespace wire.Namespace) (*origin, error) {
	src := synthetic.New(synthetic.Config{})
	now := time.Now()
	b, err := broadcast.New(broadcast.Config{Packaging: media.LOC, Start: now}, src.Tracks())
	if err != nil {
		return nil, err
	}
	o := &origin{relay: relay.New(relay.Config{}), source: src, broadcast: b, namespace: namespace, tracks: make(map[string]*relay.LocalTrack)}
	for _, r := range b.Renditions() {
		if err := o.publish(r.Name); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{catalog.MSFTrackName, bulkTrack} {
		if err := o.publish(name); err != nil {
			return nil, err
		}
	}
	return o, o.tracks[catalog.MSFTrackName].Write(relay.LocalObject{
		Group: media.FirstGroup(now), Payload: b.MSF(now), EndOfGroup: true,
	})
}

func (o *origin) publish(name string) error {
	t, err := o.relay.Publish(wire.FullTrackName{Namespace: o.namespace, Name: name}, nil)
	o.tracks[name] = t
	return err
}

// play writes the call to the tracks, each frame when it is due.
func (o *origin) play(ctx context.Context) error {
	var pacer media.Pacer
	for {
		f, err := o.source.Next()
		if err != nil {
			return err
		}
		now := time.Now()
		f.Capture = pacer.Due(f, now)
		if err := cli.Sleep(ctx, f.Capture.Sub(now)); err != nil {
			return err
		}
		packets, _, err := o.broadcast.Package(f)
		if err != nil {
			return err
		}
		for _, p := range packets {
			if err := o.write(p); err != nil {
				return err
			}
		}
	}
}

func (o *origin) write(p media.Packet) error {
	obj, err := object.FromPacket(p)
	if err != nil {
		return err
	}
	if p.Datagram {
		o.tracks[p.Track].WriteDatagram(obj)
		return nil
	}
	return o.tracks[p.Track].Write(obj)
}

// pour writes the bulk track.
func (o *origin) pour(ctx context.Context) error {
	t, payload := o.tracks[bulkTrack], make([]byte, bulkRate*int(bulkPeriod)/int(time.Second))
	tick := time.NewTicker(bulkPeriod)
	defer tick.Stop()
	for n := uint64(0); ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !t.Watched() {
			continue
		}
		err := t.Write(relay.LocalObject{Group: n / bulkGroup, Object: n % bulkGroup, Priority: bulkPriority, Payload: payload})
		if err != nil {
			return err
		}
	}
}

// runOrigin publishes until ctx ends.
func runOrigin(ctx context.Context, f *flags) error {
	o, err := newOrigin(benchNamespace)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(context.Canceled)
	spawn := func(run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				stop(err)
			}
		})
	}
	spawn(o.relay.Run)
	spawn(o.play)
	spawn(o.pour)
	if f.listen == "" {
		conn, err := f.dialer.Dial(ctx)
		if err != nil {
			return err
		}
		err = o.relay.Connect(ctx, conn, f.dialer.SessionConfig(), []wire.Namespace{o.namespace}, nil)
		return fmt.Errorf("publisher: %w", err)
	}
	cert, err := quicnet.NewDevCertificate(quicnet.DevCertificateConfig{})
	if err != nil {
		return err
	}
	l, err := quicnet.Listen(quicnet.ListenConfig{Addr: f.listen, Certificate: cert})
	if err != nil {
		return cli.Usage("--listen: %w", err)
	}
	spawn(l.Run)
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			return context.Cause(ctx)
		}
		running.Go(func() { o.relay.Serve(ctx, conn) })
	}
}
