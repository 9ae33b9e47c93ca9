package moqt

import (
	"io"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// supersede ends a SUBSCRIBE that was not answered.
func (sub *Subscription) supersede() {
	sub.mu.Lock()
	h := sub.h
	sub.mu.Unlock()
	sub.over(ErrSuperseded, true)
	if h != nil { // else Subscribe sees to it
		h.abort(wire.StreamCancelled, ErrSuperseded)
	}
}

// setInfo takes over what the publisher has said. It returns an error if this side must not touch the track.
func (sub *Subscription) setInfo(params *wire.Params, props wire.Properties) *RequestError {
	t, err := props.Track(sub.s.version)
	if err != nil { // was parsed before
		return &RequestError{Code: wire.RequestMalformedTrack, Reason: err.Error(), Local: true}
	}
	if refused := refuseMandatory(&t); refused != nil {
		return refused
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.info = SubscriptionInfo{
		Largest:         params.LargestObject,
		Expires:         params.Expires.Or(0).Duration(),
		Properties:      props,
		Priority:        t.Priority(),
		GroupOrder:      t.GroupOrder(),
		ObjectTimeout:   t.ObjectDeliveryTimeout.Or(0).Duration(),
		SubgroupTimeout: t.SubgroupDeliveryTimeout.Or(0).Duration(),
		DynamicGroups:   t.DynamicGroups.Or(false),
	}
	if d, ok := t.MaxCacheDuration.Get(); ok {
		sub.info.MaxCacheDuration = wire.Some(d.Duration())
	}
	return nil
}

// refuseMandatory returns the refusal of a track that needs something nobody here understands.
//
// "When an endpoint receives Track Properties ... containing a Mandatory Track Property type that it does not understand,
// it MUST NOT process or forward that track ..."
// [MOQT-18] Section 2.5.1, Mandatory Track Properties
func refuseMandatory(t *wire.TrackProperties) *RequestError {
	typ, ok := t.Mandatory.Get()
	if !ok {
		return nil
	}
	return &RequestError{
		Code:   wire.RequestUnsupportedExtension,
		Reason: "mandatory track property " + hexCode(typ) + " is not understood",
		Local:  true,
	}
}

// answer implements role, for a SUBSCRIBE of this side.
func (sub *Subscription) answer(m wire.Message, malformed error) error {
	switch m := m.(type) {
	case *wire.RequestError:
		err := requestError(m)
		sub.h.sendLast()
		sub.h.end(err)
		return nil
	case *wire.SubscribeOK:
		if malformed != nil {
			sub.h.abort(wire.StreamMalformedTrack, &RequestError{Code: wire.RequestMalformedTrack, Reason: malformed.Error(), Local: true})
			sub.s.retireAlias(m.TrackAlias)
			return nil
		}
		if refused := sub.setInfo(&m.Params, m.Properties); refused != nil {
			// "For SUBSCRIBE_OK messages: the subscriber MUST cancel the subscription ..."
			// [MOQT-18] Section 2.5.1, Mandatory Track Properties
			sub.h.abort(wire.StreamCancelled, refused)
			sub.s.retireAlias(m.TrackAlias)
			return nil
		}
		if err := sub.bind(m.TrackAlias); err != nil {
			return err
		}
		if sub.s.establish(sub) {
			close(sub.answered)
		}
		return nil
	}
	return unexpected(m)
}

// bind makes alias stand for the subscription.
func (sub *Subscription) bind(alias uint64) error {
	sub.mu.Lock()
	if sub.err != nil {
		sub.mu.Unlock()
		sub.s.retireAlias(alias)
		return nil
	}
	sub.alias, sub.bound = alias, true
	sub.mu.Unlock()
	if err := sub.s.bindAlias(alias, sub); err != nil {
		return err
	}
	// It may have ended in between.
	sub.mu.Lock()
	over := sub.err != nil
	sub.mu.Unlock()
	if over {
		sub.s.unbindAlias(alias, sub)
	}
	return nil
}

// update implements role: the publisher changes its PUBLISH. There is nothing in it for the subscriber but tokens.
func (sub *Subscription) update(*wire.RequestUpdate) error {
	sub.h.send(&wire.RequestOK{})
	return nil
}

// message implements role.
func (sub *Subscription) message(m wire.Message) error {
	done, ok := m.(*wire.PublishDone)
	if !ok {
		return unexpected(m)
	}
	sub.mu.Lock()
	established := sub.bound
	second := sub.done != nil
	sub.mu.Unlock()
	if !established || second {
		return unexpected(m)
	}
	ended := &DoneError{Code: done.Status, Reason: done.Reason}
	sub.finish(ended, done.StreamCount)
	if sub.h.claimAnswer() == nil { // a PUBLISH that this side has not answered yet
		sub.h.sendLast((&RequestError{Code: wire.RequestUninterested, Reason: "ended before it was answered"}).wire())
		sub.h.answerSent()
	} else {
		sub.h.sendLast()
	}
	sub.h.end(ended)
	return nil
}

// finish waits for the streams that are still on their way.
//
// "A subscriber that receives PUBLISH_DONE SHOULD set a timer of at least the larger of SUBGROUP_DELIVERY_TIMEOUT or
// OBJECT_DELIVERY_TIMEOUT in case some objects are still inbound due to prioritization or packet loss. ... The subscriber
// can immediately remove all subscription state once the same number of streams have been processed."
// [MOQT-18] Section 10.11, PUBLISH_DONE
func (sub *Subscription) finish(done *DoneError, streams uint64) {
	sub.mu.Lock()
	sub.done, sub.announced = done, streams
	complete := sub.received >= streams
	if !complete {
		wait := max(sub.s.cfg.DoneTimeout, sub.timeout, sub.info.ObjectTimeout, sub.info.SubgroupTimeout)
		sub.doneTimer = time.AfterFunc(min(wait, maxDoneTimeout), func() { sub.over(done, false) })
	}
	sub.mu.Unlock()
	if complete {
		sub.over(done, false)
	}
}

// maxDoneTimeout bounds how long a publisher can make a subscriber wait after PUBLISH_DONE.
const maxDoneTimeout = time.Minute

// readEnd implements role.
func (sub *Subscription) readEnd(err error) {
	sub.mu.Lock()
	done := sub.done != nil
	sub.mu.Unlock()
	switch {
	case done: // all is said
	case err == io.EOF:
		// "An endpoint that receives a FIN before all required messages have arrived treats the request as failed."
		// [MOQT-19] Section 3.3.2, Graceful Request Stream Closure
		sub.h.sendLast()
		sub.h.end(&DoneError{Code: wire.DoneInternalError, Reason: "request stream ended without PUBLISH_DONE"})
	default:
		sub.h.abort(wire.StreamCancelled, err)
	}
}

// end implements role.
func (sub *Subscription) end() {
	sub.mu.Lock()
	done := sub.done != nil
	sub.mu.Unlock()
	sub.s.removeSubscription(sub)
	if !done {
		sub.over(sub.h.cause(), false)
	}
}

// over ends the subscription. If drop is set, what was not taken is dropped, and the streams that are being read are stopped.
func (sub *Subscription) over(cause error, drop bool) {
	sub.s.removeSubscription(sub) // before anybody can learn of the end, and ask anew
	sub.mu.Lock()
	first := sub.err == nil
	if first {
		sub.err = cause
	}
	var stop []*SubgroupReader
	if drop {
		for r := range sub.readers {
			stop = append(stop, r)
		}
		clear(sub.readers)
		sub.subgroups.clear()
		sub.datagrams.clear()
	}
	if sub.doneTimer != nil {
		sub.doneTimer.Stop()
	}
	alias, bound := sub.alias, sub.bound
	sub.changed.fire()
	sub.mu.Unlock()
	if first {
		sub.cancel(cause)
		if bound {
			sub.s.unbindAlias(alias, sub)
		}
	}
	for _, r := range stop {
		r.d.stream.Stop(uint64(wire.StreamCancelled))
	}
}
