package quicnet

import (
	"sync/atomic"

	"github.com/moq-c4/moq-c4/moqt"
)

// Stats counts what a [Listener] has seen since its start.
type Stats struct {
	Pending int // connections now that were not yet handed over by Accept

	HandshakesOK     uint64
	HandshakesFailed uint64 // ended before the handshake was complete
	Refused          uint64 // first packets turned away because of MaxPending; a client sends more than one

	// Sessions that became ready, in all and now.
	QUICSessions, WebTransportSessions uint64
	QUICLive, WebTransportLive         int

	// Connections that became no session, by reason.
	NoProtocol   uint64 // no MOQT version in common, on either transport
	OriginDenied uint64
	SetupTimeout uint64 // no WebTransport request, or Accept was not called, within SetupTimeout
	SetupFailed  uint64 // the peer left, or sent what is no proper request
	NotMOQT      uint64 // asked for something else by HTTP and got status 404

	// Connections that got a controller of [TransportConfig], that were refused one and have the QUIC
	// library's own, and paths that got another one because the peer has moved.
	ControllersInstalled, ControllersRefused, ControllersReinstalled uint64

	// UnscheduledStreams are WebTransport streams of the whole process that got no priority, see the package's limits.
	UnscheduledStreams uint64
}

type counters struct {
	pending                            atomic.Int64
	handshakesOK, handshakesFailed     atomic.Uint64
	refused                            atomic.Uint64
	quicSessions, wtSessions           atomic.Uint64
	quicLive, wtLive                   atomic.Int64
	noProtocol, originDenied           atomic.Uint64
	setupTimeout, setupFailed, notMOQT atomic.Uint64
}

// Stats may be called at any time.
func (l *Listener) Stats() Stats {
	c, controllers := &l.count, l.cfg.inject.Stats()
	return Stats{
		Pending:              int(c.pending.Load()),
		HandshakesOK:         c.handshakesOK.Load(),
		HandshakesFailed:     c.handshakesFailed.Load(),
		Refused:              c.refused.Load(),
		QUICSessions:         c.quicSessions.Load(),
		WebTransportSessions: c.wtSessions.Load(),
		QUICLive:             int(c.quicLive.Load()),
		WebTransportLive:     int(c.wtLive.Load()),
		NoProtocol:           c.noProtocol.Load(),
		OriginDenied:         c.originDenied.Load(),
		SetupTimeout:         c.setupTimeout.Load(),
		SetupFailed:          c.setupFailed.Load(),
		NotMOQT:              c.notMOQT.Load(),
		UnscheduledStreams:   unscheduledStreams.Load(),

		ControllersInstalled:   controllers.Installed,
		ControllersRefused:     controllers.Refused,
		ControllersReinstalled: controllers.Reinstalled,
	}
}

// session counts a session that became ready and returns what counts its end.
func (c *counters) session(t moqt.Transport) (ended func()) {
	total, live := &c.quicSessions, &c.quicLive
	if t == moqt.TransportWebTransport {
		total, live = &c.wtSessions, &c.wtLive
	}
	total.Add(1)
	live.Add(1)
	return func() { live.Add(-1) }
}
