package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// session is one peer of the relay.
type session struct {
	relay *Relay
	id    uint64
	began time.Time
	moqt  *moqt.Session
	log   *slog.Logger
	ctx   context.Context // ends with the session
	done  chan struct{}   // closed when nothing of it runs any more

	mu     sync.Mutex // guards ended and additions to tasks
	ended  bool
	tasks  sync.WaitGroup
	tracks map[*moqt.Publication]*track // what joining fetches refer to; guarded by mu
	quota  quota                        // guarded by mu

	fills    chan struct{} // holds an element for each FETCH that is sent to the peer
	fillsFor chan struct{} // and for each that is sent to a publisher on its behalf

	upstreams map[wire.FullTrackName]*link // the newest link of each track; guarded by Relay.mu
}

// Serve runs the session of a connection that was accepted, until it ends or ctx does.
// It returns how the session ended, as moqt.Session.Run does.
func (r *Relay) Serve(ctx context.Context, conn moqt.Conn) error {
	return r.serve(ctx, moqt.New(conn, r.cfg.Session), nil)
}

// Connect runs a session that this side has opened and announces the given namespaces on it, so that the tracks
// that are published here can be subscribed to there. announced, if not nil, is called once all are accepted.
func (r *Relay) Connect(ctx context.Context, conn moqt.Conn, cfg moqt.Config, namespaces []wire.Namespace, announced func()) error {
	cfg.Logger = r.cfg.Logger
	return r.serve(ctx, moqt.New(conn, cfg), func(s *session) error {
		// The peer wants this side gone soon: leave, and let the caller connect again.
		// [MOQT-18] Section 10.4, GOAWAY
		s.spawn(func() {
			select {
			case <-s.moqt.GoingAway():
				s.moqt.Close(wire.SessionNoError, "")
			case <-s.ctx.Done():
			}
		})
		for _, ns := range namespaces {
			if _, err := s.moqt.PublishNamespace(s.ctx, ns); err != nil {
				return err
			}
		}
		if announced != nil {
			announced()
		}
		return nil
	})
}

func (r *Relay) serve(ctx context.Context, ms *moqt.Session, start func(*session) error) error {
	s := &session{
		relay: r, id: r.nextSession.Add(1), began: r.cfg.Now(), moqt: ms, ctx: ms.Context(), done: make(chan struct{}),
		tracks: make(map[*moqt.Publication]*track), upstreams: make(map[wire.FullTrackName]*link),
		fills: make(chan struct{}, maxFills), fillsFor: make(chan struct{}, maxFillsFor),
		log: r.cfg.Logger.With("remote", ms.Conn().Info().RemoteAddr, "transport", string(ms.Conn().Info().Transport)),
	}
	defer close(s.done)
	r.mu.Lock()
	var full error
	code := wire.SessionNoError
	switch {
	case r.draining:
		full = errDraining
	case len(r.sessions) >= r.cfg.MaxSessions:
		full, code = errFull, wire.SessionInternalError
		r.stats.SessionsOver.Add(1)
	}
	if full != nil {
		r.mu.Unlock()
		ms.Conn().Close(uint64(code), full.Error())
		return full
	}
	r.sessions[s] = struct{}{}
	r.stats.Sessions.Store(int64(len(r.sessions)))
	r.mu.Unlock()

	var failed error // of start; read after the tasks have ended
	s.spawn(func() { s.accept(s.ctx) })
	if start == nil {
		s.spawn(s.dismiss)
	}
	if start != nil {
		s.spawn(func() {
			if failed = start(s); failed != nil {
				ms.Close(wire.SessionNoError, "")
			}
		})
	}
	err := ms.Run(ctx)

	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.tasks.Wait()
	r.mu.Lock()
	delete(r.sessions, s)
	r.past.Add(ms.Stats())
	r.stats.Sessions.Store(int64(len(r.sessions)))
	r.mu.Unlock()

	var peer *moqt.SessionError
	switch {
	case failed != nil && s.ctx.Err() != nil && err == nil:
		err = failed
	case errors.As(err, &peer):
		s.log.Warn("session closed for the peer's fault", "code", peer.Code.String(), "reason", peer.Reason)
	}
	s.log.Debug("session ended", "error", err)
	return err
}

// dismiss lets a peer go that has sent GOAWAY: when all that its tracks have sent is taken in, the session is closed. A
// publisher that has ended its tracks can wait for that, since closing the connection itself would throw away what
// is still on the way.
func (s *session) dismiss() {
	select {
	case <-s.moqt.GoingAway():
	case <-s.ctx.Done():
		return
	}
	for {
		var busy <-chan struct{}
		s.relay.mu.Lock()
		for _, l := range s.upstreams {
			busy = l.done
		}
		s.relay.mu.Unlock()
		if busy == nil {
			break
		}
		select {
		case <-busy:
		case <-s.ctx.Done():
			return
		}
	}
	s.mu.Lock()
	watching := len(s.tracks) > 0
	s.mu.Unlock()
	if !watching {
		s.moqt.Close(wire.SessionNoError, "")
	}
}

// spawn runs f in a goroutine that the session waits for. It reports false if the session has ended.
func (s *session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.tasks.Go(f)
	return true
}

// accept answers the peer's requests, each in a goroutine of its own; the session bounds how many are open.
func (s *session) accept(ctx context.Context) {
	for {
		req, err := s.moqt.Accept(ctx)
		if err != nil {
			return
		}
		s.spawn(func() { s.handle(req) })
	}
}

func (s *session) handle(req moqt.Request) {
	if refused := s.claimRequest(); refused != nil {
		req.Reject(refused)
		return
	}
	switch req := req.(type) {
	case *moqt.IncomingSubscribe:
		s.answer(RequestSubscribe, req, s.withTrack(func() *moqt.RequestError { return s.subscribe(req) }))
	case *moqt.IncomingPublish:
		s.answer(RequestPublish, req, s.withTrack(func() *moqt.RequestError { return s.publish(req) }))
	case *moqt.IncomingPublishNamespace:
		s.answer(RequestPublishNamespace, req, s.publishNamespace(req))
	case *moqt.IncomingSubscribeNamespace:
		s.answer(RequestSubscribeNamespace, req, s.subscribeNamespace(req))
	case *moqt.IncomingTrackStatus:
		s.answer(RequestTrackStatus, req, s.trackStatus(req))
	case *moqt.IncomingFetch:
		s.answer(RequestFetch, req, s.fetch(req))
	case *moqt.IncomingSubscribeTracks:
		s.answer(RequestSubscribeTracks, req, s.subscribeTracks(req))
	case *moqt.IncomingPrefixUpdate:
		s.updatePrefix(req)
	default:
		req.Reject(nil)
	}
}

// withTrack calls the handler of a request that is for one of the tracks that the peer may have.
func (s *session) withTrack(handle func() *moqt.RequestError) *moqt.RequestError {
	if refused := s.claimTrack(); refused != nil {
		return refused
	}
	defer s.freeTrack()
	return handle()
}

// accepted counts a request that was accepted.
func (s *session) accepted(kind RequestKind) { s.relay.stats.Requests[kind].Accepted.Add(1) }

// answer refuses a request if its handler, which has returned, says so.
func (s *session) answer(kind RequestKind, req moqt.Request, refused *moqt.RequestError) {
	if refused == nil {
		return
	}
	s.relay.stats.Requests[kind].Refused.Add(1)
	s.log.Debug("request refused", "kind", kind.String(), "code", refused.Code.String(), "reason", refused.Reason)
	req.Reject(refused)
}

// checkName refuses names that are never served.
//
// [MOQT-18] Section 3.2.1, Reserved Namespaces; Section 3.2.2, Session-Level Tracks and Namespaces
func checkName(ns wire.Namespace) *moqt.RequestError {
	if ns.IsForbidden() || ns.IsSession() {
		return refuse(wire.RequestDoesNotExist, "reserved namespace")
	}
	return nil
}

// subscribe serves a SUBSCRIBE until it ends.
func (s *session) subscribe(req *moqt.IncomingSubscribe) *moqt.RequestError {
	if refused := checkName(req.Track.Namespace); refused != nil {
		return refused
	}
	forward := req.Params.Forward.Or(wire.DefaultForward)
	h, refused := s.relay.acquire(req.Context(), wish{
		track: req.Track, wait: req.Params.RendezvousTimeout.Or(0).Duration(),
		forward: forward, newGroup: req.Params.NewGroupRequest,
	})
	if refused != nil {
		return refused
	}
	defer h.release()
	t := h.route.track
	var begins atomic.Pointer[standing] // where the answer says that the subscription begins
	largest := func() (wire.Location, bool) {
		now := t.stand()
		begins.CompareAndSwap(nil, &now)
		return now.largest, now.published
	}
	pub, err := req.Accept(moqt.AcceptSubscribe{Largest: largest, Properties: t.properties()})
	if err != nil {
		var refused *moqt.RequestError
		if errors.As(err, &refused) { // the session has refused it already
			s.relay.stats.Requests[RequestSubscribe].Refused.Add(1)
		}
		return nil
	}
	s.accepted(RequestSubscribe)
	s.serve(pub, h, begins.Load())
	return nil
}

// serve sends a track to the peer for as long as its subscription lasts, from where the track stood when it began; nil
// is now.
func (s *session) serve(pub *moqt.Publication, h *hold, begins *standing) {
	t := h.route.track
	s.mu.Lock()
	s.tracks[pub] = t
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.tracks, pub)
		s.mu.Unlock()
	}()
	sub := &subscriber{track: t, pub: pub, cfg: &s.relay.cfg, stats: &s.relay.stats, hold: h, begins: begins}
	sub.run(s.ctx)
}

// publish takes a PUBLISH and feeds its track until it ends.
//
// "The relay MAY respond with PUBLISH_OK in Forward State=0 until there are known subscribers"
// [MOQT-18] Section 9.5, Publisher Interactions
func (s *session) publish(req *moqt.IncomingPublish) *moqt.RequestError {
	if req.Track.Namespace.IsSession() {
		return s.sessionTrack(req)
	}
	if refused := checkName(req.Track.Namespace); refused != nil {
		return refused
	}
	r := s.relay
	r.mu.Lock()
	rt := r.routes[req.Track]
	if rt == nil {
		if len(r.routes) >= r.cfg.MaxTracks {
			r.mu.Unlock()
			return refuse(wire.RequestExcessiveLoad, "too many tracks")
		}
		rt = r.newRoute(req.Track, false)
	}
	if rt.local {
		r.mu.Unlock()
		return refuse(wire.RequestUninterested, "this track is published here")
	}
	l, _ := rt.link(s, true)
	defer l.finish()
	l.forward = rt.wanted
	forward := l.forward
	r.arrived.fire()
	r.mu.Unlock()
	sub, err := req.Accept(wire.Params{Forward: wire.Some(forward)})
	if err != nil {
		l.drop(errLost)
		return nil
	}
	s.accepted(RequestPublish)
	l.feed(sub)
	return nil
}

// publishNamespace holds an announcement until the publisher withdraws it or is lost.
func (s *session) publishNamespace(req *moqt.IncomingPublishNamespace) *moqt.RequestError {
	if refused := checkName(req.Namespace); refused != nil {
		return refused
	}
	if refused := s.claimNamespace(); refused != nil {
		return refused
	}
	defer s.freeNamespace()
	// First on the books, so that whoever hears of the answer finds it. A SUBSCRIBE may overtake the answer: they go on
	// streams of their own.
	a, refused := s.relay.announce(s, req.Namespace)
	if refused != nil {
		return refused
	}
	if err := req.Accept(); err != nil {
		s.relay.withdraw(req.Namespace, a, false)
		return nil
	}
	s.accepted(RequestPublishNamespace)
	s.log.Info("namespace announced", "namespace", req.Namespace.String())
	<-req.Context().Done()
	// A publisher that withdraws or ends its session properly has left, one that is cut off may come back.
	var cutOff *moqt.ConnError
	lost := errors.As(context.Cause(req.Context()), &cutOff)
	s.relay.withdraw(req.Namespace, a, lost)
	s.log.Info("namespace gone", "namespace", req.Namespace.String(), "lost", lost)
	return nil
}

// subscribeNamespace tells the peer of the namespaces below its prefix, as they come and go.
func (s *session) subscribeNamespace(req *moqt.IncomingSubscribeNamespace) *moqt.RequestError {
	if refused := checkName(req.Prefix); refused != nil {
		return refused
	}
	if err := req.Accept(); err != nil {
		return nil
	}
	s.accepted(RequestSubscribeNamespace)
	told := make(map[wire.Namespace]uint64)
	for req.Context().Err() == nil {
		// The prefix may change at any time, so that a name that was there a moment ago no longer fits; then it is looked at again.
		prefix := req.CurrentPrefix()
		now, changed := s.relay.namespaces(prefix)
		if s.tell(req, prefix, now, told) != nil && req.CurrentPrefix() != prefix {
			continue
		}
		select {
		case <-changed:
		case <-req.Context().Done():
		}
	}
	return nil
}

// tell tells the peer what has changed of the namespaces below a prefix, and notes it in told.
func (s *session) tell(req *moqt.IncomingSubscribeNamespace, prefix wire.Namespace, now, told map[wire.Namespace]uint64) error {
	for ns, restarts := range told {
		again, there := now[ns]
		switch {
		case !ns.HasPrefix(prefix): // forgotten when the prefix changed
		case !there || again != restarts:
			if err := req.Withdraw(ns); err != nil {
				return err
			}
		default:
			continue
		}
		delete(told, ns)
	}
	for ns, restarts := range now {
		if _, known := told[ns]; !known {
			if err := req.Announce(ns); err != nil {
				return err
			}
			told[ns] = restarts
		}
	}
	return nil
}

// updatePrefix changes what a SUBSCRIBE_NAMESPACE or SUBSCRIBE_TRACKS is about.
func (s *session) updatePrefix(req *moqt.IncomingPrefixUpdate) {
	if refused := checkName(req.Prefix); refused != nil {
		req.Reject(refused)
		return
	}
	if req.Accept() != nil {
		return
	}
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.names.fire()
	s.relay.arrived.fire()
}

// trackStatus answers from a track that is carried, else asks a publisher.
func (s *session) trackStatus(req *moqt.IncomingTrackStatus) *moqt.RequestError {
	if refused := checkName(req.Track.Namespace); refused != nil {
		return refused
	}
	r := s.relay
	r.mu.Lock()
	rt, current, publishers := r.sources(req.Track)
	r.mu.Unlock()
	switch {
	case rt != nil && (current || len(publishers) == 0):
		var largest wire.Opt[wire.Location]
		if at, ok := rt.track.largestObject(); ok {
			largest = wire.Some(at)
		}
		req.Accept(moqt.TrackStatus{Largest: largest, Properties: rt.track.properties()})
		s.accepted(RequestTrackStatus)
		return nil
	case len(publishers) == 0:
		return refuse(wire.RequestDoesNotExist, "no publisher has announced this track")
	}
	status, refused := s.askStatus(req.Context(), publishers[0], req.Track)
	if refused != nil {
		return refused
	}
	req.Accept(status)
	s.accepted(RequestTrackStatus)
	return nil
}

// askStatus asks a publisher how far a track is.
func (s *session) askStatus(ctx context.Context, publisher *session, name wire.FullTrackName) (moqt.TrackStatus, *moqt.RequestError) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	status, err := publisher.moqt.TrackStatus(ctx, name)
	var refused *moqt.RequestError
	switch {
	case err == nil:
		return status, nil
	case errors.As(err, &refused):
		return status, refuse(refused.Code, "the publisher refused")
	}
	return status, refuse(wire.RequestInternalError, "the publisher did not answer")
}
