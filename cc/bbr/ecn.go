package bbr

import "github.com/moq-c4/moq-c4/cc"

// ecnState averages the share of ECN marks over rounds. The draft leaves ECN
// open ([BBR] ECN); this is what the reference does.
type ecnState struct {
	now   cc.ECN // latest counts
	round cc.ECN // counts at the start of the round
	alpha float64
}

// share returns the share of marks since the start of the round, and the average
// with it; both 0 without any counts.
func (s *ecnState) share() (share, average float64) {
	ce := s.now.CE - s.round.CE
	all := ce + s.now.ECT0 - s.round.ECT0 + s.now.ECT1 - s.round.ECT1
	if all <= 0 {
		return 0, 0
	}
	share = float64(ce) / float64(all)
	return share, s.average(share)
}

func (s *ecnState) average(share float64) float64 {
	return s.alpha + (share-s.alpha)*ecnGain
}

// advance ends the round.
func (s *ecnState) advance(rs *sample) {
	s.alpha = s.average(rs.ce)
	s.round = s.now
}
