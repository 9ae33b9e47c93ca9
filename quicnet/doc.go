// Package quicnet carries MOQT sessions over QUIC and WebTransport.
//
// In order of use:
//
//   - [NewDevCertificate] or [LoadCertificate] makes the server's certificate; its Run keeps it fresh.
//   - [Listen] binds one UDP port for both transports, [Listener.Run] serves it and
//     [Listener.Accept] hands over sessions as [moqt.Conn].
//   - [ListenHTTP] serves pages on the TCP port of the same number, [CertificateHandler] among them.
//   - [Dial] connects to a moqt:// or https:// URL.
//
// Raw QUIC negotiates the MOQT version by ALPN; WebTransport is ALPN "h3" and negotiates by
// WT-Available-Protocols ([MOQT-18] Section 3.1, Session establishment). A WebTransport session has its
// QUIC connection for itself, and the connection ends with it.
//
// Stream priorities and reliable resets reach quic-go on both transports; for WebTransport this needs
// fields that webtransport-go does not export (reach.go). Should their layout change, WebTransport
// streams work without priorities, one warning is logged and [Stats] counts the streams.
//
// Peers that do not know RESET_STREAM_AT, browsers among them, get a plain reset a moment after the last bytes instead.
//
// [TransportConfig] may bring a congestion controller, see package ccinject; a directory for qlog files, [QLogs], in which
// sessions write events of their own; and a sampler of connections that tell what was acknowledged, see package ackwatch.
//
// Limits: no 0-RTT; one reading goroutine per socket; WebTransport datagrams beyond 32 unread ones are
// dropped by http3 (raw QUIC: 128).
//
// [MOQT-18] is draft-ietf-moq-transport-18, [WT] is draft-ietf-webtrans-http3-15.
package quicnet
