package ccinject

// ecnHook stands in front of quic-go's validation of ECN. quic-go marks with ECT(0);
// for ECT(1) the hook exchanges the two, so that the validation never
// sees ECT(1). What a controller wants is asked once, when it is installed. RFC 9000 Section 13.4.2, ECN Validation
//
// It is also where a change of path shows: quic-go then makes a controller of its own, and
// asks for the mark before it sends the next packet.
type ecnHook struct {
	s      *sender
	marked []ackedPacket // reused
}

// Mode is asked before each packet with a short header.
func (h *ecnHook) Mode() codepoint {
	s := h.s
	s.askedMark()
	if *s.congestion != sendAlgorithm(s) {
		*s.congestion = s
		s.remember()
		s.reset()
		s.in.reinstalled.Add(1)
		s.vitals.moved()
	}
	if s.mark == ecnNon {
		return ecnNon // and no validation begins
	}
	if m := s.stockECN.Mode(); m != ecnECT0 {
		return m
	}
	return s.mark
}

// SentPacket notes the mark of a packet.
func (h *ecnHook) SentPacket(number int64, m codepoint) {
	if m == ecnECT1 {
		m = ecnECT0
	}
	h.s.stockECN.SentPacket(number, m)
}

// HandleNewlyAcked takes the counts of an ACK that raised the largest number
// acknowledged. It never reports congestion: the controller judges.
func (h *ecnHook) HandleNewlyAcked(packets []ackedPacket, ect0, ect1, ce int64) bool {
	s := h.s
	told0, told1 := ect0, ect1
	if s.mark == ecnECT1 {
		told0, told1 = ect1, ect0
	}
	// Probes of another path carry no mark, which quic-go forgets.
	h.marked = h.marked[:0]
	for _, p := range packets {
		if s.log.find(p.PacketNumber) != nil {
			h.marked = append(h.marked, p)
		}
	}
	s.stockECN.HandleNewlyAcked(h.marked, told0, told1, ce)
	clear(h.marked)
	// CE alone may be the work of a path that marks everything.
	if s.mark != ecnNon && told0 > 0 && s.stockECN.Mode() == ecnECT0 {
		s.onECN(ect0, ect1, ce)
	}
	return false
}

// LostPacket notes a lost packet.
func (h *ecnHook) LostPacket(number int64) { h.s.stockECN.LostPacket(number) }
