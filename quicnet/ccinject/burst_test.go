package ccinject

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
)

// observer notes when C4 begins to probe or to push.
type observer struct {
	*c4.Controller
	probes []time.Time
}

func (o *observer) Events(dst []cc.Event) []cc.Event {
	n := len(dst)
	dst = o.Controller.Events(dst)
	for _, e := range dst[n:] {
		if e.Kind == cc.EventState && (e.To == "probing" || e.To == "pushing") {
			o.probes = append(o.probes, time.Now())
		}
	}
	return dst
}

// span is the time in which a frame is sent, and what had to wait for it.
type span struct{ from, to time.Time }

// film sends frames of the given sizes at 30 a second, a second on each stream, and 20 ms of audio in datagrams beside. It
// returns when the first frames of the groups, which are the large ones, were being sent, when C4
// began to probe or push, and what the monitor says of it.
func film(t *testing.T, down, up *link, sizes []int, f func(cc.Config) *c4.Controller) (bursts []span, probes []time.Time, s Snapshot) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, client := network(down, up)
		var o *observer
		var m Monitor
		p := newPair(t, server, client, New(Config{
			Controller: func(c cc.Config) cc.Controller {
				o = &observer{Controller: f(c)}
				return o
			},
			Monitor: func([]string) *Monitor { return &m },
		}), nil)
		c, from := p.connect()
		<-from.HandshakeComplete()
		go discardStreams(c)
		go func() {
			for from.SendDatagram(make([]byte, 160)) == nil {
				time.Sleep(20 * time.Millisecond)
			}
		}()
		begin := time.Now()
		var busy time.Time // end of the last frame
		var group *quic.SendStream
		for n, size := range sizes {
			if n%30 == 0 {
				if group != nil {
					group.Close()
				}
				var err error
				if group, err = from.OpenUniStream(); err != nil {
					t.Fatal(err)
				}
				group.SetPriority(4, false)
			}
			w := span{from: time.Now()}
			group.Write(make([]byte, size)) // returns when all of it is in packets
			w.to = time.Now()
			switch {
			case n%30 == 0:
				bursts = append(bursts, w)
			case w.from.Equal(busy) && bursts[len(bursts)-1].to.Equal(busy): // it is late
				bursts[len(bursts)-1].to = w.to
			}
			busy = w.to
			time.Sleep(time.Until(begin.Add(time.Duration(n+1) * time.Second / 30)))
		}
		s = m.Snapshot()
		p.close()
		time.Sleep(time.Minute)
		synctest.Wait()
		probes = o.probes
	})
	return bursts, probes, s
}

// share is how many of the probes began in a burst, after the first three seconds, in which C4 learns the path.
func share(bursts []span, probes []time.Time) (in, all int) {
	for _, p := range probes {
		if p.Before(bursts[3].from) {
			continue
		}
		all++
		if slices.ContainsFunc(bursts, func(b span) bool { return !p.Before(b.from) && !p.After(b.to) }) {
			in++
		}
	}
	return in, all
}

// TestProbesInBursts has C4 probe where there is data to probe with: while an I-frame is being sent. The sizes are those of the
// synthetic call of the drafts, and of a film that ffmpeg has encoded.
//
// "C4 will remain in cruising state until the application finally sends more data"
// [C4-DESIGN] Coordinated Pushing
func TestProbesInBursts(t *testing.T) {
	var synthetic []int
	for n := range 20 * 30 {
		if n%30 == 0 {
			synthetic = append(synthetic, 100_000)
		} else {
			synthetic = append(synthetic, 4000)
		}
	}
	text, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []int
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for field := range strings.FieldsSeq(line) {
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			recorded = append(recorded, n)
		}
	}
	recorded = append(recorded, recorded...)

	for _, test := range []struct {
		name  string
		sizes []int
		rate  float64
		delay time.Duration
	}{
		{"synthetic", synthetic, 10, 20 * time.Millisecond},
		{"recorded", recorded, 5, 10 * time.Millisecond},
		{"recorded", recorded, 10, 10 * time.Millisecond},
	} {
		run := func(cfg c4.Config) (in, all int, s Snapshot) {
			bursts, probes, s := film(t,
				&link{rate: mbps(test.rate), delay: test.delay, queue: 100 * time.Millisecond},
				&link{delay: test.delay}, test.sizes,
				func(c cc.Config) *c4.Controller { return c4.New(c, cfg) })
			in, all = share(bursts, probes)
			return in, all, s
		}
		in, all, s := run(c4.Default())
		inBefore, allBefore, _ := run(c4.Draft05())
		monitored := float64(s.EnteredInBurst[StateProbing]+s.EnteredInBurst[StatePushing]) / float64(s.Entered[StateProbing]+s.Entered[StatePushing])
		t.Logf("%s at %v Mbit/s: %d of %d probes begin in an I-frame, the monitor says %.0f %% in all; with draft-05 %d of %d. Limited for %.0f %% of the time",
			test.name, test.rate, in, all, monitored*100, inBefore, allBefore, s.Limited.Seconds()/s.Lifetime.Seconds()*100)
		if all < 5 || in*10 < all*9 {
			t.Errorf("%s at %v Mbit/s: %d of %d probes begin in an I-frame", test.name, test.rate, in, all)
		}
		if monitored < 0.9 {
			t.Errorf("%s at %v Mbit/s: the monitor says %.2f", test.name, test.rate, monitored)
		}
	}
}
