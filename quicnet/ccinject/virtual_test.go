package ccinject

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
)

func mbps(n float64) cc.Rate { return cc.Rate(n * 1e6 / 8) }

// bulk sends n bytes from the server, in virtual time, and returns how long it took
// with the handshake. late is the most by which timers are late.
func bulk(t *testing.T, n int, down, up *link, late time.Duration, controller func(cc.Config) cc.Controller) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, client := network(down, up)
		var in *Injector
		if controller != nil {
			in = New(Config{Controller: controller})
			if late > 0 {
				in.late = func() time.Duration { return rand.N(late) }
			}
		}
		p := newPair(t, server, client, in, nil)
		begin := time.Now()
		c, s := p.connect()
		transfer(t, s, c, n)
		took = time.Since(begin)
		if in != nil {
			if got := in.Stats(); got != (Stats{Installed: 1}) {
				t.Errorf("got %+v", got)
			}
		}
		p.close()
		time.Sleep(time.Minute) // quic-go remembers closed connections for a while
	})
	return took
}

func TestFixedRate(t *testing.T) {
	for _, late := range []time.Duration{0, 6 * time.Millisecond} {
		f := &fixed{rate: mbps(20), window: 10 << 20}
		took := bulk(t, 5e6, &link{delay: 20 * time.Millisecond}, &link{delay: 20 * time.Millisecond}, late,
			func(cc.Config) cc.Controller { return f })
		// 1252 bytes of stream data of 1280: 97.8 % of the rate, after 2 RTT and half a one
		want := time.Duration(5e6*1280/1252/float64(f.rate)*1e9) + 100*time.Millisecond
		t.Logf("late %v: %v, expected %v, %+v", late, took, want, f.rtt)
		if took < want*98/100 || took > want*102/100 {
			t.Errorf("late %v: took %v, want %v within 2 %%", late, took, want)
		}
		if f.lost > 0 || f.ptos > 0 {
			t.Errorf("late %v: %d losses, %d timeouts on a perfect path", late, f.lost, f.ptos)
		}
		// delivery is measured without the tag
		const share = (1280 - 16) / 1280.
		for i, r := range f.rates {
			if i < len(f.rates)/4 || i > len(f.rates)*9/10 {
				continue // start and end
			}
			if x := float64(r) / (float64(f.rate) * share); x < 0.9 || x > 1.1 {
				t.Fatalf("late %v: rate sample %d of %d is %v, sent at %v", late, i, len(f.rates), r, f.rate)
			}
		}
	}
}

// recorder passes everything on and keeps what tests look at.
type recorder struct {
	*c4.Controller
	sum, longest time.Duration
	samples      int
	gaps, ptos   int
	dry          int
	dryAt        []time.Duration
}

func (r *recorder) OnRTT(now time.Duration, s cc.RTT) {
	if !s.Handshake {
		r.sum += s.Latest
		r.samples++
		r.longest = max(r.longest, s.Latest)
	}
	r.Controller.OnRTT(now, s)
}

func (r *recorder) OnLoss(now time.Duration, l cc.Loss) {
	if l.Reason == cc.LossPTO {
		r.ptos++
	} else {
		r.gaps++
	}
	r.Controller.OnLoss(now, l)
}

func (r *recorder) OnAppLimited(now time.Duration) {
	r.dry++
	r.dryAt = append(r.dryAt, now)
	r.Controller.OnAppLimited(now)
}

func (r *recorder) mean() time.Duration { return r.sum / time.Duration(max(1, r.samples)) }

func newRecorder(r *recorder) func(cc.Config) cc.Controller {
	return func(c cc.Config) cc.Controller {
		*r = recorder{Controller: c4.New(c, c4.Default())}
		return r
	}
}

// TestC4Bulk is the scenario "alone" of the simulator: 10 MB over 20 Mbit/s, 80 ms, a queue
// of one bandwidth-delay product. The simulator needs 4.56 s at a mean RTT of 86 ms, one
// RTT for closing included.
func TestC4Bulk(t *testing.T) {
	down := &link{rate: mbps(20), delay: 40 * time.Millisecond, queue: 80 * time.Millisecond}
	up := &link{delay: 40 * time.Millisecond}
	var r recorder
	took := bulk(t, 10e6, down, up, 0, newRecorder(&r))
	t.Logf("%v, mean RTT %v, longest %v, losses %d and %d by timeout, dry at %v",
		took, r.mean(), r.longest, r.gaps, r.ptos, r.dryAt)
	if took < 4400*time.Millisecond || took > 4700*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if r.mean() > 100*time.Millisecond {
		t.Errorf("mean RTT %v", r.mean())
	}
	if r.dry > 3 {
		t.Errorf("ran dry %d times in a bulk transfer, at %v", r.dry, r.dryAt)
	}
}

// TestC4LateTimers changes the rate from 10 to 20 Mbit/s after a while: a pacer that loses
// what late timers cost never sees growth and stays at the old rate.
func TestC4LateTimers(t *testing.T) {
	run := func(late time.Duration) time.Duration {
		down := &link{rate: mbps(5), delay: 40 * time.Millisecond, queue: 80 * time.Millisecond}
		up := &link{delay: 40 * time.Millisecond}
		var r recorder
		make := newRecorder(&r)
		took := bulk(t, 10e6, down, up, late, func(c cc.Config) cc.Controller {
			time.AfterFunc(2500*time.Millisecond, func() {
				down.mu.Lock()
				down.rate = mbps(20)
				down.mu.Unlock()
			})
			return make(c)
		})
		t.Logf("late %v: %v, mean RTT %v, %d losses", late, took, r.mean(), r.gaps)
		return took
	}
	exact, late := run(0), run(6*time.Millisecond)
	if late > exact*110/100 {
		t.Errorf("late timers cost %v of %v", late-exact, exact)
	}
}
