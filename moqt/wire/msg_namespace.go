package wire

// PublishNamespace says that the sender has tracks under a namespace.
//
// [MOQT-18] Section 10.15, PUBLISH_NAMESPACE
type PublishNamespace struct {
	RequestID uint64
	Namespace Namespace
	Params    Params
}

// Type returns MsgPublishNamespace.
func (*PublishNamespace) Type() MessageType { return MsgPublishNamespace }

func (m *PublishNamespace) check(v Version) error { return m.Params.checkSent(paramsPublishNamespace) }

func (m *PublishNamespace) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = m.Namespace.append(b, v)
	return m.Params.append(b, v)
}

func (m *PublishNamespace) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Namespace = r.namespace()
	m.Params = r.params(paramsPublishNamespace)
}

// SubscribeNamespace asks which namespaces there are under a prefix, now and from
// now on.
//
// [MOQT-18] Section 10.18, SUBSCRIBE_NAMESPACE
type SubscribeNamespace struct {
	RequestID uint64
	Prefix    Namespace
	Params    Params
}

// Type returns MsgSubscribeNamespace.
func (*SubscribeNamespace) Type() MessageType { return MsgSubscribeNamespace }

func (m *SubscribeNamespace) check(v Version) error {
	return m.Params.checkSent(paramsSubscribeNamespace)
}

func (m *SubscribeNamespace) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = m.Prefix.append(b, v)
	return m.Params.append(b, v)
}

func (m *SubscribeNamespace) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Prefix = r.namespace()
	m.Params = r.params(paramsSubscribeNamespace)
}

// SubscribeTracks asks for a PUBLISH of every track under a prefix, now and from
// now on.
//
// [MOQT-18] Section 10.19, SUBSCRIBE_TRACKS
type SubscribeTracks struct {
	RequestID uint64
	Prefix    Namespace
	Params    Params
}

// Type returns MsgSubscribeTracks.
func (*SubscribeTracks) Type() MessageType { return MsgSubscribeTracks }

func (m *SubscribeTracks) check(v Version) error {
	return m.Params.checkSent(paramsSubscribeTracks.in(v, MsgSubscribeTracks, false))
}

func (m *SubscribeTracks) appendBody(b []byte, v Version) []byte {
	b = v.appendVarint(b, m.RequestID)
	b = m.Prefix.append(b, v)
	return m.Params.append(b, v)
}

func (m *SubscribeTracks) parse(r *bodyReader) {
	m.RequestID = r.varint()
	m.Prefix = r.namespace()
	m.Params = r.params(paramsSubscribeTracks.in(r.v, MsgSubscribeTracks, false))
}

// NamespaceAdded is the draft's NAMESPACE message: on the stream of a
// SUBSCRIBE_NAMESPACE it names one namespace there is.
//
// [MOQT-18] Section 10.16, NAMESPACE
type NamespaceAdded struct {
	Suffix Namespace // what follows the prefix of the SUBSCRIBE_NAMESPACE
}

// Type returns MsgNamespace.
func (*NamespaceAdded) Type() MessageType { return MsgNamespace }

func (m *NamespaceAdded) check(v Version) error { return nil }

func (m *NamespaceAdded) appendBody(b []byte, v Version) []byte { return m.Suffix.append(b, v) }

func (m *NamespaceAdded) parse(r *bodyReader) { m.Suffix = r.namespace() }

// NamespaceDone takes back a NamespaceAdded.
//
// [MOQT-18] Section 10.17, NAMESPACE_DONE
type NamespaceDone struct {
	Suffix Namespace // what follows the prefix of the SUBSCRIBE_NAMESPACE
}

// Type returns MsgNamespaceDone.
func (*NamespaceDone) Type() MessageType { return MsgNamespaceDone }

func (m *NamespaceDone) check(v Version) error { return nil }

func (m *NamespaceDone) appendBody(b []byte, v Version) []byte { return m.Suffix.append(b, v) }

func (m *NamespaceDone) parse(r *bodyReader) { m.Suffix = r.namespace() }

// PublishBlocked says, on the stream of a SUBSCRIBE_TRACKS, that a track could not
// be offered because no stream was free for its PUBLISH.
//
// [MOQT-18] Section 10.20, PUBLISH_BLOCKED
type PublishBlocked struct {
	// Track has as namespace what follows the prefix of the SUBSCRIBE_TRACKS.
	Track FullTrackName
}

// Type returns MsgPublishBlocked.
func (*PublishBlocked) Type() MessageType { return MsgPublishBlocked }

func (m *PublishBlocked) check(v Version) error { return m.Track.check() }

func (m *PublishBlocked) appendBody(b []byte, v Version) []byte { return m.Track.append(b, v) }

func (m *PublishBlocked) parse(r *bodyReader) { m.Track = r.fullTrackName() }
