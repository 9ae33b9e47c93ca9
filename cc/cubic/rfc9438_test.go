package cubic

import (
	"math"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/cctest"
)

func newRFCTest(t *testing.T) (*cctest.Conn, *RFC9438) {
	ctl := NewRFC9438(cctest.Config())
	return cctest.NewConn(t, ctl), ctl
}

// loseOne loses the first packet of a full window and returns the window before,
// in packets.
func loseOne(test *cctest.Conn, ctl *RFC9438) float64 {
	test.Advance(ms)
	first := test.Next()
	test.Fill(10_000)
	test.Advance(rtt)
	before := ctl.path.cwnd
	test.Ack(first+3, first+3, first)
	return before
}

// drain acknowledges what is in flight and one packet more, which ends recovery.
func drain(test *cctest.Conn) {
	test.AckAll()
	test.Advance(ms)
	test.Send(1)
	test.Dry()
	test.Advance(rtt)
	test.AckAll()
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s = %g, want %g", what, got, want)
	}
}

// "In case of packet loss, the sender MUST reduce cwnd and ssthresh immediately
// upon entering loss recovery [...] The parameter beta_cubic SHOULD be set to 0.7"
// RFC 9438 Section 4.6, Multiplicative Decrease
func TestRFCReduction(t *testing.T) {
	test, ctl := newRFCTest(t)
	before := loseOne(test, ctl)
	test.WantState("recovery")
	within(t, "cwnd", ctl.path.cwnd, 0.7*before, 1e-9)
	within(t, "ssthresh", ctl.path.ssthresh, 0.7*before, 1e-9)
	within(t, "W_max", ctl.path.curve.wMax, before, 1e-9)
	within(t, "K", ctl.path.curve.k.Seconds(), math.Cbrt(0.3*before/0.4), 1e-6)
	within(t, "W_est", ctl.path.wEst, ctl.path.cwnd, 1e-9)
}

// "W_max = cwnd * (1 + beta_cubic) / 2 if cwnd < W_max and fast convergence
// enabled, further reduce W_max"
// RFC 9438 Section 4.7, Fast Convergence
func TestRFCFastConvergence(t *testing.T) {
	test, ctl := newRFCTest(t)
	for range 4 {
		test.RoundTrip(rtt)
	}
	first := loseOne(test, ctl)
	drain(test)
	second := loseOne(test, ctl)
	if second >= first {
		t.Fatalf("window %g after %g", second, first)
	}
	within(t, "W_max", ctl.path.curve.wMax, second*0.85, 1e-9)
	within(t, "cwnd", ctl.path.cwnd, second*0.7, 1e-9)
}

// Without further events the window follows the curve: back at W_max after K.
func TestRFCFollowsTheCurve(t *testing.T) {
	test, ctl := newRFCTest(t)
	for range 6 {
		test.RoundTrip(rtt)
	}
	before := loseOne(test, ctl)
	test.AckAll()
	p := &ctl.path
	for test.Now < p.curve.epoch+p.curve.k {
		test.RoundTrip(rtt)
		if w, at := p.cwnd, p.curve.at(test.Now+rtt); w > at*1.01 && w > p.wEst {
			t.Fatalf("at %v: window %g above the curve, %g", test.Now, w, at)
		}
	}
	test.WantState("congestion_avoidance")
	within(t, "cwnd after K", p.cwnd, before, 0.02)
}

// "CUBIC checks whether W_cubic(t) is less than W_est. If so, CUBIC is in the
// Reno-friendly region and cwnd SHOULD be set to W_est at each reception of a new
// ACK."
// RFC 9438 Section 4.3, Reno-Friendly Region
func TestRFCRenoFriendly(t *testing.T) {
	test, ctl := newRFCTest(t)
	loseOne(test, ctl)
	test.AckAll()
	p := &ctl.path
	test.Advance(ms)
	// With short round trips Reno's growth per time is the faster one. A window is
	// rounded up to whole packets, which counts while it is small.
	for range 100 {
		before, prior := p.wEst, p.cwndPrior
		test.RoundTrip(2 * ms)
		alpha := alphaRFC
		if before >= prior {
			alpha = 1
		}
		if got := p.wEst - before; got > alpha*1.15 || got < alpha*0.8 {
			t.Fatalf("W_est grows by %g of %g packets, want %g at most", got, before, alpha)
		}
		if p.cwnd != p.wEst {
			t.Fatalf("window %g, W_est %g", p.cwnd, p.wEst)
		}
	}
	if p.wEst <= p.cwndPrior {
		t.Errorf("W_est %g has not passed cwnd_prior %g", p.wEst, p.cwndPrior)
	}
}

// "target = 1.5 * cwnd if W_cubic(t + RTT) > 1.5 * cwnd"
// RFC 9438 Section 4.2, Window Increase Function
func TestRFCTargetIsBounded(t *testing.T) {
	test, ctl := newRFCTest(t)
	loseOne(test, ctl)
	test.AckAll()
	test.Advance(100 * time.Second) // far up the curve
	before := ctl.path.cwnd
	test.RoundTrip(rtt)
	if got := ctl.path.cwnd; got > 1.5*before {
		t.Errorf("window %g after %g", got, before)
	}
}

// "In this special case, CUBIC sets cwnd_prior = cwnd and switches to congestion
// avoidance. It then increases its congestion window size using Figure 1, where t
// is the elapsed time since the beginning of the current congestion avoidance, K is
// set to 0"
// RFC 9438 Section 4.10, Slow Start
func TestRFCHyStart(t *testing.T) {
	test, ctl := newRFCTest(t)
	// ACKs of single packets, so that a round has enough samples.
	round := func(rtt time.Duration) {
		first := test.Next()
		test.Fill(10_000)
		last := test.Next() - 1
		test.Advance(rtt)
		for n := first; n <= last; n++ {
			test.Ack(n, n)
		}
	}
	round(rtt)
	round(rtt)
	for range 8 {
		round(2 * rtt)
		if !test.Control.SlowStart {
			break
		}
	}
	test.WantState("congestion_avoidance")
	if k := ctl.path.curve.k; k != 0 {
		t.Errorf("K = %v", k)
	}
	if ctl.path.cwndPrior != ctl.path.curve.wMax {
		t.Errorf("cwnd_prior %g, W_max %g", ctl.path.cwndPrior, ctl.path.curve.wMax)
	}
}

// RFC 9438 Section 4.8, Timeout
func TestRFCPersistentCongestion(t *testing.T) {
	test, ctl := newRFCTest(t)
	test.Fill(1000)
	test.Advance(rtt)
	before := ctl.path.cwnd
	test.Ack(5, 5)
	grown := ctl.path.cwnd
	test.Persist(0)
	test.WantState("slow_start")
	test.WantVar("cwnd", 2*packet)
	within(t, "ssthresh", ctl.path.ssthresh, grown*betaRFC, 1e-9)
	test.AckAll()
	for ctl.State() == slowStart {
		test.RoundTrip(rtt)
	}
	if ctl.path.curve.k != 0 || ctl.path.curve.wMax < before*betaRFC {
		t.Errorf("K %v, W_max %g", ctl.path.curve.k, ctl.path.curve.wMax)
	}
}

// "The elapsed time t in Figure 1 MUST NOT include periods during which cwnd has not
// been updated due to application-limited behavior"
// RFC 9438 Section 4.2, Window Increase Function
func TestRFCAppLimitedTimeDoesNotCount(t *testing.T) {
	test, ctl := newRFCTest(t)
	loseOne(test, ctl)
	drain(test)
	test.RoundTrip(rtt)
	elapsed := test.Now - ctl.path.curve.epoch
	for range 20 {
		test.Send(1)
		test.Dry()
		test.Advance(time.Second)
		test.AckAll()
	}
	if got := test.Now - ctl.path.curve.epoch; got > elapsed+rtt {
		t.Errorf("t went from %v to %v", elapsed, got)
	}
}

// "Once the previously declared packet loss is confirmed to be spurious, CUBIC MAY
// restore the original values of the above-mentioned variables as follows if the
// current cwnd is lower than cwnd_prior."
// RFC 9438 Section 4.9.2, Spurious Loss Detected by Acknowledgements
func TestRFCSpuriousLoss(t *testing.T) {
	test, ctl := newRFCTest(t)
	for range 3 {
		test.RoundTrip(rtt)
	}
	test.Advance(ms)
	first := test.Next()
	test.Fill(1000)
	test.Advance(rtt)
	before := ctl.path
	test.Ack(first+10, first+10, first, first+1)
	reduced := ctl.path.cwnd
	test.Spurious(first, cc.LossPackets)
	within(t, "cwnd with one loss left", ctl.path.cwnd, reduced, 1e-9)
	test.Spurious(first+1, cc.LossPackets)
	within(t, "cwnd", ctl.path.cwnd, before.cwnd, 1e-9)
	test.WantState("slow_start")
	if !test.Control.SlowStart {
		t.Error("ssthresh is not restored")
	}
}

func TestRFCProbeTimeoutChangesNothing(t *testing.T) {
	test, ctl := newRFCTest(t)
	test.Fill(100)
	test.Advance(time.Second)
	test.PTO()
	test.WantState("slow_start")
	within(t, "cwnd", ctl.path.cwnd, 10, 1e-9)
}

func TestRFCMTU(t *testing.T) {
	test, ctl := newRFCTest(t)
	before := test.Control.Window
	ctl.OnMTU(test.Now, 1500)
	if got := ctl.Control().Window; got != before {
		t.Errorf("window %d bytes became %d", before, got)
	}
}
