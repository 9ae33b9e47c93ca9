package main

import (
	"context"
	"errors"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media/report"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
	"github.com/moq-c4/moq-c4/relay"
)

// instruments are what the relay is measured with. There are none with --ops off.
type instruments struct {
	reg      *ops.Registry
	frames   *frames.Metrics
	observer *frames.Observer
	recent   *frames.Recent
	viewers  viewers
	acks     *ackwatch.Sampler
	buffers  ops.Gauge // 1 if the kernel grants less than asked for
}

func newInstruments(build ops.Build) *instruments {
	reg := ops.NewRegistry(build)
	in := &instruments{reg: reg, frames: frames.New(reg)}
	in.observer = in.frames.Observer(frames.DefaultTracks)
	in.recent = in.frames.Recent()
	in.viewers = newViewers(reg, in.frames)
	in.buffers = reg.Gauge("moq_relay_small_udp_buffers", "1 if the kernel grants smaller UDP buffers than asked for, which loses packets in bursts.").With()
	return in
}

// leastWatched is how many connections are watched for acknowledgements however few there are: a publisher and a viewer.
const leastWatched = 2

// attach makes the relay tell what it does, and one of so many connections what was acknowledged; 0 is none.
func (in *instruments) attach(cfg *relay.Config, deliverySample int) {
	if deliverySample > 0 {
		in.acks = &ackwatch.Sampler{Least: leastWatched, Every: deliverySample}
	}
	cfg.Observer = in.observer
	cfg.SessionTracks = map[wire.FullTrackName]relay.SessionTrackFunc{
		{Namespace: wire.MustNamespace(report.SessionField, report.Field), Name: report.Track}: in.viewers.take,
	}
}

// export shows the counters of relay and transport. tracks is how many tracks get series of their own.
func (in *instruments) export(r *relay.Relay, l *quicnet.Listener, tracks int) {
	exportMetrics(in.reg, r, l)
	if tracks > 0 {
		exportTracks(in.reg, r, tracks)
	}
}

// run keeps the figures of the last seconds fresh until ctx ends.
func (in *instruments) run(ctx context.Context) error {
	for cli.Sleep(ctx, frames.Period) == nil {
		in.observer.Tick()
		in.recent.Tick()
	}
	return context.Cause(ctx)
}

// exportTracks shows each track by its name: for an operator who has asked for it.
func exportTracks(reg *ops.Registry, r *relay.Relay, most int) {
	type track = relay.TrackInfo
	figures := func(t track) *frames.Figures {
		if o, ok := t.Observer.(*frames.Track); ok {
			return o.Figures
		}
		return nil
	}
	of := func(value func(*frames.Figures) uint64) func(track) float64 {
		return func(t track) float64 {
			if f := figures(t); f != nil {
				return float64(value(f))
			}
			return 0
		}
	}
	stages := ops.Label{Name: "stage", Values: []string{frames.Ingest.String(), frames.Relay.String(), frames.Delivery.String()}}
	ops.ExportRows(
		reg, []string{"namespace", "track"}, most, r.Tracks,
		func(t track) []string { return []string{cli.FormatNamespace(t.Name.Namespace), t.Name.Name} },
		ops.RowGauge("moq_relay_track_subscribers", "Subscribers of the track now. With --track-metrics only.", func(t track) float64 { return float64(t.Subscribers) }),
		ops.RowGauge("moq_relay_track_cache_bytes", "Bytes of the track in the cache. With --track-metrics only.", func(t track) float64 { return float64(t.CacheBytes) }),
		ops.RowCounter("moq_relay_track_objects_total", "Objects received of the track. With --track-metrics only.", of(func(f *frames.Figures) uint64 { return f.Objects.Load() })),
		ops.RowCounter("moq_relay_track_received_bytes_total", "Payload bytes received of the track. With --track-metrics only.", of(func(f *frames.Figures) uint64 { return f.Bytes.Load() })),
		ops.RowDelays("moq_relay_track_delay_seconds", "Delay of the track's frames by stage. With --track-metrics only.", stages, func(t track, stage string) *ops.Delay {
			f := figures(t)
			for s := range frames.EndToEnd {
				if f != nil && s.String() == stage {
					return f.Histogram(s)
				}
			}
			return nil
		}),
	)
}

// viewers counts what players report.
type viewers struct {
	frames           *frames.Metrics
	reports, groups  ops.Vec[ops.Counter]
	stalled, watched ops.Counter
}

// Reports of a longer time, or of more than can be in it, are not believed.
const (
	maxReportPeriod = time.Minute
	maxReportCount  = report.MaxFrames // of any kind, of a track
)

// plausible reports whether one player can have seen so much.
func plausible(r *report.Report) bool {
	for _, t := range r.Tracks {
		if max(t.Cancelled, t.Dropped, t.Unknown) > maxReportCount {
			return false
		}
	}
	return r.Period <= maxReportPeriod && r.Stalled <= r.Period
}

func newViewers(reg *ops.Registry, m *frames.Metrics) viewers {
	kind := ops.Label{Name: "kind", Values: []string{frames.KindAudio, frames.KindVideo}}
	return viewers{
		frames: m,
		reports: reg.Counter("moq_viewer_reports_total", "Reports of players, by what became of them.",
			ops.Label{Name: "result", Values: []string{"ok", "unknown_version", "malformed"}}),
		groups: reg.Counter("moq_viewer_groups_lost_total", "Groups of video and packets of audio that players did not show to the end: given up because they were too late, or lost in another way.",
			kind, ops.Label{Name: "reason", Values: []string{"cancelled", "dropped"}}),
		stalled: reg.Counter("moq_viewer_stalled_seconds_total", "Time for which players had no new picture though there should have been one.").With(),
		watched: reg.Counter("moq_viewer_reported_seconds_total", "Time that reports of players are about.").With(),
	}
}

// take takes one report.
func (v viewers) take(payload []byte) {
	r, err := report.Decode(payload)
	switch {
	case errors.Is(err, report.ErrVersion):
		v.reports.With("unknown_version").Inc()
		return
	case err != nil || !plausible(&r):
		v.reports.With("malformed").Inc()
		return
	}
	v.reports.With("ok").Inc()
	v.watched.Add(r.Period.Seconds())
	v.stalled.Add(r.Stalled.Seconds())
	for _, t := range r.Tracks {
		kind := t.Kind.String()
		v.groups.With(kind, "cancelled").Add(float64(t.Cancelled))
		v.groups.With(kind, "dropped").Add(float64(t.Dropped))
		v.frames.Unknown(frames.EndToEnd, t.Unknown)
		h := v.frames.Delay(frames.EndToEnd, kind, t.Priority)
		for _, s := range t.Steps {
			h.ObserveN(min(s.Delay, time.Minute), s.Frames)
		}
	}
}
