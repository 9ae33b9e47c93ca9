package emu

import (
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"github.com/moq-c4/moq-c4/cc"
)

// ECNSupported says whether the ECN field of packets survives the proxy.
const ECNSupported = true

// receiveECN asks the kernel to hand over the TOS or traffic class of packets. A
// socket for both families needs both.
func receiveECN(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_RECVTOS, 1)
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IPV6, syscall.IPV6_RECVTCLASS, 1)
	})
}

// parseECN finds the ECN field in the control messages of a packet.
func parseECN(oob []byte) cc.Codepoint {
	for len(oob) >= syscall.SizeofCmsghdr {
		h := (*syscall.Cmsghdr)(unsafe.Pointer(&oob[0]))
		n := int(h.Len)
		if n < syscall.SizeofCmsghdr || n > len(oob) {
			break
		}
		data := oob[syscall.CmsgLen(0):n]
		switch {
		case len(data) == 0:
		case h.Level == syscall.IPPROTO_IP && h.Type == syscall.IP_TOS:
			return codepoint(data[0]) // one byte
		case h.Level == syscall.IPPROTO_IPV6 && h.Type == syscall.IPV6_TCLASS && len(data) >= 4:
			return codepoint(byte(binary.NativeEndian.Uint32(data)))
		}
		oob = oob[min(len(oob), syscall.CmsgSpace(n-syscall.CmsgLen(0))):]
	}
	return cc.NotECT
}

// controlECN returns the control message that sets the ECN field of a packet,
// nil if there is nothing to set.
func controlECN(ecn cc.Codepoint, to netip.Addr) []byte {
	if ecn == cc.NotECT {
		return nil
	}
	if to.Is4() || to.Is4In6() {
		return controls[0][ecn]
	}
	return controls[1][ecn]
}

// controls are the messages by family and codepoint.
var controls = func() (c [2][4][]byte) {
	for e := range byte(4) {
		c[0][e] = control(syscall.IPPROTO_IP, syscall.IP_TOS, uint32(e))
		c[1][e] = control(syscall.IPPROTO_IPV6, syscall.IPV6_TCLASS, uint32(e))
	}
	return c
}()

func control(level, kind int32, value uint32) []byte {
	b := make([]byte, syscall.CmsgSpace(4))
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = level, kind
	h.SetLen(syscall.CmsgLen(4))
	binary.NativeEndian.PutUint32(b[syscall.CmsgLen(0):], value)
	return b
}
