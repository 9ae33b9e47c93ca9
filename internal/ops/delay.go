package ops

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Native buckets of a [Delay]: 2^schema to each doubling, so that one is 9 % wider than the one below. What is
// not above 2^firstExp seconds (61 us) is in the zero bucket, what is above 2^lastExp (128 s) in the last one.
const (
	nativeSchema  = 3
	perDoubling   = 1 << nativeSchema
	firstExp      = -14
	lastExp       = 7
	nativeBuckets = (lastExp - firstExp) * perDoubling
)

// zeroThreshold is the upper bound of the zero bucket, in seconds.
var zeroThreshold = math.Ldexp(1, firstExp)

// fractions are the upper bounds of the buckets between 1/2 and 1.
var fractions = func() (f [perDoubling]float64) {
	for i := range f {
		f[i] = math.Exp2(float64(i)/perDoubling - 1)
	}
	return f
}()

// delayBuckets are the upper bounds of classic buckets, in seconds: fine where a live picture lives, from 1 ms, and reaching 5 s.
var delayBuckets = []float64{.001, .0025, .005, .01, .02, .03, .05, .075, .1, .15, .25, .5, 1, 2.5, 5}

// A Delay is a histogram of delays: classic buckets, the same for all, and native ones. Observing takes three
// atomic additions and no memory, so that it can be done for each object and subscriber. A Delay takes some
// 1.5 KB. The zero value is ready; it must not be copied.
type Delay struct {
	native  [nativeBuckets]atomic.Uint64
	zero    atomic.Uint64
	classic [16]atomic.Uint64 // one for each of delayBuckets and one for the rest; not cumulative
	nanos   atomic.Int64      // sum
}

// Observe adds one delay. A negative one, of clocks that disagree, counts as 0.
func (d *Delay) Observe(v time.Duration) { d.ObserveN(v, 1) }

// ObserveN adds the same delay n times.
func (d *Delay) ObserveN(v time.Duration, n uint32) {
	count := uint64(n)
	v = max(0, v)
	seconds := v.Seconds()
	if i := nativeIndex(seconds); i < 0 {
		d.zero.Add(count)
	} else {
		d.native[i].Add(count)
	}
	d.classic[classicIndex(seconds)].Add(count)
	d.nanos.Add(int64(v) * int64(n))
}

// nativeIndex is the place of a value that is not negative; -1 is the zero bucket.
func nativeIndex(seconds float64) int {
	if seconds <= zeroThreshold {
		return -1
	}
	fraction, exp := math.Frexp(seconds)
	i := 0
	for i < perDoubling && fractions[i] < fraction {
		i++
	}
	return min((exp-1-firstExp)*perDoubling+i-1, nativeBuckets-1)
}

// nativeBound is the upper bound of a native bucket in seconds.
func nativeBound(i int) float64 { return math.Exp2(float64(i+1)/perDoubling + firstExp) }

func classicIndex(seconds float64) int {
	i, _ := slices.BinarySearch(delayBuckets, seconds)
	return i
}

// Snapshot returns what was observed so far.
func (d *Delay) Snapshot() DelaySnapshot {
	s := DelaySnapshot{Zero: d.zero.Load(), Sum: time.Duration(d.nanos.Load())}
	s.Count = s.Zero
	for i := range d.native {
		s.native[i] = d.native[i].Load()
		s.Count += s.native[i]
	}
	return s
}

// A DelaySnapshot is a [Delay] at one moment, or the difference of two.
type DelaySnapshot struct {
	native [nativeBuckets]uint64
	Zero   uint64        // below 61 us
	Count  uint64        // of all
	Sum    time.Duration // of all
}

// Sub returns what was added since an older snapshot.
func (s *DelaySnapshot) Sub(older *DelaySnapshot) DelaySnapshot {
	diff := DelaySnapshot{Zero: s.Zero - older.Zero, Count: s.Count - older.Count, Sum: s.Sum - older.Sum}
	for i := range diff.native {
		diff.native[i] = s.native[i] - older.native[i]
	}
	return diff
}

// Add adds the delays of another histogram.
func (s *DelaySnapshot) Add(o *DelaySnapshot) {
	s.Zero, s.Count, s.Sum = s.Zero+o.Zero, s.Count+o.Count, s.Sum+o.Sum
	for i := range s.native {
		s.native[i] += o.native[i]
	}
}

// Quantile is the delay that the share q (0 to 1) did not exceed: the middle of its bucket, at most 5 % off. It is 0 if
// there is none.
func (s *DelaySnapshot) Quantile(q float64) time.Duration {
	if s.Count == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(min(max(q, 0), 1)*float64(s.Count))), 1)
	seen := s.Zero
	if seen >= rank {
		return time.Duration(zeroThreshold / 2 * float64(time.Second))
	}
	for i, n := range s.native {
		if seen += n; seen >= rank {
			return time.Duration((nativeBound(i-1) + nativeBound(i)) / 2 * float64(time.Second))
		}
	}
	return time.Duration(nativeBound(nativeBuckets-1) * float64(time.Second))
}

// fill writes the histogram into the form of the Prometheus client.
func (d *Delay) fill(h *dto.Histogram) {
	s := d.Snapshot()
	// The arrays are not read at one moment: the total is that of the native buckets, so that the series agree.
	var cumulative uint64
	for i, bound := range delayBuckets {
		cumulative = min(cumulative+d.classic[i].Load(), s.Count)
		count := cumulative
		h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: &count, UpperBound: &bound})
	}
	sum := s.Sum.Seconds()
	h.SampleCount, h.SampleSum = &s.Count, &sum
	schema, zero := int32(nativeSchema), s.Zero
	h.Schema, h.ZeroThreshold, h.ZeroCount = &schema, &zeroThreshold, &zero

	// Each span begins with its distance to the one before; counts are given as differences. A gap of one or two is
	// cheaper filled than begun anew.
	const maxGap = 2
	next, before := 0, int64(0)
	count := func(n int64) {
		h.PositiveDelta = append(h.PositiveDelta, n-before)
		before = n
	}
	for i, n := range s.native {
		if n == 0 {
			continue
		}
		spans := len(h.PositiveSpan)
		if spans > 0 && i-next <= maxGap {
			*h.PositiveSpan[spans-1].Length += uint32(i-next) + 1
			for ; next < i; next++ {
				count(0)
			}
		} else {
			offset, length := int32(i-next), uint32(1)
			if spans == 0 {
				offset = int32(i + 1 + firstExp*perDoubling)
			}
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: &offset, Length: &length})
		}
		count(int64(n))
		next = i + 1
	}
	if len(h.PositiveSpan) == 0 { // tells a native histogram without observations from a classic one
		offset, length := int32(0), uint32(0)
		h.PositiveSpan = []*dto.BucketSpan{{Offset: &offset, Length: &length}}
	}
}

// Delays are histograms of delays by label. A combination of labels shows in the metrics from its first observation
// on.
type Delays struct {
	labels []Label
	desc   *prometheus.Desc
	pairs  [][]*dto.LabelPair // by place in values
	values []*Delay
	sets   [][]string     // the label values, in the same order
	place  map[string]int // of the joined label values
}

// Delays adds histograms of delays in seconds.
func (r *Registry) Delays(name, help string, labels ...Label) *Delays {
	d := newDelays(name, help, labels...)
	r.add(d, Metric{name, "histogram", help, labels})
	return d
}

func newDelays(name, help string, labels ...Label) *Delays {
	clamped := make([]Label, len(labels))
	for i, l := range labels {
		clamped[i] = Label{l.Name, append(slices.Clone(l.Values), otherValue)}
	}
	d := &Delays{
		labels: clamped,
		desc:   prometheus.NewDesc(name, help, labelNames(labels), nil),
		place:  make(map[string]int),
	}
	d.sets = combinations(clamped)
	for i, values := range d.sets {
		d.place[joined(values)] = i
		d.values = append(d.values, new(Delay))
		d.pairs = append(d.pairs, prometheus.MakeLabelPairs(d.desc, values))
	}
	return d
}

func joined(values []string) string {
	var b []byte
	for _, v := range values {
		b = append(append(b, v...), 0)
	}
	return string(b)
}

// With returns the histogram for these values, which are those of the labels in the order declared; a value that
// was not declared is "other". Keep what it returns where speed matters. A wrong number of values panics.
func (d *Delays) With(values ...string) *Delay {
	clamped := make([]string, len(values))
	for i, v := range values {
		clamped[i] = d.labels[i].clamp(v)
	}
	i, ok := d.place[joined(clamped)]
	if !ok {
		panic("ops: wrong number of label values")
	}
	return d.values[i]
}

// Sum returns the delays of all label values that match.
func (d *Delays) Sum(match func(values []string) bool) (sum DelaySnapshot) {
	for i, values := range d.sets {
		if d.values[i].seen() && match(values) {
			s := d.values[i].Snapshot()
			sum.Add(&s)
		}
	}
	return sum
}

// Describe is part of prometheus.Collector.
func (d *Delays) Describe(ch chan<- *prometheus.Desc) { ch <- d.desc }

// Collect is part of prometheus.Collector.
func (d *Delays) Collect(ch chan<- prometheus.Metric) {
	for i, v := range d.values {
		if v.seen() {
			ch <- delayMetric{d.desc, d.pairs[i], v}
		}
	}
}

// seen reports whether there was an observation.
func (d *Delay) seen() bool {
	for i := range d.classic {
		if d.classic[i].Load() > 0 {
			return true
		}
	}
	return false
}

// delayMetric is one histogram as the Prometheus client takes it.
type delayMetric struct {
	desc  *prometheus.Desc
	pairs []*dto.LabelPair
	delay *Delay
}

func (m delayMetric) Desc() *prometheus.Desc { return m.desc }

func (m delayMetric) Write(out *dto.Metric) error {
	out.Label = m.pairs
	out.Histogram = &dto.Histogram{}
	m.delay.fill(out.Histogram)
	return nil
}
