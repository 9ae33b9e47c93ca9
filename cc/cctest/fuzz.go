package cctest

import (
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Limits that hold for any controller, far from those of real paths.
const (
	windowMax  = 1 << 41
	quantumMax = 1 << 41
	stepsMax   = 1024
)

// Fuzz makes a connection of arbitrary bytes and checks after each step what must
// hold for any controller:
//
//   - The window lets at least a packet out, and is bounded.
//   - The pacing rate is not negative; if it is set, so is the quantum.
//   - The state has a name.
//   - Events are in the order of time.
//
// It returns a transcript of the outputs, for the test that equal inputs give
// equal outputs.
func Fuzz(t TB, ctl cc.Controller, ops []byte) []cc.Control {
	t.Helper()
	c := NewConn(t, ctl)
	f := fuzzer{t: t, c: c, ops: ops}
	var out []cc.Control
	for range stepsMax {
		if len(f.ops) == 0 {
			break
		}
		what := f.step()
		f.check(what)
		out = append(out, c.Control)
	}
	return out
}

type fuzzer struct {
	t      TB
	c      *Conn
	ops    []byte
	lost   []int64 // by the probe timeout
	events []cc.Event
	last   time.Duration // of the last event
}

func (f *fuzzer) byte() byte {
	if len(f.ops) == 0 {
		return 0
	}
	b := f.ops[0]
	f.ops = f.ops[1:]
	return b
}

// step does one thing to the connection and says which.
func (f *fuzzer) step() string {
	c := f.c
	op, arg := f.byte(), f.byte()
	switch op % 16 {
	case 0, 1:
		c.Send(1 + int(arg%32))
		return "send"
	case 2:
		c.Fill(256)
		return "fill"
	case 3, 4:
		c.Advance(time.Duration(arg) * time.Millisecond)
		return "milliseconds"
	case 5:
		c.Advance(time.Duration(arg) * time.Microsecond)
		return "microseconds"
	case 6:
		c.Advance(time.Duration(arg) * 100 * time.Millisecond)
		return "long pause"
	case 7, 8, 9:
		f.ack(int64(arg), 0)
		return "ack"
	case 10:
		f.ack(int64(arg), int64(arg%8)+1)
		return "ack and lose"
	case 11:
		if n := c.lowest(); n < c.Next() {
			c.PTO()
			f.lost = append(f.lost, n)
		}
		return "probe timeout"
	case 12:
		if n := len(f.lost); n > 0 {
			c.Spurious(f.lost[n-1], cc.LossPTO)
			f.lost = f.lost[:n-1]
		}
		return "spurious"
	case 13:
		c.Dry()
		return "dry"
	case 14:
		c.Mark(int64(arg%4) + 1)
		return "mark"
	}
	return f.rare(arg)
}

func (f *fuzzer) rare(arg byte) string {
	c := f.c
	switch arg % 8 {
	case 0:
		c.ctl.OnMTU(c.Now, 1200+int64(arg))
		c.Control = c.ctl.Control()
		return "mtu"
	case 1:
		c.ctl.OnSeed(c.Now, cc.Seed{Window: int64(arg) << 14, RTT: c.rtt.Latest})
		c.Control = c.ctl.Control()
		return "seed"
	case 2:
		c.Handshake(int64(arg), time.Duration(arg)*time.Millisecond)
		return "handshake"
	case 3:
		if n := c.lowest(); n < c.Next() {
			c.Persist(n)
		}
		return "persistent congestion"
	default:
		if n := c.lowest(); n < c.Next() {
			c.Lose(n)
		}
		return "lose"
	}
}

// ack acknowledges n packets after skipping some, which it declares lost.
func (f *fuzzer) ack(n, lose int64) {
	first := f.c.lowest()
	if first+lose >= f.c.Next() {
		return
	}
	var numbers []int64
	at := first
	for ; int64(len(numbers)) < lose && at < f.c.Next()-1; at++ {
		if f.c.packets[at].state == inFlight {
			numbers = append(numbers, at)
		}
	}
	for at < f.c.Next() && f.c.packets[at].state != inFlight {
		at++
	}
	if at < f.c.Next() {
		f.c.Ack(at, at+n, numbers...)
	}
}

func (f *fuzzer) check(what string) {
	c := f.c.Control
	fail := func(format string, args ...any) {
		f.t.Fatalf("at %v after %s: %s (%+v, %s)", f.c.Now, what, fmt.Sprintf(format, args...), c, f.c.ctl.State())
	}
	switch {
	case c.Window < 1 || c.Window > windowMax:
		fail("window %d", c.Window)
	case c.PacingRate < 0:
		fail("pacing rate %d", c.PacingRate)
	case c.Quantum < 0 || c.Quantum > quantumMax:
		fail("quantum %d", c.Quantum)
	case c.PacingRate > 0 && c.Quantum == 0:
		fail("no quantum")
	case f.c.ctl.State() == "":
		fail("no state")
	}
	f.events = f.c.ctl.Events(f.events[:0])
	for _, e := range f.events {
		if e.At < f.last || e.At > f.c.Now {
			fail("event %+v out of order", e)
		}
		if e.Kind == cc.EventState && e.From == e.To {
			fail("event %+v changes nothing", e)
		}
		f.last = e.At
	}
}
