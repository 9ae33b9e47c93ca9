package wire

// RequestCode is the error code of a REQUEST_ERROR.
//
// [MOQT-18] Section 10.6.2, REQUEST_ERROR Message Format
type RequestCode uint64

// [MOQT-18] Section 15.10.2, REQUEST_ERROR Codes
const (
	RequestInternalError           RequestCode = 0x0
	RequestUnauthorized            RequestCode = 0x1
	RequestTimeout                 RequestCode = 0x2
	RequestNotSupported            RequestCode = 0x3
	RequestMalformedAuthToken      RequestCode = 0x4
	RequestExpiredAuthToken        RequestCode = 0x5
	RequestGoingAway               RequestCode = 0x6
	RequestExcessiveLoad           RequestCode = 0x9
	RequestDoesNotExist            RequestCode = 0x10
	RequestInvalidRange            RequestCode = 0x11
	RequestMalformedTrack          RequestCode = 0x12
	RequestDuplicateSubscription   RequestCode = 0x19
	RequestUninterested            RequestCode = 0x20
	RequestPrefixOverlap           RequestCode = 0x30
	RequestNamespaceTooLarge       RequestCode = 0x31
	RequestInvalidJoiningRequestID RequestCode = 0x32
	RequestUnsupportedExtension    RequestCode = 0x33
	RequestRedirect                RequestCode = 0x34
	RequestConflictingFilters      RequestCode = 0x35 // draft-19
	RequestInvalidFilter           RequestCode = 0x36 // draft-19
)

// String returns the draft's name, or the code in hex if it is unknown.
func (c RequestCode) String() string { return codeName(c.name(), uint64(c)) }

// Effective returns how c is to be treated: itself, or internal error if it is
// unknown. [MOQT-18] Section 14, Grease
func (c RequestCode) Effective() RequestCode {
	if c.name() == "" {
		return RequestInternalError
	}
	return c
}

func (c RequestCode) name() string {
	switch c {
	case RequestInternalError:
		return "INTERNAL_ERROR"
	case RequestUnauthorized:
		return "UNAUTHORIZED"
	case RequestTimeout:
		return "TIMEOUT"
	case RequestNotSupported:
		return "NOT_SUPPORTED"
	case RequestMalformedAuthToken:
		return "MALFORMED_AUTH_TOKEN"
	case RequestExpiredAuthToken:
		return "EXPIRED_AUTH_TOKEN"
	case RequestGoingAway:
		return "GOING_AWAY"
	case RequestExcessiveLoad:
		return "EXCESSIVE_LOAD"
	case RequestDoesNotExist:
		return "DOES_NOT_EXIST"
	case RequestInvalidRange:
		return "INVALID_RANGE"
	case RequestMalformedTrack:
		return "MALFORMED_TRACK"
	case RequestDuplicateSubscription:
		return "DUPLICATE_SUBSCRIPTION"
	case RequestUninterested:
		return "UNINTERESTED"
	case RequestPrefixOverlap:
		return "PREFIX_OVERLAP"
	case RequestNamespaceTooLarge:
		return "NAMESPACE_TOO_LARGE"
	case RequestInvalidJoiningRequestID:
		return "INVALID_JOINING_REQUEST_ID"
	case RequestUnsupportedExtension:
		return "UNSUPPORTED_EXTENSION"
	case RequestRedirect:
		return "REDIRECT"
	case RequestConflictingFilters:
		return "CONFLICTING_FILTERS"
	case RequestInvalidFilter:
		return "INVALID_FILTER"
	default:
		return ""
	}
}
