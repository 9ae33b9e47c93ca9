package sim

import "testing"

// C4 sends ECT(1) and gets marks from the DualQ; with the reference's fault
// everything is in the classic queue and nothing is marked.
func TestECN(t *testing.T) {
	var s Sim
	sc := load(t, "ecn")
	r := mustRun(t, &s, sc, Options{CC: "c4-draft04", Seed: 1})
	if m := r.Flows[0].Marked; m < 100 || m > int64(r.Flows[0].Packets)/2 {
		t.Errorf("%d of %d packets marked", m, r.Flows[0].Packets)
	}
	r = mustRun(t, &s, sc, Options{CC: "c4-draft04", Seed: 1, Quirks: AllQuirks})
	if m := r.Flows[0].Marked; m != 0 {
		t.Errorf("%d packets marked with the fault", m)
	}
}
