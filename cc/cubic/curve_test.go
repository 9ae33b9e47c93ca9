package cubic

import (
	"math"
	"testing"
	"time"
)

// The curve leaves cwnd_epoch, reaches W_max at K, is flat there, and grows on.
// RFC 9438 Section 4.2, Window Increase Function
func TestCurve(t *testing.T) {
	var c curve
	const epoch = 10 * time.Second
	c.from(epoch, 70, 100)
	k := math.Cbrt(30 / 0.4)
	if got := c.k.Seconds(); math.Abs(got-k) > 1e-6 {
		t.Errorf("K = %g s, want %g", got, k)
	}
	for _, tt := range []struct {
		after float64 // in K
		want  float64
	}{
		{0, 70},
		{0.5, 100 - 30.0/8},
		{1, 100},
		{1.5, 100 + 30.0/8},
		{2, 130},
	} {
		if got := c.at(epoch + seconds(tt.after*k)); math.Abs(got-tt.want) > 1e-3 {
			t.Errorf("W_cubic(%g K) = %g, want %g", tt.after, got, tt.want)
		}
	}
}

// W_max below the window: K is 0 and the curve is convex from the start.
func TestCurveWithoutPlateau(t *testing.T) {
	var c curve
	c.from(0, 100, 90)
	if c.k != 0 || c.at(0) != 90 {
		t.Errorf("K %v, W_cubic(0) = %g", c.k, c.at(0))
	}
}
