package bbr

import (
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// sample is what an ACK, or the loss of a packet, says.
// [BBR] Per-ACK Rate Sample State
type sample struct {
	rate       cc.Rate       // RS.delivery_rate
	delivered  int64         // RS.delivered: since prior
	prior      int64         // RS.prior_delivered: bytes delivered at the sample before the packet was sent
	rtt        time.Duration // RS.rtt
	acked      int64         // RS.newly_acked
	lost       int64         // RS.newly_lost
	lostRanges int           // of consecutive packets, newly lost
	lostSince  int64         // RS.lost: since the packet was sent
	txInFlight int64         // RS.tx_in_flight: when the packet was sent, itself excluded

	appLimited  bool // RS.is_app_limited
	cwndLimited bool // C.is_cwnd_limited when the packet was sent

	ce   float64 // share of marks in this round
	ceEW float64 // the average that would result
}

// ackSample reads an ACK. It counts what is delivered, so it is called once for
// each.
func (c *Controller) ackSample(now time.Duration, a *cc.Ack) sample {
	before := c.delivered
	c.delivered = max(c.delivered+a.Bytes, a.Sample.Delivered)
	rs := sample{
		rate:      a.Sample.Rate,
		delivered: a.Sample.DeliveredSince,
		rtt:       c.rtt.Latest,
		// With the first ACK the handshake's bytes come in, if they have had none.
		acked:      c.delivered - before,
		lostSince:  c.payload(c.losses.since(&a.Sample) + a.LostBytes),
		appLimited: a.Handshake || a.Sample.Stamp.AppLimited || before < c.limitedUntil,
	}
	if a.Handshake {
		// The Sampler takes none, everything delivered counts from the epoch.
		rs.rate, rs.delivered = 0, c.delivered
	} else {
		rs.txInFlight = max(a.Sample.Stamp.InFlight-a.Newest.Bytes-cc.TagBytes, 0)
		rs.cwndLimited = c.cwndFull.get(a.Newest.Number)
		rs.appLimited = rs.appLimited || c.early.get(a.Newest.Number)
		if a.Sample.Stamp.AckedAt > 0 {
			c.starting = false
		}
	}
	if rs.rate == 0 {
		rs.rate = cc.RateOf(rs.delivered, rs.rtt)
		if rs.rtt <= 0 {
			rs.rate = rateUnknown
		}
	}
	rs.prior = c.delivered - rs.delivered
	rs.lost, rs.lostRanges = c.losses.ofAck(now)
	rs.ce, rs.ceEW = c.ecn.share()
	if a.Sample.Fresh && c.delivered >= c.limitedUntil {
		c.limitedUntil = 0
	}
	return rs
}

// lossSample describes the packet that was lost.
func (c *Controller) lossSample(l cc.Loss) sample {
	return sample{
		delivered:  max(c.delivered-l.Stamp.Delivered, 0),
		prior:      l.Stamp.Delivered,
		lost:       l.Bytes - cc.TagBytes,
		lostSince:  max(c.payload(c.losses.total-l.Stamp.Lost), l.Bytes-cc.TagBytes),
		txInFlight: max(l.Stamp.InFlight-l.Bytes, 0),
		appLimited: l.Stamp.AppLimited,
	}
}

// payload takes the tags out of a count of bytes in full packets.
func (c *Controller) payload(n int64) int64 { return n - n/c.mtu*cc.TagBytes }

// ackLosses counts lost packets.
type ackLosses struct {
	total  int64         // bytes lost
	at     time.Duration // of the latest losses
	bytes  int64         // lost then, without tags
	ranges int
	last   int64 // number of the last one
	any    bool

	// spurious is what the Sampler counts as lost and was not, as seen by packets
	// sent before it had counted counted bytes.
	spurious int64
	counted  int64
}

// add counts a loss. Probe timeouts are not part of what an ACK reveals.
func (s *ackLosses) add(now time.Duration, l cc.Loss) {
	s.total += l.Bytes
	if l.Reason == cc.LossPTO {
		return
	}
	if now != s.at {
		s.at, s.bytes, s.ranges = now, 0, 0
	}
	s.bytes += l.Bytes - cc.TagBytes
	if !s.any || l.Number != s.last+1 {
		s.ranges++
	}
	s.any, s.last = true, l.Number
}

// forget takes back a loss that was none.
func (s *ackLosses) forget(l cc.Loss) {
	s.spurious += l.Bytes
	s.counted = s.total
}

// since returns the bytes lost since the newest packet was sent.
func (s *ackLosses) since(r *cc.Sample) int64 {
	if r.Stamp.Lost >= s.counted {
		s.spurious = 0
	}
	return max(r.LostSince-s.spurious, 0)
}

// ofAck returns what was lost by the ACK of now, and begins anew.
func (s *ackLosses) ofAck(now time.Duration) (bytes int64, ranges int) {
	if s.at != now {
		return 0, 0
	}
	bytes, ranges = s.bytes, s.ranges
	s.bytes, s.ranges = 0, 0
	return bytes, ranges
}

// sentFlags holds a flag for each of the newest packets.
type sentFlags [4096 / 64]uint64

func (f *sentFlags) set(number int64, on bool) {
	word, bit := &f[number>>6&(int64(len(f))-1)], uint64(1)<<(number&63)
	if on {
		*word |= bit
	} else {
		*word &^= bit
	}
}

func (f *sentFlags) get(number int64) bool {
	return f[number>>6&(int64(len(f))-1)]>>(number&63)&1 == 1
}
