package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Types of Setup Options. Their number space is their own and the same in all
// versions.
//
// [MOQT-18] Section 15.4, Setup Options
const (
	setupPath                  = 0x01
	setupAuthorizationToken    = 0x03
	setupMaxAuthTokenCacheSize = 0x04
	setupAuthority             = 0x05
	setupImplementation        = 0x07
	setupMaxRequestUpdates     = 0x08 // draft-19
)

// Setup is the first message of each peer, on its control stream.
//
// [MOQT-18] Section 10.3, SETUP
type Setup struct {
	Path                  Opt[string] // path and query of the URI; client, native QUIC
	Authority             Opt[string] // authority of the URI; client, native QUIC
	AuthTokens            []Token     // in order
	MaxAuthTokenCacheSize Opt[uint64] // bytes; default 0
	MaxRequestUpdates     Opt[uint64] // unanswered on one stream; 0 is no limit
	Implementation        Opt[string] // name and version of the peer's software; not to be trusted

	// Other holds the options this package does not know, in order of type. They must
	// be ignored unless an extension says otherwise.
	Other []Property
}

// Type returns MsgSetup.
func (*Setup) Type() MessageType { return MsgSetup }

// Check reports what is wrong with options that are right in themselves: they
// depend on who sent them and how the session runs. atServer says that the receiver
// is the server.
func (m *Setup) Check(atServer, webTransport bool) error {
	if path, ok := m.Path.Get(); ok {
		// "When a PATH parameter is received from a server, or when a PATH parameter is
		// received while WebTransport is used, ... the session MUST be closed with
		// INVALID_PATH." [MOQT-18] Section 10.3.1.2, PATH
		if !atServer || webTransport {
			return &Error{Code: SessionInvalidPath, Reason: "PATH is not allowed here"}
		}
		if !validPath(path) {
			return &Error{Code: SessionMalformedPath, Reason: "PATH is not the path of a URI"}
		}
	}
	if authority, ok := m.Authority.Get(); ok {
		// [MOQT-18] Section 10.3.1.1, AUTHORITY says the same with its own codes.
		if !atServer || webTransport {
			return &Error{Code: SessionInvalidAuthority, Reason: "AUTHORITY is not allowed here"}
		}
		if !validAuthority(authority) {
			return &Error{Code: SessionMalformedAuthority, Reason: "AUTHORITY is not the authority of a URI"}
		}
	}
	return nil
}

func (m *Setup) check(v Version) error {
	for _, t := range m.AuthTokens {
		if err := t.check(); err != nil {
			return err
		}
		if t.AliasType == TokenDelete || t.AliasType == TokenUseAlias {
			return fmt.Errorf("token %v: %w", t.AliasType, ErrInvalidValue)
		}
	}
	return nil
}

// options returns the options of the message in no order.
func (m *Setup) options(v Version) []Property {
	list := make([]Property, 0, 4+len(m.AuthTokens)+len(m.Other))
	if s, ok := m.Path.Get(); ok {
		list = append(list, Property{Type: setupPath, Bytes: []byte(s)})
	}
	for _, t := range m.AuthTokens {
		list = append(list, Property{Type: setupAuthorizationToken, Bytes: t.Append(nil, v)})
	}
	if x, ok := m.MaxAuthTokenCacheSize.Get(); ok {
		list = append(list, Property{Type: setupMaxAuthTokenCacheSize, Uint: x})
	}
	if s, ok := m.Authority.Get(); ok {
		list = append(list, Property{Type: setupAuthority, Bytes: []byte(s)})
	}
	if s, ok := m.Implementation.Get(); ok {
		list = append(list, Property{Type: setupImplementation, Bytes: []byte(s)})
	}
	if x, ok := m.MaxRequestUpdates.Get(); ok {
		list = append(list, Property{Type: setupMaxRequestUpdates, Uint: x})
	}
	return append(list, m.Other...)
}

// appendBody does not look at the lengths of values: one that is too long makes the
// message too long.
func (m *Setup) appendBody(b []byte, v Version) []byte {
	list := m.options(v)
	slices.SortStableFunc(list, func(a, b Property) int { return cmp.Compare(a.Type, b.Type) })
	prev := uint64(0)
	for i := range list {
		b = appendProperty(b, prev, &list[i], v)
		prev = list[i].Type
	}
	return b
}

func (m *Setup) parse(r *bodyReader) {
	it := Properties(r.b).Iter(r.v)
	for it.Next() && r.err == nil {
		m.setOption(r, it.cur)
	}
	if it.err != nil {
		r.fail(it.err)
	}
	r.b = nil
}

func (m *Setup) setOption(r *bodyReader, p Property) {
	once := func(set bool) {
		// "Senders MUST NOT repeat the same Option Type in a message unless the option
		// definition explicitly allows multiple instances."
		// [MOQT-18] Section 10.3, SETUP
		if set {
			r.fail(violation("setup option " + codeName("", p.Type) + " is repeated"))
		}
	}
	switch p.Type {
	case setupPath:
		once(m.Path.ok)
		m.Path = Some(string(p.Bytes))
	case setupAuthorizationToken:
		t, err := parseToken(p.Bytes, r.v)
		if err != nil {
			r.fail(err)
			return
		}
		// "If a server receives Alias Type DELETE (0x0) or USE_ALIAS (0x2) in a SETUP
		// message, it MUST close the session with a PROTOCOL_VIOLATION."
		// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
		// A client does the same: no alias can be registered before SETUP.
		if t.AliasType == TokenDelete || t.AliasType == TokenUseAlias {
			r.fail(violation("token in SETUP refers to an alias"))
		}
		m.AuthTokens = append(m.AuthTokens, t)
	case setupMaxAuthTokenCacheSize:
		once(m.MaxAuthTokenCacheSize.ok)
		m.MaxAuthTokenCacheSize = Some(p.Uint)
	case setupAuthority:
		once(m.Authority.ok)
		m.Authority = Some(string(p.Bytes))
	case setupImplementation:
		once(m.Implementation.ok)
		m.Implementation = Some(string(p.Bytes))
	case setupMaxRequestUpdates:
		once(m.MaxRequestUpdates.ok)
		m.MaxRequestUpdates = Some(p.Uint)
	default:
		p.Bytes = bytes.Clone(p.Bytes)
		m.Other = append(m.Other, p)
	}
}
