package bbr

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/cctest"
)

const (
	ms     = time.Millisecond
	packet = cctest.Payload
	wire   = packet + cc.TagBytes
)

// path is a bottleneck with an endless queue, in steps of a millisecond.
type path struct {
	*cctest.Conn
	ctl  *Controller
	rate cc.Rate
	rtt  time.Duration

	budget   float64 // of the pacer, bytes
	freeAt   time.Duration
	arrivals []time.Duration // of the ACKs of the packets in flight, by number
	acked    int64
	lossy    func(number int64) bool // drops a packet
	dropped  []int64
	supply   int // packets a millisecond that the application has, 0: endless
	states   []string
}

func newPath(t *testing.T, rate cc.Rate, rtt time.Duration) *path {
	ctl := New(cctest.Config())
	p := &path{Conn: cctest.NewConn(t, ctl), ctl: ctl, rate: rate, rtt: rtt}
	p.Handshake(1000, rtt)
	return p
}

// run lets the path work for d.
func (p *path) run(d time.Duration) {
	for end := p.Now + d; p.Now < end; {
		p.step()
	}
}

// until lets the path work until the controller is in a state, at most for d.
func (p *path) until(state string, d time.Duration) bool {
	for end := p.Now + d; p.Now < end; {
		p.step()
		if p.ctl.State() == state {
			return true
		}
	}
	return false
}

func (p *path) step() {
	p.Advance(ms)
	p.receive()
	p.send()
	if s := p.ctl.State(); len(p.states) == 0 || p.states[len(p.states)-1] != s {
		p.states = append(p.states, s)
	}
}

func (p *path) send() {
	step := float64(p.Control.PacingRate) / 1000
	p.budget = min(p.budget, float64(p.Control.Quantum)) + step
	for n := 0; p.budget >= wire; n++ {
		if p.supply > 0 && n >= p.supply {
			p.Dry()
			return
		}
		if p.InFlight() >= p.Control.Window {
			return
		}
		number := p.Send(1)
		p.budget -= wire
		at := time.Duration(-1)
		if p.lossy == nil || !p.lossy(number) {
			p.freeAt = max(p.freeAt, p.Now) + p.rate.TimeFor(wire)
			at = p.freeAt + p.rtt
		}
		p.arrivals = append(p.arrivals, at)
	}
}

// receive acknowledges what has arrived. Packets dropped below are lost by it.
func (p *path) receive() {
	first, last := int64(-1), int64(-1)
	n := p.acked
	for ; n < int64(len(p.arrivals)) && p.arrivals[n] <= p.Now; n++ {
		if p.arrivals[n] < 0 {
			p.dropped = append(p.dropped, n)
			continue
		}
		if first < 0 {
			first = n
		}
		last = n
	}
	p.acked = n
	if last < 0 {
		return
	}
	p.Ack(first, last, p.dropped...)
	p.dropped = p.dropped[:0]
}

// wantAbout checks a variable to three percent.
func (p *path) wantAbout(t *testing.T, name string, want float64) {
	t.Helper()
	if got := p.Var(name); got < want*0.97 || got > want*1.03 {
		t.Errorf("at %v: %s = %g, want about %g", p.Now, name, got, want)
	}
}
