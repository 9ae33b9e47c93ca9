package ccinject

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/quic-go/quic-go"
)

// at returns the field at an offset that was checked.
func at[T any](base unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(base, offset)) }

// transportLayout says where a transport keeps its connections.
type transportLayout struct {
	mutex, handlers uintptr
	handlersType    reflect.Type // map from quic.ConnectionID to an interface
}

// checkTransport looks at quic.Transport.
func checkTransport(t reflect.Type) (l transportLayout, err error) {
	f := fields{t: t}
	l.mutex = f.typed("mutex", reflect.TypeFor[sync.Mutex]())
	m := f.find("handlers", reflect.Map)
	if f.err != nil {
		return l, f.err
	}
	if m.Type.Key() != reflect.TypeFor[quic.ConnectionID]() || m.Type.Elem().Kind() != reflect.Interface {
		return l, fmt.Errorf("%v.handlers is %v", t, m.Type)
	}
	l.handlers, l.handlersType = m.Offset, m.Type
	return l, nil
}

// connLayout says where a connection keeps what sends.
type connLayout struct {
	handler     uintptr
	handlerType reflect.Type // an interface
}

// checkConn looks at quic.Conn.
func checkConn(t reflect.Type) (l connLayout, err error) {
	f := fields{t: t}
	h := f.find("sentPacketHandler", reflect.Interface)
	l.handler, l.handlerType = h.Offset, h.Type
	return l, f.err
}

// handlerLayout says where ackhandler.sentPacketHandler keeps what matters here.
type handlerLayout struct {
	typ                             reflect.Type // pointer to the struct
	congestion                      uintptr
	enableECN, ecnTracker           uintptr
	rttStats, connStats             uintptr
	ptoCount, inFlight, isConfirmed uintptr
}

// checkHandler looks at the dynamic type of a connection's sentPacketHandler, which
// can only be had from a connection.
func checkHandler(t reflect.Type) (*handlerLayout, error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || t.Elem().Name() != "sentPacketHandler" {
		return nil, fmt.Errorf("sentPacketHandler is %v", t)
	}
	l, err := checkHandlerFields(t.Elem())
	if err != nil {
		return nil, err
	}
	l.typ = t
	return l, nil
}

func checkHandlerFields(t reflect.Type) (*handlerLayout, error) {
	f := fields{t: t}
	congestion := f.find("congestion", reflect.Interface)
	ecn := f.find("ecnTracker", reflect.Interface)
	rtt := f.find("rttStats", reflect.Pointer)
	stats := f.find("connStats", reflect.Pointer)
	l := &handlerLayout{
		congestion:  congestion.Offset,
		enableECN:   f.find("enableECN", reflect.Bool).Offset,
		ecnTracker:  ecn.Offset,
		rttStats:    rtt.Offset,
		connStats:   stats.Offset,
		ptoCount:    f.find("ptoCount", reflect.Uint32).Offset,
		inFlight:    f.find("bytesInFlight", reflect.Int64).Offset,
		isConfirmed: f.find("handshakeConfirmed", reflect.Bool).Offset,
	}
	if f.err != nil {
		return nil, f.err
	}
	if m, ok := ecn.Type.MethodByName("HandleNewlyAcked"); !ok || !hasNumber(m.Type) {
		return nil, fmt.Errorf("%v.HandleNewlyAcked has changed", ecn.Type)
	}
	return l, errors.Join(
		sameMethods(congestion.Type, reflect.TypeFor[sendAlgorithm]()),
		sameMethods(ecn.Type, reflect.TypeFor[ecnHandler]()),
		sameFields(rtt.Type.Elem(), reflect.TypeFor[rttStats]()),
		sameFields(stats.Type.Elem(), reflect.TypeFor[connStats]()),
	)
}

// hasNumber reports whether the first parameter is a slice of structs that begin
// with a packet number.
func hasNumber(method reflect.Type) bool {
	if method.NumIn() == 0 || method.In(0).Kind() != reflect.Slice {
		return false
	}
	p := method.In(0).Elem()
	return p.Kind() == reflect.Struct && p.NumField() > 0 && p.Field(0).Name == "PacketNumber"
}

// fields finds fields of a struct and keeps the first error.
type fields struct {
	t   reflect.Type
	err error
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) find(name string, kind reflect.Kind) reflect.StructField {
	if f.t.Kind() != reflect.Struct {
		f.fail("%v is not a struct", f.t)
		return reflect.StructField{}
	}
	field, ok := f.t.FieldByName(name)
	switch {
	case !ok || len(field.Index) != 1:
		f.fail("%v has no field %s", f.t, name)
	case field.Type.Kind() != kind:
		f.fail("%v.%s is %v", f.t, name, field.Type)
	}
	return field
}

func (f *fields) typed(name string, want reflect.Type) uintptr {
	field := f.find(name, want.Kind())
	if f.err == nil && field.Type != want {
		f.fail("%v.%s is %v", f.t, name, field.Type)
	}
	return field.Offset
}

// sameFields compares two structs: names, types and places.
func sameFields(theirs, ours reflect.Type) error {
	if theirs.Kind() != reflect.Struct || theirs.NumField() != ours.NumField() || theirs.Size() != ours.Size() {
		return fmt.Errorf("%v has another size or number of fields", theirs)
	}
	for i := range ours.NumField() {
		a, b := theirs.Field(i), ours.Field(i)
		if a.Name != b.Name || a.Type != b.Type || a.Offset != b.Offset {
			return fmt.Errorf("%v.%s has changed", theirs, a.Name)
		}
	}
	return nil
}

// sameMethods reports whether a value of one interface type can be called through
// the other. The order of methods in an interface's table is that of their
// names, as in reflection; unexported ones depend on their package and are not accepted.
func sameMethods(theirs, ours reflect.Type) error {
	if theirs.Kind() != reflect.Interface || theirs.NumMethod() != ours.NumMethod() {
		return fmt.Errorf("%v has another number of methods", theirs)
	}
	for i := range ours.NumMethod() {
		a, b := theirs.Method(i), ours.Method(i)
		if a.Name != b.Name || a.PkgPath != "" {
			return fmt.Errorf("%v has %s where %s was", theirs, a.Name, b.Name)
		}
		if !sameSignature(a.Type, b.Type) {
			return fmt.Errorf("%v.%s is now %v", theirs, a.Name, a.Type)
		}
	}
	return nil
}

func sameSignature(a, b reflect.Type) bool {
	if a.NumIn() != b.NumIn() || a.NumOut() != b.NumOut() || a.IsVariadic() != b.IsVariadic() {
		return false
	}
	for i := range a.NumIn() {
		if !samePassing(a.In(i), b.In(i)) {
			return false
		}
	}
	for i := range a.NumOut() {
		if !samePassing(a.Out(i), b.Out(i)) {
			return false
		}
	}
	return true
}

// samePassing reports whether values of the types are passed and stored alike. It
// knows the kinds that occur: integers, booleans, pointers and slices of structs of those.
func samePassing(a, b reflect.Type) bool {
	if isPointer(a) && isPointer(b) {
		return true
	}
	if a.Kind() != b.Kind() || a.Size() != b.Size() || a.Align() != b.Align() {
		return false
	}
	switch a.Kind() {
	case reflect.Bool, reflect.Uint8, reflect.Int64:
		return true
	case reflect.Slice:
		return samePassing(a.Elem(), b.Elem())
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return false
		}
		for i := range a.NumField() {
			if a.Field(i).Offset != b.Field(i).Offset || !samePassing(a.Field(i).Type, b.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}

func isPointer(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.UnsafePointer
}
