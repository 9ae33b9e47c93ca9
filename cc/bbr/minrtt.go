package bbr

import "time"

// minRTTState estimates the RTT without a queue. [BBR] BBR.min_rtt Min Filter
//
// Jitter would make the lowest sample too low, so a window of samples is kept;
// its highest is what the minimum is taken of, and its lowest is what counts as
// the present RTT.
type minRTTState struct {
	value time.Duration // BBR.min_rtt
	stamp time.Duration // BBR.min_rtt_stamp

	probeMin   time.Duration // BBR.probe_rtt_min_delay
	probeStamp time.Duration // BBR.probe_rtt_min_stamp
	expired    bool          // BBR.probe_rtt_expired

	samples   [jitterLen]time.Duration
	n         int
	lastAt    time.Duration
	low, high time.Duration // of the samples

	excess int // times that the RTT was too high
}

func newMinRTTState() minRTTState {
	return minRTTState{value: infinite, probeMin: infinite, low: infinite, high: infinite}
}

// usable reports whether the RTT is long enough to say something about queues.
func (m *minRTTState) usable() bool { return m.value > rttThreshold }

// tooHigh reports whether the RTT has been too high for long enough.
func (m *minRTTState) tooHigh() bool { return m.excess > jitterLen }

// add takes a sample into the jitter filter.
func (m *minRTTState) add(now, sample time.Duration) {
	if now <= m.lastAt+jitterSpacing {
		return
	}
	m.lastAt = now
	m.samples[m.n%jitterLen] = sample
	m.n++
	m.low, m.high = infinite, 0
	for _, s := range m.samples[:min(m.n, jitterLen)] {
		m.low, m.high = min(m.low, s), max(m.high, s)
	}
}

// update takes the sample of an ACK. packetTime is the time of a packet at the
// estimated bandwidth.
func (m *minRTTState) update(now, sample, packetTime time.Duration) {
	margin := 2 * packetTime
	if m.value != infinite {
		margin += m.value / 2000
		interval := probeRTTInterval
		if m.value > longRTT {
			interval = probeRTTLongRatio * m.value
		}
		m.expired = now > m.probeStamp+interval
	}
	m.add(now, sample)
	starting := m.n < jitterLen
	switch {
	case m.high < m.probeMin || m.expired || starting:
		m.probeMin = m.high
		m.probeStamp = now
	case m.low < m.value+margin:
		// As good as a new minimum: no need to probe for it.
		m.probeStamp = now
		m.stamp = now
	}
	if m.probeMin < m.value || now > m.stamp+minRTTFilterLen || starting {
		m.value = m.probeMin
		m.stamp = m.probeStamp
	}
	switch {
	case m.low <= m.value || !m.usable():
		m.excess = 0
	case m.low > m.value+rttMargin+m.value/4:
		m.excess++
	}
}

// refreshed notes that the RTT is not to be probed for a while.
func (m *minRTTState) refreshed(now time.Duration) {
	m.probeStamp, m.stamp = now, now
}

func (c *Controller) updateMinRTT(now time.Duration, rs *sample) {
	var packetTime time.Duration
	if c.maxBW > 0 {
		packetTime = c.maxBW.TimeFor(c.mtu)
	}
	c.minRTT.update(now, rs.rtt, packetTime)
}
