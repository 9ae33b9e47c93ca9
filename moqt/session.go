package moqt

import (
	"context"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Session is one MOQT session. All methods may be called from several goroutines.
type Session struct{}

// Peer is what the peer said about itself.
type Peer struct {
	Implementation string // MOQT_IMPLEMENTATION: untrusted
	Authority      string // from SETUP on native QUIC, from the CONNECT request on WebTransport; servers only
	Path           string // with query; servers only

	// Tokens are the authorization tokens of SETUP.
	Tokens []wire.Token
}

// New makes a session on conn, as client or server by what conn says. Nothing happens before [Session.Run].
func New(conn Conn, cfg Config) *Session { panic("not written") }

// Run runs the session until it ends, and returns when all its goroutines have ended. When ctx ends, the session closes
// with NO_ERROR. The result is nil if the session ended with NO_ERROR, whoever closed it; else it is a [*SessionError], a
// [*PeerCloseError] or a [*ConnError].
func (s *Session) Run(ctx context.Context) error { panic("not written") }

// Ready waits until the SETUPs of both sides are there.
func (s *Session) Ready(ctx context.Context) error { panic("not written") }

// Context ends with the session. Its cause is what Run returns, and [ErrClosed] where Run returns nil.
func (s *Session) Context() context.Context { panic("not written") }

// Conn returns the connection of the session.
func (s *Session) Conn() Conn { panic("not written") }

// Peer returns what the peer said about itself. It is empty until the session is ready.
func (s *Session) Peer() Peer { panic("not written") }

// Accept waits for the next request of the peer: one of the Incoming types. It must be called all the time, and each
// request answered with its Accept or Reject.
func (s *Session) Accept(ctx context.Context) (Request, error) { panic("not written") }

// Close ends the session. Only the first call, and only before the session has ended otherwise, has an effect.
func (s *Session) Close(code wire.SessionCode, reason string) error { panic("not written") }

// GoAway tells the peer to leave, and where to (empty: to where it was; a client cannot tell). From now on the peer's
// requests are refused. After timeout the session closes: with GOAWAY_TIMEOUT if there are still open requests. A timeout
// of 0 asks the peer to hurry and closes nothing. It can be called once.
func (s *Session) GoAway(uri string, timeout time.Duration) error { panic("not written") }

// GoingAway is closed when the peer's GOAWAY has arrived.
func (s *Session) GoingAway() <-chan struct{} { panic("not written") }

// PeerGoAway returns the peer's GOAWAY, once it is there.
func (s *Session) PeerGoAway() (GoAway, bool) { panic("not written") }

// Stats returns what the session has counted so far.
func (s *Session) Stats() Stats { panic("not written") }

// Subscribe asks for a track. Params may hold what a SUBSCRIBE may hold; the zero value asks for all new objects. It waits for the answer: if it is no,
// the error is a [*RequestError].
func (s *Session) Subscribe(ctx context.Context, req SubscribeRequest) (*Subscription, error) {
	panic("not written")
}

// Publish offers a track. It waits for the answer.
func (s *Session) Publish(ctx context.Context, req PublishRequest) (*Publication, error) {
	panic("not written")
}

// PublishNamespace tells the peer that this side has tracks in a namespace. It waits for the answer.
func (s *Session) PublishNamespace(ctx context.Context, ns wire.Namespace, tokens ...wire.Token) (*Announcement, error) {
	panic("not written")
}

// SubscribeNamespace asks which namespaces with the given prefix there are. It waits for the answer.
func (s *Session) SubscribeNamespace(ctx context.Context, prefix wire.Namespace, tokens ...wire.Token) (*NamespaceSubscription, error) {
	panic("not written")
}

// SubscribeTracks asks for a PUBLISH of each track in the namespaces with the given prefix. They come as [*IncomingPublish] from
// [Session.Accept], in the Forward State given here. It waits for the answer.
func (s *Session) SubscribeTracks(ctx context.Context, prefix wire.Namespace, forward bool, tokens ...wire.Token) (*TracksSubscription, error) {
	panic("not written")
}

// TrackStatus asks how far a track is.
func (s *Session) TrackStatus(ctx context.Context, track wire.FullTrackName, tokens ...wire.Token) (TrackStatus, error) {
	panic("not written")
}

// Fetch asks for objects of the past. It waits for the answer.
func (s *Session) Fetch(ctx context.Context, req FetchRequest) (*FetchReader, error) {
	panic("not written")
}
