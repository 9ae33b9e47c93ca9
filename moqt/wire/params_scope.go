package wire

// Which message may hold which parameter. Each set follows from the "MAY appear
// in" of the parameters' definitions.
//
// [MOQT-18] Sections 10.2.2 to 10.2.14
const (
	paramsSubscribe = hasObjectDeliveryTimeout | hasAuthToken | hasRendezvousTimeout | hasSubgroupDeliveryTimeout |
		hasForward | hasSubscriberPriority | hasFilter | hasGroupOrder | hasNewGroupRequest
	paramsSubscribeOK        = hasExpires | hasLargestObject
	paramsPublish            = hasAuthToken | hasExpires | hasLargestObject | hasForward
	paramsFetch              = hasAuthToken | hasFillTimeout | hasSubscriberPriority | hasGroupOrder
	paramsFetchOK            = paramSet(0)
	paramsPublishNamespace   = hasAuthToken
	paramsSubscribeNamespace = hasAuthToken
	paramsSubscribeTracks    = hasAuthToken | hasForward

	// "The TRACK_STATUS message format is identical to the SUBSCRIBE message ..., but
	// subscriber parameters related to Track delivery (e.g. SUBSCRIBER_PRIORITY) are
	// not included." [MOQT-18] Section 10.14, TRACK_STATUS
	// AUTHORIZATION_TOKEN is the only parameter whose definition names the message.
	paramsTrackStatus = hasAuthToken

	// A REQUEST_OK, by the request it answers.
	paramsPublishOK = hasObjectDeliveryTimeout | hasSubgroupDeliveryTimeout | hasExpires | hasForward |
		hasSubscriberPriority | hasFilter | hasGroupOrder | hasNewGroupRequest
	paramsRequestUpdateOK = hasExpires | hasLargestObject
	// The definition of EXPIRES does not name TRACK_STATUS_OK, but TRACK_STATUS_OK
	// has "the same parameters ... it would have set in a SUBSCRIBE_OK". Accepted.
	paramsTrackStatusOK = hasExpires | hasLargestObject
	paramsNamespaceOK   = paramSet(0)
	paramsAnyOK         = paramsPublishOK | paramsRequestUpdateOK | paramsTrackStatusOK

	// A REQUEST_UPDATE, by the request it updates.
	paramsUpdateSubscription = hasObjectDeliveryTimeout | hasAuthToken | hasSubgroupDeliveryTimeout | hasForward |
		hasSubscriberPriority | hasFilter | hasNewGroupRequest
	paramsUpdateFetch            = hasAuthToken | hasSubscriberPriority
	paramsUpdatePublishNamespace = hasAuthToken
	paramsUpdatePrefix           = hasAuthToken | hasTrackNamespacePrefix
	paramsAnyUpdate              = paramsUpdateSubscription | paramsUpdateFetch | paramsUpdatePrefix
)

// in returns s as a draft has it; m is the message, or the request whose answer it is.
//
// "Any Parameter that can be specified on a Subscription (ie: in SUBSCRIBE) is valid in SUBSCRIBE_TRACKS ..."
// "The GROUP_ORDER parameter (Parameter Type 0x22) is a uint8. It MAY appear in a SUBSCRIBE, SUBSCRIBE_TRACKS, or FETCH."
// [MOQT-19] Section 10.19.1, Parameters on SUBSCRIBE_TRACKS; Section 10.2.8, GROUP ORDER Parameter
//
// The same section lets PUBLISH have GROUP_ORDER.
func (s paramSet) in(v Version, m MessageType, answer bool) paramSet {
	switch {
	case v < Draft19:
	case answer && m == MsgPublish:
		return s &^ hasGroupOrder
	case answer && (m == MsgPublishNamespace || m == MsgSubscribeNamespace || m == MsgSubscribeTracks):
		// "It MAY appear in SUBSCRIBE_OK, PUBLISH, PUBLISH_OK, SUBSCRIBE_NAMESPACE_OK, SUBSCRIBE_TRACKS_OK,
		// PUBLISH_NAMESPACE_OK, or REQUEST_UPDATE_OK." [MOQT-19] Section 10.2.15, EXPIRES Parameter
		return s | hasExpires
	case m == MsgSubscribeTracks:
		return s | paramsSubscribe
	case m == MsgPublish:
		return s | hasGroupOrder
	}
	return s
}

// replyParams returns what a REQUEST_OK that answers a message of type to may hold.
// ok is false if no REQUEST_OK answers such a message.
func replyParams(to MessageType, v Version) (s paramSet, ok bool) {
	switch to {
	case MsgPublish:
		return paramsPublishOK.in(v, to, true), true
	case MsgRequestUpdate:
		return paramsRequestUpdateOK, true
	case MsgTrackStatus:
		return paramsTrackStatusOK, true
	case MsgPublishNamespace, MsgSubscribeNamespace, MsgSubscribeTracks:
		return paramsNamespaceOK.in(v, to, true), true
	default:
		return 0, false
	}
}

// updateParams returns what a REQUEST_UPDATE of a request of type of may hold. ok
// is false if such a request cannot be updated.
func updateParams(of MessageType) (s paramSet, ok bool) {
	switch of {
	case MsgSubscribe, MsgPublish:
		return paramsUpdateSubscription, true
	case MsgFetch:
		return paramsUpdateFetch, true
	case MsgPublishNamespace:
		return paramsUpdatePublishNamespace, true
	case MsgSubscribeNamespace, MsgSubscribeTracks:
		return paramsUpdatePrefix, true
	default:
		return 0, false
	}
}
