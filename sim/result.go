package sim

import (
	"time"
)

// Result is what a run measured.
type Result struct {
	// Finished is false if the run was ended by its time limit.
	Finished bool

	// Time is when the main client's connection was closed, counted from the
	// start of the run: start offset, handshake, transfer and closing included.
	Time time.Duration

	// Flows are the connections in the scenario's order.
	Flows []FlowResult

	// AvLatency is the highest average latency of a measured source of the main
	// flow, MaxLatency the highest latency of any of them.
	AvLatency, MaxLatency time.Duration

	// LoadShare is what the main server sent, as a fraction of what the link
	// could carry.
	LoadShare float64

	// Jain is Jain's index of the flows' goodput while the main one was active;
	// 1 with one flow.
	Jain float64

	// Drops is how many packets the down link dropped.
	Drops int

	// Events is how many events were simulated.
	Events int64
}

// FlowResult is what one connection did.
type FlowResult struct {
	Name, CC string

	Sent      int64 // bytes sent by the server, repetitions included
	Received  int64 // bytes that arrived, packet headers included
	Delivered int64 // bytes of stream data that the client has
	Packets   int
	Lost      int // packets declared lost
	LostBytes int64
	Marked    int64 // packets that arrived with CE
	Cancelled int   // groups that the client gave up

	// Round-trip samples of the server, one for each acknowledgement, in us.
	RTTMean, RTTDeviation, RTTMax float64
	RTTSamples                    int64

	Started, Ended time.Duration // Ended 0: still active
	Sources        []SourceResult
}

// SourceResult is what became of a media source.
type SourceResult struct {
	Name               string
	Measured           bool
	Frames             int64
	Average, MaxLatest time.Duration
}

func (s *Sim) result() *Result {
	r := &Result{Finished: s.done, Time: s.now, Drops: s.down.Stats().Drops, Events: s.events, Jain: 1}
	var sum, squares float64
	for i, c := range s.conns {
		f := c.result()
		r.Flows = append(r.Flows, f)
		share := float64(f.Delivered)
		sum += share
		squares += float64(share * share)
		if i > 0 {
			continue
		}
		for _, src := range f.Sources {
			if src.Measured {
				r.AvLatency = max(r.AvLatency, src.Average)
				r.MaxLatency = max(r.MaxLatency, src.MaxLatest)
			}
		}
	}
	if squares > 0 {
		r.Jain = sum * sum / (float64(len(s.conns)) * squares)
	}
	if room := s.scenario.Capacity(r.Time); room > 0 {
		r.LoadShare = float64(r.Flows[0].Sent) / room
	}
	return r
}

func (c *conn) result() FlowResult {
	st := &c.sender.stats
	f := FlowResult{
		Name: c.flow.Name, CC: c.ccName,
		Sent: st.sent, Received: c.receiver.wire, Delivered: c.receiver.connGot, Packets: st.packets,
		Lost: st.lost, LostBytes: st.lostBytes, Marked: st.marked, Cancelled: st.cancelled,
		RTTMean: st.rtt.mean(), RTTDeviation: st.rtt.deviation(),
		RTTMax: float64(st.rtt.max / time.Microsecond), RTTSamples: st.rtt.n,
		Started: c.startedAt, Ended: c.endedAt,
	}
	for i := range c.receiver.media.sources {
		src := &c.receiver.media.sources[i]
		f.Sources = append(f.Sources, SourceResult{
			Name: src.Name, Measured: src.Measured, Frames: src.latency.n,
			Average: src.latency.mean(), MaxLatest: src.latency.max,
		})
	}
	return f
}
