package moqt

import (
	"sync/atomic"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// sentTokens are the authorization tokens that this side has registered with the peer. It is guarded by Session.mu.
//
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
type sentTokens struct {
	used  uint64 // bytes of the peer's cache
	known map[tokenKey]*sentToken
}

type tokenKey struct {
	typ   uint64
	value string
}

// sentToken is one of them.
type sentToken struct {
	alias     uint64
	confirmed atomic.Bool // the peer has answered the message that registers it
}

// aliasTokens makes the tokens of a request as short as the peer's cache allows, if [Config].TokenAliases is set. It returns those
// that the request registers.
//
// "Senders MUST NOT send USE_ALIAS on one control stream for an alias registered on a different stream until the sender
// has received a response to the message containing the REGISTER."
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
//
// Aliases live as long as the session: none is deleted.
func (s *Session) aliasTokens(m wire.Message) []*sentToken {
	_, tokens := requestFields(m)
	if !s.cfg.TokenAliases || len(*tokens) == 0 {
		return nil
	}
	out := make([]wire.Token, 0, len(*tokens))
	var registers []*sentToken
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.sent
	for _, t := range *tokens {
		if t.AliasType != wire.TokenUseValue {
			out = append(out, t)
			continue
		}
		key := tokenKey{t.Type, string(t.Value)}
		switch known := c.known[key]; {
		case known != nil && known.confirmed.Load():
			t = wire.Token{AliasType: wire.TokenUseAlias, Alias: known.alias}
		case known == nil && t.CacheCost() <= s.peer.AuthTokenCache-c.used:
			if c.known == nil {
				c.known = make(map[tokenKey]*sentToken)
			}
			known = &sentToken{alias: uint64(len(c.known))}
			c.known[key] = known
			c.used += t.CacheCost()
			registers = append(registers, known)
			t.AliasType, t.Alias = wire.TokenRegister, known.alias
		}
		out = append(out, t)
	}
	*tokens = out
	return registers
}
