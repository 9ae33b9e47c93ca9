package main

import (
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media"
)

// measurement is what a subscriber is measured with. Its methods do nothing on a nil one.
type measurement struct {
	reg    *ops.Registry
	frames *frames.Metrics
}

func newMeasurement(reg *ops.Registry, s *statistics) *measurement {
	if reg == nil {
		return nil
	}
	kinds := []string{media.Audio.String(), media.Video.String()}
	kind := ops.Label{Name: "kind", Values: kinds}
	// sum adds up what the tracks of a kind have counted; their number is that of the catalog.
	sum := func(name, help string, value func(*trackStats) uint64) ops.Series[[]*trackStats] {
		return ops.CounterBy(name, help, []ops.Label{kind}, func(tracks []*trackStats, l []string) (n float64) {
			for _, t := range tracks {
				if t.kind.String() == l[0] {
					t.mu.Lock()
					n += float64(value(t))
					t.mu.Unlock()
				}
			}
			return n
		})
	}
	ops.Export(
		reg, s.all,
		sum("moq_sub_objects_total", "Objects received.", func(t *trackStats) uint64 { return t.objects }),
		sum("moq_sub_received_bytes_total", "Payload bytes received.", func(t *trackStats) uint64 { return t.bytes }),
		sum("moq_sub_frames_total", "Frames received.", func(t *trackStats) uint64 { return t.frames }),
		sum("moq_sub_late_frames_total", "Frames that came more than 250 ms after their time.", func(t *trackStats) uint64 { return t.late }),
		sum("moq_sub_lost_total", "Objects or groups that never came, or after their turn.", func(t *trackStats) uint64 { return t.lost }),
		sum("moq_sub_groups_cut_total", "Groups that the sender abandoned.", func(t *trackStats) uint64 { return t.cut }),
		sum("moq_sub_malformed_total", "Objects that could not be read.", func(t *trackStats) uint64 { return t.bad }),
	)
	return &measurement{reg: reg, frames: frames.New(reg)}
}

func (m *measurement) registry() *ops.Registry {
	if m == nil {
		return nil
	}
	return m.reg
}

// frame counts a frame that was received. delay is from its capture, if that is known.
func (m *measurement) frame(kind media.Kind, priority uint8, delay, late time.Duration, known bool) {
	if m == nil {
		return
	}
	m.frames.Lateness(kind.String(), priority).Observe(late)
	if !known {
		m.frames.Unknown(frames.EndToEnd, 1)
		return
	}
	m.frames.Observe(frames.EndToEnd, m.frames.Delay(frames.EndToEnd, kind.String(), priority), delay)
}
