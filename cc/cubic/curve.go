package cubic

import (
	"math"
	"time"
)

// scaling is C of RFC 9438 Section 5, in packets per second cubed.
const scaling = 0.4

// curve is the window increase function, in packets.
//
//	W_cubic(t) = C * (t - K)^3 + W_max
//
// RFC 9438 Section 4.2, Window Increase Function, Figure 1
type curve struct {
	epoch time.Duration // t_epoch, the time of t = 0
	k     time.Duration // K, when the plateau is reached
	wMax  float64       // W_max
}

// from starts the curve at now so that it leaves w packets and climbs to wMax.
//
//	K = cubic_root((W_max - cwnd_epoch) / C)
//
// RFC 9438 Section 4.2, Figure 2
func (c *curve) from(now time.Duration, w, wMax float64) {
	c.epoch = now
	c.wMax = wMax
	c.k = seconds(math.Cbrt(max(0, wMax-w) / scaling))
}

// at returns W_cubic at a time.
func (c *curve) at(now time.Duration) float64 {
	t := (now - c.epoch - c.k).Seconds()
	return scaling*t*t*t + c.wMax
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
