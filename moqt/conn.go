package moqt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Conn is one QUIC connection or WebTransport session as MOQT sees it.
// Package quicnet implements it on quic-go and webtransport-go; [Pipe] implements it in memory.
//
// All methods may be called at the same time from several goroutines.
// Errors that tell of the connection's end are a [*ConnError].
type Conn interface {
	// OpenStream opens a bidirectional stream; it blocks while the peer's stream limit is used up.
	OpenStream(ctx context.Context) (Stream, error)

	// OpenUniStream opens a unidirectional stream; it blocks while the peer's stream limit is used up.
	OpenUniStream(ctx context.Context) (SendStream, error)

	AcceptStream(ctx context.Context) (Stream, error)
	AcceptUniStream(ctx context.Context) (ReceiveStream, error)

	// SendDatagram sends one datagram. It may block while the transport's own queue is full.
	// A datagram that can never fit gives a [*DatagramTooLargeError].
	// It keeps no reference to b.
	SendDatagram(b []byte) error

	// ReceiveDatagram waits for the next datagram. The caller owns the result.
	ReceiveDatagram(ctx context.Context) ([]byte, error)

	// Close ends the connection with an application error code and returns when
	// nothing more will be sent. Only the first call has an effect.
	Close(code uint64, reason string) error

	// Context ends with the connection; its cause is a [*ConnError].
	Context() context.Context

	// Info describes the connection. It does not change.
	Info() ConnInfo
}

// A SendStream is the sending half of a stream. One goroutine writes; Reset,
// SetPriority and SetWriteDeadline may be called from others.
type SendStream interface {
	// Write gives up with a [*StreamError] when the peer sent STOP_SENDING or the stream was reset,
	// and with an error that matches os.ErrDeadlineExceeded when the write deadline has passed.
	io.Writer

	// Close sends FIN. It does not wait.
	Close() error

	// Reset abandons the stream with RESET_STREAM. What was written before
	// [SendStream.SetReliableBoundary] is still delivered where the transport can do that.
	Reset(code uint64)

	// SetReliableBoundary makes everything written so far survive a Reset (RESET_STREAM_AT).
	SetReliableBoundary()

	// SetPriority gives the stream's urgency among those of its connection:
	// 0 is sent first, 7 last; equal urgencies are served in the order of opening.
	SetPriority(urgency uint8)

	SetWriteDeadline(t time.Time) error

	// Context ends when the stream is finished, reset or stopped by the peer.
	Context() context.Context
}

// A ReceiveStream is the receiving half of a stream. One goroutine reads; Stop may be called from others.
type ReceiveStream interface {
	// Read returns io.EOF after FIN and a [*StreamError] after a reset.
	io.Reader

	// Stop asks the peer to send no more (STOP_SENDING) and discards what is to come.
	Stop(code uint64)

	SetReadDeadline(t time.Time) error
}

// A Stream is a bidirectional stream.
type Stream interface {
	SendStream
	ReceiveStream
}

// Transport tells what carries the session.
type Transport string

// The transports.
const (
	TransportQUIC         Transport = "quic"
	TransportWebTransport Transport = "webtransport"
	TransportPipe         Transport = "pipe"
)

// ConnInfo describes a connection.
type ConnInfo struct {
	Transport Transport
	Protocol  string // negotiated MOQT version: the ALPN or WT-Protocol, as "moqt-18"
	Server    bool   // this side accepted the connection

	// From the CONNECT request. Empty on raw QUIC, where SETUP carries them.
	Authority string
	Path      string // with query

	RemoteAddr net.Addr
}

// ConnError says how a connection ended.
type ConnError struct {
	Remote bool   // the peer ended it
	Code   uint64 // application error code; meaningful if App
	App    bool   // ended by an application close, not by a time-out or a transport error
	Reason string // the peer's words: untrusted
	Err    error  // what the transport said, if anything
}

func (e *ConnError) Error() string {
	who := "closed"
	if e.Remote {
		who = "closed by peer"
	}
	switch {
	case e.App && e.Reason != "":
		return fmt.Sprintf("connection %s: code 0x%x: %.200q", who, e.Code, e.Reason)
	case e.App:
		return fmt.Sprintf("connection %s: code 0x%x", who, e.Code)
	case e.Err != nil:
		return fmt.Sprintf("connection lost: %v", e.Err)
	}
	return "connection " + who
}

func (e *ConnError) Unwrap() error { return e.Err }

// StreamError says that a stream was reset or stopped.
type StreamError struct {
	Remote bool // RESET_STREAM or STOP_SENDING came from the peer
	Code   uint64
}

func (e *StreamError) Error() string {
	if e.Remote {
		return fmt.Sprintf("stream cancelled by peer: code 0x%x", e.Code)
	}
	return fmt.Sprintf("stream cancelled: code 0x%x", e.Code)
}

// DatagramTooLargeError says that a datagram does not fit into one packet.
type DatagramTooLargeError struct {
	Max int // the most payload bytes that fit now; 0 if unknown
}

func (e *DatagramTooLargeError) Error() string {
	return fmt.Sprintf("datagram too large: at most %d bytes fit", e.Max)
}

// ErrNoProtocol says that the two sides have no MOQT version in common.
var ErrNoProtocol = errors.New("no common MOQT version")
