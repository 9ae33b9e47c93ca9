package wire

import (
	"bytes"
	"fmt"
)

// TokenAliasType says what a Token holds and what the receiver does with it.
//
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
type TokenAliasType uint64

// [MOQT-18] Section 15.5, Authorization Token Alias Type
const (
	TokenDelete   TokenAliasType = 0 // Alias: forget it
	TokenRegister TokenAliasType = 1 // Alias, Type, Value: use and remember it
	TokenUseAlias TokenAliasType = 2 // Alias: use what was remembered
	TokenUseValue TokenAliasType = 3 // Type, Value: use it
)

// String returns the draft's name.
func (t TokenAliasType) String() string {
	switch t {
	case TokenDelete:
		return "DELETE"
	case TokenRegister:
		return "REGISTER"
	case TokenUseAlias:
		return "USE_ALIAS"
	case TokenUseValue:
		return "USE_VALUE"
	default:
		return codeName("", uint64(t))
	}
}

// tokenCost is what a registered token costs in the cache beside its value.
const tokenCost = 16

// Token is an authorization token or a reference to one. Which fields have a
// meaning depends on AliasType; the others are zero.
//
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
type Token struct {
	AliasType TokenAliasType
	Alias     uint64 // DELETE, REGISTER, USE_ALIAS
	Type      uint64 // REGISTER, USE_VALUE
	Value     []byte // REGISTER, USE_VALUE
}

func (t TokenAliasType) hasAlias() bool { return t != TokenUseValue }
func (t TokenAliasType) hasValue() bool { return t == TokenRegister || t == TokenUseValue }

// CacheCost returns the size of the registered token in bytes, as it counts
// against MAX_AUTH_TOKEN_CACHE_SIZE.
//
// "The token size is calculated as 16 bytes + the size of the Token Value field ..."
// [MOQT-18] Section 10.3.1.3, MAX_AUTH_TOKEN_CACHE_SIZE
func (t Token) CacheCost() uint64 { return tokenCost + uint64(len(t.Value)) }

// Append appends the Token structure, without a length before it.
func (t Token) Append(b []byte, v Version) []byte {
	b = v.appendVarint(b, uint64(t.AliasType))
	if t.AliasType.hasAlias() {
		b = v.appendVarint(b, t.Alias)
	}
	if t.AliasType.hasValue() {
		b = v.appendVarint(b, t.Type)
		b = append(b, t.Value...)
	}
	return b
}

func (t Token) check() error {
	if t.AliasType > TokenUseValue {
		return fmt.Errorf("token alias type %v: %w", t.AliasType, ErrInvalidValue)
	}
	return nil
}

// parseToken reads a Token structure that fills b. The token's value is a copy.
//
// "If the Token structure cannot be decoded, the receiver MUST close the Session
// with KEY_VALUE_FORMATTING_ERROR."
// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
func parseToken(b []byte, v Version) (Token, error) {
	aliasType, n, err := v.consumeVarint(b)
	if err != nil {
		return Token{}, kvpError("authorization token without alias type")
	}
	t := Token{AliasType: TokenAliasType(aliasType)}
	if t.AliasType > TokenUseValue {
		return Token{}, kvpError("authorization token with unknown alias type")
	}
	b = b[n:]
	if t.AliasType.hasAlias() {
		if t.Alias, n, err = v.consumeVarint(b); err != nil {
			return Token{}, kvpError("authorization token without alias")
		}
		b = b[n:]
	}
	if !t.AliasType.hasValue() {
		if len(b) > 0 {
			return Token{}, kvpError("authorization token continues after its alias")
		}
		return t, nil
	}
	if t.Type, n, err = v.consumeVarint(b); err != nil {
		return Token{}, kvpError("authorization token without type")
	}
	t.Value = bytes.Clone(b[n:])
	return t, nil
}
