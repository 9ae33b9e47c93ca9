package quicnet

import (
	"log/slog"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
	"github.com/moq-c4/moq-c4/quicnet/ccinject"
)

// alpnH3 is the ALPN of WebTransport.
const alpnH3 = "h3"

// defaultProtocols are the MOQT versions spoken, the preferred one first.
var defaultProtocols = []string{"moqt-18", "moqt-19", "moqt-16"}

// MOQT session error codes that this package itself has to send.
// [MOQT-18] Section 3.5, Termination
const (
	codeNoError                  = 0x0
	codeInternalError            = 0x1
	codeProtocolViolation        = 0x3
	codeVersionNegotiationFailed = 0x15
)

// maxReason bounds the reason phrase of a close, in bytes: it has to fit into one packet.
const maxReason = 256

// Receive windows, in bytes. They are limits, not allocations: memory is used only by what has arrived
// and was not read, so they cost nothing on a subscriber's connection, where the relay receives little.
const (
	// A whole 1 MB object fits, so that no frame waits for a window update, which costs a round trip.
	initialStreamWindow = 1 << 20
	maxStreamWindow     = 8 << 20
	// Several streams of that kind at once.
	initialConnWindow = 4 << 20
	// What one peer can make us hold.
	maxConnWindow = 16 << 20
)

// Defaults of [TransportConfig].
const (
	defaultMaxStreams       = 1000
	defaultIdleTimeout      = 15 * time.Second
	defaultKeepAlive        = 5 * time.Second
	defaultHandshakeTimeout = 5 * time.Second
)

// TransportConfig is what [ListenConfig] and [DialConfig] have in common.
type TransportConfig struct {
	// MaxRequests is how many bidirectional streams the peer may have open: in MOQT one per request, and a
	// subscription keeps its stream. Default: 1000.
	MaxRequests int

	// MaxUniStreams is how many unidirectional streams the peer may have open. A publisher that sends each
	// audio frame on its own stream opens 50 per second and track, and a place returns only after the stream was read.
	// Costs nothing while unused; a peer that uses all makes us keep some 10 KB for each. Default: 1000.
	MaxUniStreams int

	// IdleTimeout ends a connection from which nothing arrives, so that a publisher that was
	// killed or lost its network is noticed. Default: 15 s.
	IdleTimeout time.Duration

	// KeepAlive is the interval of packets that keep an idle connection open. At the default
	// two may get lost without ending the connection. Default: 5 s.
	KeepAlive time.Duration

	// QLogDir is a directory that gets one qlog file per connection. It costs about a third more CPU. Default: none.
	QLogDir string

	// QLogs gets qlog files of some connections; QLogDir is not used then. Default: none.
	QLogs *QLogs

	// Acks chooses the connections that can tell what was acknowledged, see [moqt.AckTeller]. Each of them costs about
	// a quarter more CPU. Default: none.
	Acks *ackwatch.Sampler

	// Logger gets warnings and per-connection debug lines. Default: nothing is logged.
	Logger *slog.Logger

	// OnSmallBuffers is called when the kernel grants smaller UDP buffers than asked for, which loses packets
	// in bursts. Default: a warning in the log.
	OnSmallBuffers func(SmallBuffers)

	// Controller makes the congestion controller of each connection and path, on the connection's goroutine.
	// Should the QUIC library not be as [ccinject] expects, connections go on with its own
	// controller; one warning is logged. Default: the library's own, NewReno.
	Controller ccinject.Factory

	// Monitor gets figures of the controllers. Default: a Listener makes one, see [Listener.Controllers]; Dial needs none.
	Monitor *ControllerMonitor

	// Memory lets a controller begin with what the last connection to the same address has learned: careful
	// resume. Give the same one to all configurations. Default: none, each connection begins anew.
	Memory *ccinject.Memory

	// Socket opens the sockets in place of the kernel's; network is "udp", "udp4" or "udp6". It is for networks in
	// memory, as in tests in virtual time. Default: net.ListenPacket.
	Socket func(network, addr string) (net.PacketConn, error)

	inject *ccinject.Injector // nil without Controller
	socket socketFunc         // Socket, or in this package's tests another
	reach  *reach             // replaces the access to WebTransport's streams in tests
}

func (c *TransportConfig) setDefaults() {
	if c.MaxRequests <= 0 {
		c.MaxRequests = defaultMaxStreams
	}
	if c.MaxUniStreams <= 0 {
		c.MaxUniStreams = defaultMaxStreams
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = defaultIdleTimeout
	}
	if c.KeepAlive <= 0 {
		c.KeepAlive = defaultKeepAlive
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OnSmallBuffers == nil {
		c.OnSmallBuffers = logSmallBuffers(c.Logger)
	}
	if c.Controller != nil {
		if c.Monitor == nil {
			c.Monitor = new(ControllerMonitor)
		}
		c.inject = ccinject.New(ccinject.Config{Controller: c.Controller, Logger: c.Logger, Monitor: c.Monitor.of, Memory: c.Memory})
	}
	if c.socket == nil {
		c.socket = c.Socket
	}
	if c.socket == nil {
		c.socket = listenUDP
	}
	if c.reach == nil {
		c.reach = reachWebTransport(c.Logger)
	}
}

// quicConfig is the same for both transports, because the transport is known only after the handshake.
func (c *TransportConfig) quicConfig() *quic.Config {
	return &quic.Config{
		HandshakeIdleTimeout:           defaultHandshakeTimeout,
		MaxIdleTimeout:                 c.IdleTimeout,
		KeepAlivePeriod:                c.KeepAlive,
		InitialStreamReceiveWindow:     initialStreamWindow,
		MaxStreamReceiveWindow:         maxStreamWindow,
		InitialConnectionReceiveWindow: initialConnWindow,
		MaxConnectionReceiveWindow:     maxConnWindow,
		MaxIncomingStreams:             int64(c.MaxRequests),
		MaxIncomingUniStreams:          int64(c.MaxUniStreams),
		// MOQT needs datagrams, WebTransport needs both.
		EnableDatagrams:                  true,
		EnableStreamResetPartialDelivery: true,
		Tracer:                           ackTracer(c.Acks, c.qlogTracer()),
	}
}
