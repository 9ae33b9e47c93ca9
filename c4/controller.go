package c4

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Controller is a C4 congestion controller for one path. It implements
// cc.Controller and cc.Inspector; cc gives the order in which its inputs are
// called. Its Control is up to date after each of them.
type Controller struct {
	cfg    Config // fixed after New
	events cc.EventBuffer

	now   time.Duration
	state State
	out   cc.Control

	// What the transport said last.
	mtu           int64
	nextNumber    int64         // number of the next packet
	inFlight      int64         // bytes
	smoothedRTT   time.Duration // handshake included
	handshakeRTT  time.Duration // latest sample, handshake included
	latestRTT     time.Duration // latest sample of application data
	peakRate      cc.Rate
	lastAckedSent time.Duration // newest send time among acknowledged packets
	lastLimited   time.Duration // when the sender last ran dry
	seed          cc.Seed

	// Coefficient of the present state, and of the one whose packets are being
	// acknowledged. See era.go for the moment at which previous follows.
	alpha         Coef
	alphaPrevious Coef

	// nominalRate is the estimate of what the path delivers; 0 is unknown.
	nominalRate cc.Rate
	// recentMaxRate is the largest sample since the last recovery ended, and
	// previousMaxRate that of the cycle before.
	recentMaxRate   cc.Rate
	previousMaxRate cc.Rate

	rtt    rttEstimate
	era    era
	growth growth
	loss   lossRate
	ecn    ecnRatio

	initial  initialState
	recovery recoveryState
	cruising cruisingState
	pushing  pushingState
	resuming resumingState

	// congested is set once congestion has been signalled outside initial.
	congested bool
}

var (
	_ cc.Controller = (*Controller)(nil)
	_ cc.Inspector  = (*Controller)(nil)
)

// New returns a controller for a new path. cfg must pass Check; New panics
// otherwise.
func New(base cc.Config, cfg Config) *Controller {
	if cfg == (Config{}) {
		cfg = Default()
	}
	if err := cfg.Check(); err != nil {
		panic(err)
	}
	base = base.WithDefaults()
	c := &Controller{
		cfg:         cfg,
		mtu:         base.MTU,
		lastLimited: -1,
	}
	c.rtt.runningMin = math.MaxInt64
	c.recovery.shortest = math.MaxInt64
	c.out.Window = base.InitialWindow
	c.out.ECN = cc.ECT1
	c.startInitial()
	c.setControl()
	return c
}

// Getters.

// Control returns the present limits on sending.
func (c *Controller) Control() cc.Control { return c.out }

// State returns the present state's name.
func (c *Controller) State() string { return c.state.String() }

// NominalRate returns the estimate of what the path delivers, 0 before the first.
func (c *Controller) NominalRate() cc.Rate { return c.nominalRate }

// NominalMaxRTT returns the estimate of the longest round trip without queues, 0
// before the first sample.
func (c *Controller) NominalMaxRTT() time.Duration { return c.rtt.nominalMax }

// Events appends and forgets what happened since the last call.
func (c *Controller) Events(dst []cc.Event) []cc.Event { return c.events.Drain(dst) }

// Inputs.

// OnPacketSent notes the packet's number: eras are counted in packets.
func (c *Controller) OnPacketSent(now time.Duration, p cc.Packet) {
	c.advance(now)
	if p.Handshake {
		return
	}
	c.nextNumber = max(c.nextNumber, p.Number+1)
	c.inFlight = clamp(p.InFlight, 0, windowMax)
}

// OnAppLimited notes that the sender ran dry.
func (c *Controller) OnAppLimited(now time.Duration) {
	c.advance(now)
	c.lastLimited = c.now
}

// OnECN updates the ratio of CE marks.
func (c *Controller) OnECN(now time.Duration, e cc.ECN) {
	c.advance(now)
	if e.Handshake {
		return
	}
	grown := c.ecn.observe(e)
	if !grown && !c.cfg.ECNEveryAck {
		return
	}
	c.foldECN()
	if c.ecn.alpha <= c.ecnThreshold() || c.resumingMeasures() {
		return
	}
	if c.state != Initial {
		c.congestion(cc.CauseECN)
	} else if c.initialOnMarks() {
		c.setControl()
	}
}

// OnRTT takes an RTT sample. Excess delay is a congestion signal only while the
// acknowledged packets were sent faster than the nominal rate: otherwise it is
// the path that became slower, and the nominal max RTT follows.
//
// [C4-SPEC] Section 5.2, Detecting Excessive Delays, does not have that
// condition; [C4-REF] does, and the drafts' figures come from it.
func (c *Controller) OnRTT(now time.Duration, r cc.RTT) {
	c.advance(now)
	c.smoothedRTT = clamp(r.Smoothed, 0, rttMax)
	c.handshakeRTT = clamp(r.Latest, 0, rttMax)
	if r.Handshake || r.Latest <= 0 {
		c.useSeed()
		return
	}
	c.latestRTT = c.handshakeRTT
	c.sampleRTT(c.latestRTT)
	if c.state == Initial {
		c.initialOnDelay()
		c.setControl()
		c.useSeed()
		return
	}
	if c.rtt.excess > 0 && (c.alphaPrevious > one || c.cfg.DelayInCruising) && !c.resumingMeasures() {
		c.congestion(cc.CauseDelay)
	}
}

// OnLoss counts a packet lost. Losses that only a timer has found say nothing
// on the path.
//
// "we should not change the state of C4 for losses detected solely based on
// timer, and only react to those losses that are detected by gaps in
// acknowledgements"
// [C4-SPEC] Section 5.3.1, Do not react to Probe Time Out
func (c *Controller) OnLoss(now time.Duration, l cc.Loss) {
	c.advance(now)
	if l.Handshake || l.Reason == cc.LossPTO {
		return
	}
	// Packets sent before recovery began are why it began.
	// [C4-SPEC] Section 4.4, Recovery state
	if c.state == Recovery && l.Number < c.era.sequence {
		return
	}
	if !c.loss.count(l.Number) || c.loss.rate <= c.lossThreshold() {
		return
	}
	if c.state != Initial {
		c.congestion(cc.CauseLoss)
	} else if c.initialOnLoss() {
		c.setControl()
	}
}

// OnSpuriousLoss changes nothing: the loss rate is forgotten within a cycle.
func (c *Controller) OnSpuriousLoss(now time.Duration, _ cc.Loss) { c.advance(now) }

// OnPTO changes nothing, see OnLoss.
func (c *Controller) OnPTO(now time.Duration, _ int) { c.advance(now) }

// OnMTU changes the packet size.
func (c *Controller) OnMTU(now time.Duration, mtu int64) {
	c.advance(now)
	if mtu <= 0 {
		return
	}
	c.mtu = min(mtu, math.MaxUint16)
	c.setControl()
}

// OnSeed uses the seed at once if there is an RTT sample to compare with, and
// else when the first one comes, be it of a handshake packet.
func (c *Controller) OnSeed(now time.Duration, s cc.Seed) {
	c.advance(now)
	s.Window = min(s.Window, windowMax)
	c.seed = s
	c.useSeed()
}

// OnAck takes the rate sample, moves on to the next state when the era is over,
// and sets pacing and window.
func (c *Controller) OnAck(now time.Duration, a *cc.Ack) {
	c.advance(now)
	if a.Handshake {
		return
	}
	c.inFlight = clamp(a.InFlight, 0, windowMax)
	c.lastAckedSent = max(c.lastAckedSent, a.Newest.SentAt)
	c.peakRate = clamp(a.Sample.Peak, 0, rateMax)
	c.sampleRate(a.Sample)

	ended := a.LowestUnsettled > c.era.sequence
	if c.state == Initial {
		c.initialOnAck(clamp(a.Bytes, 0, windowMax), ended)
	} else {
		c.onAck(a.LowestUnsettled)
	}
	c.setControl()
}

// onAck dispatches an acknowledgement outside initial.
func (c *Controller) onAck(lowestUnsettled int64) {
	if c.state == Resuming {
		c.resumingOnAck()
	}
	if lowestUnsettled <= c.era.sequence {
		if c.state == Pushing {
			c.pushingOnAck()
		}
		return
	}
	c.updateMaxRTT()
	if c.jitterRestartDue() {
		c.initial.restarted = true
		c.enterInitial(cc.CauseJitter)
		return
	}
	switch c.state {
	case Recovery:
		c.exitRecovery()
	case Cruising:
		c.cruisingEraEnd()
	case Probing:
		c.enterRecovery(cc.CauseRound)
	case Pushing:
		c.pushingEraEnd()
	case Resuming:
		c.resumingEraEnd()
	}
}

// appLimited reports whether the newest acknowledged packet was sent before the
// sender last ran dry. Packets of one burst share a time, so equal means limited.
//
// [C4-DESIGN] Coordinated Pushing tests whether a window's worth was sent;
// [C4-REF] has the test used here.
func (c *Controller) appLimited() bool { return c.lastAckedSent <= c.lastLimited }

// advance takes the time of an input. Time does not go back.
func (c *Controller) advance(now time.Duration) {
	if now < c.now {
		c.events.Add(cc.Event{At: c.now, Kind: cc.EventViolation})
		return
	}
	c.now = now
}
