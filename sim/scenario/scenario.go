package scenario

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/sim/link"
)

// Scenario is one simulation to run. Parse gives only valid ones.
type Scenario struct {
	Name  string
	About string
	Group string

	// Phases are the states of the link in order, at least one.
	Phases []Phase

	// DualQ is set if the AQM replaces the drop-tail queue, with this L4SMax.
	DualQ  bool
	L4SMax time.Duration

	// Flows are the connections; the first is the main one.
	Flows []Flow

	Cross []Cross

	// MeasureFrom is when the measurement of video starts.
	MeasureFrom time.Duration

	// StopAt ends the run, if it is not 0.
	StopAt time.Duration

	Bounds []Bound
}

// Phase is a state of the link.
type Phase struct {
	For      time.Duration // 0: for ever
	Up, Down link.Params
}

// Flow is a connection whose server sends.
type Flow struct {
	Name string

	// CC names the controller; "" means the one under test.
	CC string

	// Size is how many bytes the server answers the request with. 0 if the
	// flow carries media.
	Size int64

	Start time.Duration

	// Delay is extra one-way delay outside the bottleneck.
	Delay time.Duration

	// SeedWindow and SeedRTT are what an earlier connection knew; 0: nothing.
	SeedWindow int64
	SeedRTT    time.Duration

	// Sources are what a media flow carries.
	Sources []Source
}

// Source is a synthetic audio or video source. The receiver asks for it, and
// the sender paces it by its own clock.
type Source struct {
	Name      string
	Datagrams bool          // one datagram per frame, else one stream per group
	Rate      int64         // frames per second
	Size      int64         // bytes of a frame
	Key       int64         // bytes of the first frame of a group, 0: Size
	Group     int64         // frames in a group, 0 with datagrams
	Frames    int64         // frames in all
	Priority  int           // lower is served first
	Cancel    time.Duration // lateness at which the receiver gives a group up, 0: never
	Measured  bool
}

// Groups returns how many streams the source needs.
func (s *Source) Groups() int64 {
	if s.Group == 0 {
		return 1
	}
	return (s.Frames + s.Group - 1) / s.Group
}

// FrameTime returns when frame n of a group or of a datagram source is due,
// counted from the group's start.
func (s *Source) FrameTime(n int64) time.Duration {
	return time.Duration(n*1_000_000/s.Rate) * time.Microsecond
}

// GroupTime is the time from one group to the next.
func (s *Source) GroupTime() time.Duration { return s.FrameTime(s.Group) }

// Call returns the sources of the drafts' synthetic call: audio as datagrams,
// compressed video, and better video that is given up when it is late.
// [C4-TESTS] Handling of Multimedia Applications
func Call(videoFrames, audioFrames int64) []Source {
	return []Source{
		{Name: "a1", Datagrams: true, Rate: 50, Size: 80, Frames: audioFrames, Priority: 2, Measured: true},
		{Name: "vlow", Rate: 30, Size: 3750, Key: 37500, Group: 30, Frames: videoFrames, Priority: 4, Measured: true},
		{Name: "vmid", Rate: 30, Size: 6250, Key: 62500, Group: 30, Frames: videoFrames, Priority: 6, Cancel: 250 * time.Millisecond},
	}
}

// Cross is traffic at a constant rate.
type Cross struct {
	Up    bool
	Rate  float64 // bit/s
	Size  int64   // bytes of a packet
	Burst int64   // packets sent at once
	Start time.Duration
}

// Interval returns the time from one burst to the next.
func (c *Cross) Interval() time.Duration {
	return max(1, time.Duration(float64(c.Burst*c.Size*8)/c.Rate*float64(time.Second)))
}

// Bound is one condition of passing.
type Bound struct {
	Line    int
	CCs     []string
	Metric  Metric
	AtLeast bool    // else at most
	Value   float64 // us for durations
}

// For reports whether the bound is meant for a controller.
func (b *Bound) For(name string) bool {
	return slices.Contains(b.CCs, name)
}

// Holds reports whether a measured value is within the bound.
func (b *Bound) Holds(v float64) bool {
	if b.AtLeast {
		return v >= b.Value
	}
	return v <= b.Value
}

// Metric names what a Bound is about.
type Metric string

// Metrics.
const (
	TimeAvg       Metric = "time_avg"
	TimeP90       Metric = "time_p90"
	AvLatency     Metric = "av_latency"
	MaxLatencyP90 Metric = "max_latency_p90"
	RTTMean       Metric = "rtt_mean"
	LoadShare     Metric = "load_share"
	Jain          Metric = "jain"
	Drops         Metric = "drops"
)

var isDuration = map[Metric]bool{
	TimeAvg: true, TimeP90: true, AvLatency: true, MaxLatencyP90: true, RTTMean: true,
	LoadShare: false, Jain: false, Drops: false,
}

// Capacity returns how many bytes the down link can carry from the start to t.
func (s *Scenario) Capacity(t time.Duration) float64 {
	var bytes float64
	for i, at := 0, time.Duration(0); at < t; i = (i + 1) % len(s.Phases) {
		p := &s.Phases[i]
		d := t - at
		if p.For > 0 {
			d = min(d, p.For)
		}
		bytes += p.Down.Rate / 8 * d.Seconds()
		at += d
	}
	return bytes
}
