package moqt

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Defaults of [PipeConfig].
const (
	defaultPipeStreamWindow    = 64 << 10
	defaultPipeMaxStreams      = 100
	defaultPipeDatagramQueue   = 128
	defaultPipeMaxDatagramSize = 1200
)

// PipeConfig says how the two ends made by [Pipe] behave.
type PipeConfig struct {
	// Latency is how long everything takes from one end to the other. Default: 0, delivered within the call.
	Latency time.Duration

	// StreamWindow is how many bytes of a stream may be written but not yet read. Default: 64 KiB.
	StreamWindow int

	// MaxStreams and MaxUniStreams are how many streams of a kind each end lets the other have open. Default: 100.
	MaxStreams, MaxUniStreams int

	// DatagramQueue is how many datagrams may wait for ReceiveDatagram; more are dropped. Default: 128.
	DatagramQueue int

	// MaxDatagramSize is the largest datagram in bytes. Default: 1200.
	MaxDatagramSize int

	// Transport, Protocol, Authority and Path are what Info tells. Default: "pipe", "moqt-18", "", "".
	Transport                 Transport
	Protocol, Authority, Path string
}

func (c PipeConfig) withDefaults() PipeConfig {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&c.StreamWindow, defaultPipeStreamWindow)
	set(&c.MaxStreams, defaultPipeMaxStreams)
	set(&c.MaxUniStreams, defaultPipeMaxStreams)
	set(&c.DatagramQueue, defaultPipeDatagramQueue)
	set(&c.MaxDatagramSize, defaultPipeMaxDatagramSize)
	if c.Transport == "" {
		c.Transport = TransportPipe
	}
	if c.Protocol == "" {
		c.Protocol = "moqt-18"
	}
	return c
}

// Pipe makes two connected ends in memory, for tests of sessions and relays in virtual time.
//
// It does what QUIC may do at its harshest: a stream becomes known to the other end only with its first
// byte, FIN or reset; a reset throws away what was not read yet, except what lies before the reliable
// boundary; a close throws away everything not yet read. It has no goroutines of its own.
// Nothing is lost or reordered, and priorities are only recorded ([PipeStream.Priorities]).
func Pipe(cfg PipeConfig) (client, server *PipeConn) {
	p := &pipe{cfg: cfg.withDefaults()}
	newEnd := func(server bool) *PipeConn {
		c := &PipeConn{p: p, info: ConnInfo{
			Transport:  p.cfg.Transport,
			Protocol:   p.cfg.Protocol,
			Server:     server,
			Authority:  p.cfg.Authority,
			Path:       p.cfg.Path,
			RemoteAddr: pipeAddr{},
		}}
		c.ctx, c.cancel = context.WithCancelCause(context.Background())
		c.openLimit = [2]int{pipeBidi: p.cfg.MaxStreams, pipeUni: p.cfg.MaxUniStreams}
		return c
	}
	client, server = newEnd(false), newEnd(true)
	client.peer, server.peer = server, client
	return client, server
}

// pipe is what the two ends share.
type pipe struct {
	cfg PipeConfig
	mu  sync.Mutex // guards everything in both ends and their streams
}

// The kinds of streams, as indices.
const (
	pipeBidi = 0
	pipeUni  = 1
)

// PipeConn is one end of a [Pipe].
type PipeConn struct {
	p      *pipe
	peer   *PipeConn
	info   ConnInfo
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Guarded by p.mu.
	err       *ConnError       // set once the end is closed
	inFlight  []pipeEvent      // on their way to the peer, in order; used with a latency only
	opened    [2]int           // streams opened here, by kind
	openLimit [2]int           // how many the peer allows, by kind
	openable  pipeSignal       // openLimit has grown
	pending   [2][]*PipeStream // opened by the peer, nothing of them has arrived
	incoming  [2][]*PipeStream // arrived, not yet accepted
	arrived   pipeSignal       // incoming has grown
	datagrams [][]byte
	received  pipeSignal // datagrams has grown
	dropped   uint64
}

type pipeEvent struct {
	at time.Time
	f  func()
}

// pipeSignal wakes everyone who waits for a change.
type pipeSignal struct{ ch chan struct{} }

func (s *pipeSignal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *pipeSignal) fire() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// transmit runs f at the peer after the latency, with p.mu held, unless the peer is closed by then.
// The caller holds p.mu.
func (c *PipeConn) transmit(f func()) {
	deliver := func() {
		if c.peer.err == nil {
			f()
		}
	}
	d := c.p.cfg.Latency
	if d <= 0 {
		deliver()
		return
	}
	c.inFlight = append(c.inFlight, pipeEvent{time.Now().Add(d), deliver})
	if len(c.inFlight) == 1 {
		time.AfterFunc(d, c.deliverDue)
	}
}

// deliverDue keeps the order: timers that fire together may run in any order.
func (c *PipeConn) deliverDue() {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for len(c.inFlight) > 0 {
		e := c.inFlight[0]
		if wait := time.Until(e.at); wait > 0 {
			time.AfterFunc(wait, c.deliverDue)
			return
		}
		e.f() // may append
		c.inFlight = c.inFlight[1:]
	}
}

// await gives p.mu up until s or by fires. It returns an error when ctx or the connection ends.
func (c *PipeConn) await(ctx context.Context, s *pipeSignal, by <-chan time.Time) error {
	ch := s.wait()
	c.p.mu.Unlock()
	defer c.p.mu.Lock()
	select {
	case <-ch:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-ctx.Done():
		return ctx.Err()
	case <-by:
		return nil
	}
}

// OpenStream implements [Conn].
func (c *PipeConn) OpenStream(ctx context.Context) (Stream, error) {
	s, err := c.open(ctx, pipeBidi)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenUniStream implements [Conn].
func (c *PipeConn) OpenUniStream(ctx context.Context) (SendStream, error) {
	s, err := c.open(ctx, pipeUni)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *PipeConn) open(ctx context.Context, kind int) (*PipeStream, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for {
		if c.err != nil {
			return nil, c.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.opened[kind] < c.openLimit[kind] {
			break
		}
		if err := c.await(ctx, &c.openable, nil); err != nil {
			return nil, err
		}
	}
	local, remote := newPipeStreams(c, kind, c.opened[kind])
	c.opened[kind]++
	c.peer.pending[kind] = append(c.peer.pending[kind], remote)
	return local, nil
}

// arrive makes the peer's stream known here, and with it those opened before.
func (c *PipeConn) arrive(kind, index int) {
	for len(c.pending[kind]) > 0 && c.pending[kind][0].index <= index {
		c.incoming[kind] = append(c.incoming[kind], c.pending[kind][0])
		c.pending[kind] = c.pending[kind][1:]
		c.arrived.fire()
	}
}

// AcceptStream implements [Conn].
func (c *PipeConn) AcceptStream(ctx context.Context) (Stream, error) {
	s, err := c.accept(ctx, pipeBidi)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AcceptUniStream implements [Conn].
func (c *PipeConn) AcceptUniStream(ctx context.Context) (ReceiveStream, error) {
	s, err := c.accept(ctx, pipeUni)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *PipeConn) accept(ctx context.Context, kind int) (*PipeStream, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for {
		if c.err != nil {
			return nil, c.err
		}
		if len(c.incoming[kind]) > 0 {
			s := c.incoming[kind][0]
			c.incoming[kind] = c.incoming[kind][1:]
			return s, nil
		}
		if err := c.await(ctx, &c.arrived, nil); err != nil {
			return nil, err
		}
	}
}

// SendDatagram implements [Conn]. It never blocks.
func (c *PipeConn) SendDatagram(b []byte) error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if len(b) > c.p.cfg.MaxDatagramSize {
		return &DatagramTooLargeError{Max: c.p.cfg.MaxDatagramSize}
	}
	b = append([]byte{}, b...)
	c.transmit(func() {
		to := c.peer
		if len(to.datagrams) >= c.p.cfg.DatagramQueue {
			to.dropped++
			return
		}
		to.datagrams = append(to.datagrams, b)
		to.received.fire()
	})
	return nil
}

// ReceiveDatagram implements [Conn].
func (c *PipeConn) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	for {
		if c.err != nil {
			return nil, c.err
		}
		if len(c.datagrams) > 0 {
			b := c.datagrams[0]
			c.datagrams = c.datagrams[1:]
			return b, nil
		}
		if err := c.await(ctx, &c.received, nil); err != nil {
			return nil, err
		}
	}
}

// DroppedDatagrams is how many datagrams found this end's queue full.
func (c *PipeConn) DroppedDatagrams() uint64 {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.dropped
}

// Close implements [Conn].
func (c *PipeConn) Close(code uint64, reason string) error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.err != nil {
		return nil
	}
	c.transmit(func() {
		c.peer.end(&ConnError{Remote: true, App: true, Code: code, Reason: reason})
	})
	c.end(&ConnError{App: true, Code: code, Reason: reason})
	return nil
}

// Lose ends both ends at once without an application close, as a time-out of the path does.
func (c *PipeConn) Lose(err error) {
	if err == nil {
		err = errors.New("path lost")
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.end(&ConnError{Err: err})
	c.peer.end(&ConnError{Err: err})
}

// end closes this end and drops what waits for its reader. The caller holds p.mu.
func (c *PipeConn) end(err *ConnError) {
	if c.err != nil {
		return
	}
	c.err = err
	c.datagrams = nil
	c.pending, c.incoming = [2][]*PipeStream{}, [2][]*PipeStream{}
	c.cancel(err)
}

// Context implements [Conn].
func (c *PipeConn) Context() context.Context { return c.ctx }

// Info implements [Conn].
func (c *PipeConn) Info() ConnInfo { return c.info }

type pipeAddr struct{}

var _ net.Addr = pipeAddr{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
