package ccinject

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// script writes down what a controller is told.
type script struct {
	fixed
	lines []string
}

func (s *script) note(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *script) OnPacketSent(now time.Duration, p cc.Packet) {
	if p.AckEliciting && !p.Handshake {
		return // the usual case
	}
	s.note("sent %d eliciting %v handshake %v", p.Number, p.AckEliciting, p.Handshake)
}
func (s *script) OnAppLimited(now time.Duration) { s.note("dry") }
func (s *script) OnECN(now time.Duration, e cc.ECN) {
	s.note("%v ecn %d %d %d newest %d sent %v", now, e.ECT0, e.ECT1, e.CE, e.Newest, e.NewestSentAt)
}

func (s *script) OnRTT(now time.Duration, r cc.RTT) {
	s.note("%v rtt %v handshake %v", now, r.Latest, r.Handshake)
}

func (s *script) OnLoss(now time.Duration, l cc.Loss) {
	s.note("lost %d %v bytes %d sent %v in flight %d", l.Number, l.Reason, l.Bytes, l.SentAt, l.InFlight)
}
func (s *script) OnSpuriousLoss(now time.Duration, l cc.Loss) { s.note("spurious %d", l.Number) }
func (s *script) OnPTO(now time.Duration, n int)              { s.note("pto %d", n) }
func (s *script) OnAck(now time.Duration, a *cc.Ack) {
	var numbers []int64
	for _, p := range a.Packets {
		numbers = append(numbers, p.Number)
	}
	s.note("%v ack %v bytes %d lowest %d in flight %d to %d lost %d handshake %v",
		now, numbers, a.Bytes, a.LowestUnsettled, a.PriorInFlight, a.InFlight, a.LostBytes, a.Handshake)
}

// testSender is a sender with quic-go's side played by the test, on a clock
// that begins at 0.
type testSender struct {
	*sender
	t      *testing.T
	script *script
	begin  time.Time
}

func newTestSender(t *testing.T) *testSender {
	s := &script{fixed: fixed{window: 1 << 20}}
	var (
		algorithm sendAlgorithm
		pto       uint32
		inFlight  int64
		confirmed = true
	)
	send := &sender{
		in:         New(Config{Controller: func(cc.Config) cc.Controller { return s }}),
		initialMTU: 1280,
		slots: slots{
			congestion: &algorithm, rtt: new(rttStats), stats: new(connStats),
			ptoCount: &pto, inFlight: &inFlight, confirmed: &confirmed,
		},
	}
	send.reset()
	send.install()
	send.begun = true
	ts := &testSender{send, t, s, time.Now()}
	// Fix the base, with quic-go's times below zero as they are in virtual time.
	send.since(ts.instant())
	return ts
}

func (s *testSender) instant() instant {
	return instant(time.Since(s.begin) - time.Hour)
}

func (s *testSender) send(numbers ...int64) {
	for _, n := range numbers {
		if !s.CanSend(*s.inFlight) {
			s.t.Fatalf("packet %d is not allowed", n)
		}
		if !s.HasPacingBudget(s.instant()) {
			s.t.Fatalf("packet %d has to wait", n)
		}
		*s.inFlight += 1000
		s.OnPacketSent(s.instant(), *s.inFlight, n, 1000, true)
	}
}

// ack plays quic-go's ReceivedAck for an ACK received now.
func (s *testSender) ack(rtt time.Duration, lost []int64, acked ...int64) {
	prior := *s.inFlight
	if rtt > 0 {
		s.rtt.hasMeasurement = true
		s.rtt.latestRTT.Store(int64(rtt))
		s.MaybeExitSlowStart()
	}
	for _, n := range lost {
		*s.inFlight -= 1000
		s.OnCongestionEvent(n, 1000, prior)
	}
	for _, n := range acked {
		s.OnPacketAcked(n, 1000, prior, s.instant())
		*s.inFlight -= 1000
	}
}

func (s *testSender) want(why string, lines ...string) {
	s.t.Helper()
	if !slices.Equal(s.script.lines, lines) {
		s.t.Errorf("%s: got\n\t%s\nwant\n\t%s", why, strings.Join(s.script.lines, "\n\t"), strings.Join(lines, "\n\t"))
	}
	s.script.lines = nil
}

func TestAckOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		s.send(0, 1, 2, 4, 5) // 3 is skipped
		time.Sleep(50 * time.Millisecond)
		s.send(6)
		s.ack(50*time.Millisecond, []int64{0, 4}, 1, 2, 5)
		s.want("nothing yet: more may come")
		time.Sleep(10 * time.Millisecond)
		s.CanSend(*s.inFlight)
		s.want("one ACK, with the time of its receipt",
			"50ms rtt 50ms handshake false",
			"lost 0 packets bytes 1000 sent 0s in flight 2000",
			"lost 4 time bytes 1000 sent 0s in flight 1000",
			"50ms ack [1 2 5] bytes 2952 lowest 6 in flight 6000 to 1000 lost 2000 handshake false")
		s.CanSend(*s.inFlight)
		s.want("only once")
		if got := s.stats.PacketsLost.Load(); got != 2 {
			t.Errorf("%d losses are counted", got)
		}

		s.OnSpuriousLoss(0)
		s.CanSend(*s.inFlight)
		s.want("a loss that was none", "spurious 0")

		// Two ACKs without a question in between: at different times, and at the same.
		s.send(7, 8, 9)
		s.ack(0, nil, 6)
		time.Sleep(time.Microsecond)
		s.ack(0, nil, 8)
		s.ack(0, nil, 7)
		s.CanSend(*s.inFlight)
		s.want("three ACKs",
			"60ms ack [6] bytes 984 lowest 7 in flight 4000 to 3000 lost 0 handshake false",
			"60.001ms ack [8] bytes 984 lowest 7 in flight 3000 to 2000 lost 0 handshake false",
			"60.001ms ack [7] bytes 984 lowest 9 in flight 2000 to 1000 lost 0 handshake false")
	})
}

// TestTimeNeverGoesBack has an ACK processed after a packet that was sent after its receipt.
func TestTimeNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		s.send(0)
		time.Sleep(20 * time.Millisecond)
		received := s.instant()
		time.Sleep(5 * time.Millisecond)
		s.send(1)
		s.OnPacketAcked(0, 1000, 2000, received)
		*s.inFlight -= 1000
		s.CanSend(*s.inFlight)
		s.want("", "25ms ack [0] bytes 984 lowest 1 in flight 2000 to 1000 lost 0 handshake false")
		// The rate is measured with the time of the receipt.
		if got, want := s.sampler.Stamp(0).AckedAt, 20*time.Millisecond; got != want {
			t.Errorf("measured at %v, want %v", got, want)
		}
	})
}

func TestVanishedPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		s.send(0, 1, 2)
		time.Sleep(time.Second)
		// A probe timeout drops the oldest packet without a word and sends a probe.
		*s.ptoCount = 1
		*s.inFlight -= 1000
		*s.inFlight += 1000
		s.OnPacketSent(s.instant(), *s.inFlight, 3, 1000, true)
		s.want("given up", "pto 1", "lost 0 pto bytes 1000 sent 0s in flight 2000")
		s.ack(0, nil, 3)
		*s.ptoCount = 0
		s.CanSend(*s.inFlight)
		s.want("acknowledged", "1s ack [3] bytes 984 lowest 1 in flight 3000 to 2000 lost 0 handshake false")

		// A probe of the MTU is lost: nobody hears of it, and older packets stay open.
		s.send(4)
		*s.inFlight += 1400
		s.OnPacketSent(s.instant(), *s.inFlight, 5, 1400, true)
		*s.inFlight -= 1400
		s.CanSend(*s.inFlight)
		s.want("MTU probe")
		s.ack(0, nil, 1, 2, 4)
		s.CanSend(*s.inFlight)
		s.want("the rest", "1s ack [1 2 4] bytes 2952 lowest 6 in flight 3000 to 0 lost 0 handshake false")
	})
}

// TestWrongGuess has a packet acknowledged that was taken to be given up.
func TestWrongGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		s.send(0, 1)
		*s.inFlight -= 1000 // in fact packet 1
		s.CanSend(*s.inFlight)
		s.want("guess", "lost 0 pto bytes 1000 sent 0s in flight 1000")
		s.ack(0, nil, 0)
		s.CanSend(*s.inFlight)
		s.want("put right", "spurious 0",
			"0s ack [0] bytes 984 lowest 1 in flight 1000 to 0 lost 0 handshake false",
			"lost 1 pto bytes 1000 sent 0s in flight 0")
	})
}

func TestHandshakePackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		*s.confirmed = false
		s.script.window, s.script.rate = 0, 1
		s.apply()
		for n := range int64(handshakeWindow) {
			s.send(n)
			s.want("marked", fmt.Sprintf("sent %d eliciting true handshake true", n))
		}
		time.Sleep(10 * time.Millisecond)
		s.ack(10*time.Millisecond, nil, 0)
		s.CanSend(*s.inFlight)
		s.want("acknowledged", "10ms rtt 10ms handshake true",
			"10ms ack [0] bytes 984 lowest 1 in flight 10000 to 9000 lost 0 handshake true")
		*s.confirmed = true
		*s.inFlight = 0 // keys were discarded
		s.CanSend(*s.inFlight)
		s.want("discarded")
		if s.log.low != 10 {
			t.Errorf("packet %d is still open", s.log.low)
		}
		s.OnPacketSent(s.instant(), 0, 10, 50, false)
		s.want("an ACK", "sent 10 eliciting false handshake false")
	})
}

func TestDryness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		s.send(0)
		s.HasPacingBudget(s.instant()) // and nothing comes
		time.Sleep(dryGrace)
		s.send(1)
		s.want("a writer that was a little late")
		s.HasPacingBudget(s.instant())
		time.Sleep(10 * time.Millisecond)
		s.ack(0, nil, 0)
		s.CanSend(*s.inFlight)
		s.want("the controller hears before the ACK", "dry",
			"11ms ack [0] bytes 984 lowest 1 in flight 2000 to 1000 lost 0 handshake false")
		s.HasPacingBudget(s.instant())
		time.Sleep(10 * time.Millisecond)
		s.send(2)
		s.want("once")
		s.HasPacingBudget(s.instant())
		time.Sleep(10 * time.Millisecond)
		s.send(3)
		s.want("again", "dry")

		// A pacer that blocks is no lack of data.
		s.script.rate = 1000
		s.apply()
		for s.HasPacingBudget(s.instant()) {
			*s.inFlight += 1000
			s.OnPacketSent(s.instant(), *s.inFlight, s.log.next, 1000, true)
		}
		time.Sleep(100 * time.Millisecond)
		s.ack(0, nil, 3)
		s.CanSend(*s.inFlight)
		if got := s.script.lines; len(got) != 1 || strings.Contains(got[0], "dry") {
			t.Errorf("got %q", got)
		}
	})
}

// fakeECN is quic-go's validation, passed by every path.
type fakeECN struct{ lines []string }

func (f *fakeECN) Mode() codepoint { return ecnECT0 }
func (f *fakeECN) SentPacket(n int64, m codepoint) {
	f.lines = append(f.lines, fmt.Sprintf("sent %d %d", n, m))
}

func (f *fakeECN) HandleNewlyAcked(p []ackedPacket, ect0, ect1, ce int64) bool {
	f.lines = append(f.lines, fmt.Sprintf("acked %d, %d %d %d", len(p), ect0, ect1, ce))
	return true
}
func (f *fakeECN) LostPacket(n int64) { f.lines = append(f.lines, fmt.Sprintf("lost %d", n)) }

func TestECNHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		stock := &fakeECN{}
		var ecn ecnHandler = stock
		s.ecn, s.control.ECN = &ecn, cc.ECT1
		s.install()
		if m := ecn.Mode(); m != ecnECT1 {
			t.Errorf("mode %d", m)
		}
		s.send(0, 1)
		ecn.SentPacket(0, ecnECT1)
		time.Sleep(10 * time.Millisecond)
		// 7 is a probe of another path, unknown here
		if ecn.HandleNewlyAcked([]ackedPacket{{PacketNumber: 0}, {PacketNumber: 1}, {PacketNumber: 7}}, 0, 1, 1) {
			t.Error("congestion is the controller's affair")
		}
		s.ack(0, nil, 0, 1)
		ecn.LostPacket(3)
		s.CanSend(*s.inFlight)
		s.want("counts first", "10ms ecn 0 1 1 newest 1 sent 0s",
			"10ms ack [0 1] bytes 1968 lowest 2 in flight 2000 to 0 lost 0 handshake false")
		if want := []string{"sent 0 3", "acked 2, 1 0 1", "lost 3"}; !slices.Equal(stock.lines, want) {
			t.Errorf("quic-go got %q, want %q", stock.lines, want)
		}
	})
}

// What is sent before there is data counts as part of the handshake: a lone packet's low rate
// says nothing about the path.
func TestBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSender(t)
		s.begun = false
		s.send(0)
		s.ack(10*time.Millisecond, nil, 0)
		s.send(1, 2, 3, 4, 5, 6)
		handshakes := 0
		for _, l := range s.script.lines {
			if strings.HasPrefix(l, "sent ") && strings.HasSuffix(l, "handshake true") {
				handshakes++
			}
		}
		if handshakes != 5 || !s.begun { // 4000 bytes are more than three packets
			t.Errorf("begun %v, with %d packets marked:\n%s", s.begun, handshakes, strings.Join(s.script.lines, "\n"))
		}
		if !slices.ContainsFunc(s.script.lines, func(l string) bool { return strings.Contains(l, "ack [0]") && strings.HasSuffix(l, "handshake true") }) {
			t.Errorf("the lone packet's ACK is not marked:\n%s", strings.Join(s.script.lines, "\n"))
		}
	})
}
