package sim

import (
	"testing"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

// BenchmarkTable runs the drafts' whole table once per iteration, with the three
// controllers that it compares.
func BenchmarkTable(b *testing.B) {
	all, err := scenario.All(Controllers())
	if err != nil {
		b.Fatal(err)
	}
	var s Sim
	b.ReportAllocs()
	runs, events, seed := 0, int64(0), uint64(0)
	for b.Loop() {
		seed++
		for _, sc := range all {
			for _, cc := range []string{"c4", "cubic", "bbr"} {
				r, err := s.Run(sc, Options{CC: cc, Seed: seed})
				if err != nil {
					b.Fatal(err)
				}
				runs++
				events += r.Events
			}
		}
	}
	b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkAlone(b *testing.B) {
	sc, err := scenario.Builtin("alone", Controllers())
	if err != nil {
		b.Fatal(err)
	}
	var s Sim
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(sc, Options{CC: "c4", Seed: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
