package c4

import "github.com/moq-c4/moq-c4/cc"

// ecnRatio is the smoothed share of CE among the marked and ECT(1) packets,
// ecn_alpha in the drafts.
type ecnRatio struct {
	alpha      Coef
	ect1, ce   int64 // counts of the latest ACK
	foldedECT1 int64 // the part of them that is in alpha
	foldedCE   int64
}

// observe takes the counts of an ACK and reports whether CE has grown.
// Counts that go back are ignored.
func (e *ecnRatio) observe(n cc.ECN) bool {
	grown := n.CE > e.ce
	e.ect1 = max(e.ect1, n.ECT1)
	e.ce = max(e.ce, n.CE)
	return grown
}

// foldECN moves the counts since the last call into the ratio.
//
//	frac = delta_ce / (delta_ce + delta_ect1)
//	if frac >= 0.5: ecn_alpha = frac
//	else:           ecn_alpha += (frac - ecn_alpha)/16
//
// [C4-SPEC] Section 5.4, Detecting Excessive CE Marks. [C4-REF] preempts the
// average only if that raises it.
func (c *Controller) foldECN() {
	e := &c.ecn
	ce, ect1 := e.ce-e.foldedCE, e.ect1-e.foldedECT1
	if ce <= 0 && ect1 <= 0 {
		return
	}
	e.foldedCE, e.foldedECT1 = e.ce, e.ect1
	frac := one
	if ect1 > 0 {
		// Counts of one fold are far below 2^53: packets of a few round trips.
		ce, ect1 = min(ce, 1<<50), min(ect1, 1<<50)
		frac = Coef(ce * int64(one) / (ce + ect1))
	}
	if frac >= one/2 && (frac > e.alpha || c.cfg.ECNPreemptAlways) {
		e.alpha = frac
		return
	}
	e.alpha = (15*e.alpha + frac) / 16
}
