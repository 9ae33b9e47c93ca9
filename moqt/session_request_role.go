package moqt

import "github.com/moq-c4/moq-c4/moqt/wire"

// role is what a handle is for. Its methods are called by the goroutine that reads
// the request, so they may block only until ctx ends. An error that is a
// [*wire.Error] closes the session.
type role interface {
	// answer takes the answer to a request of this side: *wire.RequestOK, *wire.SubscribeOK, *wire.FetchOK or
	// *wire.RequestError. malformed is set if the answer says that the track is malformed.
	answer(m wire.Message, malformed error) error
	// update takes a REQUEST_UPDATE of the peer and answers it.
	update(m *wire.RequestUpdate) error
	// message takes any other message.
	message(m wire.Message) error
	// readEnd is told why no more comes: io.EOF after a FIN, a *StreamError after a reset, or another error when this side
	// has stopped reading. It is called unless the session ended.
	readEnd(err error)
	// end is called once, when the request has ended and the handle's context with it. It must neither block nor write to
	// the request's stream.
	end()
}

// noRole has what most roles do not need.
type noRole struct{}

func (noRole) answer(m wire.Message, _ error) error { return unexpected(m) }
func (noRole) update(m *wire.RequestUpdate) error   { return unexpected(m) }
func (noRole) message(m wire.Message) error         { return unexpected(m) }
func (noRole) readEnd(error)                        {}
func (noRole) end()                                 {}

// unexpected is the error for a message that has no place where it came.
func unexpected(m wire.Message) error {
	return &wire.Error{Code: wire.SessionProtocolViolation, Reason: m.Type().String() + " has no place here on a request stream"}
}
