package quicnet

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/webtransport-go"
)

// This file is the only one that knows unexported fields of webtransport-go v0.13.0, which has no methods for
// priorities and reliable resets although its streams are quic-go's:
//
//	webtransport.SendStream.str  interface holding *quic.SendStream or *quic.Stream
//	webtransport.Stream.sendStr  *webtransport.SendStream
//
// The layout is checked before anything is read. After an upgrade the tests tell whether it still holds.

// scheduled is what quic-go's sending streams offer beyond webtransport-go's.
type scheduled interface {
	SetPriority(urgency int8, incremental bool)
	SetReliableBoundary()
	TryWriteAll([]byte) error
}

var (
	_ scheduled = (*quic.SendStream)(nil)
	_ scheduled = (*quic.Stream)(nil)
)

// reach finds the QUIC stream below a WebTransport stream. The zero value finds none.
type reach struct {
	sendStr uintptr      // offset in webtransport.Stream
	str     uintptr      // offset in webtransport.SendStream
	strType reflect.Type // nil if out of reach
}

// newReach checks the layout of the two types.
func newReach(send, bidi reflect.Type) (*reach, error) {
	if send.Kind() != reflect.Struct || bidi.Kind() != reflect.Struct {
		return nil, errors.New("streams are not structs")
	}
	str, ok := send.FieldByName("str")
	if !ok || len(str.Index) != 1 || str.Type.Kind() != reflect.Interface {
		return nil, fmt.Errorf("%v has no interface field str", send)
	}
	for _, q := range []reflect.Type{reflect.TypeFor[*quic.SendStream](), reflect.TypeFor[*quic.Stream]()} {
		if !q.Implements(str.Type) {
			return nil, fmt.Errorf("%v.str cannot hold %v", send, q)
		}
	}
	sendStr, ok := bidi.FieldByName("sendStr")
	if !ok || len(sendStr.Index) != 1 || sendStr.Type != reflect.PointerTo(send) {
		return nil, fmt.Errorf("%v has no field sendStr of type *%v", bidi, send)
	}
	return &reach{sendStr: sendStr.Offset, str: str.Offset, strType: str.Type}, nil
}

// sendStream returns nil if there is no way.
func (r *reach) sendStream(s *webtransport.SendStream) scheduled {
	if r.strType != nil && s != nil {
		p := reflect.NewAt(r.strType, unsafe.Add(unsafe.Pointer(s), r.str))
		if q, ok := p.Elem().Interface().(scheduled); ok {
			return q
		}
	}
	unscheduledStreams.Add(1)
	return nil
}

// stream returns nil if there is no way.
func (r *reach) stream(s *webtransport.Stream) scheduled {
	if r.strType == nil {
		return r.sendStream(nil)
	}
	return r.sendStream(*(**webtransport.SendStream)(unsafe.Add(unsafe.Pointer(s), r.sendStr)))
}

// unscheduledStreams counts WebTransport streams that got no priority.
var unscheduledStreams atomic.Uint64

var checkWebTransport = sync.OnceValues(func() (*reach, error) {
	return newReach(reflect.TypeFor[webtransport.SendStream](), reflect.TypeFor[webtransport.Stream]())
})

var warnReachOnce sync.Once

// reachWebTransport checks the library in use; it logs once if the layout is not the known one.
func reachWebTransport(log *slog.Logger) *reach {
	r, err := checkWebTransport()
	if err != nil {
		warnReachOnce.Do(func() {
			log.Warn("webtransport streams have no priorities: unknown library layout", "error", err)
		})
		return &reach{}
	}
	return r
}
