package main

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media"
)

func TestMetricsAreDocumented(t *testing.T) {
	m := newMeasurement(ops.NewRegistry(clitest.TestBuild), &statistics{})
	clitest.MetricsDocumented(t, m.reg, "moq-sub")
}

func TestMeasurement(t *testing.T) {
	s := &statistics{}
	m := newMeasurement(ops.NewRegistry(clitest.TestBuild), s)
	video := s.track("video-360p", media.Video)
	video.object(media.Packet{Payload: make([]byte, 100)})
	video.count(&video.lost, 2)
	m.frame(media.Video, 4, 40*time.Millisecond, time.Millisecond, true)
	m.frame(media.Video, 4, 0, time.Millisecond, false)
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"moq_sub_objects_total", []string{"video"}, 1},
		{"moq_sub_received_bytes_total", []string{"video"}, 100},
		{"moq_sub_lost_total", []string{"video"}, 2},
		{"moq_sub_lost_total", []string{"audio"}, 0},
		{"moq_frame_delay_odd_total", []string{"end_to_end", "no_capture"}, 1},
	} {
		if got := m.reg.Value(want.name, want.labels...); got != want.value {
			t.Errorf("%s %v: got %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	if d := m.frames.Delay(frames.EndToEnd, "video", 4).Snapshot(); d.Count != 1 || d.Sum != 40*time.Millisecond {
		t.Errorf("%d frames, %v", d.Count, d.Sum)
	}
	if l := m.frames.Lateness("video", 4).Snapshot(); l.Count != 2 {
		t.Errorf("lateness of %d frames", l.Count)
	}

	var none *measurement // with --ops off
	none.frame(media.Video, 4, 0, 0, true)
}
