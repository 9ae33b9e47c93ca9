package c4

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// path is a sender, a bottleneck with a queue, and a receiver that acknowledges
// every few packets: enough to see the states in their places. The simulator has
// the real thing.
type path struct {
	c        *Controller
	rate     cc.Rate       // of the bottleneck
	latency  time.Duration // there and back
	queueMax time.Duration
	ackEach  int
	source   func(now time.Duration) int64 // bytes offered so far; nil: no end of data

	now      time.Duration
	sampler  cc.Sampler
	sent     []packet // by number
	lowest   int64    // unsettled
	arrived  int64    // next number to arrive
	inFlight int64
	offered  int64
	idleAt   time.Duration // when the bottleneck's queue is empty
	credit   time.Duration // pacing: next packet may leave then
	srtt     time.Duration
	queue    time.Duration // longest wait seen since the last reset
	drops    int
	acked    int64
	ack      cc.Ack
}

type packet struct {
	sent, due time.Duration // due: when its acknowledgement may come; 0: dropped
	stamp     cc.Stamp
	settled   bool
}

const (
	packetSize = 1440
	pathTick   = 100 * time.Microsecond
)

// run lets d pass.
func (p *path) run(d time.Duration) {
	for end := p.now + d; p.now < end; p.now += pathTick {
		p.receive()
		p.transmit()
	}
}

// receive acknowledges what is due, once there is enough of it.
func (p *path) receive() {
	due := 0
	for n := p.arrived; n < int64(len(p.sent)) && p.sent[n].due <= p.now; n++ {
		due++
	}
	if due == 0 || due < p.ackEach && p.arrived+int64(due) < int64(len(p.sent)) {
		return
	}
	a := &p.ack
	a.Packets, a.Bytes, a.PriorInFlight = a.Packets[:0], 0, p.inFlight
	for range due {
		k := &p.sent[p.arrived]
		if k.due != 0 {
			k.settled = true
			p.inFlight -= packetSize
			a.Bytes += packetSize - cc.TagBytes
			a.Newest = cc.Acked{Number: p.arrived, Bytes: packetSize - cc.TagBytes, SentAt: k.sent}
			a.Packets = append(a.Packets, a.Newest)
		}
		p.arrived++
	}
	if a.Bytes == 0 {
		return
	}
	p.acked += a.Bytes
	newest := p.sent[a.Newest.Number]
	sample := p.now - newest.sent
	if p.srtt == 0 {
		p.srtt = sample
	}
	p.srtt += (sample - p.srtt) / 8
	p.c.OnRTT(p.now, cc.RTT{Latest: sample, Smoothed: p.srtt})
	a.Sample = p.sampler.OnAck(p.now, a.Bytes, a.Newest, newest.stamp)
	for n := p.lowest; n <= a.Newest.Number-3; n++ {
		if k := &p.sent[n]; !k.settled {
			k.settled = true
			p.inFlight -= packetSize
			p.c.OnLoss(p.now, cc.Loss{Number: n, Bytes: packetSize, SentAt: k.sent, Stamp: k.stamp})
		}
	}
	for p.lowest < int64(len(p.sent)) && p.sent[p.lowest].settled {
		p.lowest++
	}
	a.LowestUnsettled, a.InFlight = p.lowest, p.inFlight
	p.c.OnAck(p.now, a)
}

// transmit sends what window, pacing and source allow.
func (p *path) transmit() {
	for {
		out := p.c.Control()
		if p.inFlight >= out.Window || p.now < p.credit {
			return
		}
		if p.source != nil && p.offered+packetSize > p.source(p.now) {
			p.c.OnAppLimited(p.now)
			return
		}
		p.offered += packetSize
		p.inFlight += packetSize
		if out.PacingRate > 0 {
			earliest := p.now - out.PacingRate.TimeFor(out.Quantum)
			p.credit = max(p.credit, earliest) + out.PacingRate.TimeFor(packetSize)
		}
		k := packet{sent: p.now, stamp: p.sampler.Stamp(p.inFlight)}
		if wait := max(0, p.idleAt-p.now); wait < p.queueMax {
			p.idleAt = p.now + wait + p.rate.TimeFor(packetSize)
			k.due = p.idleAt + p.latency
			p.queue = max(p.queue, wait)
		} else {
			p.drops++
		}
		p.c.OnPacketSent(p.now, cc.Packet{
			Number: int64(len(p.sent)), Bytes: packetSize, InFlight: p.inFlight, AckEliciting: true,
		})
		p.sent = append(p.sent, k)
	}
}

func newPath(cfg Config) *path {
	return &path{
		c:        New(cc.Config{MTU: packetSize}, cfg),
		rate:     2_500_000,
		latency:  80 * ms,
		queueMax: time.Hour,
		ackEach:  16,
	}
}

// payload is what the bottleneck delivers without the tags.
func (p *path) payload() cc.Rate { return p.rate * (packetSize - cc.TagBytes) / packetSize }

// The life of a bulk transfer: initial finds the rate within two seconds, the
// queue it built is drained, and the path is used from then on.
func TestLife(t *testing.T) {
	for name, cfg := range map[string]Config{"draft-04": Draft04(), "draft-05": Draft05()} {
		t.Run(name, func(t *testing.T) {
			p := newPath(cfg)
			p.run(2 * time.Second)
			if p.c.state == Initial {
				t.Fatalf("still in initial: %+v", p.c.initial)
			}
			seen := map[State]bool{}
			acked, from := p.acked, p.now
			for range 100 {
				p.run(100 * ms)
				seen[p.c.state] = true
				// The nominal rate is at most 1 percent above what the path delivers.
				if r := p.c.nominalRate; r > p.payload()*101/100 || r < p.payload()*95/100 {
					t.Fatalf("at %v in %v: nominal rate %d, the path delivers %d", p.now, p.c.state, r, p.payload())
				}
			}
			for _, s := range []State{Recovery, Cruising, Probing} {
				if !seen[s] {
					t.Errorf("never seen in %v", s)
				}
			}
			if use := float64(p.acked-acked) / float64(p.payload().Over(p.now-from)); use < 0.96 || use > 1.01 {
				t.Errorf("the path is used to %.3f", use)
			}
			p.queue = 0
			p.run(time.Second)
			// Draft -04 drains one percent of a round trip per era.
			limit := 8 * ms
			if cfg.Draining == DrainNone {
				limit = 40 * ms
			}
			if p.queue > limit {
				t.Errorf("a queue of %v stays", p.queue)
			}
			if p.drops > 0 {
				t.Errorf("%d drops", p.drops)
			}
		})
	}
}

// The newest design drains the start-up's queue faster than draft -04: that is
// what its backlog is for. [C4-DESIGN] Draining the backlog
func TestBacklogDrainsFaster(t *testing.T) {
	queue := func(cfg Config) time.Duration {
		p := newPath(cfg)
		p.run(2 * time.Second)
		p.queue = 0
		p.run(500 * ms)
		return p.queue
	}
	if d4, d5 := queue(Draft04()), queue(Draft05()); d5 > d4*2/3 {
		t.Errorf("queue after 2 s: %v with draft-04, %v with draft-05", d4, d5)
	}
}

// "we use the measurements only to increase the nominal rate": an application
// that sends little, and a large frame each second, keeps its rate for minutes.
// [C4-DESIGN] Supporting Application Limited Connections
func TestApplicationLimitedKeepsItsRate(t *testing.T) {
	for name, cfg := range map[string]Config{"draft-04": Draft04(), "draft-05": Draft05()} {
		t.Run(name, func(t *testing.T) {
			p := newPath(cfg)
			p.ackEach = 1
			p.source = func(now time.Duration) int64 {
				seconds, frames := int64(now/time.Second), int64(now%time.Second*30/time.Second)
				return (seconds+1)*100_000 + (seconds*30+frames)*10_000
			}
			p.run(5 * time.Second)
			rate := p.c.nominalRate
			if rate < p.payload()/2 {
				t.Fatalf("nominal rate %d after 5 s", rate)
			}
			p.run(60 * time.Second)
			if got := p.c.nominalRate; got < rate*99/100 {
				t.Errorf("nominal rate %d, was %d a minute ago", got, rate)
			}
		})
	}
}

// A path that becomes slower, and faster again.
func TestRateChanges(t *testing.T) {
	for name, cfg := range map[string]Config{"draft-04": Draft04(), "draft-05": Draft05()} {
		t.Run(name, func(t *testing.T) {
			p := newPath(cfg)
			p.queueMax = 80 * ms
			p.run(3 * time.Second)
			p.rate = 1_250_000
			p.run(3 * time.Second)
			if r := p.c.nominalRate; r > p.payload()*105/100 {
				t.Errorf("nominal rate %d, 3 s after the path fell to %d", r, p.payload())
			}
			p.rate = 2_500_000
			p.run(4 * time.Second)
			if r := p.c.nominalRate; r < p.payload()*9/10 {
				t.Errorf("nominal rate %d, 4 s after the path rose to %d", r, p.payload())
			}
		})
	}
}

// No allocation once the buffers have their size, whatever happens.
func TestNoAllocations(t *testing.T) {
	p := newPath(Draft05())
	p.run(2 * time.Second)
	a := p.ack
	events := make([]cc.Event, 0, cc.EventBufferSize)
	vars := make([]cc.Var, 0, 64)
	next := int64(len(p.sent))
	now := p.now
	if n := testing.AllocsPerRun(1000, func() {
		now += ms
		p.c.OnPacketSent(now, cc.Packet{Number: next, Bytes: packetSize, InFlight: packetSize})
		next++
		p.c.OnAppLimited(now)
		p.c.OnECN(now, cc.ECN{CE: next, ECT1: next})
		p.c.OnRTT(now, cc.RTT{Latest: p.latency, Smoothed: p.latency})
		p.c.OnLoss(now, cc.Loss{Number: next - 1})
		a.LowestUnsettled = next
		p.c.OnAck(now, &a)
		events = p.c.Events(events[:0])
		vars = p.c.Vars(vars[:0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOnAck(b *testing.B) {
	p := newPath(Default())
	p.run(2 * time.Second)
	a := p.ack
	next, now := int64(len(p.sent)), p.now
	b.ReportAllocs()
	for b.Loop() {
		now += ms
		for range 16 {
			p.c.OnPacketSent(now, cc.Packet{Number: next, Bytes: packetSize, InFlight: packetSize})
			next++
		}
		p.c.OnRTT(now, cc.RTT{Latest: p.latency, Smoothed: p.latency})
		a.LowestUnsettled = next - 16
		p.c.OnAck(now, &a)
	}
}
