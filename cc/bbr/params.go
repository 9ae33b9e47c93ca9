package bbr

import (
	"math"
	"time"
)

// Gains, [BBR] Summary of Control Behavior in the State Machine. Where draft and
// reference differ the reference's value stands.
const (
	startupPacingGain = 2.77 // 4 * ln(2)
	startupCwndGain   = 2.0
	drainPacingGain   = 1 / startupCwndGain // the draft: 0.5
	drainCwndGain     = startupCwndGain
	downPacingGain    = 0.9
	cruisePacingGain  = 1.0
	refillPacingGain  = 1.0
	upPacingGain      = 1.25
	upCwndGain        = 2.25
	probeBWCwndGain   = 2.0 // all phases but UP
	probeRTTCwndGain  = 0.5
	resumeGain        = 1.25 // pacing and window, not in the draft
)

// Parameters, [BBR] Terminology.
const (
	pacingMargin = 1 // PacingMarginPercent
	lossThresh   = 0.02
	beta         = 0.7
	headroom     = 0.15
	minPipeCwnd  = 4 // packets

	startupFullBWGrowth   = 1.25 // a round with less counts towards leaving Startup
	startupFullBWRounds   = 3
	startupFullLossRanges = 6 // BBR.StartupFullLossCnt

	maxBWFilterLen      = 2
	extraAckedFilterLen = 10

	minRTTFilterLen   = 10 * time.Second
	probeRTTDuration  = 200 * time.Millisecond
	probeRTTInterval  = 5 * time.Second
	probeRTTLongRatio = 100 // interval on long paths, in min_rtt

	probeWaitBase   = 2 * time.Second // ProbeBW waits 2 to 3 s
	probeWaitRandom = time.Second
	renoRoundsMax   = 63
)

// Parameters of the reference.
const (
	// excessiveCE is the share of ECN marks taken as congestion.
	excessiveCE = 0.2
	ecnGain     = 1.0 / 16

	// longRTT is the min RTT from which a path counts as long.
	longRTT = 250 * time.Millisecond

	// jitterLen is the number of RTT samples that the jitter filter looks back;
	// they are at least jitterSpacing apart.
	jitterLen     = 7
	jitterSpacing = time.Millisecond

	// Below rttThreshold the RTT says nothing about queues; rttMargin is its
	// uncertainty.
	rttThreshold = 128 * time.Microsecond
	rttMargin    = 128 * time.Microsecond

	// quantumTime is the burst allowed by the pacer, in time.
	quantumTime = time.Millisecond
	quantumMax  = 64 << 10 // bytes
	slowRate    = 150_000  // bytes per second below which bursts are one packet

	// initialRTT stands for the RTT before the first sample.
	initialRTT = 250 * time.Millisecond

	// rateUnknown is the delivery rate of an ACK without any measurement.
	rateUnknown = 40_000

	// appLimitedRounds is how many rounds make a sender count as having been
	// app limited.
	appLimitedRounds = 3

	// resumeGrowth is the growth that keeps careful resume going.
	resumeGrowth = 1.125

	// quickProbes is how many cycles without growth end the quick probing.
	quickProbes = 3

	// idleMin is the pause after which a sender starts from idle.
	idleMin = time.Second
)

// infinite stands for unset times and sizes.
const infinite = math.MaxInt64
