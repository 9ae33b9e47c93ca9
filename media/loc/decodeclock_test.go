package loc

import (
	"slices"
	"testing"

	"github.com/moq-c4/moq-c4/media"
)

// clockFrames runs presentation times through a clock; negative ones are of key
// frames, with the sign left out, and 0 is a key frame too.
func clockFrames(c *decodeClock, pts ...int64) (dts, durations []int64) {
	for _, p := range pts {
		f := media.Frame{Track: video, PTS: max(p, -p), Key: p <= 0}
		c.set(&f, 0)
		dts = append(dts, f.DTS)
		durations = append(durations, f.Duration)
	}
	return dts, durations
}

func TestDecodeClock(t *testing.T) {
	for _, c := range []struct {
		name    string
		reorder int
		rate    float64
		pts     []int64
		dts     []int64
	}{
		{
			"in order", 0, 30,
			[]int64{0, 512, 1024, -1536, 2048},
			[]int64{0, 512, 1024, 1536, 2048},
		},
		{
			"in order, at an uneven rate", 0, 30,
			[]int64{0, 400, 1400, 5000, -5100},
			[]int64{0, 400, 1400, 5000, 5100},
		},
		{
			"two pictures are reordered", 2, 30,
			[]int64{-1024, 3072, 2048, 1536, 2560, 5120, 4096, 3584, 4608, -5632},
			[]int64{0, 512, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 4608},
		},
		{
			"reordering shows only in the times", -1, 30,
			[]int64{-1024, 3072, 2048, 1536, 2560, -5632, 7680, 6656},
			[]int64{1024, 3072, 3073, 3074, 3075, 5120, 5632, 6144},
		},
		{
			"a group is missing", 1, 30,
			[]int64{-512, 1536, 1024, -46080, 47104},
			[]int64{0, 512, 1024, 45568, 46080},
		},
		{
			"the publisher has started over", 0, 30,
			[]int64{-10_000_000, 10_000_512, -512, 1024},
			[]int64{10_000_000, 10_000_512, 512, 1024},
		},
		{
			"an object came twice", 0, 30,
			[]int64{0, 512, 512, 1024},
			[]int64{0, 512, 513, 1024},
		},
	} {
		var clock decodeClock
		clock.configure(video, c.reorder, c.rate)
		if got, _ := clockFrames(&clock, c.pts...); !slices.Equal(got, c.dts) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.name, got, c.dts)
		}
	}
}

func TestDecodeClockDurations(t *testing.T) {
	var clock decodeClock
	clock.configure(video, 0, 0)
	if _, got := clockFrames(&clock, 0, 512, 1024, 1536); !slices.Equal(got, []int64{0, 512, 512, 512}) {
		t.Errorf("without a frame rate: %v", got)
	}
	clock = decodeClock{}
	clock.configure(video, 0, 30)
	if _, got := clockFrames(&clock, 0, 400, 5000); !slices.Equal(got, []int64{512, 512, 512}) {
		t.Errorf("with a frame rate: %v", got)
	}
	clock = decodeClock{}
	clock.configure(opus, -1, 0)
	f := media.Frame{Track: opus, PTS: 7, Key: true}
	clock.set(&f, 960)
	if f.Duration != 960 || f.DTS != 7 {
		t.Errorf("sound: %+v", f)
	}
}
