package ccinject

import (
	"math"
	"net"
	"time"
	"unsafe"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/cc"
)

// handshakeWindow is the least window, in packets, until the handshake is confirmed.
// Controllers know nothing by then, and must not be in its way.
const handshakeWindow = 10

// beginning is how many packets are in flight when a connection really begins to send. The few small ones before, such as
// a session's set-up, are marked as those of the handshake: they say nothing about the path, and the low rate
// of a lone packet would slow the start of the data down by several round trips.
const beginning = 3

// sender is the controller that quic-go sees: it turns quic-go's calls into those of a
// cc.Controller. All of it belongs to the goroutine of the connection.
type sender struct {
	in *Injector
	slots

	stockECN ecnHandler // what was there before
	mark     codepoint  // of packets, if the path passes the validation

	ctl     cc.Controller
	control cc.Control
	sampler cc.Sampler
	pacer   pacer
	log     sentLog
	pending pendingAck
	ack     cc.Ack // reused
	dry     dryness
	dryAt   time.Duration // when the sender last ran dry
	loop    loop
	first   firstWindow
	batches bool // quic-go sends in batches

	begun      bool          // see beginning
	newestSent time.Duration // latest send time among acknowledged packets
	estimate   estimator     // ctl, if it is one
	vitals     vitals
	tally      tally
	trace      trace

	// Times of the controller count from epoch, by quic-go's clock from base.
	epoch   time.Time
	base    instant
	started bool          // base is known
	now     time.Duration // latest time given to the controller

	remote     func() net.Addr // of the peer, now
	initialMTU int64
	mtu        int64
	lastPTO    uint32
}

func newSender(in *Injector, l *handlerLayout, handler unsafe.Pointer, mtu int64, conn *quic.Conn) *sender {
	s := &sender{in: in, slots: l.slots(handler), initialMTU: mtu, remote: conn.RemoteAddr}
	s.reset()
	return s
}

// install puts s into quic-go's places.
func (s *sender) install() {
	*s.congestion = s
	if s.ecn != nil {
		s.stockECN = *s.ecn
		*s.ecn = &ecnHook{s: s}
		switch s.control.ECN {
		case cc.ECT1:
			s.mark = ecnECT1
		case cc.ECT0:
			s.mark = ecnECT0
		default:
			s.mark = ecnNon
		}
	}
}

// reset begins a path. What is outstanding from the one before is forgotten, as
// quic-go does.
func (s *sender) reset() {
	s.epoch, s.started, s.now = time.Now(), false, 0
	s.mtu = s.initialMTU
	s.ctl = s.in.cfg.Controller(cc.Config{MTU: s.mtu})
	s.estimate, _ = s.ctl.(estimator)
	s.sampler, s.pacer, s.dry, s.loop = cc.Sampler{}, pacer{}, dryness{}, loop{}
	s.first = firstWindow{}
	s.dryAt, s.newestSent = -1, 0
	s.pending.reset()
	s.pending.acked = s.pending.acked[:0]
	s.begun = false
	s.log = sentLog{ring: s.log.ring}
	clear(s.log.ring)
	s.lastPTO = 0
	s.tally.state = ""
	s.resume()
	s.apply()
}

// apply puts the controller's wishes into force.
func (s *sender) apply() {
	s.control = s.ctl.Control()
	rate := s.control
	if s.onHost() {
		rate.PacingRate = 0
	}
	s.pacer.set(rate, s.mtu, time.Duration(s.rtt.smoothedRTT.Load()))
	s.stats.CongestionWindow.Store(uint64(max(0, s.control.Window)))
}

// clock is the time now. Times that quic-go passes are of the beginning of its
// loop, or of the receipt of a packet, and lie before it.
func (s *sender) clock() time.Duration { return time.Since(s.epoch) }

// since converts a time of quic-go.
func (s *sender) since(t instant) time.Duration {
	if !s.started {
		s.started = true
		s.base = t - instant(s.clock())
	}
	return max(0, time.Duration(t-s.base))
}

// advance returns d, or the latest time given to the controller, if that is later: an ACK
// may have been received before the last packet was sent, but processed after.
func (s *sender) advance(d time.Duration) time.Duration {
	s.now = max(s.now, d)
	return s.now
}

// Questions of quic-go.

// CanSend comes before each packet, except probes and mere acknowledgements.
func (s *sender) CanSend(inFlight int64) bool {
	s.flush(inFlight)
	s.reconcile(inFlight)
	ok := inFlight < s.window()
	if l := &s.loop; !ok {
		l.refused, l.sent = l.sent, false
	}
	return ok
}

// HasPacingBudget comes after CanSend was true. After true, a packet is sent if
// there is anything to send.
func (s *sender) HasPacingBudget(t instant) bool {
	now := s.since(t)
	if !*s.confirmed {
		return true
	}
	kept := s.keep(now)
	if !kept {
		s.first.until = 0
	}
	ok := !kept && s.pacer.ready(now)
	s.asked(now, ok)
	return ok
}

// TimeUntilSend comes after HasPacingBudget was false. 0 would mean at once.
func (s *sender) TimeUntilSend(int64) instant {
	t := s.base + instant(max(s.pacer.wake(), s.first.until))
	if s.in.late != nil {
		t += instant(s.in.late())
	}
	if t == 0 {
		t = 1
	}
	return t
}

// GetCongestionWindow serves logs and traces.
func (s *sender) GetCongestionWindow() int64 { return s.window() }

// InSlowStart serves traces.
func (s *sender) InSlowStart() bool { return s.control.SlowStart }

// InRecovery serves traces.
func (s *sender) InRecovery() bool { return false }

// window is the controller's, but enough for the handshake, and never less than two
// packets. RFC 9002 Section 7.2, Initial and Minimum Congestion Window
func (s *sender) window() int64 {
	if !*s.confirmed {
		return max(s.control.Window, handshakeWindow*s.mtu)
	}
	return max(min(s.control.Window, s.hold()), 2*s.mtu)
}

const (
	// hostPath is the round trip below which there is no network to speak of between the two ends, and
	// everything in flight may wait in the receiver. No timer is fine enough to spread packets over it.
	hostPath = 250 * time.Microsecond

	// receiverHolds is how many packets may wait in the receiver. quic-go keeps 256 for a connection that is
	// busy or not scheduled, and drops the others.
	receiverHolds = 192
)

// onHost reports whether the path is so short that pacing is left to the acknowledgements.
func (s *sender) onHost() bool {
	rtt := time.Duration(s.rtt.minRTT.Load())
	return rtt > 0 && rtt < hostPath
}

// hold bounds the window on such a path. A controller takes for jitter what is the scheduling of
// processes, and would send into it more than any receiver keeps.
func (s *sender) hold() int64 {
	if !s.onHost() {
		return math.MaxInt64
	}
	return receiverHolds*s.mtu + s.control.PacingRate.Over(time.Duration(s.rtt.minRTT.Load()))
}

// Reports of quic-go.

// OnPacketSent comes for each packet. inFlight includes it, if it is ackEliciting.
func (s *sender) OnPacketSent(t instant, inFlight, number, bytes int64, ackEliciting bool) {
	now := s.since(t)
	before := inFlight
	if ackEliciting {
		before -= bytes
	}
	s.flush(before)
	if ackEliciting {
		s.leaveDry(now)
		s.observePTO(now)
	}
	s.reconcile(before)

	s.begun = s.begun || before >= beginning*s.mtu
	handshake := !*s.confirmed || !s.begun
	s.tally.bytesSent += bytes
	if ackEliciting {
		s.log.add(sentPacket{
			number: number, sentAt: now, bytes: bytes, handshake: handshake,
			probe: !handshake && bytes > s.mtu,
			stamp: s.sampler.Stamp(inFlight),
		})
		s.pacer.spend(now, bytes)
	}
	s.ctl.OnPacketSent(s.advance(now), cc.Packet{
		Number: number, Bytes: bytes, InFlight: inFlight, AckEliciting: ackEliciting, Handshake: handshake,
	})
	if s.ctl.Control() != s.control { // seldom
		s.apply()
	}
}

// SetMaxDatagramSize comes when path MTU discovery has found something.
func (s *sender) SetMaxDatagramSize(bytes int64) {
	if bytes <= 0 {
		return
	}
	s.mtu = bytes
	s.ctl.OnMTU(s.advance(s.clock()), bytes)
	s.apply()
}

// OnRetransmissionTimeout is never called by quic-go, see observePTO.
func (s *sender) OnRetransmissionTimeout(bool) {}

// observePTO notes that a packet is a probe.
func (s *sender) observePTO(now time.Duration) {
	count := *s.ptoCount
	if count > s.lastPTO {
		s.ctl.OnPTO(s.advance(now), int(count))
		s.tally.probes++
	}
	s.lastPTO = count
}

// reconcile gives up the oldest packets until bytes in flight agree with
// quic-go's. It drops packets without a word when a probe timeout makes room for a
// probe, when keys are discarded and when a probe of the MTU is lost.
func (s *sender) reconcile(inFlight int64) {
	missing := s.log.open - inFlight
	if missing <= 0 {
		return
	}
	if p := s.lostMTUProbe(missing); p != nil {
		s.log.settle(p)
	}
	for s.log.open > inFlight && s.log.low < s.log.next {
		p := s.log.slot(s.log.low)
		s.log.settle(p)
		if p.probe || p.handshake {
			continue // not lost, as far as is known
		}
		p.givenUp = true
		s.tally.givenUp++
		s.sampler.OnLoss(p.bytes)
		s.ctl.OnLoss(s.advance(s.clock()), cc.Loss{
			Number: p.number, Bytes: p.bytes, SentAt: p.sentAt, Stamp: p.stamp,
			InFlight: s.log.open, Reason: cc.LossPTO,
		})
	}
	s.apply()
}

// lostMTUProbe returns the open MTU probe of the size that is missing.
func (s *sender) lostMTUProbe(bytes int64) *sentPacket {
	if bytes <= s.mtu {
		return nil
	}
	for n := s.log.low; n < s.log.next; n++ {
		if p := s.log.slot(n); p.number == n && p.open && p.probe && p.bytes == bytes {
			return p
		}
	}
	return nil
}
