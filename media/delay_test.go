package media

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestDelayQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []time.Duration{20 * time.Microsecond, 3 * time.Millisecond, 400 * time.Millisecond, time.Hour} {
		var d Delay
		var all []time.Duration
		for range 10_000 {
			v := time.Duration(r.ExpFloat64() * float64(spread))
			all = append(all, v)
			d.Observe(v)
		}
		slices.Sort(all)
		for _, q := range []float64{0.001, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
			want := all[int(math.Ceil(q*float64(len(all))))-1]
			got := d.Quantile(q)
			// Buckets are a microsecond wide at least.
			if diff := (got - want).Abs(); diff > want*32/1000+time.Microsecond {
				t.Errorf("spread %v: quantile %v is %v, want %v", spread, q, got, want)
			}
		}
		if d.Max() != all[len(all)-1] || d.Count() != 10_000 || d.Negative() != 0 {
			t.Errorf("max %v, count %d, negative %d", d.Max(), d.Count(), d.Negative())
		}
	}
}

func TestDelayMergeIsTheSameAsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var a, b, both Delay
	for i := range 1000 {
		v := time.Duration(r.Int64N(int64(time.Second))) - 100*time.Millisecond
		both.Observe(v)
		if i%3 == 0 {
			a.Observe(v)
		} else {
			b.Observe(v)
		}
	}
	a.Merge(&b)
	if a != both {
		t.Error("merging two halves gives another distribution than the whole")
	}
	if a.Negative() == 0 {
		t.Error("no negative delay was counted")
	}
}

func TestDelayEdges(t *testing.T) {
	var d Delay
	if d.Quantile(0.5) != 0 || d.Max() != 0 {
		t.Error("an empty distribution is not 0")
	}
	d.Observe(-time.Second)
	if d.Quantile(1) != 0 || d.Negative() != 1 {
		t.Errorf("a negative delay: quantile %v, negative %d", d.Quantile(1), d.Negative())
	}
	d.Observe(math.MaxInt64)
	if d.Max() != math.MaxInt64 || d.Quantile(1) < 10*time.Hour {
		t.Errorf("the longest delay: max %v, quantile %v", d.Max(), d.Quantile(1))
	}
	if d.Quantile(-1) != 0 || d.Quantile(2) != d.Quantile(1) {
		t.Error("quantiles out of range")
	}
}

func TestDelayBucketsAreInOrder(t *testing.T) {
	for i := 1; i < delayBuckets; i++ {
		if delayValue(i) <= delayValue(i-1) {
			t.Fatalf("bucket %d has %v, the one before %v", i, delayValue(i), delayValue(i-1))
		}
		if got := delayBucket(delayValue(i)); got != i {
			t.Fatalf("the middle of bucket %d is in bucket %d", i, got)
		}
	}
}
