package wire

import "errors"

// ErrTruncated reports that the bytes are right so far but end before the item
// does. On a stream: read more. At the end of a stream: a protocol violation.
var ErrTruncated = errors.New("wire: need more bytes")

// ErrMalformedTrack reports that a track breaks a rule of the object model. The
// session stays; the subscription or fetch is cancelled with MALFORMED_TRACK.
// Errors of this kind wrap it.
//
// [MOQT-18] Section 2.4.2, Malformed Tracks
var ErrMalformedTrack = errors.New("wire: malformed track")

// ErrTooLarge reports an item that the draft allows but that is above a limit of
// this package (see the Max constants). The stream that carries it should be
// given up with [StreamExcessiveLoad]. Errors of this kind wrap it.
var ErrTooLarge = errors.New("wire: above limit")

// ErrInvalidValue reports that a value handed to an append function must not be
// sent. It is a fault of the caller, never of the peer. Errors of this kind
// wrap it.
var ErrInvalidValue = errors.New("wire: value must not be sent")

// Error says that the peer sent bytes the session must be closed for.
type Error struct {
	Code   SessionCode // what to close the session with
	Reason string      // what was wrong, for the reason phrase and the log
}

// Error returns the draft's name of the code and the reason.
func (e *Error) Error() string { return "wire: " + e.Code.String() + ": " + e.Reason }

// violation is the most common Error.
func violation(reason string) *Error {
	return &Error{Code: SessionProtocolViolation, Reason: reason}
}

// kvpError reports a key-value pair that does not fit its type or its block.
func kvpError(reason string) *Error {
	return &Error{Code: SessionKeyValueFormattingError, Reason: reason}
}

// complete turns ErrTruncated into a violation, for items whose length is known:
// what is missing will never come. what names the item.
func complete(err error, what string) error {
	if errors.Is(err, ErrTruncated) {
		return violation(what + " ends too early")
	}
	return err
}
