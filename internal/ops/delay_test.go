package ops

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

func delayTestRegistry() (*Registry, *Delays) {
	r := NewRegistry(testBuild)
	return r, r.Delays("moq_wait_seconds", "Waits.", Label{"kind", []string{"audio", "video"}}, Label{"stage", []string{"in", "out"}})
}

// Our histogram must be what the client's own makes of the same observations.
func TestDelayIsAsTheClients(t *testing.T) {
	reference := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "moq_reference_seconds", Buckets: delayBuckets,
		NativeHistogramBucketFactor: math.Exp2(1.0 / perDoubling), NativeHistogramZeroThreshold: zeroThreshold,
		NativeHistogramMaxBucketNumber: 1000,
	})
	var d Delay
	for _, v := range []time.Duration{
		0, time.Microsecond, 61 * time.Microsecond, 62 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
		2500*time.Microsecond + 1, 20 * time.Millisecond, 33 * time.Millisecond, 34 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 5 * time.Second, 6 * time.Second, 64 * time.Second, 127 * time.Second,
	} {
		reference.Observe(v.Seconds())
		d.Observe(v)
	}
	var want dto.Metric
	if err := reference.Write(&want); err != nil {
		t.Fatal(err)
	}
	var got dto.Histogram
	d.fill(&got)
	want.Histogram.CreatedTimestamp = nil
	if math.Abs(got.GetSampleSum()-want.Histogram.GetSampleSum()) > 1e-6 {
		t.Errorf("sum: got %v, want %v", got.GetSampleSum(), want.Histogram.GetSampleSum())
	}
	got.SampleSum = want.Histogram.SampleSum // rounded in another way
	if got.String() != want.Histogram.String() {
		t.Errorf("got\n%v\nwant\n%v", got.String(), want.Histogram.String())
	}
}

func TestDelayBounds(t *testing.T) {
	for i := range nativeBuckets {
		if got := nativeIndex(math.Nextafter(nativeBound(i), math.Inf(1))); got != min(i+1, nativeBuckets-1) {
			t.Fatalf("just above bucket %d: got %d", i, got)
		}
		if got := nativeIndex(nativeBound(i) * (1 - 1e-12)); got != i {
			t.Fatalf("the end of bucket %d: got %d", i, got)
		}
	}
	if got := nativeIndex(math.MaxFloat64); got != nativeBuckets-1 {
		t.Errorf("a huge value: got %d", got)
	}
}

func TestDelayQuantile(t *testing.T) {
	var d Delay
	empty := d.Snapshot()
	if empty.Quantile(.5) != 0 {
		t.Error("a quantile of nothing")
	}
	for i := range 1000 {
		d.Observe(time.Duration(i+1) * time.Millisecond)
	}
	d.Observe(-time.Second)
	s := d.Snapshot()
	for q, want := range map[float64]time.Duration{.5: 500 * time.Millisecond, .95: 950 * time.Millisecond, .99: 990 * time.Millisecond} {
		if got := s.Quantile(q); math.Abs(float64(got-want)) > .05*float64(want) {
			t.Errorf("quantile %v: got %v, want about %v", q, got, want)
		}
	}
	if s.Count != 1001 || s.Zero != 1 {
		t.Errorf("count %d, of these %d none; want 1001 and the negative one", s.Count, s.Zero)
	}
	before := s
	d.Observe(3 * time.Second)
	after := d.Snapshot()
	diff := after.Sub(&before)
	if got := diff.Quantile(.5); diff.Count != 1 || got < 2850*time.Millisecond || got > 3150*time.Millisecond {
		t.Errorf("the difference has %d at %v", diff.Count, got)
	}
}

// Peers choose what is observed: values stay among those declared, and nothing shows that was not seen.
func TestDelaysStayBounded(t *testing.T) {
	r, d := delayTestRegistry()
	if n, _ := testutil.GatherAndCount(r.reg, "moq_wait_seconds"); n != 0 {
		t.Errorf("%d series before the first observation", n)
	}
	d.With("audio", "in").Observe(time.Millisecond)
	for _, kind := range []string{"x", "y", "", "\xff"} {
		d.With(kind, "in").Observe(time.Millisecond)
	}
	if n, _ := testutil.GatherAndCount(r.reg, "moq_wait_seconds"); n != 2 {
		t.Errorf("%d series, want audio and other", n)
	}
	sum := d.Sum(func(values []string) bool { return values[1] == "in" })
	if sum.Count != 5 {
		t.Errorf("sum of the stage: %d", sum.Count)
	}
	problems, err := testutil.GatherAndLint(r.reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

func TestDelayAllocatesNothing(t *testing.T) {
	var d Delay
	if n := testing.AllocsPerRun(100, func() { d.Observe(7 * time.Millisecond) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDelayObserve(b *testing.B) {
	var d Delay
	v := time.Millisecond
	for b.Loop() {
		d.Observe(v)
		v = (v + 777*time.Microsecond) % (2 * time.Second)
	}
}
