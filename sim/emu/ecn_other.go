//go:build !linux

package emu

import (
	"net"
	"net/netip"

	"github.com/moq-c4/moq-c4/cc"
)

// ECNSupported says whether the ECN field of packets survives the proxy.
const ECNSupported = false

func receiveECN(*net.UDPConn)                    {}
func parseECN([]byte) cc.Codepoint               { return cc.NotECT }
func controlECN(cc.Codepoint, netip.Addr) []byte { return nil }
