// Package emu puts the simulator's link between real endpoints: a UDP proxy in
// real time, and a link with its timeline for tests in virtual time.
//
// The main types, in order of use:
//
//   - [Link] describes a bottleneck: rate, delay, queue and jitter over time, an
//     AQM, random loss. [ParseLink] reads it from text, [OpenLink] from a scenario
//     file or a built-in scenario or preset.
//   - [Path] is such a link in both directions. It is pure: the caller hands in
//     packets and the time, and takes out the packets that are due.
//   - [Proxy] is the shell around it: sockets, clients and timers. [Listen] binds
//     it, [Proxy.Run] forwards until its context ends, [Proxy.Stats] counts.
//
// A test that wants a bad link in front of a relay:
//
//	link, _ := emu.ParseLink("rate=4Mbit/s delay=20ms queue=1bdp")
//	p, err := emu.Listen(emu.Config{Listen: "127.0.0.1:0", To: relayAddr, Link: link})
//	...
//	go p.Run(ctx)
//	dial(p.Addr())
//
// Down is what the clients receive, Up what they send. The ECN field of packets
// survives, and the AQM may set it to CE, where the system lets a program read
// and set it (Linux; see [ECNSupported]).
//
// TCP on the same port is passed on unshaped and unread: a browser that is shown
// the proxy's address fetches pages and the certificate's hash from there, and
// media over UDP through the link.
//
// # Honest limits
//
// Packets are never reordered, as in package link. Sizes are UDP payload: no IP
// header is charged. The operating system wakes the proxy up some 50 us to 1 ms
// late, more on a busy machine; [Stats] says how late it was. What the link was
// late with is handed on at once, and the arithmetic of the link itself uses the
// times that should have been. Packets larger than what a real path carries
// (loopback has an MTU of 64 KiB) are passed on.
package emu
