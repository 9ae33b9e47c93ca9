package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
)

// testCase is one thing to test.
type testCase struct {
	name    string
	timeout time.Duration
	run     func(ctx context.Context, t *tester) error
}

// find returns the case of a name as a list, nil if there is none.
func find(name string) []testCase {
	for _, c := range cases {
		if c.name == name {
			return []testCase{c}
		}
	}
	return nil
}

// tester runs one case. It owns the connections that the case makes.
type tester struct {
	flags *flags
	dial  quicnet.DialConfig
	tc    testCase

	report  report
	running sync.WaitGroup

	mu            sync.Mutex
	sessions      []*moqt.Session
	announcements []*moqt.Announcement
}

func newTester(f *flags, dial quicnet.DialConfig, c testCase) *tester {
	return &tester{flags: f, dial: dial, tc: c}
}

// run runs the case and closes its connections.
func (t *tester) run(ctx context.Context) error {
	timeout := t.tc.timeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := t.tc.run(ctx, t)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("not done after %v: %w", timeout, err)
	}
	if err != nil {
		for _, s := range t.sessions { // the cause is often that a session has ended
			if e := t.unexpectedEnd(s); e != nil {
				err = fmt.Errorf("%w (%w)", err, e)
				break
			}
		}
	}
	t.mu.Lock()
	sessions, announcements := t.sessions, t.announcements
	t.mu.Unlock()
	// Some relays keep a namespace for a while whose publisher closes its session without a word, and refuse the next one.
	for _, a := range announcements {
		a.Withdraw()
	}
	if len(announcements) > 0 {
		time.Sleep(withdrawTime)
	}
	for _, s := range sessions {
		if e := t.unexpectedEnd(s); e != nil && err == nil {
			err = e
		}
		s.Close(wire.SessionNoError, "")
	}
	t.running.Wait()
	return err
}

// unexpectedEnd returns why a session has ended already, if that was not by this side's will.
func (t *tester) unexpectedEnd(s *moqt.Session) error {
	select {
	case <-s.Context().Done():
		return fmt.Errorf("the session has ended early: %w", context.Cause(s.Context()))
	default:
		return nil
	}
}

// connect makes a session in a role, and answers the relay's requests with what is given.
func (t *tester) connect(ctx context.Context, role string, answer func(moqt.Request)) (*moqt.Session, error) {
	conn, err := quicnet.Dial(ctx, t.flags.relay, t.dial)
	if err != nil {
		return nil, fmt.Errorf("%s: connect: %w", role, err)
	}
	cfg := moqt.Config{Logger: t.flags.log.With("role", role), Implementation: "moq-interop", AssumedMaxRequestID: t.flags.requests}
	if info := conn.Info(); info.Transport == moqt.TransportQUIC {
		cfg.Authority, cfg.Path = target(t.flags.relay)
	}
	s := moqt.New(conn, cfg)
	t.mu.Lock()
	t.sessions = append(t.sessions, s)
	if len(t.sessions) == 1 {
		t.report.add("protocol", conn.Info().Protocol)
	}
	t.mu.Unlock()
	t.running.Go(func() { s.Run(context.WithoutCancel(ctx)) })
	t.running.Go(func() {
		for {
			req, err := s.Accept(s.Context())
			if err != nil {
				return
			}
			if answer == nil {
				req.Reject(nil)
				continue
			}
			t.running.Go(func() { answer(req) })
		}
	})
	if err := s.Ready(ctx); err != nil {
		return nil, fmt.Errorf("%s: SETUP: %w", role, err)
	}
	return s, nil
}

// withdrawTime is how long a relay is given to hear that a namespace was withdrawn, before the session is closed.
const withdrawTime = 50 * time.Millisecond

// announce publishes a namespace until the case is over.
func (t *tester) announce(ctx context.Context, s *moqt.Session, ns wire.Namespace) (*moqt.Announcement, error) {
	a, err := s.PublishNamespace(ctx, ns)
	if err != nil {
		return nil, fmt.Errorf("PUBLISH_NAMESPACE: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.announcements = append(t.announcements, a)
	return a, nil
}

// namespace is one that no other case and no other run uses.
func (t *tester) namespace(more ...string) wire.Namespace {
	return wire.MustNamespace(append([]string{"moq-test", "interop", t.tc.name, t.flags.run}, more...)...)
}

// refusedWith returns the code of a refusal.
func refusedWith(err error) (wire.RequestCode, bool) {
	var refused *moqt.RequestError
	if !errors.As(err, &refused) || refused.Local {
		return 0, false
	}
	return refused.Code, true
}
