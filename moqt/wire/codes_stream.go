package wire

// StreamCode is the error code of a stream reset or of STOP_SENDING.
//
// [MOQT-18] Section 3.3.3, Stream Reset Error Codes
type StreamCode uint64

// [MOQT-18] Section 15.10.4, Stream Reset Error Codes
const (
	StreamInternalError       StreamCode = 0x0
	StreamCancelled           StreamCode = 0x1
	StreamDeliveryTimeout     StreamCode = 0x2
	StreamSessionClosed       StreamCode = 0x3
	StreamGoingAway           StreamCode = 0x4
	StreamTooFarBehind        StreamCode = 0x5
	StreamUnknownObjectStatus StreamCode = 0x6
	StreamExpiredAuthToken    StreamCode = 0x7
	StreamExcessiveLoad       StreamCode = 0x9
	StreamMalformedTrack      StreamCode = 0x12
)

// String returns the draft's name, or the code in hex if it is unknown.
func (c StreamCode) String() string { return codeName(c.name(), uint64(c)) }

// Effective returns how c is to be treated: itself, or internal error if it is
// unknown. [MOQT-18] Section 14, Grease
func (c StreamCode) Effective() StreamCode {
	if c.name() == "" {
		return StreamInternalError
	}
	return c
}

func (c StreamCode) name() string {
	switch c {
	case StreamInternalError:
		return "INTERNAL_ERROR"
	case StreamCancelled:
		return "CANCELLED"
	case StreamDeliveryTimeout:
		return "DELIVERY_TIMEOUT"
	case StreamSessionClosed:
		return "SESSION_CLOSED"
	case StreamGoingAway:
		return "GOING_AWAY"
	case StreamTooFarBehind:
		return "TOO_FAR_BEHIND"
	case StreamUnknownObjectStatus:
		return "UNKNOWN_OBJECT_STATUS"
	case StreamExpiredAuthToken:
		return "EXPIRED_AUTH_TOKEN"
	case StreamExcessiveLoad:
		return "EXCESSIVE_LOAD"
	case StreamMalformedTrack:
		return "MALFORMED_TRACK"
	default:
		return ""
	}
}
