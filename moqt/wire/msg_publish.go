package wire

// Publish offers a track to the receiver.
//
// [MOQT-18] Section 10.10, PUBLISH
type Publish struct {
	RequestID  uint64
	Track      FullTrackName
	TrackAlias uint64
	Params     Params
	Properties Properties // Track Properties
}

// Type returns MsgPublish.
func (*Publish) Type() MessageType { return MsgPublish }

func (m *Publish) check(v Version) error {
	return checkTrackRequest(m.Track, &m.Params, paramsPublish.in(v, MsgPublish, false))
}

func (m *Publish) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = m.Track.append(b, v)
	b = v.appendVarint(b, m.TrackAlias)
	b = m.Params.append(b, v)
	return append(b, m.Properties...)
}

func (m *Publish) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Track = r.fullTrackName()
	m.TrackAlias = r.varint()
	m.Params = r.params(paramsPublish.in(r.v, MsgPublish, false))
	m.Properties = r.trackProperties()
}

// StreamCountUnknown stands in a PublishDone for a number of streams that is not
// known.
//
// [MOQT-18] Section 10.11, PUBLISH_DONE
const StreamCountUnknown = 1<<62 - 1

// PublishDone says that a subscription is over.
//
// [MOQT-18] Section 10.11, PUBLISH_DONE
type PublishDone struct {
	Status      DoneCode
	StreamCount uint64 // data streams opened for the subscription, or StreamCountUnknown
	Reason      string // cut to MaxReasonLen when sent
}

// Type returns MsgPublishDone.
func (*PublishDone) Type() MessageType { return MsgPublishDone }

func (m *PublishDone) check(v Version) error { return nil }

func (m *PublishDone) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(m.Status))
	b = v.appendVarint(b, m.StreamCount)
	return appendReason(b, m.Reason, v)
}

func (m *PublishDone) parse(r *bodyReader) {
	m.Status = DoneCode(r.varint())
	m.StreamCount = r.varint()
	m.Reason = r.reason()
}
