package main

import (
	"cmp"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/relay"
	"github.com/moq-c4/moq-c4/sim/link"
)

// step is a change of a path at a time of the scenario.
type step struct {
	after  time.Duration
	params link.Params
}

// mediaScenario is one of the C4 test plan's with media, and what its reference implementation needs there.
// [C4] Testing the C4 algorithm; the delays are those of c4 in picoquic's simulator: the average, and the largest in nine of ten
// runs, of the audio or the small video, whichever is more.
type mediaScenario struct {
	name         string
	params       link.Params
	steps        []step
	seconds      int
	from         time.Duration // of the call, from where frames count
	seeds        int
	average, max time.Duration
	beyond       int // percent by which the largest may be more than max; 15 if 0
}

func wifi(p link.Params, jitter time.Duration) link.Params {
	p.Jitter = jitter
	return p
}

func withRate(p link.Params, rate float64) link.Params {
	p.Rate = rate
	return p
}

func mediaScenarios() []mediaScenario {
	base := func(mbps float64, delay time.Duration) link.Params {
		return link.Params{Rate: mbps * 1e6, Delay: delay, Queue: 100 * time.Millisecond}
	}
	const us, ms = time.Microsecond, time.Millisecond
	fade, suspended := base(20, 20*ms), base(20, 5*ms)
	var suspensions []step
	for at := 1800 * ms; at < 5*time.Second; at += 2 * time.Second {
		suspensions = append(suspensions, step{at, withRate(suspended, 0)}, step{at + 200*ms, suspended})
	}
	return []mediaScenario{
		{name: "media", params: base(100, 15*ms), seconds: 5, seeds: 2, average: 33512 * us, max: 43453 * us},
		// C4 may still be in its initial state when the second group begins, and that burst waits in the queue: 85 ms once.
		{name: "media10", params: base(10, 20*ms), seconds: 5, seeds: 3, average: 45377 * us, max: 71128 * us, beyond: 25},
		{name: "media_600fr", params: base(100, 15*ms), seconds: 20, average: 33625 * us, max: 43453 * us},
		{
			name: "media_short_long", params: base(100, 15*ms), seconds: 10, from: 5 * time.Second, average: 100795 * us, max: 111153 * us,
			steps: []step{{time.Second, link.Params{Rate: 100e6, Delay: 50 * ms, Queue: 200 * ms}}},
		},
		{name: "media_wb", params: wifi(base(20, ms), 7*ms), seconds: 5, seeds: 4, average: 83119 * us, max: 275882 * us},
		{
			name: "media_wf", params: wifi(fade, 999*us), seconds: 5, seeds: 3, average: 81464 * us, max: 282298 * us,
			steps: []step{{time.Second, wifi(withRate(fade, 18e6), 12*ms)}, {3 * time.Second, wifi(fade, 999*us)}},
		},
		{name: "media_ws", params: suspended, seconds: 5, average: 22939 * us, max: 197821 * us, steps: suspensions},
	}
}

// The media scenarios of the C4 test plan, on the real stack: publisher, relay, quic-go with C4, subscriber. The test plan's
// client asks for each group, so that its delays are those of a round trip; here nobody asks, and half of it is added. The
// scenario with ECN is left out: sockets in memory carry none.
func TestMediaScenarios(t *testing.T) {
	for _, sc := range mediaScenarios() {
		t.Run(sc.name, func(t *testing.T) {
			var average, largest time.Duration
			seeds := max(sc.seeds, 1)
			for seed := range seeds {
				a, m := playScenario(t, sc, uint64(seed))
				average += a / time.Duration(seeds)
				largest += m / time.Duration(seeds)
			}
			// Headers of objects and smaller packets make the bursts longer by a few per cent, and timers of the real thing
			// are not those of a simulator.
			allowed := cmp.Or(sc.beyond, 15)
			if average > sc.average*110/100 || largest > sc.max*time.Duration(100+allowed)/100 {
				t.Errorf("average %v, largest %v: above the reference's %v by more than 10 %%, or %v by more than %d %%", average, largest, sc.average, sc.max, allowed)
			}
			t.Logf("average %v of %v, largest %v of %v", average.Round(time.Microsecond), sc.average, largest.Round(time.Microsecond), sc.max)
		})
	}
}

func playScenario(t *testing.T, sc mediaScenario, seed uint64) (average, largest time.Duration) {
	tracks := []string{audioTrack, lowTrack, midTrack}
	v := newViewer(benchNamespace, tracks, []string{midTrack})
	var began, ended time.Time
	runStack(t, relay.Config{}, func(st *stack) {
		st.net.seed = 100 * seed
		down, up := sc.params, sc.params
		h := st.net.addHost(&down, &up)
		stop := st.watch(moqt.TransportQUIC, h, v)
		st.play()
		began = time.Now()
		for _, s := range sc.steps {
			// The test plan's clock begins with the handshake, a round trip before the call.
			time.Sleep(time.Until(began.Add(s.after - 2*sc.params.Delay)))
			h.in.change(s.params)
			h.out.change(s.params)
		}
		ended = began.Add(time.Duration(sc.seconds) * time.Second)
		time.Sleep(time.Until(ended.Add(time.Second)))
		stop()
	})
	delay := sc.params.Delay
	if len(sc.steps) > 0 {
		delay = sc.steps[len(sc.steps)-1].params.Delay
	}
	for _, name := range tracks[:2] {
		ds := v.seen[name].delays(began.Add(max(sc.from, 140*time.Millisecond)), ended)
		if len(ds) == 0 {
			t.Fatal("nothing came")
		}
		var sum time.Duration
		for _, d := range ds {
			sum += d + delay
		}
		average = max(average, sum/time.Duration(len(ds)))
		largest = max(largest, ds[len(ds)-1]+delay)
	}
	return average, largest
}
