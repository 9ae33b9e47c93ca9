package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// ErrSessionOver stands for a session that the relay ended without fault.
var ErrSessionOver = errors.New("the relay closed the session")

// WithSession connects and calls do with the session of a subscriber, which refuses all that the relay asks for and leaves
// when the relay is going away. The context of do ends with the session. WithSession returns what do returns, or why the
// session ended if that came first, when nothing of the session runs any more.
func (d *Dialer) WithSession(ctx context.Context, do func(context.Context, *moqt.Session) error) error {
	conn, err := d.Dial(ctx)
	if err != nil {
		return err
	}
	s := moqt.New(conn, d.SessionConfig())
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = s.Run(ctx) })
	running.Go(func() { // a subscriber has nothing to offer
		for {
			req, err := s.Accept(ctx)
			if err != nil {
				return
			}
			req.Reject(nil)
		}
	})
	running.Go(func() {
		select {
		case <-s.GoingAway():
			d.log.Info("the relay is going away")
			s.Close(wire.SessionNoError, "")
		case <-s.Context().Done():
		}
	})
	err = s.Ready(ctx)
	if err == nil {
		err = do(s.Context(), s)
	}
	lost := s.Context().Err() != nil
	s.Close(wire.SessionNoError, "")
	running.Wait()
	if lost && ctx.Err() == nil {
		if ended == nil {
			ended = ErrSessionOver
		}
		return ended
	}
	return err
}
