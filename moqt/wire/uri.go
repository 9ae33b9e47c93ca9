package wire

import "strings"

// validPath reports whether s is a path-abempty, and if it has a question mark a
// query after it, as the PATH option holds.
//
// RFC 3986, Sections 3.3 and 3.4
func validPath(s string) bool {
	path, query, _ := strings.Cut(s, "?")
	if path != "" && path[0] != '/' {
		return false
	}
	return validURIPart(path, ":@/") && validURIPart(query, ":@/?")
}

// validAuthority reports whether s is the authority of a moqt URI: host, perhaps
// with user and port. The host must not be empty.
//
// RFC 3986, Section 3.2; [MOQT-18] Section 3.1.1, MOQT URI Scheme
func validAuthority(s string) bool {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		if !validURIPart(s[:i], ":") {
			return false
		}
		s = s[i+1:]
	}
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port = s[:i], s[i+1:]
	}
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		// Addresses and zones in brackets have no percent signs of their own here; the
		// resolver is the one to judge what is inside.
		return ok && inner != "" && !strings.ContainsRune(inner, '%') && validURIPart(inner, ":")
	}
	return host != "" && validURIPart(host, "")
}

// validURIPart reports whether s consists of unreserved characters, sub-delims,
// percent-encoded bytes and the characters in extra.
func validURIPart(s, extra string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isLiteral(c), strings.IndexByte("-.~!$&'()*+,;=", c) >= 0, strings.IndexByte(extra, c) >= 0:
		case c == '%':
			if len(s)-i < 3 || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		default:
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
