package moqt

import (
	"context"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Incoming is what a subscription yields: a subgroup or a datagram.
type Incoming struct {
	Subgroup *SubgroupReader
	Datagram *Datagram
}

type queuedSubgroup struct {
	r   *SubgroupReader
	seq uint64
}

type queuedDatagram struct {
	d   *Datagram
	seq uint64
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
