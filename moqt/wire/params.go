package wire

import (
	"fmt"
	"math"
	"strings"
)

// ParamType is the type of a Message Parameter.
type ParamType uint64

// [MOQT-18] Section 15.7, Message Parameters
const (
	ParamObjectDeliveryTimeout   ParamType = 0x02
	ParamAuthorizationToken      ParamType = 0x03
	ParamRendezvousTimeout       ParamType = 0x04
	ParamSubgroupDeliveryTimeout ParamType = 0x06
	ParamExpires                 ParamType = 0x08
	ParamLargestObject           ParamType = 0x09
	ParamFillTimeout             ParamType = 0x0a
	ParamForward                 ParamType = 0x10
	ParamSubscriberPriority      ParamType = 0x20
	ParamSubscriptionFilter      ParamType = 0x21
	ParamGroupOrder              ParamType = 0x22
	ParamNewGroupRequest         ParamType = 0x32
	ParamTrackNamespacePrefix    ParamType = 0x34
)

// Range Filters may repeat, as tokens may.
//
// [MOQT-19] Section 5.1.3, Range Filters
const (
	paramSubgroupFilter       ParamType = 0x25
	paramObjectIDFilter       ParamType = 0x26
	paramPriorityFilter       ParamType = 0x27
	paramObjectPropertyFilter ParamType = 0x28
	paramTrackPropertyFilter  ParamType = 0x29
)

func (t ParamType) mayRepeat(v Version) bool {
	return t == ParamAuthorizationToken || v >= Draft19 && paramSubgroupFilter <= t && t <= paramTrackPropertyFilter
}

// String returns the draft's name, or the type in hex if it is unknown.
func (t ParamType) String() string {
	for _, n := range paramNames {
		if n.typ == t {
			return n.name
		}
	}
	return codeName("", uint64(t))
}

// paramNames are the parameters in ascending order of type, which is also the order
// of the bits of ParamSet.
var paramNames = [...]struct {
	typ  ParamType
	name string
}{
	{ParamObjectDeliveryTimeout, "OBJECT_DELIVERY_TIMEOUT"},
	{ParamAuthorizationToken, "AUTHORIZATION_TOKEN"},
	{ParamRendezvousTimeout, "RENDEZVOUS_TIMEOUT"},
	{ParamSubgroupDeliveryTimeout, "SUBGROUP_DELIVERY_TIMEOUT"},
	{ParamExpires, "EXPIRES"},
	{ParamLargestObject, "LARGEST_OBJECT"},
	{ParamFillTimeout, "FILL_TIMEOUT"},
	{ParamForward, "FORWARD"},
	{ParamSubscriberPriority, "SUBSCRIBER_PRIORITY"},
	{ParamSubscriptionFilter, "SUBSCRIPTION_FILTER"},
	{ParamGroupOrder, "GROUP_ORDER"},
	{ParamNewGroupRequest, "NEW_GROUP_REQUEST"},
	{ParamTrackNamespacePrefix, "TRACK_NAMESPACE_PREFIX"},
}

// Values that hold when a message does not carry the parameter.
const (
	// [MOQT-18] Section 10.2.7, SUBSCRIBER PRIORITY Parameter
	DefaultSubscriberPriority uint8 = 128
	// [MOQT-18] Section 10.2.12, FORWARD Parameter (not in REQUEST_UPDATE)
	DefaultForward = true
)

// Params are the Message Parameters of a message. What is absent has its default,
// or in a REQUEST_UPDATE stays as it was.
//
// [MOQT-18] Section 10.2, Message Parameters
type Params struct {
	ObjectDeliveryTimeout   Opt[Millis] // 0 is none
	AuthTokens              []Token     // in order; the only parameter that may repeat
	RendezvousTimeout       Opt[Millis] // how long to wait for a publisher; default 0
	SubgroupDeliveryTimeout Opt[Millis] // 0 is none
	Expires                 Opt[Millis] // 0 is never or unknown
	LargestObject           Opt[Location]
	FillTimeout             Opt[Millis] // 0 is do not wait
	Forward                 Opt[bool]   // default true
	SubscriberPriority      Opt[uint8]  // lower is more urgent; default 128
	Filter                  Opt[Filter] // default all objects
	GroupOrder              Opt[GroupOrder]
	NewGroupRequest         Opt[uint64] // largest known group + 1, or 0
	TrackNamespacePrefix    Opt[Namespace]

	// RangeFilter is set if the peer has sent a Range Filter of draft-19, which it must not: MAX_FILTER_RANGES is 0. The request
	// is refused with INVALID_FILTER. It is never sent.
	RangeFilter bool
}

// ParamSet is a set of parameter types.
type ParamSet uint16

// The bits are in the order of paramNames.
const (
	hasObjectDeliveryTimeout ParamSet = 1 << iota
	hasAuthToken
	hasRendezvousTimeout
	hasSubgroupDeliveryTimeout
	hasExpires
	hasLargestObject
	hasFillTimeout
	hasForward
	hasSubscriberPriority
	hasFilter
	hasGroupOrder
	hasNewGroupRequest
	hasTrackNamespacePrefix
)

// String returns the names of the parameters in the set, with commas between them.
func (s ParamSet) String() string {
	var names []string
	for i, n := range paramNames {
		if s&(1<<i) != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// Set returns which parameters are present.
func (p *Params) Set() ParamSet {
	var s ParamSet
	add := func(present bool, bit ParamSet) {
		if present {
			s |= bit
		}
	}
	add(p.ObjectDeliveryTimeout.ok, hasObjectDeliveryTimeout)
	add(len(p.AuthTokens) > 0, hasAuthToken)
	add(p.RendezvousTimeout.ok, hasRendezvousTimeout)
	add(p.SubgroupDeliveryTimeout.ok, hasSubgroupDeliveryTimeout)
	add(p.Expires.ok, hasExpires)
	add(p.LargestObject.ok, hasLargestObject)
	add(p.FillTimeout.ok, hasFillTimeout)
	add(p.Forward.ok, hasForward)
	add(p.SubscriberPriority.ok, hasSubscriberPriority)
	add(p.Filter.ok, hasFilter)
	add(p.GroupOrder.ok, hasGroupOrder)
	add(p.NewGroupRequest.ok, hasNewGroupRequest)
	add(p.TrackNamespacePrefix.ok, hasTrackNamespacePrefix)
	return s
}

// checkReceived fails if a parameter is present that the message must not hold.
//
// "Each Message Parameter definition indicates the message types in which it can
// appear. If it appears in some other type of message, the receiving endpoint MUST
// close the connection with a PROTOCOL_VIOLATION."
// [MOQT-18] Section 10.2.1, Parameter Scope
func (p *Params) checkReceived(allowed ParamSet) error {
	if extra := p.Set() &^ allowed; extra != 0 {
		return violation("not allowed in this message: " + extra.String())
	}
	return nil
}

// checkSent fails if p must not be sent in a message that may hold allowed.
func (p *Params) checkSent(allowed ParamSet) error {
	if extra := p.Set() &^ allowed; extra != 0 {
		return fmt.Errorf("not allowed in this message: %v: %w", extra, ErrInvalidValue)
	}
	for _, t := range p.AuthTokens {
		if err := t.check(); err != nil {
			return err
		}
	}
	if f, ok := p.Filter.Get(); ok {
		if err := f.check(); err != nil {
			return err
		}
	}
	if o, ok := p.GroupOrder.Get(); ok && !o.valid() {
		return fmt.Errorf("group order %d: %w", o, ErrInvalidValue)
	}
	return nil
}

// paramWriter appends parameters, which must come in ascending order of type.
type paramWriter struct {
	b     []byte
	v     Version
	prev  ParamType
	count uint64
}

// next writes the delta to the type typ.
func (w *paramWriter) next(typ ParamType) {
	w.b = w.v.appendVarint(w.b, uint64(typ-w.prev))
	w.prev = typ
	w.count++
}

func (w *paramWriter) millis(typ ParamType, o Opt[Millis]) {
	if m, ok := o.Get(); ok {
		w.varint(typ, uint64(m))
	}
}

func (w *paramWriter) varint(typ ParamType, x uint64) {
	w.next(typ)
	w.b = w.v.appendVarint(w.b, x)
}

func (w *paramWriter) uint8(typ ParamType, x uint8) {
	w.next(typ)
	w.b = append(w.b, x)
}

func (w *paramWriter) bytes(typ ParamType, x []byte) {
	w.next(typ)
	w.b = w.v.appendVarint(w.b, uint64(len(x)))
	w.b = append(w.b, x...)
}

// append writes Number of Parameters and the parameters in ascending order of
// type.
func (p *Params) append(b []byte, v Version) []byte {
	if v == Draft16 {
		return p.appendKVP(b)
	}
	w := paramWriter{v: v}
	w.millis(ParamObjectDeliveryTimeout, p.ObjectDeliveryTimeout)
	for _, t := range p.AuthTokens {
		w.bytes(ParamAuthorizationToken, t.Append(nil, v))
	}
	w.millis(ParamRendezvousTimeout, p.RendezvousTimeout)
	w.millis(ParamSubgroupDeliveryTimeout, p.SubgroupDeliveryTimeout)
	w.millis(ParamExpires, p.Expires)
	if l, ok := p.LargestObject.Get(); ok {
		w.next(ParamLargestObject)
		w.b = l.append(w.b, v)
	}
	w.millis(ParamFillTimeout, p.FillTimeout)
	if f, ok := p.Forward.Get(); ok {
		w.uint8(ParamForward, boolByte(f))
	}
	if x, ok := p.SubscriberPriority.Get(); ok {
		w.uint8(ParamSubscriberPriority, x)
	}
	if f, ok := p.Filter.Get(); ok {
		w.bytes(ParamSubscriptionFilter, f.Append(nil, v))
	}
	if o, ok := p.GroupOrder.Get(); ok {
		w.uint8(ParamGroupOrder, uint8(o))
	}
	if x, ok := p.NewGroupRequest.Get(); ok {
		w.varint(ParamNewGroupRequest, x)
	}
	if ns, ok := p.TrackNamespacePrefix.Get(); ok {
		w.next(ParamTrackNamespacePrefix)
		w.b = ns.append(w.b, v)
	}
	b = v.appendVarint(b, w.count)
	return append(b, w.b...)
}

func boolByte(x bool) byte {
	if x {
		return 1
	}
	return 0
}

// consumeParams reads Number of Parameters and the parameters. Which of them the
// message may hold is not looked at.
func consumeParams(b []byte, v Version) (p Params, n int, err error) {
	r := bodyReader{b: b, v: v}
	count := r.varint()
	if v == Draft16 {
		r.paramsKVP(count, &p)
		if r.err != nil {
			return Params{}, 0, r.err
		}
		return p, len(b) - len(r.b), nil
	}
	var typ ParamType
	for i := uint64(0); i < count && r.err == nil; i++ {
		delta := r.varint()
		// "If the resulting Type would be greater than 2^64 - 1, the endpoint MUST
		// close the session with a PROTOCOL_VIOLATION."
		// [MOQT-18] Section 10.2, Message Parameters
		if delta > math.MaxUint64-uint64(typ) {
			r.fail(violation("type of parameter is above 2^64-1"))
		}
		typ += ParamType(delta)
		if i > 0 && delta == 0 && !typ.mayRepeat(v) {
			r.fail(violation(typ.String() + " is repeated"))
		}
		r.param(typ, &p)
	}
	if r.err != nil {
		return Params{}, 0, r.err
	}
	return p, len(b) - len(r.b), nil
}

// param reads the value of one parameter into p.
func (r *bodyReader) param(typ ParamType, p *Params) {
	if r.err != nil {
		return
	}
	switch typ {
	case ParamObjectDeliveryTimeout:
		p.ObjectDeliveryTimeout = Some(Millis(r.varint()))
	case ParamAuthorizationToken:
		p.addToken(r)
	case ParamRendezvousTimeout:
		// The draft does not say how this one and FILL_TIMEOUT are encoded; both are
		// numbers of milliseconds, and those are varints elsewhere.
		p.RendezvousTimeout = Some(Millis(r.varint()))
	case ParamSubgroupDeliveryTimeout:
		p.SubgroupDeliveryTimeout = Some(Millis(r.varint()))
	case ParamExpires:
		p.Expires = Some(Millis(r.varint()))
	case ParamLargestObject:
		p.LargestObject = Some(r.location())
	case ParamFillTimeout:
		p.FillTimeout = Some(Millis(r.varint()))
	case ParamForward:
		p.setForward(r, uint64(r.uint8()))
	case ParamSubscriberPriority:
		p.SubscriberPriority = Some(r.uint8())
	case ParamSubscriptionFilter:
		p.setFilter(r)
	case ParamGroupOrder:
		p.setGroupOrder(r, uint64(r.uint8()))
	case ParamNewGroupRequest:
		p.NewGroupRequest = Some(r.varint())
	case ParamTrackNamespacePrefix:
		p.TrackNamespacePrefix = Some(r.namespace())
	case paramSubgroupFilter, paramObjectIDFilter, paramPriorityFilter, paramObjectPropertyFilter, paramTrackPropertyFilter:
		if r.v < Draft19 {
			r.fail(violation("unknown parameter " + typ.String()))
			return
		}
		r.bytes(MaxMessageLen, "range filter")
		p.RangeFilter = true
	default:
		// "An endpoint that receives an unknown Message Parameter MUST close the
		// session with PROTOCOL_VIOLATION." [MOQT-18] Section 10.2, Message Parameters
		r.fail(violation("unknown parameter " + typ.String()))
	}
}

func (p *Params) addToken(r *bodyReader) {
	b := r.bytes(MaxMessageLen, "authorization token")
	if r.err != nil {
		return
	}
	t, err := ParseToken(b, r.v)
	if err != nil {
		r.fail(err)
		return
	}
	p.AuthTokens = append(p.AuthTokens, t)
}

// "The allowed values are 0 (don't forward) or 1 (forward). If an endpoint
// receives a value outside this range, it MUST close the session with
// PROTOCOL_VIOLATION." [MOQT-18] Section 10.2.12, FORWARD Parameter
func (p *Params) setForward(r *bodyReader, x uint64) {
	if x > 1 {
		r.fail(violation("FORWARD is neither 0 nor 1"))
	}
	p.Forward = Some(x == 1)
}

func (p *Params) setFilter(r *bodyReader) {
	b := r.bytes(MaxMessageLen, "filter")
	if r.err != nil {
		return
	}
	f, err := ParseFilter(b, r.v)
	if err != nil {
		r.fail(err)
	}
	p.Filter = Some(f)
}

// "The allowed values are Ascending (0x1) or Descending (0x2). If an endpoint
// receives a value outside this range, it MUST close the session with
// PROTOCOL_VIOLATION." [MOQT-18] Section 10.2.8, GROUP ORDER Parameter
func (p *Params) setGroupOrder(r *bodyReader, x uint64) {
	if x != uint64(GroupOrderAscending) && x != uint64(GroupOrderDescending) {
		r.fail(violation("GROUP_ORDER is neither 1 nor 2"))
	}
	p.GroupOrder = Some(GroupOrder(x))
}
