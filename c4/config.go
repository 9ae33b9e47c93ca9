package c4

import (
	"errors"
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Draining says how a queue that the flow itself has built is drained in
// recovery.
type Draining uint8

// Draining rules.
const (
	// DrainNone: recovery is always at AlphaRecovery. [C4-REF]
	DrainNone Draining = iota
	// DrainFlag: recovery is at AlphaDrainShallow after initial, or after the
	// round trip became shorter. [C4-SPEC] Section 5.7, Draining the standing queues
	DrainFlag
	// DrainBacklog: an estimate of the backlog chooses between AlphaRecovery,
	// AlphaDrainShallow and AlphaDrainDeep. [C4-DESIGN] Draining the backlog
	DrainBacklog
)

// Trimming says how far the nominal rate is lowered after a cycle in which
// nothing as fast was measured.
type Trimming uint8

// Trimming rules.
const (
	// TrimNone: not at all. [C4-REF]
	TrimNone Trimming = iota
	// TrimMidpoint: half way to the cycle's maximum.
	// [C4-SPEC] Section 5.6, Trimming an overestimated nominal rate
	TrimMidpoint
	// TrimMaxOfTwo: to the maximum of this cycle and the one before.
	// [C4-DESIGN] Revising the trimming pattern
	TrimMaxOfTwo
)

// Restart says when high jitter leads back to initial.
type Restart uint8

// Restart rules.
const (
	// RestartNever: never.
	RestartNever Restart = iota
	// RestartOnce: once per connection. [C4-REF]
	RestartOnce
	// RestartAfterPause: RestartPause after the recovery that followed the last
	// initial ended. [C4-DESIGN] Revisiting support for Wi-Fi
	RestartAfterPause
)

// Config holds the constants of C4, and the choices where its drafts leave one or
// where experiments have shown a better one.
//
// The zero Config means Default(). Any other is taken as it stands: start from
// Default, Draft04 or Draft05 and change fields. Fields say what Draft05 has, and
// what Default has if that differs.
type Config struct {
	// Coefficients by state.

	AlphaRecovery     Coef // recovery; default 960 (15/16)
	AlphaDrainShallow Coef // recovery with a small backlog, and when prolonged; default 896 (7/8)
	AlphaDrainDeep    Coef // recovery with a large backlog; default 768 (3/4)
	AlphaProbe        Coef // probing; default 1088 (17/16)
	AlphaProbeECN     Coef // probing after CE marks; default 1056 (33/32)
	AlphaPush         Coef // pushing; default 1256, the text has 1280 (5/4)

	// Initial.

	// InitialPeak lets the peak rate, measured over short intervals, raise
	// pacing and window in initial. Default true.
	InitialPeak bool
	// InitialKeepsWindow makes the window in use the base of the next growth
	// step in initial. Default true.
	InitialKeepsWindow bool
	// ReentryByRate starts a repeated initial with nominal rate times nominal
	// max RTT, instead of the window in use. Default false.
	ReentryByRate bool
	// ReentrySmoothedRTT sets the nominal max RTT to the smoothed RTT in a
	// repeated initial. Default false.
	ReentrySmoothedRTT bool
	// InitialECNNeedsDelay lets CE marks end initial only together with an
	// excess delay. Default true.
	InitialECNNeedsDelay bool
	// InitialDelaySmoothed lets an excess delay end initial one era earlier, when
	// the smoothed RTT is more than this multiple of the running min RTT: then it
	// is a queue, and not jitter. 0 means never. Draft05 0, Default 2048 (2).
	InitialDelaySmoothed Coef

	// Cruising, probing, pushing.

	CruiseEras int // eras in cruising before probing; default 2
	// AlphaWait is the coefficient in cruising while the flow waits for data to
	// probe with, on a path that shows neither queues nor jitter: what comes then
	// is a frame, and not a flood. 0 means that of cruising. Default 0; what 1536
	// (3/2) gains and costs is in docs/c4/experiments.md.
	AlphaWait Coef
	// CruisingMeasures takes all eras of cruising for slow enough to measure the
	// max RTT in. False: not those with a coefficient above 1, which on paths below
	// a millisecond are all. Draft05 false, Default true.
	CruisingMeasures bool
	// PushEras is how many eras pushing lasts at least. The text has 2, of which
	// the first sees nothing of the push yet. Draft05 1, Default 2.
	PushEras int
	// PushDelay ends the eras of pushing after the first when a round trip is
	// longer than the shortest in pushing by this multiple of the delay threshold:
	// what grows then is a queue. 0 means never. Draft05 0, Default 512 (1/2).
	PushDelay Coef
	// PushErasMax is the number of eras of continued growth in pushing after
	// which initial is entered. 0 means no limit. Default 0.
	PushErasMax int
	// PushNeedsData puts a push off, in cruising, until there is data to push with:
	// without, the push finds nothing out, and since it is no failure either,
	// another one follows the next recovery. Draft05 false, Default true.
	PushNeedsData bool
	// ProbeECNSticky uses AlphaProbeECN as soon as a CE mark was ever seen,
	// instead of after a cycle that ended by marks. Default false.
	ProbeECNSticky bool

	// ResumingMeasures lets only losses end resuming early, and not delay or CE
	// marks: before its end there is no rate to fall back on. Draft05 false, Default true.
	ResumingMeasures bool

	// Recovery.

	// RecoveryExtension prolongs a recovery once, at AlphaDrainShallow, when
	// congestion is signalled during it. Default true.
	RecoveryExtension bool
	// Draining rule. Default DrainBacklog.
	Draining Draining
	// BacklogInitial and BacklogPush are the estimates, in round trips of data
	// at the nominal rate, after initial (default 1) and after pushing (Draft05
	// 256, a quarter; Default 127, just below an eighth, for one recovery at
	// AlphaDrainShallow).
	BacklogInitial Coef
	BacklogPush    Coef
	// BacklogClearOnGrowth forgets the backlog when a cycle raised the rate.
	// Default false.
	BacklogClearOnGrowth bool
	// BacklogClearNearMin forgets the backlog when a recovery saw a round trip
	// within this fraction above the running min RTT. Default 0, never.
	BacklogClearNearMin Coef
	// BacklogMeasured bounds the backlog after initial and pushing by what the
	// last round trip was longer than the running min RTT. Default false.
	BacklogMeasured bool
	// BacklogByCycle bounds the backlog, when cruising or probing ends, by what the
	// shortest round trip since the last recovery was longer than the running min
	// RTT. Draft05 false, Default true.
	BacklogByCycle bool
	// BacklogNeedsData assumes a backlog after pushing only if the path was the
	// limit, and not the application. Default false.
	BacklogNeedsData bool
	// Trimming rule. Default TrimMaxOfTwo.
	Trimming Trimming
	// TrimAppLimited trims after app limited cycles too. Default false.
	TrimAppLimited bool
	// TrimKeepsLimited makes an application limited cycle stand for the one before
	// it in TrimMaxOfTwo, instead of counting with the little it could measure.
	// Default false.
	TrimKeepsLimited bool
	// PersistentCount is how many congested recoveries in a row are persistent
	// congestion. Default 2.
	PersistentCount int
	// PersistentRestart begins counting anew after a reduction for persistent
	// congestion. Default false.
	PersistentRestart bool

	// Restart of initial under high jitter.

	Restart      Restart       // Draft05 RestartAfterPause, Default RestartOnce
	RestartPause time.Duration // default 1 s
	// The restart needs a nominal max RTT above RestartRTTMin (default 50 ms)
	// and a nominal rate below RestartRateMax (default 1 MB/s).
	RestartRTTMin  time.Duration
	RestartRateMax cc.Rate

	// Signals.

	// SensitivityKnee is the sensitivity at 1 MB/s; default 963, the text has
	// 942 (0.92).
	SensitivityKnee Coef
	// DelaySlope multiplies 1-sensitivity in the delay threshold; default 196,
	// the text has 192 (3/16).
	DelaySlope Coef
	// LossBetaBySensitivity makes the reduction after losses grow from 1/8 to
	// 1/4 with the sensitivity. False: always 1/4. Default true.
	LossBetaBySensitivity bool
	// LossCutsMaxRTT lowers the nominal max RTT, too, after losses. Default true.
	LossCutsMaxRTT bool
	// DelayInCruising takes excess delay for congestion in cruising too, where
	// it otherwise raises the nominal max RTT. Default false.
	DelayInCruising bool
	// MaxRTTByJitter raises the nominal max RTT after eras of probing as well, if
	// some round trip in them was about as short as the running min RTT: then no
	// queue stood, and the long ones are jitter. Draft05 false, Default true.
	MaxRTTByJitter bool
	// ECNEveryAck updates the CE ratio after each acknowledgement. False: after
	// those with new CE marks, and when an era ends. Default false.
	ECNEveryAck bool
	// ECNPreemptAlways lets a share of CE marks of 1/2 or more replace the ratio
	// even if it is lower. Default false.
	ECNPreemptAlways bool
	// StaleRate takes the last rate sample again with an acknowledgement that
	// gave none. Default false.
	StaleRate bool
}

// Default returns what the name "c4" stands for: Draft05 with what experiments
// have found better, see docs/c4/experiments.md.
func Default() Config {
	c := Draft05()
	c.InitialDelaySmoothed = 2 * one
	c.CruisingMeasures = true
	c.PushEras = 2
	c.PushDelay = one / 2
	c.PushNeedsData = true
	c.ResumingMeasures = true
	c.BacklogPush = one/8 - 1
	c.BacklogByCycle = true
	c.Restart = RestartOnce
	c.MaxRTTByJitter = true
	return c
}

// Draft04 returns the behaviour of the reference implementation, draft -04,
// "c4-draft04". It exists to tell regressions from deliberate changes.
func Draft04() Config {
	c := Draft05()
	c.Draining = DrainNone
	c.Trimming = TrimNone
	c.Restart = RestartOnce
	c.StaleRate = true
	return c
}

// Draft05 returns the newest design, "c4-draft05": the constants and the
// start-up of the reference, with draining by backlog, trimming to the maximum
// of two cycles, and the repeated restart under jitter.
func Draft05() Config {
	return Config{
		AlphaRecovery:     960,
		AlphaDrainShallow: 896,
		AlphaDrainDeep:    768,
		AlphaProbe:        1088,
		AlphaProbeECN:     1056,
		AlphaPush:         1256,

		InitialPeak:          true,
		InitialKeepsWindow:   true,
		InitialECNNeedsDelay: true,

		CruiseEras: 2,
		PushEras:   1,

		RecoveryExtension: true,
		Draining:          DrainBacklog,
		BacklogInitial:    one,
		BacklogPush:       one / 4,
		Trimming:          TrimMaxOfTwo,
		PersistentCount:   2,

		Restart:        RestartAfterPause,
		RestartPause:   time.Second,
		RestartRTTMin:  50 * time.Millisecond,
		RestartRateMax: 1_000_000,

		SensitivityKnee:       963,
		DelaySlope:            196,
		LossBetaBySensitivity: true,
		LossCutsMaxRTT:        true,
	}
}

// Check reports the first field that is out of range. The zero Config is fine.
func (c Config) Check() error {
	if c == (Config{}) {
		return nil
	}
	for _, f := range []struct {
		name      string
		v         Coef
		low, high Coef
	}{
		{"AlphaRecovery", c.AlphaRecovery, one / 2, one},
		{"AlphaDrainShallow", c.AlphaDrainShallow, one / 4, one},
		{"AlphaDrainDeep", c.AlphaDrainDeep, one / 4, one},
		{"AlphaProbe", c.AlphaProbe, one + 1, 2 * one},
		{"AlphaProbeECN", c.AlphaProbeECN, one + 1, 2 * one},
		{"AlphaPush", c.AlphaPush, one + 1, 2 * one},
		{"InitialDelaySmoothed", c.InitialDelaySmoothed, 0, 1 << 20},
		{"AlphaWait", c.AlphaWait, 0, 2 * one},
		{"PushDelay", c.PushDelay, 0, 1 << 20},
		{"BacklogInitial", c.BacklogInitial, 0, one},
		{"BacklogPush", c.BacklogPush, 0, one},
		{"BacklogClearNearMin", c.BacklogClearNearMin, 0, one},
		{"SensitivityKnee", c.SensitivityKnee, 0, one},
		{"DelaySlope", c.DelaySlope, 0, one},
		{"CruiseEras", Coef(c.CruiseEras), 1, 100},
		{"PushEras", Coef(c.PushEras), 1, 100},
		{"PushErasMax", Coef(c.PushErasMax), 0, 100},
		{"PersistentCount", Coef(c.PersistentCount), 1, 100},
	} {
		if f.v < f.low || f.v > f.high {
			return fmt.Errorf("c4: %s is %d, must be within %d and %d", f.name, f.v, f.low, f.high)
		}
	}
	switch {
	case c.Draining > DrainBacklog:
		return fmt.Errorf("c4: unknown Draining rule %d", c.Draining)
	case c.Trimming > TrimMaxOfTwo:
		return fmt.Errorf("c4: unknown Trimming rule %d", c.Trimming)
	case c.Restart > RestartAfterPause:
		return fmt.Errorf("c4: unknown Restart rule %d", c.Restart)
	case c.RestartPause < 0:
		return errors.New("c4: RestartPause is negative")
	}
	return nil
}
