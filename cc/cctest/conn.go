package cctest

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// TB is what of testing.TB is used.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Payload is what a packet of a Conn delivers, and the MTU of the controllers
// under test; on the wire it has a tag more.
const Payload = 1200

// Conn is a connection whose network does what the test says. Now may be moved
// by the test, see Advance.
type Conn struct {
	Now     time.Duration
	Control cc.Control // after the last call

	t        TB
	ctl      cc.Controller
	sampler  cc.Sampler
	rtt      cc.RTT
	packets  []packet // by number
	low      int64    // none below it is in flight
	inFlight int64
	largest  int64 // acknowledged, -1 none
	ecn      cc.ECN
	ack      cc.Ack // reused
	ptoCount int
}

type packet struct {
	bytes  int64
	sentAt time.Duration
	stamp  cc.Stamp
	state  packetState
}

type packetState uint8

const (
	inFlight packetState = iota
	acked
	lost
)

// NewConn returns a connection whose handshake is over, at one second. The
// controller has not heard of it, see Handshake.
func NewConn(t TB, ctl cc.Controller) *Conn {
	c := &Conn{t: t, ctl: ctl, Now: time.Second, Control: ctl.Control(), largest: -1}
	c.sampler.OnHandshakeAck(c.Now, c.Now, 0, true)
	return c
}

// Config is that of a controller under test: packets of Payload bytes, ten of
// them in the initial window.
func Config() cc.Config { return cc.Config{MTU: Payload, InitialWindow: 10 * Payload} }

// Advance lets time pass.
func (c *Conn) Advance(d time.Duration) { c.Now += d }

// InFlight returns the bytes in flight.
func (c *Conn) InFlight() int64 { return c.inFlight }

// Next returns the number of the next packet.
func (c *Conn) Next() int64 { return int64(len(c.packets)) }

// Send sends n full packets and returns the number of the first.
func (c *Conn) Send(n int) int64 {
	first := c.Next()
	for range n {
		c.send(Payload + cc.TagBytes)
	}
	return first
}

// Fill sends full packets until the window is full, at most limit, and returns
// how many.
func (c *Conn) Fill(limit int) int {
	n := 0
	for c.inFlight < c.Control.Window && n < limit {
		c.Send(1)
		n++
	}
	return n
}

// fillMax keeps a round trip with a huge window short.
const fillMax = 1 << 16

func (c *Conn) send(bytes int64) {
	c.inFlight += bytes
	number := c.Next()
	c.packets = append(c.packets, packet{bytes: bytes, sentAt: c.Now, stamp: c.sampler.Stamp(c.inFlight)})
	c.ctl.OnPacketSent(c.Now, cc.Packet{Number: number, Bytes: bytes, InFlight: c.inFlight, AckEliciting: true})
	c.Control = c.ctl.Control()
}

// Dry tells the controller that there is nothing to send.
func (c *Conn) Dry() {
	c.ctl.OnAppLimited(c.Now)
	c.sampler.OnAppLimited(c.inFlight)
	c.Control = c.ctl.Control()
}

// Handshake acknowledges n bytes of handshake packets, sent a round trip of rtt
// ago.
func (c *Conn) Handshake(n int64, rtt time.Duration) {
	c.sample(rtt, true)
	c.sampler.OnHandshakeAck(c.Now, c.Now-rtt, n, true)
	c.ack = cc.Ack{
		Bytes: n, Packets: c.ack.Packets[:0], Newest: cc.Acked{Bytes: n, SentAt: c.Now - rtt},
		PriorInFlight: c.inFlight, InFlight: c.inFlight, Handshake: true,
	}
	c.ack.Sample.Delivered = c.sampler.Delivered()
	c.ctl.OnAck(c.Now, &c.ack)
	c.Control = c.ctl.Control()
}

// Ack acknowledges what is in flight of the numbers first to last. Packets named
// in lose are declared lost by it.
func (c *Conn) Ack(first, last int64, lose ...int64) {
	c.t.Helper()
	a := &c.ack
	*a = cc.Ack{Packets: a.Packets[:0], PriorInFlight: c.inFlight}
	for n := max(first, 0); n <= min(last, c.Next()-1); n++ {
		p := &c.packets[n]
		if p.state != inFlight || slices.Contains(lose, n) {
			continue
		}
		p.state = acked
		c.inFlight -= p.bytes
		got := cc.Acked{Number: n, Bytes: p.bytes - cc.TagBytes, SentAt: p.sentAt}
		a.Packets = append(a.Packets, got)
		a.Bytes += got.Bytes
	}
	if len(a.Packets) == 0 {
		c.t.Fatalf("no packet of %d to %d is in flight", first, last)
		return
	}
	a.Newest = a.Packets[len(a.Packets)-1]
	newest := &c.packets[a.Newest.Number]
	if c.ecn.ECT0+c.ecn.ECT1+c.ecn.CE > 0 {
		c.ecn.ECT0 += int64(len(a.Packets))
		c.ecn.Newest, c.ecn.NewestSentAt = a.Newest.Number, a.Newest.SentAt
		c.ctl.OnECN(c.Now, c.ecn)
	}
	if a.Newest.Number > c.largest {
		c.largest = a.Newest.Number
		c.ptoCount = 0
		c.sample(c.Now-newest.sentAt, false)
	}
	a.Sample = c.sampler.OnAck(c.Now, a.Bytes, a.Newest, newest.stamp)
	for _, n := range lose {
		a.LostBytes += c.lose(n, cc.LossPackets, false)
	}
	a.InFlight = c.inFlight
	a.LowestUnsettled = c.lowest()
	c.ctl.OnAck(c.Now, a)
	c.Control = c.ctl.Control()
}

// AckAll acknowledges all that is in flight.
func (c *Conn) AckAll() {
	c.t.Helper()
	c.Ack(0, c.Next()-1)
}

// RoundTrip fills the window, lets rtt pass and acknowledges everything.
func (c *Conn) RoundTrip(rtt time.Duration) {
	c.t.Helper()
	c.Fill(fillMax)
	c.Advance(rtt)
	c.AckAll()
}

// Mark makes the next ACK report n more CE marks.
func (c *Conn) Mark(n int64) { c.ecn.CE += n }

// Lose declares packets lost by time, without an ACK.
func (c *Conn) Lose(numbers ...int64) {
	for _, n := range numbers {
		c.lose(n, cc.LossTime, false)
	}
	c.Control = c.ctl.Control()
}

// Persist declares a packet lost that establishes persistent congestion.
func (c *Conn) Persist(number int64) {
	c.lose(number, cc.LossTime, true)
	c.Control = c.ctl.Control()
}

// PTO expires the probe timeout: the oldest packet is given up.
func (c *Conn) PTO() {
	c.ptoCount++
	c.ctl.OnPTO(c.Now, c.ptoCount)
	if n := c.lowest(); n < c.Next() {
		c.lose(n, cc.LossPTO, false)
	}
	c.Control = c.ctl.Control()
}

// Spurious tells the controller that a packet declared lost has arrived.
func (c *Conn) Spurious(number int64, why cc.LossReason) {
	p := &c.packets[number]
	if p.state != lost {
		c.t.Fatalf("packet %d is not lost", number)
		return
	}
	p.state = acked
	c.ctl.OnSpuriousLoss(c.Now, cc.Loss{
		Number: number, Bytes: p.bytes, SentAt: p.sentAt, Stamp: p.stamp, InFlight: c.inFlight, Reason: why,
	})
	c.Control = c.ctl.Control()
}

func (c *Conn) lose(number int64, why cc.LossReason, persistent bool) int64 {
	p := &c.packets[number]
	if p.state != inFlight {
		c.t.Fatalf("packet %d is not in flight", number)
		return 0
	}
	p.state = lost
	c.inFlight -= p.bytes
	c.sampler.OnLoss(p.bytes)
	c.ctl.OnLoss(c.Now, cc.Loss{
		Number: number, Bytes: p.bytes, SentAt: p.sentAt, Stamp: p.stamp,
		InFlight: c.inFlight, Reason: why, Persistent: persistent,
	})
	return p.bytes
}

// lowest returns the number of the oldest packet in flight, or the next.
func (c *Conn) lowest() int64 {
	for c.low < c.Next() && c.packets[c.low].state != inFlight {
		c.low++
	}
	return c.low
}

// sample takes an RTT sample. RFC 9002 Section 5.3, without the ack delay.
func (c *Conn) sample(rtt time.Duration, handshake bool) {
	r := &c.rtt
	r.Latest, r.Handshake = rtt, handshake
	if r.Min == 0 {
		r.Smoothed, r.Variance, r.Min = rtt, rtt/2, max(rtt, 1)
	} else {
		r.Min = max(min(r.Min, rtt), 1)
		r.Variance = (3*r.Variance + (r.Smoothed - rtt).Abs()) / 4
		r.Smoothed = (7*r.Smoothed + rtt) / 8
	}
	c.ctl.OnRTT(c.Now, *r)
}

// WantState checks the controller's state.
func (c *Conn) WantState(want string) {
	c.t.Helper()
	if got := c.ctl.State(); got != want {
		c.t.Errorf("at %v: state %s, want %s", c.Now, got, want)
	}
}

// WantVar checks a variable to a thousandth.
func (c *Conn) WantVar(name string, want float64) {
	c.t.Helper()
	got := c.Var(name)
	if diff := got - want; diff > want/1000+1e-9 || -diff > want/1000+1e-9 {
		c.t.Errorf("at %v: %s = %g, want %g", c.Now, name, got, want)
	}
}

// Var returns a variable of the controller.
func (c *Conn) Var(name string) float64 {
	c.t.Helper()
	in, ok := c.ctl.(cc.Inspector)
	if !ok {
		c.t.Fatalf("the controller shows no variables")
		return 0
	}
	for _, v := range in.Vars(nil) {
		if v.Name == name {
			return v.Value
		}
	}
	c.t.Fatalf("no variable %q", name)
	return 0
}
