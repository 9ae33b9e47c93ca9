package link

import "time"

// Wi-Fi jitter in two parts. Every packet waits a Poisson number of 1 ms slots
// (collision avoidance and deferral). A fraction of the packets also waits a
// Poisson number, 12 on average, of 7.5 ms slots (retransmissions by the radio).
// [C4-TESTS] Handling of High Jitter Environments
//
// The text divides by 90 ms where the simulator that made its tables divides by
// 84 ms, and the text smooths the first part only. This is the simulator's way.
const (
	shortSlot = time.Millisecond
	longSlot  = 7500 * time.Microsecond
	longScale = 84 * time.Millisecond

	expMinus1  = 395_007_542 // exp(-1) * 2^30
	expMinus12 = 6_597       // exp(-12) * 2^30
)

// wifiJitter draws the extra delay of one packet at the average jitter j.
func wifiJitter(r *Rand, j time.Duration) time.Duration {
	n := r.poisson(expMinus1)
	d := time.Duration(n) * shortSlot
	if n > 0 {
		d -= r.Duration(shortSlot)
	}
	if j > shortSlot && r.fraction()*uint64(longScale/time.Microsecond) < uint64((j-shortSlot)/time.Microsecond)<<30 {
		n := r.poisson(expMinus12)
		d += time.Duration(n) * longSlot
		if n > 1 {
			d -= r.Duration(longSlot)
		}
	}
	return d
}
