package main

import (
	"slices"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/relay"
)

var transports = []moqt.Transport{moqt.TransportQUIC, moqt.TransportWebTransport}

// The path of the figures: 40 ms of round trip, and a queue of twice the delay-bandwidth product at most.
const (
	pathRTT   = 40 * time.Millisecond
	pathQueue = 80 * time.Millisecond
	frameTime = time.Second / 30
)

// settled is when a connection has learned its path.
const settled = 2 * time.Second

// seenOn is what a viewer sees of tracks of the call over a path of constant rate (bit/s), from settled on for d.
func seenOn(t *testing.T, tr moqt.Transport, rate float64, d time.Duration, tracks ...string) (v *viewer, from, to time.Time) {
	t.Helper()
	v = newViewer(benchNamespace, tracks, []string{midTrack})
	runStack(t, relay.Config{}, func(st *stack) {
		stop := st.watch(tr, st.net.addHost(path(rate, pathRTT, pathQueue)), v)
		st.play()
		time.Sleep(settled)
		from = time.Now()
		time.Sleep(d)
		to = time.Now()
		time.Sleep(time.Second) // what is under way
		stop()
	})
	return v, from, to
}

// A bulk track at a lower priority that would take everything does not reach the call: on a 4 Mbit/s path, which the call's
// 3.2 Mbit/s fill to bursting, audio and small video are as on an empty one, the better video is given up where its bursts
// come too late, and the bulk gets the rest.
func TestCallBesideBulk(t *testing.T) {
	const rate, d = 4e6, 20 * time.Second
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) {
			alone := func(track string) []time.Duration {
				v, from, to := seenOn(t, tr, rate, 5*time.Second, track)
				return v.seen[track].delays(from, to)
			}
			emptyAudio, emptyLow := alone(audioTrack), alone(lowTrack)
			v, from, to := seenOn(t, tr, rate, d, audioTrack, lowTrack, midTrack, bulkTrack)

			audio := v.seen[audioTrack].delays(from, to)
			t.Logf("audio: %d frames, p99 %v; on the empty path %v", len(audio), quantile(audio, .99), quantile(emptyAudio, .99))
			if want := int(d / audioPeriod); len(audio) < want {
				t.Errorf("%d of %d audio frames came", len(audio), want)
			}
			if got, want := quantile(audio, .99), quantile(emptyAudio, .99)+15*time.Millisecond; got > want {
				t.Errorf("audio p99 is %v, want at most %v", got, want)
			}
			low := v.seen[lowTrack].delays(from, to)
			t.Logf("low: %d frames, p95 %v; on the empty path %v", len(low), quantile(low, .95), quantile(emptyLow, .95))
			if want := int(d / frameTime); len(low) < want {
				t.Errorf("%d of %d frames of the small video came", len(low), want)
			}
			if got, want := quantile(low, .95), quantile(emptyLow, .95)+frameTime; got > want {
				t.Errorf("p95 of the small video is %v, want at most %v", got, want)
			}
			// Cancelled cleanly: every group was begun, and ended here or came whole; the relay took none back.
			groups := v.seen[midTrack].between(from, to)
			for _, g := range groups {
				if g.reset || !g.stopped && !g.complete {
					t.Errorf("a group of the better video ended otherwise: %+v", *g)
				}
			}
			bulk := 8 * float64(v.seen[bulkTrack].bytes) / (settled + d + time.Second).Seconds()
			rest := rate - 8*float64(v.seen[audioTrack].bytes+v.seen[lowTrack].bytes+v.seen[midTrack].bytes)/(settled+d+time.Second).Seconds()
			t.Logf("%d groups of the better video; bulk %.2f of %.2f Mbit/s that the call leaves", len(groups), bulk/1e6, rest/1e6)
			if len(groups) < 19 {
				t.Errorf("%d groups of the better video in %v", len(groups), d)
			}
			if bulk < 0.8*rest {
				t.Errorf("the bulk got %.2f Mbit/s of %.2f that the call leaves", bulk/1e6, rest/1e6)
			}
		})
	}
}

// A path that carries a little more than audio and small video: both arrive whole, the better video is given up group after
// group without a queue growing anywhere, and is back within two groups when the path carries it again.
func TestCallOnASlowPath(t *testing.T) {
	const slow, fast = 2e6, 10e6
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) {
			tracks := []string{audioTrack, lowTrack, midTrack}
			v := newViewer(benchNamespace, tracks, []string{midTrack})
			var from, back, to time.Time
			var queue time.Duration // the longest in the network
			var streams int64       // open at the relay at once
			runStack(t, relay.Config{}, func(st *stack) {
				down, up := path(slow, pathRTT, pathQueue)
				h := st.net.addHost(down, up)
				stop := st.watch(tr, h, v)
				st.play()
				time.Sleep(settled)
				for from = time.Now(); time.Since(from) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
					queue = max(queue, h.in.queueDelay())
					streams = max(streams, st.relay.Stats().Cursors.Load())
				}
				back = time.Now()
				faster := *down
				faster.Rate = fast
				h.in.change(faster)
				time.Sleep(6 * time.Second)
				to = time.Now()
				time.Sleep(time.Second)
				stop()
			})

			audio := v.seen[audioTrack].delays(from, back)
			beyond := quantile(audio, .99) - pathRTT/2
			t.Logf("audio: %d frames, p99 %v beyond the path", len(audio), beyond)
			if want := int(back.Sub(from) / audioPeriod); len(audio) < want {
				t.Errorf("%d of %d audio frames came", len(audio), want)
			}
			if beyond > 30*time.Millisecond {
				t.Errorf("audio p99 is %v beyond the path", beyond)
			}
			low := v.seen[lowTrack].delays(from, back)
			t.Logf("low: %d frames, p95 %v; longest queue %v; %d streams at once", len(low), quantile(low, .95), queue, streams)
			if want := int(back.Sub(from) / frameTime); len(low) < want {
				t.Errorf("%d of %d frames of the small video came", len(low), want)
			}
			for _, g := range v.seen[midTrack].between(from, back.Add(-time.Second)) {
				if !g.stopped {
					t.Errorf("a group of the better video was not given up: %+v", *g)
				}
				if held := g.ended.Sub(g.began); held > time.Second {
					t.Errorf("a group of the better video was held on to for %v", held)
				}
			}
			if queue > 30*time.Millisecond {
				t.Errorf("a queue of %v has grown in the network", queue)
			}
			if streams > 4 { // a group of each video, and the next of each
				t.Errorf("%d streams were open at once", streams)
			}
			groups := v.seen[midTrack].between(back, to)
			whole := slices.IndexFunc(groups, func(g *groupSeen) bool { return g.complete })
			t.Logf("back: group %d of %d is the first whole one", whole, len(groups))
			if whole < 0 || whole > 1 {
				t.Errorf("the group number %d is the first whole one after the path is back", whole)
			}
			for _, g := range groups[max(whole, 0):] {
				if !g.complete {
					t.Errorf("after that, a group did not come whole: %+v", *g)
				}
			}
		})
	}
}
