package emu

import (
	"encoding/json"
	"time"
)

// Counters count the packets of one direction.
type Counters struct {
	Packets        int64 `json:"packets"` // handed in
	Bytes          int64 `json:"bytes"`   // of UDP payload handed in
	Delivered      int64 `json:"delivered"`
	DeliveredBytes int64 `json:"delivered_bytes"`
	DroppedQueue   int64 `json:"dropped_queue"`  // the queue was full, or the AQM dropped
	DroppedRandom  int64 `json:"dropped_random"` // Link.Loss
	DroppedFull    int64 `json:"dropped_full"`   // the path held as much as it may
	Marked         int64 `json:"marked"`         // set to CE by the AQM
	Largest        int64 `json:"largest"`        // bytes of the largest packet handed in

	waitSum time.Duration
	waitMax time.Duration
}

// delivered counts a packet that took wait longer than the link's delay.
func (c *Counters) delivered(size int32, wait time.Duration) {
	wait = max(0, wait) // the delay may have changed on the way
	c.Delivered++
	c.DeliveredBytes += int64(size)
	c.waitSum += wait
	c.waitMax = max(c.waitMax, wait)
}

// Dropped is the sum over all reasons.
func (c *Counters) Dropped() int64 { return c.DroppedQueue + c.DroppedRandom + c.DroppedFull }

// WaitMean is how long the delivered packets took beyond the link's delay, on
// average: in the queue, on the wire, and by jitter.
func (c *Counters) WaitMean() time.Duration { return c.waitSum / time.Duration(max(1, c.Delivered)) }

// WaitMax is the longest of these times.
func (c *Counters) WaitMax() time.Duration { return c.waitMax }

// Since returns what came after an earlier state of the counters; WaitMax and Largest
// stay those of all.
func (c *Counters) Since(o *Counters) Counters {
	d := *c
	d.Packets -= o.Packets
	d.Bytes -= o.Bytes
	d.Delivered -= o.Delivered
	d.DeliveredBytes -= o.DeliveredBytes
	d.DroppedQueue -= o.DroppedQueue
	d.DroppedRandom -= o.DroppedRandom
	d.DroppedFull -= o.DroppedFull
	d.Marked -= o.Marked
	d.waitSum -= o.waitSum
	return d
}

// add sums counters of several paths.
func (c *Counters) add(o Counters) {
	c.Packets += o.Packets
	c.Bytes += o.Bytes
	c.Delivered += o.Delivered
	c.DeliveredBytes += o.DeliveredBytes
	c.DroppedQueue += o.DroppedQueue
	c.DroppedRandom += o.DroppedRandom
	c.DroppedFull += o.DroppedFull
	c.Marked += o.Marked
	c.Largest = max(c.Largest, o.Largest)
	c.waitSum += o.waitSum
	c.waitMax = max(c.waitMax, o.waitMax)
}

// MarshalJSON adds the waits, in microseconds.
func (c Counters) MarshalJSON() ([]byte, error) {
	type plain Counters // without this method
	return json.Marshal(struct {
		plain
		WaitMean int64 `json:"wait_mean_us"`
		WaitMax  int64 `json:"wait_max_us"`
	}{plain(c), c.WaitMean().Microseconds(), c.WaitMax().Microseconds()})
}

// Stats is what a proxy has done.
type Stats struct {
	Elapsed time.Duration `json:"-"` // since Listen; elapsed_us

	Clients    int      `json:"clients"`     // now
	ClientsAll int64    `json:"clients_all"` // ever
	Refused    int64    `json:"refused"`     // packets of clients beyond Config.MaxClients
	TCP        int64    `json:"tcp"`         // connections passed on
	TCPRefused int64    `json:"tcp_refused"` // connections beyond 256 at a time
	Up         Counters `json:"up"`
	Down       Counters `json:"down"`

	// Phase is the index of the link's state: of the shared link, or of one of
	// the clients'.
	Phase int `json:"phase"`

	// LateMean and LateMax say how late packets left the proxy, because the
	// system woke it up late. Below a millisecond is good.
	LateMean time.Duration `json:"-"` // late_mean_us
	LateMax  time.Duration `json:"-"` // late_max_us

	late lateness
}

// MarshalJSON adds the times, in microseconds.
func (s Stats) MarshalJSON() ([]byte, error) {
	type plain Stats // without this method
	return json.Marshal(struct {
		plain
		Elapsed  int64 `json:"elapsed_us"`
		LateMean int64 `json:"late_mean_us"`
		LateMax  int64 `json:"late_max_us"`
	}{plain(s), s.Elapsed.Microseconds(), s.LateMean.Microseconds(), s.LateMax.Microseconds()})
}

// Stats may be called at any time.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.gone
	s.Elapsed = time.Since(p.begun)
	if p.shared != nil {
		s.add(p.shared)
	} else {
		for _, c := range p.clients {
			s.add(c.wire)
		}
	}
	s.Clients, s.ClientsAll, s.Refused, s.TCP, s.TCPRefused = len(p.clients), p.seen, p.refused, p.conns, p.full
	s.LateMean, s.LateMax = s.late.sum/time.Duration(max(1, s.late.packets)), s.late.max
	return s
}

// add takes in what a wire has counted.
func (s *Stats) add(w *wire) {
	w.mu.Lock()
	defer w.mu.Unlock()
	up, down := w.path.Stats()
	s.Up.add(up)
	s.Down.add(down)
	s.Phase = w.path.Phase()
	s.late.packets += w.late.packets
	s.late.sum += w.late.sum
	s.late.max = max(s.late.max, w.late.max)
}
