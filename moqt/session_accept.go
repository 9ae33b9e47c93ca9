package moqt

import (
	"errors"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// acceptStreams takes the peer's requests.
func (s *Session) acceptStreams() {
	for {
		stream, err := s.conn.AcceptStream(s.ctx)
		if err != nil {
			return // the connection's context tells
		}
		stream.SetPriority(urgencyControl)
		s.mu.Lock()
		full := s.openPeer >= s.cfg.MaxRequests
		if !full {
			s.open++
			s.openPeer++
		}
		s.mu.Unlock()
		if full {
			s.stats.requestsRefused.Add(1)
			s.turnAway(stream)
			continue
		}
		h := s.newHandle(stream, false)
		s.spawn(func() { s.serveStream(h) })
	}
}

// turnAway refuses a request without looking at it.
//
// "When an endpoint rejects a request without performing any application processing, it SHOULD send a REQUEST_ERROR and
// FIN the stream."
// [MOQT-18] Section 3.3.2, Request Cancellation and Rejection
func (s *Session) turnAway(stream Stream) {
	b, err := wire.AppendMessage(nil, errOverloaded.wire(), s.version)
	if err != nil {
		return
	}
	stream.SetWriteDeadline(time.Now().Add(turnAwayTimeout))
	if _, err := stream.Write(b); err != nil {
		stream.Reset(uint64(wire.StreamExcessiveLoad))
	} else {
		stream.Close()
	}
	stream.Stop(uint64(wire.StreamExcessiveLoad))
}

// turnAwayTimeout bounds how long other requests wait for one that is turned away.
const turnAwayTimeout = 10 * time.Millisecond

var errOverloaded = &RequestError{
	Code:   wire.RequestExcessiveLoad,
	Reason: "too many open requests",
	Retry:  wire.Some(time.Second),
}

// serveStream serves one request of the peer, from its first message on.
//
// "Unidirectional streams containing Objects or bidirectional stream(s) beginning with a request message could arrive
// prior to the control streams, in which case the data SHOULD be buffered until both control streams arrive and setup
// is complete."
// [MOQT-18] Section 3.3, Session initialization
func (s *Session) serveStream(h *handle) {
	h.watchStop()
	if !s.waitReady(s.ctx) {
		h.in.close()
		return
	}
	h.in.limitFirst(time.Now().Add(s.cfg.MessageTimeout))
	typ, body, err := h.in.next()
	if err != nil {
		// A request that says nothing was none.
		h.in.close()
		h.abort(wire.StreamCancelled, ErrCancelled)
		return
	}
	h.in.limitFirst(time.Time{})
	if !typ.OpensRequest() {
		// "Bidirectional streams MUST NOT begin with any other message type unless negotiated. If they do, the peer MUST
		// close the Session with a PROTOCOL_VIOLATION."
		// [MOQT-18] Section 3.3, Session initialization
		s.violation(typ.String() + " begins a request stream")
		return
	}
	s.stats.requestsReceived.Add(1)
	h.opener = typ
	m, err := s.parseRequest(typ, body)
	if m == nil {
		s.failWire(err)
		return
	}
	if err := s.beginRequest(h, m, err); err != nil {
		s.failWire(err)
		return
	}
	h.read()
}

// refuse ends a request of the peer that the session itself does not want.
func (h *handle) refuse(err *RequestError) {
	h.s.stats.requestsRefused.Add(1)
	h.reject(err)
}

// reject answers a request of the peer with an error.
func (h *handle) reject(err *RequestError) error {
	if err == nil {
		err = &RequestError{Code: wire.RequestNotSupported}
	}
	if e := h.claimAnswer(); e != nil {
		return e
	}
	e := h.sendLast(err.wire())
	if errors.Is(e, wire.ErrInvalidValue) { // the caller's fault; the peer must have an answer all the same
		h.sendLast((&RequestError{Code: wire.RequestInternalError}).wire())
	}
	h.answerSent()
	h.end(err)
	return e
}

// accept answers a request of the peer with yes.
func (h *handle) accept(m wire.Message) error {
	if err := h.claimAnswer(); err != nil {
		return err
	}
	defer h.answerSent()
	return h.send(m)
}

// handleEnded takes a request off the books.
func (s *Session) handleEnded(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if !h.local {
		s.openPeer--
	}
}

// beginRequest finds out what a request of the peer is and hands it to the application, or refuses it. malformed is set if
// the message says that its track is.
func (s *Session) beginRequest(h *handle, m wire.Message, malformed error) error {
	id, tokens := requestFields(m)
	if err := s.useRequestID(id); err != nil {
		return err
	}
	defer s.requestBegun(id)
	h.id = id
	resolved, refused, err := s.resolveTokens(*tokens)
	if err != nil {
		return err
	}
	*tokens = resolved
	s.mu.Lock()
	leaving := s.leaving
	s.mu.Unlock()
	switch {
	case leaving:
		// "Requests with a Request ID equal to or greater than the indicated value, as well as any requests that arrive
		// after the GOAWAY, MUST be rejected with REQUEST_ERROR using error code GOING_AWAY."
		// [MOQT-18] Section 10.4, GOAWAY
		refused = &RequestError{Code: wire.RequestGoingAway}
	case refused != nil:
	case !s.servable(m):
		refused = &RequestError{Code: wire.RequestDoesNotExist, Reason: "reserved namespace"}
	case requestParams(m).RangeFilter:
		refused = errRangeFilter
	case malformed != nil:
		refused = &RequestError{Code: wire.RequestMalformedTrack, Reason: malformed.Error()}
	}
	if refused != nil {
		h.refuse(refused)
		return nil
	}
	switch m := m.(type) {
	case *wire.Subscribe:
		s.beginSubscribe(h, m)
	case *wire.Publish:
		return s.beginPublish(h, m)
	case *wire.Fetch:
		s.beginFetch(h, m)
	case *wire.TrackStatus:
		s.beginTrackStatus(h, m)
	case *wire.PublishNamespace:
		s.beginPublishNamespace(h, m)
	case *wire.SubscribeNamespace:
		s.beginSubscribeNamespace(h, m)
	case *wire.SubscribeTracks:
		s.beginSubscribeTracks(h, m)
	}
	return nil
}

// errRangeFilter refuses a Range Filter, for which the peer has not been given leave.
//
// "Range Filters are only allowed if the setup option MAX_FILTER_RANGES is non-zero ... If this limit is exceeded, an
// endpoint MUST reject this with REQUEST_ERROR with error code INVALID_FILTER."
// [MOQT-19] Section 5.1.3, Range Filters
var errRangeFilter = &RequestError{Code: wire.RequestInvalidFilter, Reason: "no range filters are allowed here"}

// requestFields returns what all requests have.
func requestFields(m wire.Message) (id uint64, tokens *[]wire.Token) {
	return requestID(m), &requestParams(m).AuthTokens
}

func requestID(m wire.Message) uint64 {
	switch m := m.(type) {
	case *wire.Subscribe:
		return m.RequestID
	case *wire.Publish:
		return m.RequestID
	case *wire.Fetch:
		return m.RequestID
	case *wire.TrackStatus:
		return m.RequestID
	case *wire.PublishNamespace:
		return m.RequestID
	case *wire.SubscribeNamespace:
		return m.RequestID
	case *wire.SubscribeTracks:
		return m.RequestID
	}
	panic("moqt: not a request: " + m.Type().String())
}

func requestParams(m wire.Message) *wire.Params {
	switch m := m.(type) {
	case *wire.Subscribe:
		return &m.Params
	case *wire.Publish:
		return &m.Params
	case *wire.Fetch:
		return &m.Params
	case *wire.TrackStatus:
		return &m.Params
	case *wire.PublishNamespace:
		return &m.Params
	case *wire.SubscribeNamespace:
		return &m.Params
	case *wire.SubscribeTracks:
		return &m.Params
	}
	panic("moqt: not a request: " + m.Type().String())
}

// servable reports whether the application may see a request for the name in it.
//
// "A Track Namespace whose first field is exactly `.` ... is reserved and MUST NOT be used for any purpose; endpoints
// ... MUST reject requests referencing it with DOES_NOT_EXIST."
// [MOQT-18] Section 3.2.1, Reserved Namespaces
//
// "An endpoint that receives a request for an unrecognized session-level track or namespace MUST reject it with
// REQUEST_ERROR using error code DOES_NOT_EXIST rather than passing it to the Application."
// [MOQT-18] Section 3.2.2, Session-Level Tracks and Namespaces
//
// Config.SessionTracks are recognized, for PUBLISH.
func (s *Session) servable(m wire.Message) bool {
	var ns wire.Namespace
	switch m := m.(type) {
	case *wire.Subscribe:
		ns = m.Track.Namespace
	case *wire.Publish:
		if slices.Contains(s.cfg.SessionTracks, m.Track) {
			return true
		}
		ns = m.Track.Namespace
	case *wire.Fetch:
		ns = m.Track.Namespace // empty if it joins a subscription
	case *wire.TrackStatus:
		ns = m.Track.Namespace
	case *wire.PublishNamespace:
		ns = m.Namespace
	case *wire.SubscribeNamespace:
		ns = m.Prefix
	case *wire.SubscribeTracks:
		ns = m.Prefix
	}
	return !ns.IsForbidden() && !ns.IsSession()
}

// useRequestID notes an id of the peer.
func (s *Session) useRequestID(id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen.use(id) {
		return &wire.Error{Code: wire.SessionInvalidRequestID, Reason: "request id is a duplicate or not the peer's"}
	}
	s.registry.beginning[id] = struct{}{}
	return nil
}

// requestBegun notes that what the request with an id is about can be found from now on.
func (s *Session) requestBegun(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.registry.beginning, id)
	s.registry.joinable.fire()
}

// takeRequestID returns the id of a new request of this side.
func (s *Session) takeRequestID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.nextID
	s.nextID += 2
	return id
}

// acceptUniStreams takes the peer's control stream and data streams.
func (s *Session) acceptUniStreams() {
	for {
		stream, err := s.conn.AcceptUniStream(s.ctx)
		if err != nil {
			return // the connection's context tells
		}
		s.spawn(func() { s.serveUniStream(stream) })
	}
}

// serveUniStream finds out what a stream is and passes it on. A stream that does not say so in time is stopped.
func (s *Session) serveUniStream(stream ReceiveStream) {
	r := newDataReader(s, stream)
	typ, err := r.streamType()
	if err != nil {
		return
	}
	switch typ.Kind() {
	case wire.StreamKindControl:
		s.readControl(stream, slices.Clone(r.buffered()))
	case wire.StreamKindSubgroup:
		s.serveSubgroup(r)
	case wire.StreamKindFetch:
		s.serveFetchStream(r)
	case wire.StreamKindPadding:
		s.discardPadding(r)
	}
}

// discardPadding reads a padding stream to its end.
//
// "The receiver MUST discard all data received on a padding stream to prevent exhausting flow control."
// [MOQT-18] Section 11.5.1, Padding Streams
func (s *Session) discardPadding(r *dataReader) {
	_, n, _ := wire.ConsumeStreamType(r.buffered(), s.version)
	r.take(n)
	defer r.end(nil)
	for {
		if err := wire.CheckPadding(r.buffered()); err != nil {
			s.failWire(err)
			return
		}
		r.take(len(r.buffered()))
		if r.fill() != nil {
			return
		}
	}
}
