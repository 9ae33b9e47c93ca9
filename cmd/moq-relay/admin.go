package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/relay"
)

// The admin API: what the relay is doing, as JSON, on the address of metrics and health. docs/operations.md describes it;
// fields are added, not changed.

// statusAnswer is that of /api/v1/status.
type statusAnswer struct {
	Version  string         `json:"version"`
	Uptime   string         `json:"uptime"`
	Ready    bool           `json:"ready"`
	Reason   string         `json:"reason,omitempty"` // why it is not ready
	Sessions int            `json:"sessions"`
	ByKind   map[string]int `json:"sessions_by_transport_and_version"`
	Tracks   int            `json:"tracks"`

	Namespaces    int `json:"namespaces"`
	Subscriptions int `json:"subscriptions"`
	Upstreams     int `json:"upstreams"`
	OpenStreams   int `json:"open_streams"`

	ReceivedBPS float64 `json:"received_bits_per_second"`
	SentBPS     float64 `json:"sent_bits_per_second"`

	Cache  cacheAnswer                   `json:"cache"`
	Delays map[string]ops.DelayQuantiles `json:"delays"` // of the last ten seconds, by stage
	Counts countsAnswer                  `json:"counts"`
}

// countsAnswer is what has happened since the start.
type countsAnswer struct {
	StreamsCut       map[string]uint64 `json:"streams_cut"`
	RequestsRefused  map[string]uint64 `json:"requests_refused"`
	DatagramsDropped uint64            `json:"datagrams_dropped"`
	DatagramsMissed  uint64            `json:"datagrams_missed"`
	HandshakesFailed uint64            `json:"handshakes_failed"`
	SessionsOver     uint64            `json:"sessions_over"`
}

// cacheAnswer is that of /api/v1/cache.
type cacheAnswer struct {
	Bytes      int64             `json:"bytes"`
	MaxBytes   int64             `json:"max_bytes"`
	TrackBytes int               `json:"max_track_bytes"`
	MaxAge     string            `json:"max_age"`
	Evictions  map[string]uint64 `json:"evictions"`
	Hits       map[string]uint64 `json:"hits"`
	Misses     map[string]uint64 `json:"misses"`
}

// sessionAnswer is one session of /api/v1/sessions.
type sessionAnswer struct {
	ID            uint64 `json:"id"`
	Remote        string `json:"remote"`
	Transport     string `json:"transport"`
	Version       string `json:"version"`
	Path          string `json:"path,omitempty"`
	Age           string `json:"age"`
	Namespaces    int    `json:"namespaces"`
	Upstreams     int    `json:"upstreams"`
	Subscriptions int    `json:"subscriptions"`

	SubgroupsSent     uint64 `json:"subgroups_sent"`
	SubgroupsReceived uint64 `json:"subgroups_received"`
	DatagramsSent     uint64 `json:"datagrams_sent"`
	DatagramsReceived uint64 `json:"datagrams_received"`
	DatagramsQueued   uint64 `json:"datagrams_queued"`
	DatagramsDropped  uint64 `json:"datagrams_dropped"`
	RequestsReceived  uint64 `json:"requests_received"`
}

// trackAnswer is one track of /api/v1/tracks.
type trackAnswer struct {
	Namespace    string                        `json:"namespace"`
	Track        string                        `json:"track"`
	Kind         string                        `json:"kind,omitempty"`
	Pending      bool                          `json:"pending,omitempty"`
	Publishers   int                           `json:"publishers"`
	Subscribers  int                           `json:"subscribers"`
	Groups       int                           `json:"groups_cached"`
	CacheBytes   int                           `json:"cache_bytes"`
	LargestGroup *uint64                       `json:"largest_group,omitempty"`
	LargestID    *uint64                       `json:"largest_object,omitempty"`
	Objects      uint64                        `json:"objects"`
	Bytes        uint64                        `json:"bytes"`
	Delays       map[string]ops.DelayQuantiles `json:"delays,omitempty"` // of the last 10 to 20 s, by stage
}

// logLevel is the body and the answer of /api/v1/log-level.
type logLevel struct {
	Level string `json:"level"`
}

// admin serves the API.
type admin struct {
	process *process
	level   *slog.LevelVar
	began   time.Time
	history *ops.History
	drain   func() // begins the end of the process
}

// handle adds the API and the live page to the server.
func (a *admin) handle(s *ops.Server) {
	s.Handle("GET /api/v1/status", ops.JSON(func(*http.Request) any { return a.status() }))
	s.Handle("GET /api/v1/sessions", ops.JSON(func(*http.Request) any { return map[string]any{"sessions": a.sessions()} }))
	s.Handle("GET /api/v1/tracks", ops.JSON(func(*http.Request) any { return map[string]any{"tracks": a.tracks()} }))
	s.Handle("GET /api/v1/cache", ops.JSON(func(*http.Request) any { return a.cache() }))
	s.Handle("GET /api/v1/history", ops.JSON(func(r *http.Request) any {
		after, _ := time.Parse(time.RFC3339Nano, r.FormValue("after")) // all if there is none
		points := a.history.Points(after)
		if points == nil {
			points = []ops.HistoryPoint{}
		}
		return map[string]any{"points": points}
	}))
	s.Handle("GET /api/v1/log-level", ops.JSON(func(*http.Request) any { return logLevel{a.level.Level().String()} }))
	s.Handle("PUT /api/v1/log-level", ops.Command(a.setLevel))
	s.Handle("GET /api/v1/qlog", ops.JSON(func(*http.Request) any { return a.qlog() }))
	s.Handle("PUT /api/v1/qlog", ops.Command(a.setQLog))
	s.Handle("POST /api/v1/drain", ops.Command(func(struct{}) (any, error) {
		a.drain()
		return map[string]string{"draining": a.process.flags.drain.String()}, nil
	}))
	s.Handle("/", livePage())
}

func (a *admin) setLevel(in logLevel) (any, error) {
	var l slog.Level
	if in.Level == "" || l.UnmarshalText([]byte(in.Level)) != nil {
		return nil, errors.New("want a level: debug, info, warn or error")
	}
	a.level.Set(l)
	a.process.log.Info("log level changed", "level", l.String())
	return logLevel{l.String()}, nil
}

// qlogAnswer is that of /api/v1/qlog.
type qlogAnswer struct {
	Directory string `json:"directory"` // empty without --qlog
	Every     int    `json:"every"`     // of how many new connections one gets a file; 0: none
	Files     int    `json:"files"`     // complete ones
	Bytes     int64  `json:"bytes"`
	Cut       uint64 `json:"cut"` // files that ended early for want of room
}

func (a *admin) qlog() (out qlogAnswer) {
	if q := a.process.qlogs; q != nil {
		out.Directory, out.Every = a.process.flags.qlog, q.Every()
		out.Files, out.Bytes, out.Cut = q.Usage()
	}
	return out
}

// setQLog turns qlogs of new connections on and off.
func (a *admin) setQLog(in struct {
	Every *int `json:"every"`
},
) (any, error) {
	switch q := a.process.qlogs; {
	case q == nil:
		return nil, errors.New("the relay was started without --qlog")
	case in.Every == nil || *in.Every < 0:
		return nil, errors.New("want every: of how many new connections one gets a file, 0 for none")
	default:
		q.SetEvery(*in.Every)
		a.process.log.Info("qlog changed", "every", *in.Every)
		return a.qlog(), nil
	}
}

// age is for people: seconds are enough.
func age(since time.Time) string { return time.Since(since).Truncate(time.Second).String() }

func (a *admin) status() statusAnswer {
	p := a.process
	stats, transport := p.relay.Stats(), p.listener.Stats()
	sessions := p.relay.SessionStats()
	out := statusAnswer{
		Version: ops.ReadBuild().String(), Uptime: age(a.began), Ready: true,
		Sessions: int(stats.Sessions.Load()), ByKind: make(map[string]int), Tracks: int(stats.Tracks.Load()),
		Namespaces: int(stats.Namespaces.Load()), Subscriptions: int(stats.Subscribers.Load()),
		Upstreams: int(stats.Upstreams.Load()), OpenStreams: int(stats.Cursors.Load()),
		Cache: a.cache(), Delays: make(map[string]ops.DelayQuantiles),
		Counts: countsAnswer{
			StreamsCut: make(map[string]uint64), RequestsRefused: make(map[string]uint64),
			DatagramsDropped: sessions.DatagramsExpired + sessions.DatagramsOverflow + sessions.DatagramsTooLarge,
			DatagramsMissed:  stats.DatagramsLost.Load(), HandshakesFailed: transport.HandshakesFailed, SessionsOver: stats.SessionsOver.Load(),
		},
	}
	if err := p.ready(); err != nil {
		out.Ready, out.Reason = false, err.Error()
	}
	for _, s := range p.relay.Sessions() {
		out.ByKind[string(s.Conn.Transport)+" "+s.Conn.Protocol]++
	}
	for i, name := range labels[relay.Cut]() {
		out.Counts.StreamsCut[name] = stats.Cuts[i].Load()
	}
	for i, name := range labels[relay.RequestKind]() {
		out.Counts.RequestsRefused[name] = stats.Requests[i].Refused.Load()
	}
	if last, ok := a.history.Last(); ok {
		out.ReceivedBPS, out.SentBPS = 8*last.Rates["received_bytes"], 8*last.Rates["sent_bytes"]
	}
	for s := range frames.NumStages {
		recent := p.measure.recent.Recent(s)
		if q := recent.Quantiles(); q != nil {
			out.Delays[s.String()] = *q
		}
	}
	return out
}

func (a *admin) cache() cacheAnswer {
	stats, cfg := a.process.relay.Stats(), a.process.flags.relay
	out := cacheAnswer{
		Bytes: a.process.relay.CacheBytes(), MaxBytes: cfg.CacheBytes, TrackBytes: cfg.CacheTrackBytes, MaxAge: cfg.CacheAge.String(),
		Evictions: make(map[string]uint64),
		Hits:      map[string]uint64{"subscribe": stats.CacheJoins.Hits.Load(), "fetch": stats.CacheFetches.Hits.Load()},
		Misses:    map[string]uint64{"subscribe": stats.CacheJoins.Misses.Load(), "fetch": stats.CacheFetches.Misses.Load()},
	}
	for i, name := range labels[relay.Evict]() {
		out.Evictions[name] = stats.CacheEvictions[i].Load()
	}
	return out
}

func (a *admin) sessions() []sessionAnswer {
	out := []sessionAnswer{}
	for _, s := range a.process.relay.Sessions() {
		remote := ""
		if s.Conn.RemoteAddr != nil {
			remote = s.Conn.RemoteAddr.String()
		}
		out = append(out, sessionAnswer{
			ID: s.ID, Remote: remote, Transport: string(s.Conn.Transport), Version: s.Conn.Protocol, Path: s.Conn.Path, Age: age(s.Began),
			Namespaces: s.Namespaces, Upstreams: s.Upstreams, Subscriptions: s.Subscriptions,
			SubgroupsSent: s.Stats.SubgroupsSent, SubgroupsReceived: s.Stats.SubgroupsReceived,
			DatagramsSent: s.Stats.DatagramsSent, DatagramsReceived: s.Stats.DatagramsReceived, DatagramsQueued: s.Stats.DatagramsQueued,
			DatagramsDropped: s.Stats.DatagramsExpired + s.Stats.DatagramsOverflow + s.Stats.DatagramsTooLarge,
			RequestsReceived: s.Stats.RequestsReceived,
		})
	}
	return out
}

func (a *admin) tracks() []trackAnswer {
	out := []trackAnswer{}
	for _, t := range a.process.relay.Tracks() {
		answer := trackAnswer{
			Namespace: cli.FormatNamespace(t.Name.Namespace), Track: fmt.Sprint(t.Name.Name), Pending: t.Pending, Publishers: t.Publishers,
			Subscribers: t.Subscribers, Groups: t.Groups, CacheBytes: t.CacheBytes,
		}
		if at, ok := t.Largest.Get(); ok {
			answer.LargestGroup, answer.LargestID = &at.Group, &at.Object
		}
		if o, ok := t.Observer.(*frames.Track); ok {
			answer.Kind = o.Kind
			if f := o.Figures; f != nil {
				answer.Objects, answer.Bytes, answer.Delays = f.Objects.Load(), f.Bytes.Load(), make(map[string]ops.DelayQuantiles)
				for s := range frames.EndToEnd {
					recent := f.Recent(s)
					if q := recent.Quantiles(); q != nil {
						answer.Delays[s.String()] = *q
					}
				}
			}
		}
		out = append(out, answer)
	}
	return out
}

// newHistory remembers the last minutes of the relay for the live page.
func newHistory(p *process) *ops.History {
	stats := p.relay.Stats()
	count := func(read func() uint64) func() float64 { return func() float64 { return float64(read()) } }
	now := func(read func() int64) func() float64 { return func() float64 { return float64(read()) } }
	return ops.NewHistory(ops.HistorySource{
		Stages: frames.Stages(),
		Delay: func(stage string) ops.DelaySnapshot {
			for s := range frames.NumStages {
				if s.String() == stage {
					return p.measure.frames.Stage(s)
				}
			}
			return ops.DelaySnapshot{}
		},
		Counters: map[string]func() float64{
			"received_bytes": count(stats.BytesIn.Load),
			"sent_bytes":     count(stats.BytesOut.Load),
			"streams_cut": func() (n float64) {
				for i := range stats.Cuts {
					n += float64(stats.Cuts[i].Load())
				}
				return n
			},
			"refused": func() (n float64) {
				for i := range stats.Requests {
					n += float64(stats.Requests[i].Refused.Load())
				}
				return n
			},
		},
		Gauges: map[string]func() float64{
			"sessions": now(stats.Sessions.Load), "subscribers": now(stats.Subscribers.Load), "tracks": now(stats.Tracks.Load),
			"cache_bytes": now(p.relay.CacheBytes),
		},
	})
}
