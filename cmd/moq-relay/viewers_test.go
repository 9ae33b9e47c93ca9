package main

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/internal/ops"
	"github.com/moq-c4/moq-c4/media/report"
)

func TestViewerReports(t *testing.T) {
	reg := ops.NewRegistry(ops.Build{})
	m := frames.New(reg)
	v := newViewers(reg, m)
	b := report.Append(nil, report.Report{
		Period: 5 * time.Second, Stalled: 200 * time.Millisecond,
		Tracks: []report.TrackReport{{
			Kind: report.Video, Priority: 4, Cancelled: 1, Dropped: 2, Unknown: 3,
			Steps: []report.Step{{Delay: 100 * time.Millisecond, Frames: 140}, {Delay: 250 * time.Millisecond, Frames: 10}},
		}},
	})
	v.take(b)
	v.take([]byte{9})
	v.take(b[:len(b)-1])
	v.take(report.Append(nil, report.Report{Period: time.Hour}))
	for _, tr := range []report.TrackReport{{Kind: report.Video, Cancelled: 1 << 31}, {Kind: report.Video, Dropped: 1 << 31}, {Kind: report.Audio, Unknown: 1 << 31}} {
		v.take(report.Append(nil, report.Report{Period: time.Second, Tracks: []report.TrackReport{tr}}))
	}

	s := m.Delay(frames.EndToEnd, frames.KindVideo, 4).Snapshot()
	if got := s.Quantile(.5); s.Count != 150 || got < 95*time.Millisecond || got > 105*time.Millisecond {
		t.Errorf("%d frames around %v, want 150 around 100 ms", s.Count, got)
	}
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"moq_viewer_reports_total", []string{"ok"}, 1},
		{"moq_viewer_reports_total", []string{"unknown_version"}, 1},
		{"moq_viewer_reports_total", []string{"malformed"}, 5},
		{"moq_viewer_stalled_seconds_total", nil, .2},
		{"moq_viewer_reported_seconds_total", nil, 5},
		{"moq_viewer_groups_lost_total", []string{"cancelled", "video"}, 1},
		{"moq_viewer_groups_lost_total", []string{"dropped", "video"}, 2},
		{"moq_frame_delay_odd_total", []string{"no_capture", "end_to_end"}, 3},
	} {
		if got := reg.Value(want.name, want.labels...); got != want.value {
			t.Errorf("%s %v: got %v, want %v", want.name, want.labels, got, want.value)
		}
	}
}
