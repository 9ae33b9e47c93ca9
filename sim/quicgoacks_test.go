package sim

import "testing"

// As quic-go acknowledges, there is an acknowledgement for each second packet, and the
// controller still fills the link.
func TestQUICGoAcks(t *testing.T) {
	sc := load(t, "alone")
	var s Sim
	usual := mustRun(t, &s, sc, Options{CC: "c4"})
	r := mustRun(t, &s, sc, Options{CC: "c4", QUICGoAcks: true})
	f := r.Flows[0]
	if got := float64(f.Packets) / float64(f.RTTSamples); got < 1.8 || got > 2.3 {
		t.Errorf("%d packets, %d acknowledgements", f.Packets, f.RTTSamples)
	}
	if usual.Flows[0].RTTSamples*2 > f.RTTSamples {
		t.Errorf("%d acknowledgements, %d by the reference's policy", f.RTTSamples, usual.Flows[0].RTTSamples)
	}
	if d := r.Time - usual.Time; d < -usual.Time/20 || d > usual.Time/20 {
		t.Errorf("took %v, %v by the reference's policy", r.Time, usual.Time)
	}
}
