//go:build linux

package realstack

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
	"github.com/moq-c4/moq-c4/sim/emu"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stock is quic-go's own controller, NewReno.
const stock = "stock"

// factory returns what makes a controller, nil for quic-go's own.
func factory(t testing.TB, name string) func(cc.Config) cc.Controller {
	switch name {
	case stock:
		return nil
	case "c4":
		return func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) }
	case "c4-draft04":
		return func(c cc.Config) cc.Controller { return c4.New(c, c4.Draft04()) }
	}
	t.Fatalf("no controller %q", name)
	return nil
}

// measured is what a run of the real stack gives.
type measured struct {
	// time is the simulator's completion time: from the start of the handshake to the end of
	// closing, with the subscription in place of the simulator's request. The
	// round trip that MOQT takes for its SETUP is left out.
	time time.Duration

	rtt         time.Duration // mean of the server's samples, one for each acknowledgement
	sources     map[string]*lateness
	down        emu.Counters
	ect1        int
	controllers quicnet.ControllerStats
	cancelled   int
	handshake   time.Duration
	began       time.Time
}

// average is the simulator's av_latency: the highest average of the measured sources.
func (m *measured) average(sc *scenario.Scenario) (av, most time.Duration) {
	for _, s := range sc.Flows[0].Sources {
		if l := m.sources[s.Name]; s.Measured {
			av, most = max(av, l.mean()), max(most, l.max)
		}
	}
	return av, most
}

// lateness of a source's frames.
type lateness struct {
	mu        sync.Mutex
	n         int
	sum, max  time.Duration
	steadyMax time.Duration // of what was due after steadyFrom
	worst     int
}

// steadyFrom is when the beginning is over: the first frames wait for the initial window, and C4 may be in its state Initial,
// which sends twice as fast as the path was seen to deliver, until the second group has begun.
const steadyFrom = 2 * time.Second

func (l *lateness) add(d, due time.Duration, index int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d = max(0, d)
	l.n++
	l.sum += d
	l.max = max(l.max, d)
	if due >= steadyFrom && d > l.steadyMax {
		l.steadyMax, l.worst = d, index
	}
}

func (l *lateness) mean() time.Duration { return l.sum / time.Duration(max(1, l.n)) }

// runStack runs a scenario with one flow.
func runStack(t *testing.T, sc *scenario.Scenario, controller string, seed uint64) *measured {
	t.Helper()
	m := &measured{sources: make(map[string]*lateness)}
	qlogs := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, sc, controller, seed, qlogs)
		s.connect(m)
		if f := &sc.Flows[0]; len(f.Sources) > 0 {
			s.media(f, m)
		} else {
			s.bulk(f.Size, m)
		}
		m.time = m.handshake + time.Since(m.began) + s.closing(m)
		_, m.down = s.net.stats()
		m.ect1, m.controllers = s.net.ect1, s.monitor.Stats()
		s.close()
	})
	m.rtt = meanRTT(t, qlogs)
	return m
}

// stack is a relay and a subscriber.
type stack struct {
	*testing.T
	scenario *scenario.Scenario
	net      *network
	monitor  quicnet.ControllerMonitor
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
	relay    *relay.Relay
	listener *quicnet.Listener
	session  *moqt.Session
}

func newStack(t *testing.T, sc *scenario.Scenario, controller string, seed uint64, qlogs string) *stack {
	t.Helper()
	s := &stack{T: t, scenario: sc, net: newNetwork(t, emu.Of(sc), seed), relay: relay.New(relay.Config{})}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	cert, err := quicnet.NewDevCertificate(quicnet.DevCertificateConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s.listener, err = quicnet.Listen(quicnet.ListenConfig{
		TransportConfig: quicnet.TransportConfig{
			Socket: s.net.server.open, Controller: factory(t, controller), QLogDir: qlogs, Monitor: &s.monitor,
		},
		Addr: serverAddr.String(), Certificate: cert,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.running.Go(func() { s.listener.Run(s.ctx) })
	s.running.Go(func() { s.relay.Run(s.ctx) })
	s.running.Go(func() {
		for {
			c, err := s.listener.Accept(s.ctx)
			if err != nil {
				return
			}
			s.running.Go(func() { s.relay.Serve(s.ctx, c) })
		}
	})
	synctest.Wait()
	return s
}

// connect makes the subscriber's session and lets the link's timeline begin so that what follows
// is at the time at which the simulator's client sends its request.
func (s *stack) connect(m *measured) {
	s.Helper()
	begin := time.Now()
	conn, err := quicnet.Dial(s.ctx, "moqt://"+serverAddr.String()+"/", quicnet.DialConfig{
		TransportConfig: quicnet.TransportConfig{Socket: s.net.client.open}, Insecure: true,
	})
	if err != nil {
		s.Fatal(err)
	}
	m.handshake = time.Since(begin)
	s.session = moqt.New(conn, moqt.Config{Authority: serverAddr.String(), Path: "/"})
	s.running.Go(func() { s.session.Run(s.ctx) })
	if err := s.session.Ready(s.ctx); err != nil {
		s.Fatal(err)
	}
	m.began = time.Now()
	s.net.restart(m.began.Add(-m.handshake))
}

// closing is the round trip that the simulator takes to close the connection: as long as the handshake, unless the delay has
// changed meanwhile.
func (s *stack) closing(m *measured) time.Duration {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	ph := s.scenario.Phases
	return m.handshake + 2*(ph[s.net.path.Phase()].Down.Delay-ph[0].Down.Delay)
}

func (s *stack) close() {
	s.session.Close(wire.SessionNoError, "")
	s.cancel()
	s.running.Wait()
	time.Sleep(time.Minute) // quic-go remembers closed connections for a while
	s.net.close()
}

func trackName(name string) wire.FullTrackName {
	return wire.FullTrackName{Namespace: wire.MustNamespace("sim"), Name: name}
}

func (s *stack) publish(name string) *relay.LocalTrack {
	s.Helper()
	props := wire.TrackProperties{DynamicGroups: wire.Some(true)}
	p, err := props.Properties(wire.Draft18)
	if err != nil {
		s.Fatal(err)
	}
	t, err := s.relay.Publish(trackName(name), p)
	if err != nil {
		s.Fatal(err)
	}
	return t
}

// bulk transfers size bytes as one group and returns after the last one.
func (s *stack) bulk(size int64, m *measured) {
	s.Helper()
	const object = 64 << 10
	payload := make([]byte, object)
	track := s.publish("bulk")
	for n := uint64(0); size > 0; n++ {
		p := payload[:min(size, object)]
		size -= int64(len(p))
		if err := track.Write(relay.LocalObject{Object: n, Payload: p, EndOfGroup: size == 0}); err != nil {
			s.Fatal(err)
		}
	}
	sub, err := s.session.Subscribe(s.ctx, moqt.SubscribeRequest{Track: trackName("bulk")})
	if err != nil {
		s.Fatal(err)
	}
	in, err := sub.Next(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for {
		if _, err := in.Subgroup.Next(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			s.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, in.Subgroup); err != nil {
			s.Fatal(err)
		}
	}
}
