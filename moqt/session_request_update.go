package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// receiveUpdate takes a REQUEST_UPDATE.
func (h *handle) receiveUpdate(m *wire.RequestUpdate) error {
	// "The sender of a request ... can later send a REQUEST_UPDATE on the same bidi stream as the request to modify it. A
	// subscriber can also send REQUEST_UPDATE to modify parameters of a subscription established with PUBLISH."
	// [MOQT-18] Section 10.9, REQUEST_UPDATE
	if h.local && (h.opener != wire.MsgPublish || h.awaitsAnswer()) {
		return unexpected(m)
	}
	if err := h.s.useRequestID(m.RequestID); err != nil {
		return err
	}
	h.s.requestBegun(m.RequestID)
	if err := m.Check(h.opener); err != nil {
		return err
	}
	tokens, refused, err := h.s.resolveTokens(m.Params.AuthTokens)
	if err != nil {
		return err
	}
	if !h.local {
		h.awaitAnswerSent()
	}
	if h.ctx.Err() != nil || h.finished.Load() {
		return nil // it has crossed the end of the request
	}
	if refused != nil {
		return h.refuseUpdate(refused)
	}
	m.Params.AuthTokens = tokens
	if _, subscription := h.currentRole().(*Publication); m.Params.RangeFilter && !subscription {
		return h.refuseUpdate(errRangeFilter)
	}
	return h.currentRole().update(m)
}

// refuseUpdate answers an update with an error, which ends the request.
//
// "When a REQUEST_UPDATE fails for a SUBSCRIBE_NAMESPACE or PUBLISH_NAMESPACE, the responder MUST close the bidi
// stream."
// [MOQT-18] Section 10.9.1, Updating Subscriptions
func (h *handle) refuseUpdate(err *RequestError) error {
	h.sendLast(err.wire())
	h.end(err)
	return nil
}

// pendingUpdate is a REQUEST_UPDATE of this side that waits for its answer.
type pendingUpdate struct {
	answer chan updateAnswer     // has room for one
	taken  func(*wire.RequestOK) // called by the goroutine that reads, before it reads on; may be nil
}

// updateAnswer is what the peer says to a REQUEST_UPDATE.
type updateAnswer struct {
	ok  *wire.RequestOK
	err error
}

// sendUpdate changes a request and waits for the answer. taken, if not nil, is called when the answer is yes, before any later message
// of the request is looked at.
func (h *handle) sendUpdate(ctx context.Context, params wire.Params, taken func(*wire.RequestOK)) (*wire.RequestOK, error) {
	m := &wire.RequestUpdate{Params: params}
	if err := m.Check(h.opener); err != nil {
		return nil, err
	}
	u := pendingUpdate{answer: make(chan updateAnswer, 1), taken: taken}
	for {
		full, err := h.writeUpdate(m, u)
		if err != nil {
			return nil, err
		}
		if full == nil {
			break
		}
		select {
		case <-full:
		case <-h.ctx.Done():
			return nil, h.cause()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case a := <-u.answer:
		return a.ok, a.err
	case <-h.ctx.Done():
		select {
		case a := <-u.answer: // the answer that ended it
			return a.ok, a.err
		default:
			return nil, h.cause()
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// writeUpdate writes an update and notes that its answer is to come. The answers come in the order of the updates, so the order of writing
// and that of noting must be the same. If the peer allows no further one now, full tells when there is one less.
//
// "The sender MUST NOT have more than MAX_REQUEST_UPDATES outstanding REQUEST_UPDATEs on any single request stream at a
// time."
// [MOQT-19] Section 10.3.1.7, MAX_REQUEST_UPDATES
func (h *handle) writeUpdate(m *wire.RequestUpdate, u pendingUpdate) (full <-chan struct{}, err error) {
	limit := h.s.Peer().MaxRequestUpdates
	h.umu.Lock()
	defer h.umu.Unlock()
	h.mu.Lock()
	if h.readClosed || h.ctx.Err() != nil {
		h.mu.Unlock()
		return nil, h.cause()
	}
	if limit > 0 && uint64(len(h.updates)) >= limit {
		defer h.mu.Unlock()
		return h.updated.wait(), nil
	}
	h.updates = append(h.updates, u)
	h.mu.Unlock()
	m.RequestID = h.s.takeRequestID()
	return nil, h.send(m)
}

// updateAnswered hands the answer to an update to who waits for it.
func (h *handle) updateAnswered(m wire.Message, a updateAnswer) error {
	h.mu.Lock()
	if len(h.updates) == 0 {
		h.mu.Unlock()
		// "The receiver of a REQUEST_UPDATE MUST respond with exactly one REQUEST_OK or REQUEST_ERROR ..."
		// [MOQT-18] Section 10.9, REQUEST_UPDATE
		return unexpected(m)
	}
	u := h.updates[0]
	h.updates = h.updates[1:]
	h.updated.fire()
	h.mu.Unlock()
	if a.ok != nil {
		if err := a.ok.Check(wire.MsgRequestUpdate, h.s.version); err != nil {
			return err
		}
		if u.taken != nil {
			u.taken(a.ok)
		}
	}
	u.answer <- a
	return nil
}
