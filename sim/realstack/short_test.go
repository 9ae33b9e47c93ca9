//go:build linux

package realstack

import (
	"testing"
	"time"
)

// The short version of the comparison, one run of each. What differs from run to run is left to TestTable.
func TestRealStack(t *testing.T) {
	for _, tt := range []struct{ name, controller string }{
		{"alone", "c4"}, {"media", "c4"}, {"media", stock},
	} {
		t.Run(tt.name+"/"+tt.controller, func(t *testing.T) {
			sc := load(t, tt.name)
			compare(t, tt.name, tt.controller, real(t, sc, tt.controller, 1), simulated(t, sc, tt.controller, 1))
		})
	}
}

func compare(t *testing.T, name, controller string, a, b figures) {
	t.Helper()
	t.Logf("%s with %s: time %v / %v, average %v / %v, RTT %v / %v", name, controller, a.time, b.time, a.average, b.average, a.rtt, b.rtt)
	for _, w := range check(name, controller, &a, &b) {
		t.Error(w)
	}
}

// With C4 the bursts of video wait at the sender, and audio passes them. With the stock controller they stand in the
// network's queue, and audio behind them. The table has the averages over runs, one half and two fifths.
func TestAudioPassesVideo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		most  time.Duration
		ratio float64
	}{
		{"media10", 58 * time.Millisecond, 0.57},
		{"media4", 58 * time.Millisecond, 0.45},
	} {
		sc := load(t, tt.name)
		c4, other := real(t, sc, "c4", 1), real(t, sc, stock, 1)
		t.Logf("%s: latest audio %v, with stock %v", tt.name, c4.audioSteady, other.audioSteady)
		if c4.audioSteady > tt.most || float64(c4.audioSteady) > tt.ratio*float64(other.audioSteady) {
			t.Errorf("%s: audio comes up to %v late with C4, %v with stock", tt.name, c4.audioSteady, other.audioSteady)
		}
	}
}

// C4 marks its packets ECT(1), the AQM marks them CE, and C4 is told.
func TestECNReachesController(t *testing.T) {
	m := runStack(t, load(t, "media_ecn"), "c4", 1)
	q := m.controllers.QUIC
	if m.ect1 < 1000 || m.down.Marked == 0 {
		t.Fatalf("%d packets with ECT(1), %d marked", m.ect1, m.down.Marked)
	}
	if got := int64(q.PacketsMarked); got < m.down.Marked*9/10 || got > m.down.Marked {
		t.Errorf("the controller knows of %d marks of %d", got, m.down.Marked)
	}
	// Path MTU discovery works through the sockets in memory: it begins with 1280.
	if m.down.Largest <= 1280 || m.down.Largest > maxPacket {
		t.Errorf("the largest packet had %d bytes on a path for %d", m.down.Largest, maxPacket)
	}
}
