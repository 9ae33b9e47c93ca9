package ccinject

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// Defaults of [Memory].
const (
	defaultMemoryAge  = 10 * time.Minute
	defaultMemorySize = 10_000
)

// Memory remembers for some time what connections have learned of the paths to their peers, so that the next
// one to the same address begins with it: careful resume.
//
// Only what a controller has confirmed is remembered: C4 has to have left its initial state. Half of the
// window is offered, to one connection only, which puts its own result back when it
// ends; the controller compares the round trip first. So a jump that has
// failed is not repeated. RFC 9959
//
// An address is the whole one for IPv4, and the first 64 bits for IPv6, within which hosts move. Addresses of this
// host are not remembered. Methods may be called from any goroutine; those of a nil Memory do nothing.
type Memory struct {
	// MaxAge is how long something is remembered. Default: 10 min.
	MaxAge time.Duration
	// MaxSize is the number of addresses, some 200 bytes each; the oldest make room. Default: 10,000.
	MaxSize int

	mu    sync.Mutex
	byKey map[netip.Addr]*list.Element
	order list.List // of *remembered, the oldest first
}

type remembered struct {
	key  netip.Addr
	at   time.Time
	seed cc.Seed // as it was, not halved
}

// pathKey returns false for addresses that are not remembered.
func pathKey(addr net.Addr) (netip.Addr, bool) {
	u, ok := addr.(*net.UDPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	ip := u.AddrPort().Addr().Unmap().WithZone("")
	if !ip.IsValid() || ip.IsLoopback() || ip.IsUnspecified() {
		return netip.Addr{}, false
	}
	if ip.Is6() {
		p, err := ip.Prefix(64)
		return p.Addr(), err == nil
	}
	return ip, true
}

// take returns what is remembered and forgets it.
func (m *Memory) take(addr net.Addr, now time.Time) (cc.Seed, bool) {
	key, ok := pathKey(addr)
	if m == nil || !ok {
		return cc.Seed{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byKey[key]
	if e == nil {
		return cc.Seed{}, false
	}
	m.remove(e)
	r := e.Value.(*remembered)
	if age := now.Sub(r.at); age < 0 || age > m.maxAge() {
		return cc.Seed{}, false
	}
	seed := r.seed
	seed.Window /= 2
	return seed, true
}

// put remembers.
func (m *Memory) put(addr net.Addr, seed cc.Seed, now time.Time) {
	key, ok := pathKey(addr)
	if m == nil || !ok || seed.Window <= 0 || seed.RTT <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = make(map[netip.Addr]*list.Element)
	}
	if e := m.byKey[key]; e != nil {
		m.remove(e)
	}
	size := m.MaxSize
	if size <= 0 {
		size = defaultMemorySize
	}
	for e := m.order.Front(); e != nil && (len(m.byKey) >= size || now.Sub(e.Value.(*remembered).at) > m.maxAge()); e = m.order.Front() {
		m.remove(e)
	}
	m.byKey[key] = m.order.PushBack(&remembered{key, now, seed})
}

// Len returns the number of addresses.
func (m *Memory) Len() int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byKey)
}

func (m *Memory) maxAge() time.Duration {
	if m.MaxAge <= 0 {
		return defaultMemoryAge
	}
	return m.MaxAge
}

func (m *Memory) remove(e *list.Element) {
	m.order.Remove(e)
	delete(m.byKey, e.Value.(*remembered).key)
}
