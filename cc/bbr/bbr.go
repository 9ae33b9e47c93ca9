package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/hystart"
	"github.com/moq-c4/moq-c4/cc/window"
)

// Controller is a BBRv3 controller. It implements [cc.Controller] and
// [cc.Inspector].
type Controller struct {
	initialWindow int64
	mtu           int64

	// outputs
	state       state
	cwnd        int64
	pacingRate  float64 // bytes per second
	sendQuantum int64
	pacingGain  float64
	cwndGain    float64
	startedUp   bool // Drain was reached once

	// connection
	sender       window.Sender
	cwndFull     sentFlags // packets sent while the window was full
	early        sentFlags // packets sent while starting, limited by the handshake
	rtt          cc.RTT
	inFlight     int64
	delivered    int64
	limitedUntil int64 // app limited until so much is delivered
	starting     bool  // nothing sent after the handshake was acknowledged yet
	lastSentAt   time.Duration
	losses       ackLosses
	ecn          ecnState

	// rounds
	roundEnd   int64 // number whose acknowledgement ends the round
	roundStart bool  // BBR.round_start

	// bandwidth
	maxBW       cc.Rate // BBR.max_bw
	bwShortterm cc.Rate // BBR.bw_shortterm, bw_lo in the reference
	bw          cc.Rate // BBR.bw
	maxBWFilter maxFilter

	// volume
	bdp                int64
	extraAcked         aggregation
	maxInflight        int64
	inflightLongterm   int64 // BBR.inflight_longterm; 0 before Startup's end
	inflightShortterm  int64
	bwLatest           cc.Rate
	inflightLatest     int64
	lossInRound        bool
	lossRoundStart     bool
	lossRoundDelivered int64

	// round-trip time
	minRTT minRTTState

	// Startup
	fullBW        cc.Rate
	fullBWCount   int
	filledPipe    bool // BBR.full_bw_reached
	startupLosses startupLosses
	seed          cc.Seed
	bdpSeed       int64
	longPath      hystart.Delay
	quickProbing  bool

	// ProbeBW
	random        random
	ackPhase      ackPhase
	cycleStamp    time.Duration
	probeWait     time.Duration // BBR.bw_probe_wait
	roundsSince   int           // BBR.rounds_since_bw_probe
	probeSamples  bool          // BBR.bw_probe_samples
	probeUpRounds int
	probeUpCnt    int64
	probeUpAcks   int64
	ceiling       cc.Rate // bandwidth above which Startup begins again
	limited       limitedRounds

	// ProbeRTT
	probeRTTDoneStamp time.Duration // 0: not yet low enough in flight
	probeRTTRoundDone bool
	idleRestart       bool

	recovery recoveryState

	events cc.EventBuffer
}

var (
	_ cc.Controller = (*Controller)(nil)
	_ cc.Inspector  = (*Controller)(nil)
)

// New returns a controller in Startup. [BBR] Initialization
func New(cfg cc.Config) *Controller {
	cfg = cfg.WithDefaults()
	c := &Controller{
		initialWindow:     cfg.InitialWindow,
		mtu:               cfg.MTU,
		cwnd:              cfg.InitialWindow,
		starting:          true,
		maxBWFilter:       newMaxFilter(maxBWFilterLen),
		bwShortterm:       infinite,
		inflightShortterm: infinite,
		minRTT:            newMinRTTState(),
		random:            random{seed: cfg.Seed},
		pacingGain:        startupPacingGain,
		cwndGain:          startupCwndGain,
	}
	c.extraAcked.filter = newMaxFilter(extraAckedFilterLen)
	c.recovery.until = infinite
	// [BBR] Pacing Rate: "BBR.pacing_rate = BBR.StartupPacingGain * nominal_bandwidth"
	c.pacingRate = startupPacingGain * float64(cfg.InitialWindow) / initialRTT.Seconds()
	c.setSendQuantum()
	return c
}

// Control implements [cc.Controller].
func (c *Controller) Control() cc.Control {
	out := cc.Control{
		PacingRate: cc.Rate(c.pacingRate),
		Window:     c.window(),
		Quantum:    c.sendQuantum,
		SlowStart:  !c.startedUp,
		ECN:        cc.ECT0,
	}
	if c.state == startupLongRTT {
		out.PacingRate, out.Quantum = window.Pace(c.cwnd, c.mtu, c.rtt.Smoothed, true)
	}
	return out
}

// window is the bound on the bytes in flight. In the reference a packet may be sent
// while as much as cwnd is in flight, and only then counts as limited by it:
// this is what lets inflight_longterm grow at all.
func (c *Controller) window() int64 { return c.cwnd + 1 }

// State implements [cc.Controller].
func (c *Controller) State() string { return c.state.String() }

// Events implements [cc.Controller].
func (c *Controller) Events(dst []cc.Event) []cc.Event { return c.events.Drain(dst) }

// Vars implements [cc.Inspector]. A limit that is not set is 0.
func (c *Controller) Vars(dst []cc.Var) []cc.Var {
	size := func(n int64) float64 {
		if n == infinite {
			return 0
		}
		return float64(n)
	}
	return append(dst,
		cc.Var{Name: "cwnd", Value: float64(c.cwnd)},
		cc.Var{Name: "max_bw", Value: float64(c.maxBW)},
		cc.Var{Name: "bw_shortterm", Value: size(int64(c.bwShortterm))},
		cc.Var{Name: "bw", Value: float64(c.bw)},
		cc.Var{Name: "min_rtt", Value: size(int64(c.minRTT.value)) / float64(time.Microsecond)},
		cc.Var{Name: "bdp", Value: float64(c.bdp)},
		cc.Var{Name: "max_inflight", Value: float64(c.maxInflight)},
		cc.Var{Name: "inflight_longterm", Value: size(c.inflightLongterm)},
		cc.Var{Name: "inflight_shortterm", Value: size(c.inflightShortterm)},
		cc.Var{Name: "extra_acked", Value: float64(c.extraAcked.value)},
		cc.Var{Name: "full_bw", Value: float64(c.fullBW)},
		cc.Var{Name: "pacing_gain", Value: c.pacingGain},
		cc.Var{Name: "cwnd_gain", Value: c.cwndGain},
	)
}

// OnPacketSent implements [cc.Controller]. [BBR] Per-Transmit Steps
func (c *Controller) OnPacketSent(now time.Duration, p cc.Packet) {
	prior := p.InFlight
	if p.AckEliciting {
		prior -= p.Bytes
	}
	if !p.Handshake {
		c.cwndFull.set(p.Number, prior >= c.cwnd)
		c.early.set(p.Number, c.starting)
		if prior <= 0 && p.AckEliciting {
			c.restartFromIdle(now)
		}
	}
	c.sender.OnPacketSent(now, p)
	c.inFlight = p.InFlight
	c.lastSentAt = now
}

// OnAppLimited implements [cc.Controller].
// [BBR] Detecting Application-Limited Phases
func (c *Controller) OnAppLimited(now time.Duration) {
	c.sender.OnAppLimited(now)
	c.limitedUntil = max(c.delivered+c.inFlight, 1)
}

// OnECN implements [cc.Controller].
func (c *Controller) OnECN(_ time.Duration, e cc.ECN) { c.ecn.now = e }

// OnRTT implements [cc.Controller].
func (c *Controller) OnRTT(now time.Duration, r cc.RTT) {
	c.rtt = r
	c.random.mix(now - r.Latest) // when the first packet was sent
	c.trySeed(now)
	c.checkLongPath(now)
	if r.Handshake {
		// Samples count once, with the ACK; those of the handshake may come
		// without one.
		c.minRTT.add(now, r.Latest)
		c.longPath.OnRTT(now, r.Latest, c.packetTime())
	}
}

// OnLoss implements [cc.Controller]. [BBR] Per-Loss Steps
func (c *Controller) OnLoss(now time.Duration, l cc.Loss) {
	if l.Handshake {
		return
	}
	c.losses.add(now, l)
	if l.Reason == cc.LossPTO {
		c.enterPTORecovery(now, l)
	} else {
		c.handleLostPacket(now, l)
	}
	c.inFlight = l.InFlight
}

// OnSpuriousLoss implements [cc.Controller].
func (c *Controller) OnSpuriousLoss(now time.Duration, l cc.Loss) {
	c.losses.forget(l)
	if c.recovery.pto && l.Number >= c.recovery.until {
		c.exitRecovery(now)
	}
}

// OnPTO implements [cc.Controller]. The loss that comes with it is what counts.
func (c *Controller) OnPTO(time.Duration, int) {}

// OnMTU implements [cc.Controller].
func (c *Controller) OnMTU(_ time.Duration, mtu int64) {
	if mtu > 0 {
		c.mtu = mtu
	}
}

// OnSeed implements [cc.Controller].
func (c *Controller) OnSeed(now time.Duration, s cc.Seed) {
	c.seed = s
	c.trySeed(now)
	c.checkLongPath(now)
}
