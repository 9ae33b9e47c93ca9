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
	Format  string `json:"qlog_format"`
	Traces  []struct {
		Vantage       map[string]string          `json:"vantage_point"`
		Configuration map[string]json.RawMessage `json:"configuration"`
		Common        map[string]json.RawMessage `json:"common_fields"`
		Events        []struct {
			Time float64                    `json:"time"`
			Name string                     `json:"name"`
			Data map[string]json.RawMessage `json:"data"`
		} `json:"events"`
	} `json:"traces"`
}

// write runs a scenario and reads what was written.
func write(t *testing.T, name string) (file, *sim.Result) {
	t.Helper()
	sc, err := scenario.Builtin(name, sim.Controllers())
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
	return f, r
}

// The file is JSON, its events are in order, and they agree with the result.
func TestWriter(t *testing.T) {
	f, r := write(t, "low_and_up")
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
	const inFlight = 2 // packets that leave with the handshake
	want := map[string]int{
		"transport:packet_sent":     r.Flows[0].Packets + inFlight,
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

// What the loader of qvis and its congestion graph read of a draft-02 file: a
// known version and a format at the top; a vantage point; the format of times;
// events with time, "category:type" and data; for packets a header with type and
// number, and a size, without which a packet is left out of the graph; for
// acknowledgements the ranges, of packets that were sent.
// (QlogLoaderV2.ts, QlogSchema02.ts, CongestionGraphD3Renderer.ts.)
func TestShapeForQvis(t *testing.T) {
	f, _ := write(t, "drop_and_back")
	if f.Version != "draft-02" || f.Format != "JSON" {
		t.Errorf("version %q, format %q", f.Version, f.Format)
	}
	trace := &f.Traces[0]
	if trace.Vantage["type"] != "server" {
		t.Errorf("vantage point %v", trace.Vantage)
	}
	if got := string(trace.Configuration["time_units"]); got != `"ms"` {
		t.Errorf("time units %s", got)
	}
	if got := string(trace.Common["time_format"]); got != `"absolute"` {
		t.Errorf("time format %s", got)
	}
	type packet struct {
		Header struct {
			Type   string `json:"packet_type"`
			Number *int64 `json:"packet_number"`
			Size   *int64 `json:"packet_size"` // of older drafts
		}
		Raw    struct{ Length int64 }
		Frames []struct {
			Type   string     `json:"frame_type"`
			Ranges [][2]int64 `json:"acked_ranges"`
		}
	}
	sent, next := map[int64]bool{}, int64(0)
	for _, e := range trace.Events {
		data, _ := json.Marshal(e.Data)
		var p packet
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		isPacket := true
		switch e.Name {
		case "transport:packet_sent":
			sent[*p.Header.Number] = true
		case "transport:packet_received":
			if *p.Header.Number != next {
				t.Errorf("packet %d received after %d", *p.Header.Number, next-1)
			}
			next++
			if len(p.Frames) != 1 || p.Frames[0].Type != "ack" || len(p.Frames[0].Ranges) == 0 {
				t.Fatalf("frames %+v", p.Frames)
			}
			for _, r := range p.Frames[0].Ranges {
				for n := r[0]; n <= r[1]; n++ {
					if !sent[n] {
						t.Errorf("packet %d is acknowledged and was not sent", n)
					}
				}
			}
		case "recovery:packet_lost":
			isPacket = false
			if p.Header.Number == nil || !sent[*p.Header.Number] || p.Header.Type != "1RTT" {
				t.Errorf("lost: %s", data)
			}
		case "recovery:metrics_updated":
			isPacket = false
			for name, v := range e.Data {
				var number float64
				if err := json.Unmarshal(v, &number); err != nil {
					t.Errorf("%s is %s", name, v)
				}
			}
		case "recovery:congestion_state_updated":
			isPacket = false
			if len(e.Data["new"]) == 0 {
				t.Errorf("state: %s", data)
			}
		default:
			t.Fatalf("unknown event %q", e.Name)
		}
		if isPacket && (p.Header.Type != "1RTT" || p.Header.Size != nil || p.Raw.Length <= 0) {
			t.Errorf("%s: %s", e.Name, data)
		}
	}
	if len(sent) == 0 || next == 0 {
		t.Errorf("%d packets sent, %d received", len(sent), next)
	}
}
