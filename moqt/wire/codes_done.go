package wire

// DoneCode is the status code of a PUBLISH_DONE.
//
// [MOQT-18] Section 10.11, PUBLISH_DONE
type DoneCode uint64

// [MOQT-18] Section 15.10.3, PUBLISH_DONE Codes
const (
	DoneInternalError     DoneCode = 0x0
	DoneUnauthorized      DoneCode = 0x1
	DoneTrackEnded        DoneCode = 0x2
	DoneSubscriptionEnded DoneCode = 0x3
	DoneGoingAway         DoneCode = 0x4
	DoneTooFarBehind      DoneCode = 0x5
	DoneExpired           DoneCode = 0x6
	DoneUpdateFailed      DoneCode = 0x8
	DoneExcessiveLoad     DoneCode = 0x9
	DoneMalformedTrack    DoneCode = 0x12
)

// String returns the draft's name, or the code in hex if it is unknown.
func (c DoneCode) String() string { return codeName(c.name(), uint64(c)) }

// Effective returns how c is to be treated: itself, or internal error if it is
// unknown. [MOQT-18] Section 14, Grease
func (c DoneCode) Effective() DoneCode {
	if c.name() == "" {
		return DoneInternalError
	}
	return c
}

func (c DoneCode) name() string {
	switch c {
	case DoneInternalError:
		return "INTERNAL_ERROR"
	case DoneUnauthorized:
		return "UNAUTHORIZED"
	case DoneTrackEnded:
		return "TRACK_ENDED"
	case DoneSubscriptionEnded:
		return "SUBSCRIPTION_ENDED"
	case DoneGoingAway:
		return "GOING_AWAY"
	case DoneTooFarBehind:
		return "TOO_FAR_BEHIND"
	case DoneExpired:
		return "EXPIRED"
	case DoneUpdateFailed:
		return "UPDATE_FAILED"
	case DoneExcessiveLoad:
		return "EXCESSIVE_LOAD"
	case DoneMalformedTrack:
		return "MALFORMED_TRACK"
	default:
		return ""
	}
}
