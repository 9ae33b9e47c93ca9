package moqt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Session is one MOQT session. All methods may be called from several goroutines.
//
// Each stream that is read has a goroutine that reads it; what they share is guarded by mu. Methods that send write to
// the stream themselves.
type Session struct {
	// Fixed after New.
	conn         Conn
	events       EventLogger // nil: nowhere
	cfg          Config
	adapter      *conn16 // conn, if the peer speaks draft-16
	version      wire.Version
	server       bool
	webTransport bool
	log          *slog.Logger
	ctx          context.Context // ends with the session
	cancel       context.CancelCauseFunc
	ready        chan struct{} // closed when the peer's SETUP is there
	goingAway    chan struct{} // closed when the peer's GOAWAY is there
	goAwayOut    chan []byte   // GOAWAY for the goroutine that writes the control stream
	bigMessages  chan struct{} // holds a token for each long message that is being read

	stats      counters
	priorities priorities
	datagrams  datagramQueue

	tasks sync.WaitGroup // goroutines that Run waits for; added to by spawn only

	// mu guards what follows. Of all locks of the package it is taken last: with it held, no other lock is taken and
	// nothing blocks.
	mu         sync.Mutex
	running    bool
	ended      bool  // no goroutine may be added
	endErr     error // why; nil after NO_ERROR
	peer       Peer
	peerGoAway GoAway
	control    bool // the peer's control stream is there
	leaving    bool // GOAWAY was sent

	nextID    uint64   // of our next request
	seen      idWindow // the peer's request ids
	nextAlias uint64
	open      int // requests that have not ended, of both sides
	openPeer  int // of the peer

	incoming []Request // waiting for Accept
	arrived  signal    // incoming has grown

	registry registry
	aliases  aliasTable
	tokens   tokenCache
	sent     sentTokens
}

// Peer is what the peer said about itself.
type Peer struct {
	Implementation string // MOQT_IMPLEMENTATION: untrusted
	Authority      string // from SETUP on native QUIC, from the CONNECT request on WebTransport; at servers only
	Path           string // with query; at servers only

	// Tokens are the authorization tokens of SETUP.
	Tokens []wire.Token

	// AuthTokenCache is how many bytes of authorization tokens it lets this side register (MAX_AUTH_TOKEN_CACHE_SIZE).
	AuthTokenCache uint64

	// MaxRequestUpdates is how many updates of one request it lets this side have unanswered; 0 is no limit. Draft-19 only.
	MaxRequestUpdates uint64
}

// maxBigMessages is how many messages longer than smallMessage a session reads at once. Together with
// [Config].MaxRequests it bounds the memory for messages of which only a part has arrived.
const (
	maxBigMessages = 8
	smallMessage   = 2048
)

// New makes a session on conn, as client or server by what conn says. Nothing happens before [Session.Run].
func New(conn Conn, cfg Config) *Session {
	info := conn.Info()
	s := &Session{
		conn:         conn,
		events:       eventLogger(conn),
		cfg:          cfg.withDefaults(),
		server:       info.Server,
		webTransport: info.Transport == TransportWebTransport,
		ready:        make(chan struct{}),
		goingAway:    make(chan struct{}),
		goAwayOut:    make(chan []byte, 1),
		bigMessages:  make(chan struct{}, maxBigMessages),
	}
	s.log = s.cfg.Logger
	s.version, _ = wire.VersionFromALPN(info.Protocol)
	if s.version == wire.Draft16 {
		s.adapter = newConn16(s, conn)
		s.conn, s.version = s.adapter, adaptedVersion
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if s.server {
		s.nextID = 1
	} else {
		s.seen.parity = 1
	}
	s.registry.init()
	s.aliases.init()
	s.tokens.limit = s.cfg.AuthTokenCache
	s.datagrams.init(s)
	return s
}

// Run runs the session until it ends, and returns when all its goroutines have ended. When ctx ends, the session closes
// with NO_ERROR. The result is nil if the session ended with NO_ERROR, whoever closed it; else it is a [*SessionError], a
// [*PeerCloseError] or a [*ConnError].
func (s *Session) Run(ctx context.Context) error {
	s.mu.Lock()
	again := s.running
	s.running = true
	s.mu.Unlock()
	if again {
		return errors.New("moqt: Run was called twice")
	}
	defer context.AfterFunc(ctx, func() { s.Close(wire.SessionNoError, "") })()
	defer context.AfterFunc(s.conn.Context(), func() { s.end(connCause(s.conn)) })()

	if s.version == 0 {
		s.fail(wire.SessionVersionNegotiationFailed, "no common version")
	}
	if s.adapter != nil {
		s.adapter.run()
	}
	s.spawn(s.runControl)
	s.spawn(s.acceptStreams)
	s.spawn(s.acceptUniStreams)
	s.spawn(s.receiveDatagrams)
	s.spawn(s.awaitSetup)

	<-s.ctx.Done()
	s.mu.Lock()
	s.ended = true
	err := s.endErr
	s.mu.Unlock()
	var local *SessionError
	if errors.As(err, &local) {
		s.log.Debug("closing session", "code", local.Code.String(), "reason", local.Reason)
		s.conn.Close(uint64(local.Code), local.Reason)
	} else {
		s.conn.Close(uint64(wire.SessionNoError), "")
	}
	s.stopPending()
	s.tasks.Wait()
	return err
}

// connCause returns why a connection has ended.
func connCause(conn Conn) error {
	err := context.Cause(conn.Context())
	var ce *ConnError
	switch {
	case !errors.As(err, &ce):
		return &ConnError{Err: err}
	case ce.App && ce.Code == uint64(wire.SessionNoError):
		return nil
	case ce.App && ce.Remote:
		return &PeerCloseError{Code: wire.SessionCode(ce.Code), Reason: ce.Reason}
	}
	return ce
}

// spawn runs f in a goroutine that Run waits for, unless the session has ended.
func (s *Session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.tasks.Go(f)
	return true
}

// end ends the session. Only the first call has an effect.
func (s *Session) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(err)
}

// endLocked is end for who holds mu. It returns err.
func (s *Session) endLocked(err error) error {
	if s.ctx.Err() != nil {
		return err
	}
	s.endErr = err
	if err == nil {
		s.cancel(ErrClosed)
	} else {
		s.cancel(err)
	}
	return err
}

// endCause returns why the session has ended, or [ErrClosed].
func (s *Session) endCause() error {
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	return ErrClosed
}

// fail closes the session for a fault of the peer.
func (s *Session) fail(code wire.SessionCode, reason string) error {
	err := &SessionError{Code: code, Reason: reason}
	s.end(err)
	return err
}

// violation closes the session with PROTOCOL_VIOLATION.
func (s *Session) violation(reason string) error {
	return s.fail(wire.SessionProtocolViolation, reason)
}

// failWire closes the session if err is a [*wire.Error] and returns what the session's methods should return.
func (s *Session) failWire(err error) error {
	var we *wire.Error
	if errors.As(err, &we) {
		return s.fail(we.Code, we.Reason)
	}
	return err
}

// Close ends the session. Only the first call, and only before the session has ended otherwise, has an effect. Run
// returns when all is done.
func (s *Session) Close(code wire.SessionCode, reason string) error {
	if code == wire.SessionNoError {
		s.end(nil)
	} else {
		s.end(&SessionError{Code: code, Reason: reason})
	}
	return nil
}

// Ready waits until the SETUPs of both sides are there.
func (s *Session) Ready(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	default:
	}
	select {
	case <-s.ready:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Context ends with the session. Its cause is what Run returns, and [ErrClosed] where Run returns nil.
func (s *Session) Context() context.Context { return s.ctx }

// Conn returns the connection of the session.
func (s *Session) Conn() Conn {
	if s.adapter != nil {
		return s.adapter.Conn
	}
	return s.conn
}

// Peer returns what the peer said about itself. It is empty until the session is ready.
func (s *Session) Peer() Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}

// Accept waits for the next request of the peer: one of the Incoming types. It must be called all the time, and each
// request answered with its Accept or Reject.
func (s *Session) Accept(ctx context.Context) (Request, error) {
	for {
		s.mu.Lock()
		for len(s.incoming) > 0 {
			r := s.incoming[0]
			s.incoming[0] = nil
			s.incoming = s.incoming[1:]
			if r.Context().Err() == nil { // else the peer has cancelled it
				s.mu.Unlock()
				return r, nil
			}
		}
		s.incoming = nil
		arrived := s.arrived.wait()
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// offer hands a request to Accept. Those that wait and are still open are never more than [Config].MaxRequests; those that the
// peer has cancelled meanwhile are forgotten when there are as many again.
func (s *Session) offer(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.incoming) >= 2*s.cfg.MaxRequests {
		s.incoming = slices.DeleteFunc(s.incoming, func(r Request) bool { return r.Context().Err() != nil })
	}
	s.incoming = append(s.incoming, r)
	s.arrived.fire()
}

// awaitSetup gives the peer its time for SETUP.
func (s *Session) awaitSetup() {
	t := time.NewTimer(s.cfg.SetupTimeout)
	defer t.Stop()
	select {
	case <-s.ready:
	case <-s.ctx.Done():
	case <-t.C:
		s.fail(wire.SessionControlMessageTimeout, "no SETUP in time")
	}
}
