package ccinject

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"

	"github.com/moq-c4/moq-c4/cc"
)

// Factory makes the controller of a new path. It is called on a goroutine of
// the connection, as are the controller's methods.
type Factory = func(cc.Config) cc.Controller

// Config says what an [Injector] installs.
type Config struct {
	// Controller makes the controllers. Required.
	Controller Factory

	// Logger gets one line if controllers cannot be installed. Default: nothing is logged.
	Logger *slog.Logger

	// Monitor chooses by the application protocols that the client offers which Monitor
	// counts a connection. Default: none does.
	Monitor func(protocols []string) *Monitor

	// Memory gives new connections what earlier ones have learned. Default: none.
	Memory *Memory
}

// Stats counts connections since New.
type Stats struct {
	Installed   uint64 // got the controller
	Refused     uint64 // kept quic-go's, because it is not as expected
	Reinstalled uint64 // got another one because they moved to another path
}

// Injector installs controllers. Its methods may be called at any time from any goroutine.
// Those of a nil Injector change nothing.
type Injector struct {
	cfg       Config
	transport transportLayout
	conn      connLayout
	err       error // the layout is not the known one

	checkHandler func(reflect.Type) (*handlerLayout, error)
	handler      atomic.Pointer[handlerLayout] // nil before the first connection

	late func() time.Duration // by how much timers are late, in tests; nil: not on purpose

	installed, refused, reinstalled atomic.Uint64
	warn                            sync.Once
}

// New compares quic-go with what is expected. A difference is no error: connections
// keep quic-go's controller then.
func New(cfg Config) *Injector {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Monitor == nil {
		cfg.Monitor = func([]string) *Monitor { return nil }
	}
	in := &Injector{cfg: cfg, checkHandler: checkHandler}
	var errT, errC error
	in.transport, errT = checkTransport(reflect.TypeFor[quic.Transport]())
	in.conn, errC = checkConn(reflect.TypeFor[quic.Conn]())
	in.err = errors.Join(errT, errC)
	return in
}

// Stats may be called at any time.
func (in *Injector) Stats() Stats {
	if in == nil {
		return Stats{}
	}
	return Stats{
		Installed:   in.installed.Load(),
		Refused:     in.refused.Load(),
		Reinstalled: in.reinstalled.Load(),
	}
}

// tag marks the connection for which a context was made.
type tag struct {
	id    quic.ConnectionID // under which it is known, if known is set
	known bool
}

type tagKey struct{}

// Server prepares a transport that is not yet in use: it wraps tr.ConnContext and
// returns configurations for Listen or ListenEarly.
func (in *Injector) Server(tr *quic.Transport, t *tls.Config, q *quic.Config) (*tls.Config, *quic.Config) {
	if in == nil {
		return t, q
	}
	connContext := tr.ConnContext
	tr.ConnContext = func(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
		if connContext != nil {
			var err error
			if ctx, err = connContext(ctx, info); err != nil || ctx == nil {
				return ctx, err
			}
		}
		return context.WithValue(ctx, tagKey{}, &tag{}), nil
	}

	q = q.Clone()
	tracer := q.Tracer
	q.Tracer = func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		if t, ok := ctx.Value(tagKey{}).(*tag); ok && !isClient {
			t.id, t.known = id, true
		}
		if tracer == nil {
			return nil
		}
		return tracer(ctx, isClient, id)
	}

	t = t.Clone()
	getConfig := t.GetConfigForClient
	t.GetConfigForClient = func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		in.install(tr, info.Context(), q, in.cfg.Monitor(info.SupportedProtos))
		if getConfig == nil {
			return nil, nil
		}
		return getConfig(info)
	}
	return t, q
}

// Client prepares one call of tr.Dial or tr.DialEarly. The context returned has to be
// used for it.
func (in *Injector) Client(ctx context.Context, tr *quic.Transport, t *tls.Config, q *quic.Config) (context.Context, *tls.Config) {
	if in == nil {
		return ctx, t
	}
	ctx = context.WithValue(ctx, tagKey{}, &tag{})
	t = t.Clone()
	verify := t.VerifyConnection
	t.VerifyConnection = func(cs tls.ConnectionState) error {
		if verify != nil {
			if err := verify(cs); err != nil {
				return err
			}
		}
		in.install(tr, ctx, q, in.cfg.Monitor(t.NextProtos))
		return nil
	}
	return ctx, t
}

// install runs on a goroutine of crypto/tls while the connection's waits for it.
func (in *Injector) install(tr *quic.Transport, ctx context.Context, q *quic.Config, m *Monitor) {
	if err := in.tryInstall(tr, ctx, q, m); err != nil {
		in.refused.Add(1)
		m.refused()
		in.warn.Do(func() {
			in.cfg.Logger.Warn("congestion controller not installed, the QUIC library's own goes on", "error", err)
		})
		return
	}
	in.installed.Add(1)
}

func (in *Injector) tryInstall(tr *quic.Transport, ctx context.Context, q *quic.Config, m *Monitor) error {
	if in.err != nil {
		return in.err
	}
	t, ok := ctx.Value(tagKey{}).(*tag)
	if !ok {
		return errors.New("the context of the connection has no tag")
	}
	conn := in.find(tr, t)
	if conn == nil {
		return errors.New("the transport does not know the connection")
	}
	handler := reflect.NewAt(in.conn.handlerType, unsafe.Add(unsafe.Pointer(conn), in.conn.handler)).Elem().Elem()
	if !handler.IsValid() {
		return errors.New("the connection has no sentPacketHandler")
	}
	l := in.handler.Load()
	if l == nil || l.typ != handler.Type() {
		var err error
		if l, err = in.checkHandler(handler.Type()); err != nil {
			return err
		}
		in.handler.Store(l)
	}
	s := newSender(in, l, handler.UnsafePointer(), initialMTU(q), conn)
	s.trace.open(conn.QlogTrace())
	s.install()
	m.add(&s.vitals)
	context.AfterFunc(conn.Context(), func() {
		m.remove(&s.vitals)
		s.remember()
		s.trace.close()
	})
	return nil
}

// initialMTU is quic-go's packet size before path MTU discovery, bytes.
func initialMTU(q *quic.Config) int64 {
	const usual = 1280
	if q != nil && q.InitialPacketSize != 0 {
		return int64(q.InitialPacketSize)
	}
	return usual
}

// find returns the connection with the tag, or nil.
func (in *Injector) find(tr *quic.Transport, t *tag) *quic.Conn {
	base := unsafe.Pointer(tr)
	handlers := reflect.NewAt(in.transport.handlersType, unsafe.Add(base, in.transport.handlers)).Elem()
	mutex := at[sync.Mutex](base, in.transport.mutex)
	mutex.Lock()
	defer mutex.Unlock()
	if t.known {
		if v := handlers.MapIndex(reflect.ValueOf(t.id)); v.IsValid() {
			if c := embeddedConn(v.Elem()); c != nil && c.Context().Value(tagKey{}) == any(t) {
				return c
			}
		}
	}
	// A client's own ID is not told, nor is the server's after a Retry.
	for it := handlers.MapRange(); it.Next(); {
		if c := embeddedConn(it.Value().Elem()); c != nil && c.Context().Value(tagKey{}) == any(t) {
			return c
		}
	}
	return nil
}

// embeddedConn returns the *quic.Conn that is embedded in what v points to, or nil.
func embeddedConn(v reflect.Value) *quic.Conn {
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	f, ok := v.Type().Elem().FieldByName("Conn")
	if !ok || !f.Anonymous || len(f.Index) != 1 || f.Type != reflect.TypeFor[*quic.Conn]() {
		return nil
	}
	return (*quic.Conn)(v.Elem().FieldByIndex(f.Index).UnsafePointer())
}

// slots are a connection's places for controllers, and what else is needed of it.
type slots struct {
	congestion *sendAlgorithm
	ecn        *ecnHandler // nil: the socket has no ECN

	rtt       *rttStats
	stats     *connStats
	ptoCount  *uint32
	inFlight  *int64
	confirmed *bool
}

func (l *handlerLayout) slots(p unsafe.Pointer) slots {
	s := slots{
		congestion: at[sendAlgorithm](p, l.congestion),
		rtt:        *at[*rttStats](p, l.rttStats),
		stats:      *at[*connStats](p, l.connStats),
		ptoCount:   at[uint32](p, l.ptoCount),
		inFlight:   at[int64](p, l.inFlight),
		confirmed:  at[bool](p, l.isConfirmed),
	}
	if *at[bool](p, l.enableECN) {
		s.ecn = at[ecnHandler](p, l.ecnTracker)
	}
	return s
}
