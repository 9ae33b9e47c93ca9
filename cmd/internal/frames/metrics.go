package frames

import (
	"strconv"
	"time"

	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media"
)

// Stage is a part of a frame's way. The values are metric labels too.
type Stage int

// The stages, in order.
const (
	Ingest   Stage = iota // from capture until the last byte is at the first relay
	Relay                 // from there until the last byte was handed to a subscriber's connection
	Delivery              // from there until the subscriber has acknowledged all of it
	EndToEnd              // from capture until a subscriber shows or writes the frame
	NumStages
)

var stageNames = [NumStages]string{"ingest", "relay", "delivery", "end_to_end"}

func (s Stage) String() string { return stageNames[s] }

// Stages are the names of all stages.
func Stages() []string { return stageNames[:] }

// Kinds of media, as labels. What is none of them is "other".
const (
	KindAudio = "audio"
	KindVideo = "video"
	KindData  = "data" // catalogs
	kindOther = "other"
)

var kinds = []string{KindAudio, KindVideo, KindData}

// priorities are the publisher priorities that have a series of their own: those that we publish with, and the
// default of the draft. [MOQT-18] Section 12.4, DEFAULT PUBLISHER PRIORITY
var priorities = []uint8{media.PriorityCatalog, media.PriorityAudio, media.PriorityVideo, media.PriorityBetter, 128}

// slot is the place of a priority in arrays with numSlots places; the last is that of all others.
func slot(priority uint8) int {
	for i, p := range priorities {
		if p == priority {
			return i
		}
	}
	return numSlots - 1
}

const numSlots = 6

// priorityLabel is the label of a priority.
func priorityLabel(slot int) string {
	if slot < len(priorities) {
		return strconv.Itoa(int(priorities[slot]))
	}
	return "other"
}

// priorityLabels are the values of the label priority, but for "other".
func priorityLabels() (labels []string) {
	for i := range priorities {
		labels = append(labels, priorityLabel(i))
	}
	return labels
}

// Delays outside of this range are no delays: the timestamps do not count from the Unix epoch, or a clock is wrong.
const (
	minDelay = -10 * time.Second
	maxDelay = 2 * time.Minute
)

// Why there is no delay of a frame. The values are metric labels too.
const (
	noCapture   = "no_capture"  // the object does not say when it was captured
	implausible = "implausible" // see minDelay
	negative    = "negative"    // counted as 0: the clocks disagree
)

// Metrics are the histograms of frame delay of a process.
type Metrics struct {
	reg             *ops.Registry
	delay, lateness *ops.Delays
	odd             ops.Vec[ops.Counter]
}

// New adds the metrics to a registry.
func New(reg *ops.Registry) *Metrics {
	kind := ops.Label{Name: "kind", Values: kinds}
	priority := ops.Label{Name: "priority", Values: priorityLabels()}
	stage := ops.Label{Name: "stage", Values: Stages()}
	return &Metrics{
		reg:      reg,
		delay:    reg.Delays("moq_frame_delay_seconds", "Delay of frames by stage of their way.", kind, priority, stage),
		lateness: reg.Delays("moq_frame_lateness_seconds", "How much later frames came in than the frame that took the shortest way within the last minute; needs no clocks that agree.", kind, priority),
		odd: reg.Counter("moq_frame_delay_odd_total", "Frames without a delay, by reason: no capture time, or one that cannot be right; and those with a negative one, which counts as 0.",
			stage, ops.Label{Name: "reason", Values: []string{noCapture, implausible, negative}}),
	}
}

// Delay returns the histogram of a stage.
func (m *Metrics) Delay(s Stage, kind string, priority uint8) *ops.Delay {
	return m.delay.With(kind, priorityLabel(slot(priority)), s.String())
}

// Lateness returns the histogram of lateness.
func (m *Metrics) Lateness(kind string, priority uint8) *ops.Delay {
	return m.lateness.With(kind, priorityLabel(slot(priority)))
}

// Stage returns the delays of a stage over all kinds and priorities.
func (m *Metrics) Stage(s Stage) ops.DelaySnapshot {
	return m.delay.Sum(func(values []string) bool { return values[2] == s.String() })
}

// Observe adds the delay of a frame, if it can be one.
func (m *Metrics) Observe(s Stage, h *ops.Delay, delay time.Duration) {
	switch {
	case delay < minDelay || delay > maxDelay:
		m.odd.With(s.String(), implausible).Inc()
		return
	case delay < 0:
		m.odd.With(s.String(), negative).Inc()
	}
	h.Observe(delay)
}

// Unknown counts frames whose capture time is not known.
func (m *Metrics) Unknown(s Stage, n uint32) { m.odd.With(s.String(), noCapture).Add(float64(n)) }
