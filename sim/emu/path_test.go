package emu

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

const ms = time.Millisecond

func parse(t testing.TB, text string) Link {
	t.Helper()
	l, err := ParseLink(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newPath(t testing.TB, text string, maxBytes int64) *Path[int] {
	t.Helper()
	p, err := NewPath[int](parse(t, text), 1, maxBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// offer sends packets of 1250 bytes downwards, one each gap, and returns the arrivals as they come by
// calls each step.
func offer(p *Path[int], n int, gap, step time.Duration) (got []Arrival[int]) {
	sent := 0
	for now := time.Duration(0); now < time.Minute; now += step {
		for sent < n && time.Duration(sent)*gap <= now {
			p.Submit(max(time.Duration(sent)*gap, p.now), Down, 1250, cc.ECT1, sent)
			sent++
		}
		for {
			a, ok := p.Pop(now)
			if !ok {
				break
			}
			got = append(got, a)
		}
		if sent == n && p.lanes[Down].bytes == 0 {
			break
		}
	}
	return got
}

// A packet of 1250 bytes takes 1 ms at 10 Mbit/s and then the delay.
func TestPathDelay(t *testing.T) {
	p := newPath(t, "rate=10Mbit/s delay=20ms queue=1bdp", 0)
	p.Submit(0, Down, 1250, cc.ECT1, 1)
	p.Submit(0, Up, 625, cc.NotECT, 2)
	if got := p.Next(); got < 20*ms || got > 21*ms {
		t.Errorf("next event at %v", got)
	}
	if _, ok := p.Pop(20 * ms); ok {
		t.Error("a packet came too early")
	}
	a, _ := p.Pop(30 * ms)
	b, _ := p.Pop(30 * ms)
	if a.Packet != 2 || a.Direction != Up || a.At < 20400*time.Microsecond || a.At > 20600*time.Microsecond || a.ECN != cc.NotECT {
		t.Errorf("first %+v", a)
	}
	if b.Packet != 1 || b.Direction != Down || b.At < 20900*time.Microsecond || b.At > 21100*time.Microsecond || b.ECN != cc.ECT1 {
		t.Errorf("second %+v", b)
	}
	if p.Next() != Never {
		t.Errorf("an empty path wants to be called at %v", p.Next())
	}
}

// How often the path is looked at changes neither what arrives nor when, with and without the AQM.
func TestPathLateCaller(t *testing.T) {
	for _, text := range []string{
		"for=100ms rate=10Mbit/s delay=20ms queue=40ms; for=50ms rate=0; rate=5Mbit/s jitter=3ms",
		"rate=10Mbit/s delay=20ms queue=100ms; aqm dualq l4s_max=5ms",
	} {
		exact := offer(newPath(t, text, 0), 400, 800*time.Microsecond, 100*time.Microsecond)
		late := offer(newPath(t, text, 0), 400, 800*time.Microsecond, 7*ms)
		if len(exact) != len(late) {
			t.Fatalf("%s: %d arrive, and %d with a late caller", text, len(exact), len(late))
		}
		for i := range exact {
			if exact[i].Packet != late[i].Packet || exact[i].At != late[i].At || exact[i].ECN != late[i].ECN {
				t.Fatalf("%s: arrival %d is %+v, with a late caller %+v", text, i, exact[i], late[i])
			}
		}
	}
}

// The rate follows the timeline, which begins again at its end.
func TestPathTimeline(t *testing.T) {
	p := newPath(t, "for=1s rate=10Mbit/s delay=20ms queue=20ms; for=1s rate=2Mbit/s", 0)
	perHalf := make(map[int]int)
	for _, a := range offer(p, 5000, 800*time.Microsecond, ms) {
		perHalf[int((a.At-21*ms)/time.Second)]++
	}
	for second, want := range []int{1000, 200, 1000, 200} {
		if got := perHalf[second]; got < want*95/100 || got > want*107/100 {
			t.Errorf("second %d: %d packets, want about %d", second, got, want)
		}
	}
	_, down := p.Stats()
	if down.Packets != 5000 || down.Delivered+down.Dropped() != 5000 || down.DroppedQueue == 0 {
		t.Errorf("counters %+v", down)
	}
	if max := down.WaitMax(); max < 20*ms || max > 120*ms { // what is queued when the rate falls waits longer
		t.Errorf("longest wait %v", max)
	}
}

// A timeline that is restarted has its first change later.
func TestPathRestart(t *testing.T) {
	p := newPath(t, "for=1s rate=10Mbit/s delay=20ms queue=20ms; for=1s rate=2Mbit/s", 0)
	p.Restart(300*ms, 200*ms)
	for _, tt := range []struct {
		at    time.Duration
		phase int
	}{{1199 * ms, 0}, {1201 * ms, 1}, {2199 * ms, 1}, {2201 * ms, 0}, {3201 * ms, 1}} {
		p.Pop(tt.at)
		if p.Phase() != tt.phase {
			t.Errorf("phase %d at %v, want %d", p.Phase(), tt.at, tt.phase)
		}
	}
}

// A suspended link and a queue without bound hold no more than they may.
func TestPathBounded(t *testing.T) {
	for _, text := range []string{
		"for=10ms rate=1Mbit/s delay=1ms; for=1h rate=0",
		"rate=1kbit/s delay=1ms",
	} {
		p := newPath(t, text, 100_000)
		for i := range 1000 {
			p.Submit(20*ms+time.Duration(i)*ms, Up, 1000, cc.NotECT, i)
		}
		if held := p.lanes[Up].bytes; held > 100_000 {
			t.Errorf("%s: %d bytes held", text, held)
		}
		up, _ := p.Stats()
		if up.DroppedFull < 890 || up.DroppedFull > 910 {
			t.Errorf("%s: %+v", text, up)
		}
	}
}

func TestPathLoss(t *testing.T) {
	l := parse(t, "rate=100Mbit/s delay=1ms")
	l.Loss = 0.1
	dropped := 0
	p, err := NewPath(l, 7, 0, func(int) { dropped++ })
	if err != nil {
		t.Fatal(err)
	}
	offer(p, 10_000, ms, 10*ms)
	_, down := p.Stats()
	if down.DroppedRandom < 900 || down.DroppedRandom > 1100 || int(down.DroppedRandom) != dropped {
		t.Errorf("%d dropped, %+v", dropped, down)
	}
}

// A standing queue in front of the AQM is marked, and the mark arrives.
func TestPathMarks(t *testing.T) {
	p := newPath(t, "rate=10Mbit/s delay=5ms queue=100ms; aqm dualq", 0)
	marked := int64(0)
	for _, a := range offer(p, 500, 900*time.Microsecond, ms) {
		if a.ECN == cc.CE {
			marked++
		}
	}
	if _, down := p.Stats(); marked == 0 || down.Marked != marked {
		t.Errorf("%d marks arrived, counted %d", marked, down.Marked)
	}
}

func TestNewPathErrors(t *testing.T) {
	for _, l := range []Link{{}, {Phases: parse(t, "rate=1Mbit/s delay=1ms").Phases, Loss: 2}} {
		if _, err := NewPath[int](l, 0, 0, nil); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
}
