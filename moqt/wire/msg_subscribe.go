package wire

// Subscribe asks for the objects of a track that are published from now on.
//
// [MOQT-18] Section 10.7, SUBSCRIBE
type Subscribe struct {
	RequestID uint64
	Track     FullTrackName
	Params    Params
}

// Type returns MsgSubscribe.
func (*Subscribe) Type() MessageType { return MsgSubscribe }

func (m *Subscribe) check(v Version) error {
	return checkTrackRequest(m.Track, &m.Params, paramsSubscribe)
}

func checkTrackRequest(t FullTrackName, p *Params, allowed paramSet) error {
	if err := t.check(); err != nil {
		return err
	}
	return p.checkSent(allowed)
}

func (m *Subscribe) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = m.Track.append(b, v)
	return m.Params.append(b, v)
}

func (m *Subscribe) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Track = r.fullTrackName()
	m.Params = r.params(paramsSubscribe)
}

// TrackStatus asks what a SUBSCRIBE_OK would say. The answer is a REQUEST_OK.
//
// [MOQT-18] Section 10.14, TRACK_STATUS
type TrackStatus struct {
	RequestID uint64
	Track     FullTrackName
	Params    Params
}

// Type returns MsgTrackStatus.
func (*TrackStatus) Type() MessageType { return MsgTrackStatus }

func (m *TrackStatus) check(v Version) error {
	return checkTrackRequest(m.Track, &m.Params, paramsTrackStatus)
}

func (m *TrackStatus) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = m.Track.append(b, v)
	return m.Params.append(b, v)
}

func (m *TrackStatus) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Track = r.fullTrackName()
	m.Params = r.params(paramsTrackStatus)
}

// SubscribeOK accepts a Subscribe.
//
// [MOQT-18] Section 10.8, SUBSCRIBE_OK
type SubscribeOK struct {
	TrackAlias uint64
	Params     Params
	Properties Properties // Track Properties
}

// Type returns MsgSubscribeOK.
func (*SubscribeOK) Type() MessageType { return MsgSubscribeOK }

func (m *SubscribeOK) check(v Version) error { return m.Params.checkSent(paramsSubscribeOK) }

func (m *SubscribeOK) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.TrackAlias)
	b = m.Params.append(b, v)
	return append(b, m.Properties...)
}

func (m *SubscribeOK) parse(r *bodyReader) {
	m.TrackAlias = r.varint()
	m.Params = r.params(paramsSubscribeOK)
	m.Properties = r.trackProperties()
}
