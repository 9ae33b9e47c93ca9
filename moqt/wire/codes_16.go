package wire

// swapDone exchanges the two codes of PUBLISH_DONE whose numbers later drafts have exchanged: EXPIRED was 0x5 and
// TOO_FAR_BEHIND 0x6.
//
// [MOQT-16] Section 14.6.3, PUBLISH_DONE Codes
func swapDone(c DoneCode) DoneCode {
	switch c {
	case DoneTooFarBehind:
		return DoneExpired
	case DoneExpired:
		return DoneTooFarBehind
	}
	return c
}

// knownDone16 returns c, or what is nearest to it in draft-16.
func knownDone16(c DoneCode) DoneCode {
	if c == DoneExcessiveLoad {
		return DoneInternalError
	}
	return c
}

// requestCodeTo16 returns the number of c in draft-16, or that of what is nearest to it.
//
// [MOQT-16] Section 14.6.2, REQUEST_ERROR Codes
func requestCodeTo16(c RequestCode) uint64 {
	switch c {
	case RequestGoingAway, RequestExcessiveLoad, RequestNamespaceTooLarge, RequestConflictingFilters, RequestInvalidFilter:
		return uint64(RequestInternalError)
	case RequestUnsupportedExtension:
		return uint64(RequestNotSupported)
	case RequestRedirect:
		return uint64(RequestDoesNotExist)
	}
	return uint64(c)
}

// requestCodeFrom16 returns the code that x is. Numbers that only later drafts have mean nothing here.
func requestCodeFrom16(x uint64) RequestCode {
	c := RequestCode(x)
	if uint64(c) != requestCodeTo16(c) {
		return RequestInternalError
	}
	return c
}

// StreamCodeTo16 returns the number of a reset's code in draft-16, or that of what is nearest to it.
//
// [MOQT-16] Section 14.6.4, Data Stream Reset Error Codes
func StreamCodeTo16(c StreamCode) uint64 {
	switch c {
	case StreamUnknownObjectStatus:
		return 0x4
	case StreamGoingAway, StreamTooFarBehind, StreamExpiredAuthToken, StreamExcessiveLoad:
		return uint64(StreamCancelled)
	}
	return uint64(c)
}

// StreamCodeFrom16 returns the code that x is in draft-16.
func StreamCodeFrom16(x uint64) StreamCode {
	if x == 0x4 {
		return StreamUnknownObjectStatus
	}
	return StreamCode(x)
}
