package window

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const ms = time.Millisecond

// "rate = N * congestion_window / smoothed_rtt"
// RFC 9002 Section 7.7, Pacing
func TestPace(t *testing.T) {
	const mtu = 1200
	for _, tt := range []struct {
		name      string
		window    int64
		smoothed  time.Duration
		slowStart bool
		rate      cc.Rate
		quantum   int64
	}{
		{"small windows are not paced", 8*mtu - 1, 50 * ms, true, 0, 0},
		{"no RTT yet", 100 * mtu, 0, true, 0, 0},
		{"slow start, N = 1.25", 10 * mtu, 50 * ms, true, 300_000, 3000},
		{"avoidance, N = 1", 10 * mtu, 50 * ms, false, 240_000, 3000},
		{"at least two packets", 8 * mtu, 50 * ms, false, 192_000, 2400},
		{"at most sixteen", 1000 * mtu, 100 * ms, false, 12_000_000, 16 * mtu},
		{"at most sixteen in slow start", 1000 * mtu, 50 * ms, true, 30_000_000, 16 * mtu},
		{"long path, slow start", 10 * mtu, 100 * ms, true, 150_000, 32 << 10},
		{"long path, large window", 1000 * mtu, 100 * ms, true, 15_000_000, 300_000},
		{"60 ms are not long", 10 * mtu, 60 * ms, true, 250_000, 3000},
	} {
		rate, quantum := Pace(tt.window, mtu, tt.smoothed, tt.slowStart)
		if rate != tt.rate || quantum != tt.quantum {
			t.Errorf("%s: %d bytes/s, quantum %d; want %d, %d", tt.name, rate, quantum, tt.rate, tt.quantum)
		}
	}
}

func ack(number int64, sentAt time.Duration, prior int64) *cc.Ack {
	return &cc.Ack{Newest: cc.Acked{Number: number, SentAt: sentAt}, PriorInFlight: prior}
}

func TestSenderBlocked(t *testing.T) {
	var s Sender
	s.OnPacketSent(0, cc.Packet{Number: 0})
	s.OnAck(10*ms, ack(0, 0, 1000), 1000)
	if !s.Blocked() {
		t.Error("a full window does not block")
	}
	s.OnAck(10*ms, ack(1, 0, 500), 2000)
	if !s.Blocked() {
		t.Error("nothing was sent between two ACKs of one instant")
	}
	s.OnAck(11*ms, ack(2, 0, 500), 2000)
	if s.Blocked() {
		t.Error("a window half full blocks")
	}
	if s.Next() != 1 || s.AckedTo() != 3 {
		t.Errorf("next %d, acknowledged to %d", s.Next(), s.AckedTo())
	}
}

// A window that fills because the pacer let a burst out does not hold the sender
// back until the pacer would let out more.
func TestSenderBlockedByPacing(t *testing.T) {
	var s Sender
	// A packet a millisecond, two at once.
	s.OnControl(cc.Control{PacingRate: 1_000_000, Quantum: 2000}, 1000, 50*ms)
	s.OnPacketSent(10*ms, cc.Packet{Number: 0, Bytes: 1000})
	s.OnPacketSent(10*ms, cc.Packet{Number: 1, Bytes: 1000})
	s.OnAck(10*ms+500*time.Microsecond, ack(0, 0, 2000), 2000)
	if s.Blocked() {
		t.Error("blocked while the pacer waits")
	}
	s.OnAck(11*ms, ack(1, 0, 2000), 2000)
	if !s.Blocked() {
		t.Error("not blocked when the pacer has let go")
	}
}

func TestSenderAppLimited(t *testing.T) {
	var s Sender
	s.OnAck(10*ms, ack(0, 0, 0), 0)
	if s.AppLimited() {
		t.Error("limited before it ever ran dry")
	}
	s.OnAppLimited(20 * ms)
	s.OnAck(30*ms, ack(1, 20*ms, 0), 0)
	if !s.AppLimited() {
		t.Error("what was sent before the sender ran dry shows nothing")
	}
	s.OnAck(40*ms, ack(2, 21*ms, 0), 0)
	if s.AppLimited() {
		t.Error("sent after")
	}
	if s.DryAt() != 20*ms {
		t.Errorf("dry at %v", s.DryAt())
	}
}

func TestSenderIgnoresHandshakeNumbers(t *testing.T) {
	var s Sender
	s.OnPacketSent(0, cc.Packet{Number: 7, Handshake: true})
	a := ack(9, 5*ms, 0)
	a.Handshake = true
	s.OnAck(10*ms, a, 0)
	if s.Next() != 0 || s.AckedTo() != 0 {
		t.Errorf("next %d, acknowledged to %d", s.Next(), s.AckedTo())
	}
}

func TestRecovery(t *testing.T) {
	var r Recovery
	if r.In(0) {
		t.Error("in recovery without an event")
	}
	if !r.Enter(100*ms, 50*ms) {
		t.Error("the first event does not count")
	}
	if r.Enter(110*ms, 100*ms) {
		t.Error("a packet sent before the event counts again")
	}
	if !r.Enter(200*ms, 101*ms) {
		t.Error("a packet sent in recovery does not count")
	}
	r.Forget()
	if r.In(0) {
		t.Error("not forgotten")
	}
}
