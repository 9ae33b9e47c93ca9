package quicnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
)

const (
	// addrDelay is how long an address may go without success before the next one is tried beside it.
	// RFC 8305 Section 5, Connection Attempts
	addrDelay = 250 * time.Millisecond

	// loopbackDelay is the same on this machine, where an answer takes no time. UDP tells
	// nothing of a port at which nobody listens.
	loopbackDelay = 30 * time.Millisecond

	// maxAddrs bounds the addresses that are tried.
	maxAddrs = 4
)

// resolve finds the addresses of the host, in the order of trying.
func resolve(ctx context.Context, t target) ([]*net.UDPAddr, error) {
	if ip, err := netip.ParseAddr(t.host); err == nil {
		return udpAddrs([]netip.Addr{ip}, t.port), nil
	}
	if t.host == "localhost" {
		// Whatever the hosts file says: the relay may listen on one of them only.
		return udpAddrs([]netip.Addr{netip.IPv6Loopback(), netip.AddrFrom4([4]byte{127, 0, 0, 1})}, t.port), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil, err
	}
	return udpAddrs(interleave(ips), t.port), nil
}

func udpAddrs(ips []netip.Addr, port int) []*net.UDPAddr {
	var addrs []*net.UDPAddr
	for _, ip := range ips[:min(len(ips), maxAddrs)] {
		addrs = append(addrs, net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip.Unmap(), uint16(port))))
	}
	return addrs
}

// interleave alternates between the address families and starts with that of the first address.
func interleave(ips []netip.Addr) []netip.Addr {
	if len(ips) == 0 {
		return nil
	}
	var first, other []netip.Addr
	for _, ip := range ips {
		if ip.Unmap().Is4() == ips[0].Unmap().Is4() {
			first = append(first, ip)
		} else {
			other = append(other, ip)
		}
	}
	out := make([]netip.Addr, 0, len(ips))
	for i := range max(len(first), len(other)) {
		if i < len(first) {
			out = append(out, first[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out
}

type attempt struct {
	c   moqt.Conn
	err error
}

// race tries the addresses one after the other, each a little after the one before or at once when that has failed,
// and returns the first connection. It returns when all attempts have ended.
func race(ctx context.Context, addrs []*net.UDPAddr, dial func(context.Context, *net.UDPAddr) (moqt.Conn, error)) (moqt.Conn, error) {
	if len(addrs) == 0 {
		return nil, errors.New("the host has no address")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan attempt)
	started, running := 0, 0
	start := func() {
		addr := addrs[started]
		started++
		running++
		go func() {
			c, err := dial(ctx, addr)
			results <- attempt{c, err}
		}()
	}
	delay := addrDelay
	if addrs[0].IP.IsLoopback() {
		delay = loopbackDelay
	}
	start()
	next := time.NewTimer(delay)
	defer next.Stop()
	var won moqt.Conn
	var failure error
	for running > 0 {
		select {
		case <-next.C:
			if won == nil && started < len(addrs) && ctx.Err() == nil {
				start()
				next.Reset(delay)
			}
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				failure = moreTelling(failure, r.err)
				if won == nil && started < len(addrs) && ctx.Err() == nil {
					start()
					next.Reset(delay)
				}
			case won != nil:
				r.c.Close(codeNoError, "")
			default:
				won = r.c
				cancel()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, failure
}

// moreTelling prefers an answer of a server to silence.
func moreTelling(a, b error) error {
	if a == nil || isSilence(a) && !isSilence(b) {
		return b
	}
	return a
}
