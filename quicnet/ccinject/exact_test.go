package ccinject

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/reno"
)

// connected calls f with a connection in virtual time, whose server has the controller.
func connected(t *testing.T, down, up *link, controller Factory, f func(p *pair, client, server *quic.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := network(down, up)
		p := newPair(t, a, b, New(Config{Controller: controller}), nil)
		c, s := p.connect()
		f(p, c, s)
		p.close()
		time.Sleep(time.Minute)
	})
}

// TestSpuriousLosses has a path on which some packets are overtaken by ten others. quic-go takes them for lost at first; each of
// those is taken back, none is heard of twice, and the rate does not suffer.
func TestSpuriousLosses(t *testing.T) {
	run := func(late func(int) time.Duration) (took time.Duration, f fixed, r recorder) {
		for _, ctl := range []Factory{func(cc.Config) cc.Controller { f = fixed{rate: mbps(15), window: 1 << 20}; return &f }, newRecorder(&r)} {
			down := &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond, late: late}
			connected(t, down, &link{delay: 20 * time.Millisecond}, ctl, func(p *pair, c, s *quic.Conn) {
				begin := time.Now()
				transfer(t, s, c, 5e6)
				took = time.Since(begin)
				settle()
			})
		}
		return took, f, r
	}
	straight, _, _ := run(nil)
	took, f, _ := run(func(n int) time.Duration {
		if n > 50 && n%40 == 0 {
			return 5 * time.Millisecond
		}
		return 0
	})
	t.Logf("straight %v, overtaken %v, %d losses, %d of them spurious", straight, took, f.lost, f.spurious)
	if f.lost == 0 || f.spurious != f.lost {
		t.Errorf("%d losses, %d of them spurious", f.lost, f.spurious)
	}
	if took > straight*110/100 {
		t.Errorf("%v instead of %v", took, straight)
	}
}

// TestReorderedForever has every packet late by up to 20 ms.
func TestReorderedForever(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	down := &link{
		rate: mbps(20), delay: 20 * time.Millisecond, queue: 200 * time.Millisecond,
		late: func(int) time.Duration { return time.Duration(random.Int64N(int64(20 * time.Millisecond))) },
	}
	var r recorder
	connected(t, down, &link{delay: 20 * time.Millisecond}, newRecorder(&r), func(p *pair, c, s *quic.Conn) {
		begin := time.Now()
		transfer(t, s, c, 5e6)
		took := time.Since(begin)
		settle()
		t.Logf("%v, %d losses", took, r.gaps)
		if took > 3500*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// TestAcksOfGivenUpPackets holds acknowledgements back until probe timeouts give packets up, and then delivers them. quic-go
// does not tell that these packets have arrived. The rate estimate must survive that.
func TestAcksOfGivenUpPackets(t *testing.T) {
	var held time.Time // until when
	up := &link{delay: 20 * time.Millisecond}
	up.late = func(int) time.Duration { return max(0, time.Until(held)) }
	var r recorder
	down := &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 200 * time.Millisecond}
	connected(t, down, up, newRecorder(&r), func(p *pair, c, s *quic.Conn) {
		transfer(t, s, c, 5e6)
		settle()
		before := r.NominalRate()
		for range 3 {
			up.set(func(*link) { held = time.Now().Add(400 * time.Millisecond) })
			transfer(t, s, c, 2e6)
		}
		settle()
		after := r.NominalRate()
		t.Logf("nominal rate %v before, %v after; %d given up", before, after, r.ptos)
		if r.ptos == 0 {
			t.Error("nothing was given up")
		}
		if after < before*85/100 || after > before*115/100 {
			t.Errorf("nominal rate %v before, %v after", before, after)
		}
		begin := time.Now()
		transfer(t, s, c, 5e6)
		if took := time.Since(begin); took > 2700*time.Millisecond {
			t.Errorf("5 MB took %v afterwards", took)
		}
	})
}

// TestMediaWithLosses loses packets of a call at random. Retransmissions of video come before new video in quic-go, but audio does not wait.
// The few longest delays are those of audio that was behind a loss, which is luck; 99 of 100 frames are compared.
func TestMediaWithLosses(t *testing.T) {
	run := func(f Factory) (most, mean time.Duration) {
		random := rand.New(rand.NewPCG(3, 4))
		list := call(t, 10*time.Second,
			&link{
				rate: mbps(10), delay: 20 * time.Millisecond, queue: 100 * time.Millisecond,
				lose: func(n int) bool { return n > 20 && random.Float64() < 0.01 },
			},
			&link{delay: 20 * time.Millisecond}, f)
		if len(list) < 400 {
			t.Errorf("%d audio frames arrived", len(list))
		}
		_, mean = worst(list)
		slices.Sort(list)
		return list[len(list)*99/100], mean
	}
	stockMost, stockMean := run(nil)
	most, mean := run(newC4)
	t.Logf("1 %% losses: audio delay: stock mean %v, 99 %% %v; c4 mean %v, 99 %% %v", stockMean, stockMost, mean, most)
	if most > stockMost || mean > stockMean+time.Millisecond {
		t.Errorf("c4 mean %v, 99 %% %v; stock mean %v, 99 %% %v", mean, most, stockMean, stockMost)
	}
}

// TestCompetingFlows has two connections send through the same queue for 6 s.
func TestCompetingFlows(t *testing.T) {
	for _, test := range []struct {
		name  string
		other Factory
		least float64 // share of each
	}{
		{"c4", newC4, 0.3},
		{"reno", func(c cc.Config) cc.Controller { return reno.New(c) }, 0.2},
	} {
		synctest.Test(t, func(t *testing.T) {
			down := &link{rate: mbps(20), delay: 20 * time.Millisecond, queue: 80 * time.Millisecond}
			a, b := network(down, &link{delay: 20 * time.Millisecond})
			made := 0
			p := newPair(t, a, b, New(Config{Controller: func(c cc.Config) cc.Controller {
				made++
				if made == 1 {
					return newC4(c)
				}
				return test.other(c)
			}}), nil)
			p.listen()
			var got [2]uint64
			var conns [2]*quic.Conn
			for i := range conns {
				c, err := p.dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s, err := p.ln.Accept(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns[i] = c
				go tryTransfer(s, c, 1<<30)
			}
			time.Sleep(6 * time.Second)
			for i, c := range conns {
				got[i] = c.ConnectionStats().BytesReceived
			}
			p.close()
			time.Sleep(time.Minute)
			sum := float64(got[0] + got[1])
			t.Logf("c4 and %s: %.0f %% and %.0f %%, in all %.1f Mbit/s", test.name,
				float64(got[0])/sum*100, float64(got[1])/sum*100, sum*8/6/1e6)
			if float64(min(got[0], got[1]))/sum < test.least || sum < 0.85*6*float64(mbps(20)) {
				t.Errorf("c4 and %s: %v bytes", test.name, got)
			}
		})
	}
}

// TestFast sends at 200 Mbit/s and more, where the time of a packet is far below what timers can do, with timers that are late.
func TestFast(t *testing.T) {
	for _, test := range []struct {
		rate  float64
		bytes int
		late  time.Duration
	}{
		{200, 10e6, 2 * time.Millisecond},
		{1000, 20e6, 2 * time.Millisecond},
	} {
		rate := mbps(test.rate)
		var r recorder
		took := bulk(t, test.bytes,
			&link{rate: rate, delay: 5 * time.Millisecond, queue: 10 * time.Millisecond},
			&link{delay: 5 * time.Millisecond}, test.late, newRecorder(&r))
		ideal := rate.TimeFor(int64(test.bytes))
		t.Logf("%v Mbit/s, timers late by %v: %v, ideal %v, nominal rate %.0f Mbit/s, %d losses",
			test.rate, test.late, took, ideal, float64(r.NominalRate())*8/1e6, r.gaps)
		if took > ideal*125/100+100*time.Millisecond {
			t.Errorf("%v Mbit/s, timers late by %v: %v, ideal %v", test.rate, test.late, took, ideal)
		}
		if r.dry > 8 { // flow control, too
			t.Errorf("ran dry %d times in a bulk transfer", r.dry)
		}
	}
}
