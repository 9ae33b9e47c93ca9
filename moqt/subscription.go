package moqt

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// SubscribeRequest is what [Session.Subscribe] asks for.
type SubscribeRequest struct {
	Track  wire.FullTrackName
	Params wire.Params // what a SUBSCRIBE may hold; the zero value: all new objects
}

// SubscriptionInfo is what the publisher said about a subscription.
type SubscriptionInfo struct {
	Largest    wire.Opt[wire.Location] // the largest object when the subscription began
	Expires    time.Duration           // when the publisher will end it; 0: not said
	Properties wire.Properties         // of the track

	// What Properties say, with the draft's defaults.
	Priority                       uint8 // of objects that do not have their own
	GroupOrder                     wire.GroupOrder
	ObjectTimeout, SubgroupTimeout time.Duration // 0: none
	MaxCacheDuration               wire.Opt[time.Duration]
	DynamicGroups                  bool
}

// Incoming is what a subscription yields: a subgroup or a datagram.
type Incoming struct {
	Subgroup *SubgroupReader
	Datagram *Datagram
}

// Subscription is the receiving side of a subscription. All methods may be called from several goroutines.
type Subscription struct {
	// Fixed from the beginning.
	s        *Session
	track    wire.FullTrackName
	ctx      context.Context
	cancel   context.CancelCauseFunc
	h        *handle
	answered chan struct{} // closed when our SUBSCRIBE is answered with yes

	mu        sync.Mutex // guards what follows; no other lock is taken with it held
	alias     uint64
	bound     bool // alias stands for it
	info      SubscriptionInfo
	timeout   time.Duration // the longest delivery timeout this side has asked for
	subgroups queue[queuedSubgroup]
	datagrams queue[queuedDatagram]
	seq       uint64
	changed   signal
	readers   map[*SubgroupReader]struct{} // handed out or queued, and not at their end
	received  uint64                       // streams
	done      *DoneError                   // PUBLISH_DONE was there
	announced uint64                       // streams, by PUBLISH_DONE
	doneTimer *time.Timer
	err       error // why nothing more is added
}

type queuedSubgroup struct {
	r   *SubgroupReader
	seq uint64
}

type queuedDatagram struct {
	d   *Datagram
	seq uint64
}

func (s *Session) newSubscription(track wire.FullTrackName) *Subscription {
	sub := &Subscription{s: s, track: track, answered: make(chan struct{}), readers: make(map[*SubgroupReader]struct{})}
	sub.ctx, sub.cancel = context.WithCancelCause(s.ctx)
	return sub
}

// Subscribe asks for a track. It waits for the answer: if it is no, the error is a [*RequestError].
func (s *Session) Subscribe(ctx context.Context, req SubscribeRequest) (*Subscription, error) {
	sub := s.newSubscription(req.Track)
	sub.timeout = longestTimeout(&req.Params)
	if err := s.addSubscription(sub); err != nil {
		return nil, err
	}
	h, err := s.openRequest(ctx, sub, func(id uint64) wire.Message {
		return &wire.Subscribe{RequestID: id, Track: req.Track, Params: req.Params}
	}, sub.setHandle)
	if err != nil {
		sub.over(err, true)
		return nil, err
	}
	select {
	case <-sub.answered:
		return sub, nil
	case <-sub.ctx.Done():
		err := context.Cause(sub.ctx)
		h.abort(wire.StreamCancelled, err)
		return nil, err
	case <-ctx.Done():
		sub.Close()
		return nil, ctx.Err()
	}
}

func (sub *Subscription) setHandle(h *handle) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.h = h
}

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

// longestTimeout returns the longest delivery timeout in params; 0 if there is none.
func longestTimeout(p *wire.Params) time.Duration {
	return max(p.ObjectDeliveryTimeout.Or(0), p.SubgroupDeliveryTimeout.Or(0)).Duration()
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
// "When an endpoint receives Track Properties containing a Mandatory Track Property type that it does not understand, it
// MUST NOT process or forward that track."
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
			// "For SUBSCRIBE_OK messages: the subscriber MUST cancel the subscription."
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
		sub.s.removeSubscription(sub)
		if bound {
			sub.s.unbindAlias(alias, sub)
		}
	}
	for _, r := range stop {
		r.d.stream.Stop(uint64(wire.StreamCancelled))
	}
}

// addSubgroup takes a stream of the subscription. It returns false if the subscription has ended.
func (sub *Subscription) addSubgroup(r *SubgroupReader) bool {
	sub.mu.Lock()
	if sub.err != nil {
		sub.mu.Unlock()
		return false
	}
	r.sub = sub
	if !r.header.HasPriority {
		r.header.Priority = sub.info.Priority
	}
	sub.received++
	sub.readers[r] = struct{}{}
	sub.seq++
	sub.subgroups.push(queuedSubgroup{r, sub.seq})
	var out *SubgroupReader
	if sub.subgroups.len() > sub.s.cfg.SubgroupQueue {
		out = sub.subgroups.pop().r
	}
	done := sub.done
	complete := done != nil && sub.received >= sub.announced
	sub.changed.fire()
	sub.mu.Unlock()
	if out != nil {
		sub.s.stats.streamsUnread.Add(1)
		out.Stop(wire.StreamExcessiveLoad)
	}
	if complete {
		sub.over(done, false)
	}
	return true
}

// addDatagram takes a datagram of the subscription. It returns false if the subscription has ended.
func (sub *Subscription) addDatagram(w *wire.Datagram) bool {
	d := &Datagram{
		Group:      w.GroupID,
		Object:     w.ObjectID,
		EndOfGroup: w.EndOfGroup,
		Status:     w.Status,
		Properties: w.Properties,
		Payload:    w.Payload,
	}
	d.Priority, d.HasPriority = w.Priority.Get()
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.err != nil {
		return false
	}
	if !d.HasPriority {
		d.Priority = sub.info.Priority
	}
	sub.seq++
	sub.datagrams.push(queuedDatagram{d, sub.seq})
	if sub.datagrams.len() > sub.s.cfg.IncomingDatagrams {
		sub.datagrams.pop()
		sub.s.stats.datagramsUnread.Add(1)
	}
	sub.changed.fire()
	return true
}

// forget takes a stream off the books that has come to its end.
func (sub *Subscription) forget(r *SubgroupReader) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	delete(sub.readers, r)
}

// Track returns the name of the track.
func (sub *Subscription) Track() wire.FullTrackName { return sub.track }

// Info returns what the publisher said.
func (sub *Subscription) Info() SubscriptionInfo {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.info
}

// Next waits for the next subgroup or datagram. What waits too long for it to be called is dropped, oldest first, and
// counted. After the publisher's PUBLISH_DONE, when all has arrived or [Config].DoneTimeout has passed, it returns a
// [*DoneError]; after a reset of the request a [*StreamError].
func (sub *Subscription) Next(ctx context.Context) (Incoming, error) {
	for {
		sub.mu.Lock()
		if in, ok := sub.takeLocked(); ok {
			sub.mu.Unlock()
			return in, nil
		}
		if err := sub.err; err != nil {
			sub.mu.Unlock()
			return Incoming{}, err
		}
		changed := sub.changed.wait()
		sub.mu.Unlock()
		select {
		case <-changed:
		case <-sub.s.ctx.Done():
			return Incoming{}, context.Cause(sub.s.ctx)
		case <-ctx.Done():
			return Incoming{}, ctx.Err()
		}
	}
}

// takeLocked takes what came first. sub.mu is held.
func (sub *Subscription) takeLocked() (Incoming, bool) {
	subgroups, datagrams := sub.subgroups.len() > 0, sub.datagrams.len() > 0
	switch {
	case subgroups && (!datagrams || sub.subgroups.front().seq < sub.datagrams.front().seq):
		return Incoming{Subgroup: sub.subgroups.pop().r}, true
	case datagrams:
		return Incoming{Datagram: sub.datagrams.pop().d}, true
	}
	return Incoming{}, false
}

// Update changes the subscription: params may hold what a REQUEST_UPDATE of a subscription may hold, and what is absent
// stays as it is. It waits for the answer, and returns LARGEST_OBJECT if the answer has it. A refusal ends the subscription.
func (sub *Subscription) Update(ctx context.Context, params wire.Params) (wire.Opt[wire.Location], error) {
	ok, err := sub.h.sendUpdate(ctx, params, func(*wire.RequestOK) {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		sub.timeout = max(sub.timeout, longestTimeout(&params))
	})
	if err != nil {
		return wire.Opt[wire.Location]{}, err
	}
	return ok.Params.LargestObject, nil
}

// Close ends the subscription. Its streams are stopped.
func (sub *Subscription) Close() {
	sub.over(ErrClosed, true)
	sub.h.abort(wire.StreamCancelled, ErrClosed)
}

// Context ends with the subscription. Its cause is the error that Next returns.
func (sub *Subscription) Context() context.Context { return sub.ctx }

// GoAway asks the peer to make the subscription anew elsewhere (empty: on this session). After timeout, if it is not 0, it ends here.
func (sub *Subscription) GoAway(uri string, timeout time.Duration) error {
	return sub.h.sendGoAway(uri, timeout)
}

// GoingAway is closed when the publisher wants this subscription to move elsewhere.
func (sub *Subscription) GoingAway() <-chan struct{} { return sub.h.goingAwayChan() }

// PeerGoAway returns where this subscription should move, once GoingAway is closed.
func (sub *Subscription) PeerGoAway() (GoAway, bool) { return sub.h.peerGoAway() }
