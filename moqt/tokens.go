package moqt

import "github.com/moq-c4/moq-c4/moqt/wire"

// tokenCache holds the authorization tokens that the peer has registered under
// aliases. It is guarded by Session.mu.
//
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
type tokenCache struct {
	limit uint64 // MAX_AUTH_TOKEN_CACHE_SIZE
	size  uint64
	known map[uint64]wire.Token // by alias
}

func useValue(t wire.Token) wire.Token {
	return wire.Token{AliasType: wire.TokenUseValue, Type: t.Type, Value: t.Value}
}

// setup takes the tokens of SETUP.
//
// "If an endpoint receives an AUTHORIZATION TOKEN option in SETUP with Alias Type REGISTER that exceeds its
// MAX_AUTH_TOKEN_CACHE_SIZE, it MUST NOT fail the session with AUTH_TOKEN_CACHE_OVERFLOW. Instead, it MUST treat the option
// as Alias Type USE_VALUE."
// [MOQT-18] Section 10.3.1.4, AUTHORIZATION TOKEN
func (c *tokenCache) setup(tokens []wire.Token) ([]wire.Token, error) {
	var out []wire.Token
	for _, t := range tokens {
		if t.AliasType == wire.TokenRegister && c.fits(t) {
			if err := c.register(t); err != nil {
				return nil, err
			}
		}
		out = append(out, useValue(t))
	}
	return out, nil
}

func (c *tokenCache) fits(t wire.Token) bool { return t.CacheCost() <= c.limit-c.size }

func (c *tokenCache) register(t wire.Token) error {
	if _, used := c.known[t.Alias]; used {
		return &wire.Error{Code: wire.SessionDuplicateAuthTokenAlias, Reason: "token alias is in use"}
	}
	if !c.fits(t) {
		return &wire.Error{Code: wire.SessionAuthTokenCacheOverflow, Reason: "registered tokens are too large"}
	}
	if c.known == nil {
		c.known = make(map[uint64]wire.Token)
	}
	c.known[t.Alias] = t
	c.size += t.CacheCost()
	return nil
}

// resolve carries out what the tokens of a message say and returns those that authorize it, by value. Tokens are
// registered even if the message is refused for an unknown alias.
//
// "The receiver of a message referencing an Alias that is not currently registered MUST reject the message with
// UNKNOWN_AUTH_TOKEN_ALIAS."
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
//
// There is no such code for a request; MALFORMED_AUTH_TOKEN is the nearest (docs/protocol/deviations.md).
func (c *tokenCache) resolve(tokens []wire.Token) (out []wire.Token, refused *RequestError, err error) {
	for _, t := range tokens {
		switch t.AliasType {
		case wire.TokenRegister:
			if err := c.register(t); err != nil {
				return nil, nil, err
			}
			out = append(out, useValue(t))
		case wire.TokenUseValue:
			out = append(out, t)
		default:
			known, ok := c.known[t.Alias]
			if !ok {
				refused = &RequestError{Code: wire.RequestMalformedAuthToken, Reason: "unknown token alias"}
				continue
			}
			if t.AliasType == wire.TokenUseAlias {
				out = append(out, useValue(known))
				continue
			}
			delete(c.known, t.Alias)
			c.size -= known.CacheCost()
		}
	}
	return out, refused, nil
}

// resolveTokens is resolve for the tokens of a message.
func (s *Session) resolveTokens(tokens []wire.Token) ([]wire.Token, *RequestError, error) {
	if len(tokens) == 0 {
		return nil, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens.resolve(tokens)
}
