package wire

// SessionCode is the error code a session is closed with.
//
// [MOQT-18] Section 3.5, Termination
type SessionCode uint64

// [MOQT-18] Section 15.10.1, Session Termination Error Codes
const (
	SessionNoError                  SessionCode = 0x0
	SessionInternalError            SessionCode = 0x1
	SessionUnauthorized             SessionCode = 0x2
	SessionProtocolViolation        SessionCode = 0x3
	SessionInvalidRequestID         SessionCode = 0x4
	SessionDuplicateTrackAlias      SessionCode = 0x5
	SessionKeyValueFormattingError  SessionCode = 0x6
	SessionInvalidPath              SessionCode = 0x8
	SessionMalformedPath            SessionCode = 0x9
	SessionGoawayTimeout            SessionCode = 0x10
	SessionControlMessageTimeout    SessionCode = 0x11
	SessionDataStreamTimeout        SessionCode = 0x12
	SessionAuthTokenCacheOverflow   SessionCode = 0x13
	SessionDuplicateAuthTokenAlias  SessionCode = 0x14
	SessionVersionNegotiationFailed SessionCode = 0x15
	SessionMalformedAuthToken       SessionCode = 0x16
	SessionUnknownAuthTokenAlias    SessionCode = 0x17
	SessionExpiredAuthToken         SessionCode = 0x18
	SessionInvalidAuthority         SessionCode = 0x19
	SessionMalformedAuthority       SessionCode = 0x1a
	SessionTooManyRequestUpdates    SessionCode = 0x1b // draft-19

	SessionTooManyRequests SessionCode = 0x7 // draft-16
)

// String returns the draft's name, or the code in hex if it is unknown.
func (c SessionCode) String() string { return codeName(c.name(), uint64(c)) }

// Effective returns how c is to be treated: itself, or internal error if it is
// unknown. [MOQT-18] Section 14, Grease
func (c SessionCode) Effective() SessionCode {
	if c.name() == "" {
		return SessionInternalError
	}
	return c
}

func (c SessionCode) name() string {
	switch c {
	case SessionNoError:
		return "NO_ERROR"
	case SessionInternalError:
		return "INTERNAL_ERROR"
	case SessionUnauthorized:
		return "UNAUTHORIZED"
	case SessionProtocolViolation:
		return "PROTOCOL_VIOLATION"
	case SessionInvalidRequestID:
		return "INVALID_REQUEST_ID"
	case SessionDuplicateTrackAlias:
		return "DUPLICATE_TRACK_ALIAS"
	case SessionKeyValueFormattingError:
		return "KEY_VALUE_FORMATTING_ERROR"
	case SessionInvalidPath:
		return "INVALID_PATH"
	case SessionMalformedPath:
		return "MALFORMED_PATH"
	case SessionGoawayTimeout:
		return "GOAWAY_TIMEOUT"
	case SessionControlMessageTimeout:
		return "CONTROL_MESSAGE_TIMEOUT"
	case SessionDataStreamTimeout:
		return "DATA_STREAM_TIMEOUT"
	case SessionAuthTokenCacheOverflow:
		return "AUTH_TOKEN_CACHE_OVERFLOW"
	case SessionDuplicateAuthTokenAlias:
		return "DUPLICATE_AUTH_TOKEN_ALIAS"
	case SessionVersionNegotiationFailed:
		return "VERSION_NEGOTIATION_FAILED"
	case SessionMalformedAuthToken:
		return "MALFORMED_AUTH_TOKEN"
	case SessionUnknownAuthTokenAlias:
		return "UNKNOWN_AUTH_TOKEN_ALIAS"
	case SessionExpiredAuthToken:
		return "EXPIRED_AUTH_TOKEN"
	case SessionInvalidAuthority:
		return "INVALID_AUTHORITY"
	case SessionMalformedAuthority:
		return "MALFORMED_AUTHORITY"
	case SessionTooManyRequestUpdates:
		return "TOO_MANY_REQUEST_UPDATES"
	case SessionTooManyRequests:
		return "TOO_MANY_REQUESTS"
	default:
		return ""
	}
}
