package ccinject

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/moq-c4/moq-c4/cc"
)

// handlerFields is a sentPacketHandler as expected, in another order.
func handlerFields() map[string]reflect.Type {
	return map[string]reflect.Type{
		"bytesInFlight":      reflect.TypeFor[int64](),
		"congestion":         reflect.TypeFor[sendAlgorithm](),
		"connStats":          reflect.TypeFor[*connStats](),
		"ecnTracker":         reflect.TypeFor[ecnHandler](),
		"enableECN":          reflect.TypeFor[bool](),
		"handshakeConfirmed": reflect.TypeFor[bool](),
		"ptoCount":           reflect.TypeFor[uint32](),
		"rttStats":           reflect.TypeFor[*rttStats](),
	}
}

func structOf(types map[string]reflect.Type) reflect.Type {
	var list []reflect.StructField
	for name, t := range types {
		list = append(list, reflect.StructField{Name: name, PkgPath: "test", Type: t})
	}
	return reflect.StructOf(list)
}

// Interfaces that differ from sendAlgorithm.
type (
	common interface {
		TimeUntilSend(int64) instant
		HasPacingBudget(instant) bool
		OnPacketSent(instant, int64, int64, int64, bool)
		CanSend(int64) bool
		MaybeExitSlowStart()
		OnCongestionEvent(int64, int64, int64)
		OnRetransmissionTimeout(bool)
		SetMaxDatagramSize(int64)
		InSlowStart() bool
		InRecovery() bool
		GetCongestionWindow() int64
	}
	oneMore interface {
		sendAlgorithm
		OnPacketDiscarded(int64)
	}
	oneLess interface {
		common
		OnPacketAcked(int64, int64, int64, instant)
	}
	renamed interface {
		common
		OnPacketAcked(int64, int64, int64, instant)
		OnSpurious(int64)
	}
	otherParameter interface {
		common
		OnPacketAcked(int64, int64, int64, time.Time)
		OnSpuriousLoss(int64)
	}
	otherResult interface {
		common
		OnPacketAcked(int64, int64, int64, instant) bool
		OnSpuriousLoss(int64)
	}
	unexported interface {
		common
		OnPacketAcked(int64, int64, int64, instant)
		onSpuriousLoss(int64)
	}
	otherPacket interface {
		SentPacket(int64, codepoint)
		Mode() codepoint
		HandleNewlyAcked([]struct {
			PacketNumber int32
			packet       *int
		}, int64, int64, int64) bool
		LostPacket(int64)
	}
	otherNumber interface {
		SentPacket(int64, codepoint)
		Mode() codepoint
		HandleNewlyAcked([]struct {
			Index  int64
			packet *int
		}, int64, int64, int64) bool
		LostPacket(int64)
	}
)

//lint:ignore U1000 only its layout counts
type otherRTT struct {
	hasMeasurement                      bool
	latestRTT, minRTT                   atomic.Int64
	smoothedRTT, meanDeviation, maxAcks atomic.Int64
}

func TestHandlerLayout(t *testing.T) {
	if _, err := checkHandlerFields(structOf(handlerFields())); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		field string
		typ   reflect.Type // nil: no such field
	}{
		{"bytesInFlight", nil},
		{"bytesInFlight", reflect.TypeFor[int32]()},
		{"congestion", nil},
		{"congestion", reflect.TypeFor[*sender]()},
		{"congestion", reflect.TypeFor[oneMore]()},
		{"congestion", reflect.TypeFor[oneLess]()},
		{"congestion", reflect.TypeFor[renamed]()},
		{"congestion", reflect.TypeFor[otherParameter]()},
		{"congestion", reflect.TypeFor[otherResult]()},
		{"congestion", reflect.TypeFor[unexported]()},
		{"connStats", reflect.TypeFor[connStats]()},
		{"connStats", reflect.TypeFor[*rttStats]()},
		{"ecnTracker", reflect.TypeFor[sendAlgorithm]()},
		{"ecnTracker", reflect.TypeFor[otherPacket]()},
		{"ecnTracker", reflect.TypeFor[otherNumber]()},
		{"enableECN", nil},
		{"handshakeConfirmed", reflect.TypeFor[atomic.Bool]()},
		{"ptoCount", reflect.TypeFor[int]()},
		{"rttStats", reflect.TypeFor[*otherRTT]()},
		{"rttStats", reflect.TypeFor[*int]()},
	} {
		types := handlerFields()
		delete(types, tt.field)
		if tt.typ != nil {
			types[tt.field] = tt.typ
		}
		if _, err := checkHandlerFields(structOf(types)); err == nil {
			t.Errorf("%s %v was accepted", tt.field, tt.typ)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[*int](), reflect.TypeFor[*sender](),
		reflect.PointerTo(structOf(handlerFields())), // has no name
	} {
		if _, err := checkHandler(typ); err == nil {
			t.Errorf("%v was accepted", typ)
		}
	}
}

func TestTransportLayout(t *testing.T) {
	type conns = map[quic.ConnectionID]interface{ Close() }
	for _, tt := range []struct {
		typ reflect.Type
		ok  bool
	}{
		{reflect.TypeFor[quic.Transport](), true},
		{reflect.TypeFor[struct {
			handlers conns
			mutex    sync.Mutex
		}](), true},
		{reflect.TypeFor[struct {
			handlers conns
			mutex    sync.RWMutex
		}](), false},
		{reflect.TypeFor[struct {
			handlers sync.Map
			mutex    sync.Mutex
		}](), false},
		{reflect.TypeFor[struct {
			handlers map[string]interface{ Close() }
			mutex    sync.Mutex
		}](), false},
		{reflect.TypeFor[struct {
			handlers map[quic.ConnectionID]*quic.Conn
			mutex    sync.Mutex
		}](), false},
		{reflect.TypeFor[struct{ handlers conns }](), false},
		{reflect.TypeFor[int](), false},
	} {
		if _, err := checkTransport(tt.typ); (err == nil) != tt.ok {
			t.Errorf("%v: %v", tt.typ, err)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[struct{ sentPacketHandler *int }]()} {
		if _, err := checkConn(typ); err == nil {
			t.Errorf("%v was accepted as a connection", typ)
		}
	}
}

// TestRefused has connections go on with quic-go's controller when it is not as
// expected, and says so once.
func TestRefused(t *testing.T) {
	unknown := errors.New("unknown layout")
	for _, tt := range []struct {
		name  string
		spoil func(*Injector)
	}{
		{"transport or connection", func(in *Injector) { in.err = unknown }},
		{"handler", func(in *Injector) {
			in.checkHandler = func(reflect.Type) (*handlerLayout, error) { return nil, unknown }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := network(&link{delay: time.Millisecond}, &link{delay: time.Millisecond})
				var log logLines
				in := New(Config{Logger: log.logger(), Controller: func(cc.Config) cc.Controller {
					t.Error("a controller was made")
					return nil
				}})
				tt.spoil(in)
				p := newPair(t, server, client, in, in)
				c, s := p.connect()
				transfer(t, s, c, 1e5)
				transfer(t, c, s, 1e5)
				if got := in.Stats(); got != (Stats{Refused: 2}) {
					t.Errorf("got %+v", got)
				}
				if log.lines() != 1 || !strings.Contains(log.b.String(), "unknown layout") {
					t.Errorf("log: %s", log.b.String())
				}
				p.close()
				time.Sleep(time.Minute)
			})
		})
	}
}
