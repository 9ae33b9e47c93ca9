package c4

import (
	"math"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Vars appends the variables under the names of the drafts.
func (c *Controller) Vars(dst []cc.Var) []cc.Var {
	return append(dst,
		cc.Var{Name: "nominal_rate", Value: float64(c.nominalRate)},
		cc.Var{Name: "nominal_max_rtt", Value: micros(c.rtt.nominalMax)},
		cc.Var{Name: "running_min_rtt", Value: micros(c.rtt.runningMin)},
		cc.Var{Name: "alpha_current", Value: c.alpha.float()},
		cc.Var{Name: "alpha_previous", Value: c.alphaPrevious.float()},
		cc.Var{Name: "delay_threshold", Value: micros(c.rtt.threshold)},
		cc.Var{Name: "delay_excess", Value: micros(c.rtt.excess)},
		cc.Var{Name: "recent_max_rate", Value: float64(c.recentMaxRate)},
		cc.Var{Name: "era_sequence", Value: float64(c.era.sequence)},
		cc.Var{Name: "era_max_rtt", Value: micros(c.era.maxRTT)},
		cc.Var{Name: "era_min_rtt", Value: micros(c.era.minRTT)},
		cc.Var{Name: "initial_cwnd", Value: float64(c.initial.window)},
		cc.Var{Name: "nb_eras_no_increase", Value: float64(c.initial.noGrowth)},
		cc.Var{Name: "probe_level", Value: float64(c.recovery.level)},
		cc.Var{Name: "recent_congestions", Value: float64(c.recovery.congestions)},
		cc.Var{Name: "backlog", Value: c.recovery.backlog.float()},
		cc.Var{Name: "smoothed_loss_rate", Value: float64(c.loss.rate) / float64(certain)},
		cc.Var{Name: "ecn_alpha", Value: c.ecn.alpha.float()},
		cc.Var{Name: "sensitivity", Value: c.sensitivity().float()},
	)
}

func (c Coef) float() float64 { return float64(c) / float64(one) }

// micros returns d in microseconds, 0 if it is not known.
func micros(d time.Duration) float64 {
	if d == math.MaxInt64 {
		return 0
	}
	return float64(d) / float64(time.Microsecond)
}
