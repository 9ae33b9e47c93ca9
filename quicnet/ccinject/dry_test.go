package ccinject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// withECN puts a hook in, through which quic-go's questions for marks come.
func (s *testSender) withECN() ecnHandler {
	var ecn ecnHandler = &fakeECN{}
	s.ecn, s.control.ECN = &ecn, cc.ECT1
	s.install()
	return ecn
}

// TestDrynessInBatches plays quic-go's loop with and without GSO: connection.go, sendPacketsWithGSO and
// sendPacketsWithoutGSO.
func TestDrynessInBatches(t *testing.T) {
	const full = 1 << 20
	for name, play := range map[string]struct {
		turns func(s *testSender, ask func() bool, mark, packet func())
		dry   bool
	}{
		"a batch, then nothing": {func(s *testSender, ask func() bool, mark, packet func()) {
			ask()
			mark()
			packet()
			ask()
			mark() // does the next one fit?
			mark() // no, there is none
		}, true},
		"a batch, then the socket is full": {func(s *testSender, ask func() bool, mark, packet func()) {
			ask()
			mark()
			packet()
			ask()
			mark()
		}, false},
		"one packet, nothing more, without GSO": {func(s *testSender, ask func() bool, mark, packet func()) {
			s.batches = false
			ask()
			mark()
			packet()
			ask()
			mark()
		}, true},
		"packets have arrived, without GSO": {func(s *testSender, ask func() bool, mark, packet func()) {
			s.batches = false
			ask()
			mark()
			packet()
			ask()
		}, false},
		"asked again, and nothing": {func(s *testSender, ask func() bool, mark, packet func()) {
			ask()
			mark()
			packet()
			ask()
			mark()
			time.Sleep(100 * time.Microsecond)
			ask()
			mark()
		}, true},
		"window full": {func(s *testSender, ask func() bool, mark, packet func()) {
			ask()
			mark()
			packet()
			s.script.window = 1
			s.apply()
			if ask() {
				s.t.Error("allowed")
			}
			mark()
			s.script.window = full
			s.apply()
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTestSender(t)
			ecn := s.withECN()
			s.batches = true
			number := int64(0)
			play.turns(s, func() bool {
				return s.CanSend(*s.inFlight) && s.HasPacingBudget(s.instant())
			}, func() { ecn.Mode() }, func() {
				*s.inFlight += 3000
				s.OnPacketSent(s.instant(), *s.inFlight, number, 3000, true)
				number++
			})
			time.Sleep(2 * time.Millisecond)
			s.checkDry()
			if s.dry.told != play.dry {
				t.Errorf("%s: dry %v", name, s.dry.told)
			}
			// In the end it is, if nothing else happens.
			time.Sleep(10 * time.Millisecond)
			s.checkDry()
			if name != "window full" && !s.dry.told {
				t.Errorf("%s: not dry in the end", name)
			}
		})
	}
}

// TestLearnsBatches sees from quic-go's questions whether it sends in batches.
func TestLearnsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		ecn := s.withECN()
		s.send(0, 1, 2)
		s.script.window = 1
		s.apply()
		s.CanSend(*s.inFlight) // no
		s.CanSend(*s.inFlight) // in the next round, no: an ACK goes alone
		ecn.Mode()
		if s.batches {
			t.Error("taken for a batch")
		}
		s.script.window = 1 << 20
		s.apply()
		s.send(3)
		s.script.window = 1
		s.apply()
		s.CanSend(*s.inFlight)
		ecn.Mode()
		if !s.batches {
			t.Error("no batch")
		}
	})
}

// TestLongBurst has a burst that takes long to make: quic-go's time stands still, and the end of the
// burst is not dry since its beginning.
func TestLongBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		start := s.instant()
		for n := range int64(4 * dryStride) {
			if !s.CanSend(*s.inFlight) || !s.HasPacingBudget(start) {
				t.Fatal("not allowed")
			}
			*s.inFlight += 1280
			s.OnPacketSent(start, *s.inFlight, n, 1280, true)
			time.Sleep(100 * time.Microsecond)
		}
		s.HasPacingBudget(start)
		s.checkDry()
		if s.dry.told {
			t.Error("dry at once")
		}
		time.Sleep(2 * dryGrace)
		s.checkDry()
		if !s.dry.told {
			t.Error("not dry")
		}
	})
}
