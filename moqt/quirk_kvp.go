package moqt

import "github.com/moq-c4/moq-c4/moqt/wire"

// Some peers negotiate draft-18 but write and read Message Parameters as draft-16
// does, as key-value pairs whose form depends on the parity of the type
// (@moq/net up to 0.2.8, and the players built on it). It shows in their SUBSCRIBE,
// where a priority of 128 or more takes two bytes instead of one. Such a session is
// marked: its SUBSCRIBEs are read that way first, and LARGEST_OBJECT, which those peers
// read wrongly, is left out of answers.
//
// Strict reading stays the rule: what a conforming peer sends is never read the
// other way, because that is tried only after the strict one has failed.

// parseRequest reads the first message of a request. As [wire.ParseMessage], it can return a message together with an error.
func (s *Session) parseRequest(typ wire.MessageType, body []byte) (wire.Message, error) {
	if typ == wire.MsgSubscribe && s.stats.kvpParams.Load() {
		if m, err := wire.ParseSubscribeKVP(body, s.version); err == nil {
			return m, nil
		}
	}
	m, err := wire.ParseMessage(typ, body, s.version)
	if m != nil || typ != wire.MsgSubscribe {
		return m, err
	}
	kvp, kvpErr := wire.ParseSubscribeKVP(body, s.version)
	if kvpErr != nil {
		return nil, err
	}
	if !s.stats.kvpParams.Swap(true) {
		s.log.Info("peer writes parameters as draft-16 does", "implementation", s.Peer().Implementation)
	}
	return kvp, nil
}

// omitsLargest reports whether LARGEST_OBJECT is left out of answers.
func (s *Session) omitsLargest() bool { return s.stats.kvpParams.Load() }
