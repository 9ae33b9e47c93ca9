package cc

import "time"

const (
	// TagBytes is the size of the AEAD tag of a QUIC packet, which does not
	// count as acknowledged or delivered.
	// RFC 9001 Section 5.3, AEAD Usage
	TagBytes = 16

	// DefaultInitialWindow is the window before anything is known, bytes.
	DefaultInitialWindow = 10 * 1536

	// DefaultMTU is the packet size before path MTU discovery, bytes of UDP
	// payload.
	DefaultMTU = 1252
)

// Config is what every constructor takes. The zero value means the defaults.
type Config struct {
	// MTU is the packet size at the start, bytes of UDP payload.
	// 0 means DefaultMTU. OnMTU changes it later.
	MTU int64

	// InitialWindow is the window at the start, bytes.
	// 0 means DefaultInitialWindow.
	InitialWindow int64

	// Seed feeds the random source of controllers that draw random numbers.
	// Equal seeds give equal runs.
	Seed uint64
}

// WithDefaults returns c with zero and negative fields replaced by the defaults.
func (c Config) WithDefaults() Config {
	if c.MTU <= 0 {
		c.MTU = DefaultMTU
	}
	if c.InitialWindow <= 0 {
		c.InitialWindow = DefaultInitialWindow
	}
	return c
}

// Controller is a congestion controller. The package documentation gives the
// calling order, the units and the meaning of now. A Controller is not safe for
// concurrent use. No method allocates once buffers have grown to their working
// size, and none keeps a pointer or slice that it was given.
type Controller interface {
	// Control returns the present limits on sending.
	Control() Control

	// State names the controller's present state in the words of its
	// specification, such as "cruising". The strings are constants.
	State() string

	// Events appends what happened since the last call, oldest first, and
	// forgets it. A controller that is never asked keeps only the newest few.
	Events(dst []Event) []Event

	// OnPacketSent reports a packet handed to the network.
	OnPacketSent(now time.Duration, p Packet)

	// OnAppLimited reports that the sender ran dry: window and pacing allowed a
	// packet and the application (or flow control) gave nothing to put into it.
	OnAppLimited(now time.Duration)

	// OnECN reports the ECN counts of an ACK.
	OnECN(now time.Duration, e ECN)

	// OnRTT reports an RTT sample and the estimates that it changed.
	OnRTT(now time.Duration, r RTT)

	// OnLoss reports one packet declared lost.
	OnLoss(now time.Duration, l Loss)

	// OnSpuriousLoss reports that a packet declared lost has arrived after all.
	OnSpuriousLoss(now time.Duration, l Loss)

	// OnAck reports an ACK that newly acknowledged something. The Ack and its
	// slices belong to the caller and are reused: nothing may be kept.
	OnAck(now time.Duration, a *Ack)

	// OnPTO reports the count-th consecutive probe timeout, from 1.
	OnPTO(now time.Duration, count int)

	// OnMTU reports that packets now have at most mtu bytes of UDP payload.
	OnMTU(now time.Duration, mtu int64)

	// OnSeed offers what an earlier connection to the same address has learned
	// (careful resume). The transport vouches for the address, the controller
	// compares the RTT, see [Seed.Fits].
	OnSeed(now time.Duration, s Seed)
}

// Inspector is implemented by controllers that show their variables, for
// traces and plots.
type Inspector interface {
	// Vars appends the variables in a fixed order, named as in the
	// specification. Rates are bytes per second, times microseconds, sizes
	// bytes, coefficients plain numbers.
	Vars(dst []Var) []Var
}

// Var is one variable of a controller.
type Var struct {
	Name  string
	Value float64
}

// Control is what a controller allows.
type Control struct {
	// PacingRate is how fast packets may leave. 0 means unpaced.
	PacingRate Rate

	// Window bounds the bytes in flight. A packet may be sent while bytes in
	// flight < Window, so that the last one may exceed it. A controller whose
	// reference sends at bytes in flight = cwnd as well gives cwnd + 1.
	Window int64

	// Quantum is how many bytes may leave back to back, the depth of the
	// pacer's bucket. 0 means the transport's choice.
	Quantum int64

	// SlowStart is true until congestion has first been noticed after start-up
	// (the classic "slow start threshold not yet set"). Acknowledgement
	// frequency depends on it.
	SlowStart bool

	// ECN is the codepoint to send with.
	ECN Codepoint
}

// Codepoint is a value of the ECN field.
type Codepoint uint8

// ECN codepoints. RFC 3168 Section 5, RFC 9331 Section 4.1.
const (
	NotECT Codepoint = iota
	ECT1
	ECT0
	CE
)

// Packet is a packet being sent.
type Packet struct {
	Number       int64 // packet number; numbers that are skipped are never reported
	Bytes        int64 // UDP payload
	InFlight     int64 // bytes in flight, this packet included
	AckEliciting bool  // false: not in flight, never acknowledged on its own
	Handshake    bool  // Initial or Handshake packet, or sent before the handshake was done
}

// RTT is a round-trip sample with the estimates after it.
type RTT struct {
	Latest   time.Duration // the sample, acknowledgement delay removed
	Smoothed time.Duration // RFC 9002 Section 5.3
	Variance time.Duration // rttvar, RFC 9002 Section 5.3
	Min      time.Duration // RFC 9002 Section 5.2

	// Handshake marks samples of handshake packets.
	Handshake bool
}

// ECN holds the counts of an ACK frame that passed validation, cumulative over
// the connection.
type ECN struct {
	ECT0, ECT1, CE int64

	// Newest is the largest packet number acknowledged by the ACK, and
	// NewestSentAt the time it was sent.
	Newest       int64
	NewestSentAt time.Duration
	Handshake    bool
}

// LossReason says how a loss was found.
type LossReason uint8

// Loss reasons.
const (
	// LossPackets: later packets were acknowledged.
	// RFC 9002 Section 6.1.1, Packet Threshold
	LossPackets LossReason = iota
	// LossTime: a later packet was acknowledged and enough time has passed.
	// RFC 9002 Section 6.1.2, Time Threshold
	LossTime
	// LossPTO: a probe timeout gave the packet up; whether it was lost is not
	// known. RFC 9002 Section 6.2, Probe Timeout
	LossPTO
)

// String returns the reason for traces.
func (r LossReason) String() string {
	switch r {
	case LossPackets:
		return "packets"
	case LossTime:
		return "time"
	case LossPTO:
		return "pto"
	}
	return "unknown"
}

// Loss is one packet declared lost.
type Loss struct {
	Number   int64
	Bytes    int64 // UDP payload
	SentAt   time.Duration
	Stamp    Stamp // what the Sampler gave when the packet was sent
	InFlight int64 // bytes in flight, this packet no longer counted
	Reason   LossReason

	// Persistent is set on the loss that establishes persistent congestion.
	// RFC 9002 Section 7.6
	Persistent bool
	Handshake  bool
}

// Acked is one newly acknowledged packet.
type Acked struct {
	Number int64
	Bytes  int64 // without TagBytes
	SentAt time.Duration
}

// Ack is an ACK frame that newly acknowledged something.
type Ack struct {
	// Bytes is the sum over the newly acknowledged packets, without TagBytes.
	Bytes int64

	// Packets lists them in ascending order of their numbers.
	Packets []Acked

	// Newest is the packet with the highest number of them.
	Newest Acked

	// LowestUnsettled is the lowest packet number that is neither acknowledged
	// nor declared lost nor skipped nor given up, after the losses of this ACK.
	// With nothing outstanding it is the next number to be sent.
	LowestUnsettled int64

	// PriorInFlight and InFlight are the bytes in flight before the ACK, and
	// after it and its losses.
	PriorInFlight int64
	InFlight      int64

	// LostBytes is the sum of the losses reported by OnLoss for this ACK.
	LostBytes int64

	// Sample is the delivery rate measurement.
	Sample Sample

	// Handshake is set if Newest is a handshake packet.
	Handshake bool
}

// Seed is what a former connection knew of the path.
type Seed struct {
	Window int64 // congestion window at its end, bytes
	RTT    time.Duration
}

// Fits reports whether the first sample of this connection is close enough to
// the seed's RTT, within a quarter, for the seed to be used.
func (s Seed) Fits(sample time.Duration) bool {
	return s.Window > 0 && sample > 0 && (s.RTT-sample).Abs() <= sample/4
}
