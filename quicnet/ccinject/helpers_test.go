package ccinject

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/goleak"

	"github.com/moq-c4/moq-c4/cc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixed is a controller of constant rate and window that counts what it is told.
type fixed struct {
	rate   cc.Rate
	window int64
	mark   cc.Codepoint

	sent, acked, lost, spurious, ptos, dry int
	handshakeAcks                          int
	ect                                    [2]int64 // counts of ECT(0) and ECT(1)
	rtt                                    cc.RTT
	rates                                  []cc.Rate
	mtu                                    int64
}

func (f *fixed) Control() cc.Control {
	return cc.Control{PacingRate: f.rate, Window: f.window, Quantum: f.rate.Over(4 * time.Millisecond), ECN: f.mark}
}
func (f *fixed) State() string                         { return "fixed" }
func (f *fixed) Events(dst []cc.Event) []cc.Event      { return dst }
func (f *fixed) OnPacketSent(time.Duration, cc.Packet) { f.sent++ }
func (f *fixed) OnAppLimited(time.Duration)            { f.dry++ }
func (f *fixed) OnECN(_ time.Duration, e cc.ECN)       { f.ect = [2]int64{e.ECT0, e.ECT1} }
func (f *fixed) OnRTT(_ time.Duration, r cc.RTT)       { f.rtt = r }
func (f *fixed) OnLoss(time.Duration, cc.Loss)         { f.lost++ }
func (f *fixed) OnSpuriousLoss(time.Duration, cc.Loss) { f.spurious++ }
func (f *fixed) OnPTO(time.Duration, int)              { f.ptos++ }
func (f *fixed) OnMTU(_ time.Duration, mtu int64)      { f.mtu = mtu }
func (f *fixed) OnSeed(time.Duration, cc.Seed)         {}
func (f *fixed) OnAck(_ time.Duration, a *cc.Ack) {
	if a.Handshake {
		f.handshakeAcks++
		return
	}
	f.acked += len(a.Packets)
	if a.Sample.Fresh {
		f.rates = append(f.rates, a.Sample.Rate)
	}
}

var testCert = sync.OnceValue(func() tls.Certificate {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	// virtual time begins in 2000
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"test"},
		NotBefore: time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(nil, c, c, public, private)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
})

func serverTLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{testCert()}, NextProtos: []string{"test"}, MinVersion: tls.VersionTLS13}
}

func clientTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: "test", NextProtos: []string{"test"}, MinVersion: tls.VersionTLS13}
}

func quicConfig() *quic.Config {
	return &quic.Config{
		InitialStreamReceiveWindow: 4 << 20, InitialConnectionReceiveWindow: 8 << 20,
		MaxStreamReceiveWindow: 16 << 20, MaxConnectionReceiveWindow: 32 << 20,
		MaxIdleTimeout: 30 * time.Second, EnableDatagrams: true,
	}
}

// pair is two transports with what is needed between them.
type pair struct {
	t              testing.TB
	server, client *quic.Transport
	ln             *quic.EarlyListener
	serverIn       *Injector
	clientIn       *Injector
}

// newPair takes nil for an end that keeps quic-go's controller.
func newPair(t testing.TB, server, client net.PacketConn, serverIn, clientIn *Injector) *pair {
	t.Helper()
	p := &pair{
		t: t, serverIn: serverIn, clientIn: clientIn,
		server: &quic.Transport{Conn: server},
		client: &quic.Transport{Conn: client},
	}
	return p
}

func (p *pair) listen() {
	p.t.Helper()
	tlsConf, conf := p.serverIn.Server(p.server, serverTLS(), quicConfig())
	ln, err := p.server.ListenEarly(tlsConf, conf)
	if err != nil {
		p.t.Fatal(err)
	}
	p.ln = ln
}

// dial may be called on other goroutines than the test's.
func (p *pair) dial(ctx context.Context) (*quic.Conn, error) {
	conf := quicConfig()
	ctx, tlsConf := p.clientIn.Client(ctx, p.client, clientTLS(), conf)
	return p.client.Dial(ctx, p.server.Conn.LocalAddr(), tlsConf, conf)
}

func (p *pair) close() {
	p.client.Close()
	p.server.Close()
	p.client.Conn.Close()
	p.server.Conn.Close()
}

// connect listens and makes one connection.
func (p *pair) connect() (client, server *quic.Conn) {
	p.t.Helper()
	p.listen()
	client, err := p.dial(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	server, err = p.ln.Accept(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return client, server
}

// transfer sends n bytes on a new stream and returns after the last one was read.
func transfer(t testing.TB, from, to *quic.Conn, n int) {
	t.Helper()
	if err := tryTransfer(from, to, n); err != nil {
		t.Fatal(err)
	}
}

func tryTransfer(from, to *quic.Conn, n int) error {
	ctx := context.Background()
	s, err := from.OpenUniStreamSync(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		_, err := io.Copy(s, io.LimitReader(zeros{}, int64(n)))
		s.Close()
		failed <- err
	}()
	r, err := to.AcceptUniStream(ctx)
	if err != nil {
		return err
	}
	got, err := io.Copy(io.Discard, r)
	if err := <-failed; err != nil {
		return err
	}
	if err == nil && got != int64(n) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// settle waits until everything is acknowledged and no goroutine of the bubble has anything to do, so that a test may look at
// what belongs to a connection.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// logLines collects a log.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logLines) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.b.Bytes(), []byte("\n"))
}

// udp is a socket of the loopback interface.
func udp(t testing.TB) net.PacketConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// link is one direction of a network in memory: a drop-tail queue in front of a line.
type link struct {
	rate  cc.Rate       // of UDP payload; 0: no limit
	delay time.Duration // one way
	queue time.Duration // a packet that would wait longer is dropped
	cut   bool          // nothing gets through
	most  int           // larger packets are dropped, bytes; 0: none

	lose func(n int) bool          // which packets get lost, counted from 0; nil: none
	late func(n int) time.Duration // by how much a packet is late, and may be overtaken; nil: none is
	ecn  func(mark byte) byte      // what becomes of the ECN field; nil: nothing
	ce   time.Duration             // packets that wait longer are marked with CE; 0: none

	mu      sync.Mutex
	busy    time.Time // end of the last transmission
	packets []arrival // in order
	sent    int
	dropped int
	marks   int // packets marked with CE
	kick    chan struct{}
}

type arrival struct {
	at  time.Time
	b   []byte
	ecn byte
}

func (l *link) send(b []byte, mark byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.busy.Before(now) {
		l.busy = now
	}
	n, waits := l.sent, l.busy.Sub(now)
	l.sent++
	if l.cut || l.rate > 0 && waits >= l.queue || l.lose != nil && l.lose(n) || l.most > 0 && len(b) > l.most {
		l.dropped++
		return
	}
	if l.rate > 0 {
		l.busy = l.busy.Add(l.rate.TimeFor(int64(len(b))))
	}
	if l.ecn != nil {
		mark = l.ecn(mark)
	}
	if l.ce > 0 && waits > l.ce && mark != 0 {
		mark = 3
		l.marks++
	}
	at := l.busy.Add(l.delay)
	if l.late != nil {
		at = at.Add(l.late(n))
	}
	i := len(l.packets)
	for i > 0 && at.Before(l.packets[i-1].at) {
		i--
	}
	l.packets = slices.Insert(l.packets, i, arrival{at, bytes.Clone(b), mark})
	l.wake()
}

func (l *link) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// set changes the link.
func (l *link) set(f func(*link)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
}

// end is a socket between two links.
type end struct {
	addr     *net.UDPAddr
	in, out  *link
	mu       sync.Mutex
	peer     *net.UDPAddr
	closed   bool
	deadline time.Time
}

// rebind gives what arrives another source address, as a NAT does that has forgotten the old one.
func (e *end) rebind(port int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.peer = &net.UDPAddr{IP: e.peer.IP, Port: port}
}

// network returns two sockets; down leads from server to client.
func network(down, up *link) (server, client *end) {
	down.kick, up.kick = make(chan struct{}, 1), make(chan struct{}, 1)
	a := &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}
	b := &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 2}
	return &end{addr: a, peer: b, in: up, out: down}, &end{addr: b, peer: a, in: down, out: up}
}

func (e *end) WriteTo(b []byte, _ net.Addr) (int, error) {
	e.out.send(b, 0)
	return len(b), nil
}

func (e *end) ReadFrom(b []byte) (int, net.Addr, error) {
	p, from, err := e.next()
	return copy(b, p.b), from, err
}

// next waits for a packet.
func (e *end) next() (arrival, net.Addr, error) {
	for {
		e.mu.Lock()
		closed, deadline, peer := e.closed, e.deadline, e.peer
		e.mu.Unlock()
		now := time.Now()
		if closed {
			return arrival{}, nil, net.ErrClosed
		}
		if !deadline.IsZero() && !now.Before(deadline) {
			return arrival{}, nil, os.ErrDeadlineExceeded
		}
		e.in.mu.Lock()
		wait := time.Hour
		if len(e.in.packets) > 0 {
			if wait = e.in.packets[0].at.Sub(now); wait <= 0 {
				p := e.in.packets[0]
				e.in.packets = e.in.packets[1:]
				e.in.mu.Unlock()
				return p, peer, nil
			}
		}
		e.in.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.in.kick:
		}
		timer.Stop()
	}
}

func (e *end) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.in.wake()
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error {
	e.mu.Lock()
	e.deadline = t
	e.mu.Unlock()
	e.in.wake()
	return nil
}

func (e *end) LocalAddr() net.Addr              { return e.addr }
func (e *end) SetDeadline(time.Time) error      { return nil }
func (e *end) SetWriteDeadline(time.Time) error { return nil }

// discardStreams reads what comes on streams until the connection ends.
func discardStreams(c *quic.Conn) {
	for {
		r, err := c.AcceptUniStream(c.Context())
		if err != nil {
			return
		}
		go io.Copy(io.Discard, r)
	}
}
