package relay

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// cursor sends one subgroup to one subscriber.
type cursor struct {
	subgroup  *subgroup
	of        *subscriber
	cfg       *Config
	stats     *Stats
	from      uint64        // first object id to send
	next      int           // place in the log of the next object to be observed; owned by run
	tellsAcks bool          // the connection can tell what was acknowledged
	timeout   time.Duration // age at which an object is too old to send; 0 is none
	expiry    time.Duration // how long the subgroup may take once it is known to be complete; 0 is for ever
	joined    time.Time     // ages are counted from here on

	// Streams are opened in the order of arrival: among equal priorities the older one is sent first.
	after  <-chan struct{} // closed when the cursor before has its stream
	opened chan struct{}

	expire *time.Timer // see finished; guarded by subgroup.mu
	closed bool        // all was sent, and FIN; owned by run
	acked  atomic.Bool // the subscriber has all of it

	cancel context.CancelFunc
	writer atomic.Pointer[moqt.SubgroupWriter] // once the stream is open
	why    atomic.Int32                        // 1 + the Cut that ended it from outside; 0 if none did
	over   atomic.Bool                         // nothing of it runs any more
}

// cut resets the streams of cursors whose log is gone or which lag too far behind.
func cut(cs []*cursor, why Cut) {
	for _, c := range cs {
		c.cut(why)
	}
}

func (c *cursor) cut(why Cut) {
	if c.over.Load() || !c.why.CompareAndSwap(0, 1+int32(why)) {
		return
	}
	c.stats.Cuts[why].Add(1)
	if w := c.writer.Load(); w != nil {
		w.Reset(why.code())
	}
	c.cancel()
}

// finished says that the subgroup is complete. The lock of the subgroup is held.
//
// "If the Object Forwarding Preference is Subgroup and the value of SUBGROUP_DELIVERY_TIMEOUT is not zero, the MOQT
// implementation MUST start a timer of SUBGROUP_DELIVERY_TIMEOUT duration once it becomes aware that all of the objects on the
// subgroup have been published"
// [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
func (c *cursor) finished() {
	if c.expiry > 0 {
		c.expire = time.AfterFunc(c.expiry, c.expired)
	}
}

// delivered says that the subscriber has all of it.
func (c *cursor) delivered() {
	c.acked.Store(true)
	c.stopExpiry()
	c.of.expiring.drop(c)
}

// expired gives up what was not delivered in time, after FIN too. Few connections tell what was acknowledged: of the
// others, a subscriber may get a reset for what it has.
func (c *cursor) expired() {
	defer c.of.expiring.drop(c)
	if !c.why.CompareAndSwap(0, 1+int32(CutTimeout)) {
		return
	}
	if !c.over.Load() {
		c.stats.Cuts[CutTimeout].Add(1)
	}
	if w := c.writer.Load(); w != nil {
		w.Expire(wire.StreamDeliveryTimeout)
	}
	c.cancel()
}

// code is what the subscriber is told if the stream is reset now.
func (c *cursor) code() wire.StreamCode {
	if why := c.why.Load(); why != 0 {
		return Cut(why - 1).code()
	}
	return wire.StreamCancelled
}

// code is what the subscriber is told.
func (c Cut) code() wire.StreamCode {
	switch c {
	case CutEvicted, CutLag:
		return wire.StreamTooFarBehind
	case CutTimeout:
		return wire.StreamDeliveryTimeout
	case CutMalformed:
		return wire.StreamMalformedTrack
	}
	return wire.StreamCancelled
}

// run opens the stream and copies the log onto it until the log or the stream ends.
func (c *cursor) run(ctx context.Context, pub *moqt.Publication) {
	w, offset, first, ok := c.open(ctx, pub)
	if !ok {
		return
	}
	if c.why.Load() != 0 { // cut while the stream was being opened
		w.Reset(c.code())
		return
	}
	defer context.AfterFunc(ctx, func() { w.Reset(c.code()) })()
	c.stats.SubgroupsOut.Add(1)
	if len(first) > 0 {
		if !c.inTime(w, offset) {
			return
		}
		if _, err := w.Write(first); err != nil {
			c.failed(w, err)
			return
		}
	}
	for {
		b, end, code, changed := c.subgroup.read(offset)
		switch {
		case len(b) > 0:
			if !c.inTime(w, offset) {
				return
			}
			n, err := w.Write(b)
			c.stats.BytesOut.Add(uint64(n))
			if err != nil {
				c.failed(w, err)
				return
			}
			offset += n
			c.handed(offset)
			continue
		case end == endFinished:
			w.Close()
			c.closed = true
			if c.expiry > 0 {
				w.OnAcked(func(time.Time) { c.delivered() })
			}
			return
		case end == endReset:
			c.stats.Cuts[CutUpstream].Add(1)
			w.Reset(code)
			return
		case end == endEvicted:
			c.cut(CutEvicted)
			return
		}
		select {
		case <-changed:
		case <-w.Context().Done():
			c.failed(w, context.Cause(w.Context()))
			return
		case <-ctx.Done():
			return
		}
	}
}

// inTime reports whether the object at this offset may still be sent, and sets until when a write may block. Else it has
// ended the stream.
//
// "... if the time elapsed exceeds OBJECT_DELIVERY_TIMEOUT, it MUST reset the underlying transport stream with the reset
// stream code DELIVERY_TIMEOUT" [MOQT-18] Section 8, Delivery Timeouts and Data Reliability
//
// What was there before the subscriber came counts as having arrived with it; see docs/protocol/deviations.md.
func (c *cursor) inTime(w *moqt.SubgroupWriter, offset int) bool {
	if c.subgroup.expired(offset, c.cfg.Now()) {
		c.cut(CutTimeout)
		return false
	}
	if c.timeout == 0 {
		return true
	}
	arrived := c.subgroup.arrivedAt(offset)
	if arrived.Before(c.joined) {
		arrived = c.joined
	}
	until := arrived.Add(c.timeout)
	if c.cfg.Now().After(until) {
		c.cut(CutTimeout)
		return false
	}
	w.SetWriteDeadline(until)
	return true
}

// open opens the stream once the cursor before has one.
func (c *cursor) open(ctx context.Context, pub *moqt.Publication) (w *moqt.SubgroupWriter, offset int, first []byte, ok bool) {
	defer close(c.opened)
	if c.after != nil {
		select {
		case <-c.after:
		case <-ctx.Done():
			return nil, 0, nil, false
		}
	}
	offset, first, ok = c.begin(ctx)
	if !ok {
		return nil, 0, nil, false
	}
	h := c.subgroup.header
	h.FirstObject = h.FirstObject && first == nil
	w, err := pub.OpenSubgroup(ctx, h)
	if err != nil {
		return nil, 0, nil, false
	}
	c.writer.Store(w)
	return w, offset, first, true
}

// begin waits for the first object that the subscriber gets. It returns the offset to go on at and,
// if that is not the start of the log, the object's header as the first on its stream.
func (c *cursor) begin(ctx context.Context) (offset int, header []byte, ok bool) {
	if c.from == 0 {
		return 0, nil, true
	}
	for {
		_, end, _, changed := c.subgroup.read(c.subgroup.length())
		i := c.subgroup.firstAtOrAfter(c.from)
		o, _, found := c.subgroup.object(i)
		switch {
		case found && i == 0:
			return 0, nil, true
		case found:
			h := o.header()
			first := wire.SubgroupCursor{HasProperties: c.subgroup.header.Properties}
			b, err := first.Append(nil, &h, logVersion)
			return o.payload, b, err == nil
		case end != endOpen:
			return 0, nil, false // nothing of it is wanted
		case changed == nil:
			continue // more came in between
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, nil, false
		}
	}
}

// failed ends the stream after a write that did not go through.
func (c *cursor) failed(w *moqt.SubgroupWriter, err error) {
	var remote *moqt.StreamError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.cut(CutTimeout) // see inTime
	case errors.As(err, &remote) && remote.Remote:
		c.stats.Cuts[CutStopped].Add(1)
	}
	w.Reset(wire.StreamCancelled) // no effect if it was reset already
}
