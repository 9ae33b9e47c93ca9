package media

import (
	"math"
	"testing"
	"time"
)

func TestDurationAndTicks(t *testing.T) {
	epoch := int64(1_796_040_890) // seconds
	for _, c := range []struct {
		ticks     int64
		timescale uint32
		want      time.Duration
	}{
		{0, 48000, 0},
		{1, 3, 333_333_333},
		{2, 3, 666_666_667},
		{-1, 3, -333_333_333},
		{48000, 48000, time.Second},
		{epoch*15360 + 512, 15360, time.Duration(epoch)*time.Second + 33_333_333},
		{5, 0, 0},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MinInt64, 1, math.MinInt64},
	} {
		if got := Duration(c.ticks, c.timescale); got != c.want {
			t.Errorf("Duration(%d, %d) = %d, want %d", c.ticks, c.timescale, got, c.want)
		}
	}
}

func TestTicksIsTheInverseOfDuration(t *testing.T) {
	for _, timescale := range []uint32{1, 24, 1000, 1001, 15360, 30000, 44100, 48000, 90000, 10_000_000, MaxTimescale} {
		for _, sec := range []int64{0, 1, 3600, 1_796_040_890} {
			for _, rest := range []int64{0, 1, 2, 999, int64(timescale) - 1} {
				ticks := sec*int64(timescale) + rest%int64(timescale)
				for _, ticks := range []int64{ticks, -ticks} {
					if got := Ticks(Duration(ticks, timescale), timescale); got != ticks {
						t.Fatalf("timescale %d: %d ticks became %d", timescale, ticks, got)
					}
				}
			}
		}
	}
}

func TestRescale(t *testing.T) {
	for _, c := range []struct {
		ticks    int64
		from, to uint32
		want     int64
	}{
		{312, 48000, 48000, 312},
		{512, 15360, 90000, 3000},
		{-512, 15360, 90000, -3000},
		{1, 1_000_000, 48000, 0},
		{21, 1_000_000, 48000, 1},
		{1_796_040_890_123_456, 1_000_000, 48000, 86_209_962_725_926},
		{7, 0, 48000, 7},
	} {
		if got := Rescale(c.ticks, c.from, c.to); got != c.want {
			t.Errorf("Rescale(%d, %d, %d) = %d, want %d", c.ticks, c.from, c.to, got, c.want)
		}
	}
}

func TestFrameTimes(t *testing.T) {
	f := Frame{Track: &Track{Timescale: 15360}, DTS: -1024, PTS: 512, Duration: 512}
	if f.DTSTime() != -66_666_667 || f.PTSTime() != 33_333_333 || f.Length() != 33_333_333 {
		t.Errorf("times are %d, %d, %d", f.DTSTime(), f.PTSTime(), f.Length())
	}
}
