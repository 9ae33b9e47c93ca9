package qlog

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/moq-c4/moq-c4/sim"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

type file struct {
	Version string `json:"qlog_version"`
	Traces  []struct {
		Events []struct {
			Time float64                    `json:"time"`
			Name string                     `json:"name"`
			Data map[string]json.RawMessage `json:"data"`
		} `json:"events"`
	} `json:"traces"`
}

// The file is JSON, its events are in order, and they agree with the result.
func TestWriter(t *testing.T) {
	sc, err := scenario.Builtin("low_and_up", sim.Controllers())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	q := New(&out, 0, `a "title"`)
	var s sim.Sim
	r, err := s.Run(sc, sim.Options{CC: "c4", Tracer: q})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if f.Version != "draft-02" || len(f.Traces) != 1 {
		t.Fatalf("version %q, %d traces", f.Version, len(f.Traces))
	}
	count := map[string]int{}
	last := 0.0
	for _, e := range f.Traces[0].Events {
		count[e.Name]++
		if e.Time < last {
			t.Errorf("time goes back at %v", e.Time)
		}
		last = e.Time
	}
	want := map[string]int{
		"transport:packet_sent":     r.Flows[0].Packets,
		"recovery:packet_lost":      r.Flows[0].Lost,
		"transport:packet_received": int(r.Flows[0].RTTSamples),
	}
	for name, n := range want {
		if count[name] != n {
			t.Errorf("%d events %s, want %d", count[name], name, n)
		}
	}
	if count["recovery:congestion_state_updated"] < 3 {
		t.Errorf("%d changes of state", count["recovery:congestion_state_updated"])
	}
}
