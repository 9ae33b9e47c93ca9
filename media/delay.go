package media

import (
	"math"
	"math/bits"
	"time"
)

// Buckets of Delay: one per microsecond up to 31, then 16 to each doubling, up
// to 2^36 us (19 hours). A bucket is at most 1/16 wide, so its middle is at most
// 3.2 % off.
const (
	delaySub     = 4 // bits
	delayMaxBits = 36
	delayBuckets = (delayMaxBits - delaySub + 1) << delaySub
)

// Delay is a distribution of frame delays in fixed buckets, so that any two can
// be merged. The zero value is empty and ready. It takes about 4 KB.
type Delay struct {
	buckets  [delayBuckets]uint64
	count    uint64
	max      time.Duration
	negative uint64
}

// Observe adds one delay. A negative one (clocks that disagree) counts as 0 and
// shows in Negative.
func (d *Delay) Observe(v time.Duration) {
	if v < 0 {
		d.negative++
		v = 0
	}
	d.buckets[delayBucket(v)]++
	d.count++
	d.max = max(d.max, v)
}

// Count is the number of delays.
func (d *Delay) Count() uint64 { return d.count }

// Max is the largest delay.
func (d *Delay) Max() time.Duration { return d.max }

// Negative is how many delays were below 0.
func (d *Delay) Negative() uint64 { return d.negative }

// Quantile is the delay that the share q (0 to 1) of the frames did not exceed,
// within 3.2 %. It is 0 if there is none.
func (d *Delay) Quantile(q float64) time.Duration {
	if d.count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(d.count)))
	rank = max(rank, 1)
	var seen uint64
	for i, n := range d.buckets {
		if seen += n; seen >= rank {
			return min(delayValue(i), d.max)
		}
	}
	return d.max
}

// Merge adds the delays of other.
func (d *Delay) Merge(other *Delay) {
	for i, n := range other.buckets {
		d.buckets[i] += n
	}
	d.count += other.count
	d.max = max(d.max, other.max)
	d.negative += other.negative
}

// delayBucket is the index of the bucket of a delay that is not negative.
func delayBucket(v time.Duration) int {
	us := uint64(v / time.Microsecond)
	n := bits.Len64(us)
	if n <= delaySub+1 {
		return int(us)
	}
	shift := n - delaySub - 1
	i := shift<<delaySub + int(us>>shift)
	return min(i, delayBuckets-1)
}

// delayValue is the middle of a bucket.
func delayValue(i int) time.Duration {
	if i < 2<<delaySub {
		return time.Duration(i) * time.Microsecond
	}
	shift := i>>delaySub - 1
	low := uint64(i&(1<<delaySub-1)|1<<delaySub) << shift
	return time.Duration(low+1<<shift/2) * time.Microsecond
}
