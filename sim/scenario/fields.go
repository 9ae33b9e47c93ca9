package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fields are the name=value pairs and bare words of a statement. The first
// error is kept and returned by done, as are fields that nobody asked for.
type fields struct {
	word  string
	words []string // not yet used
	err   error
}

func splitFields(word, rest string) (*fields, error) {
	f := &fields{word: word, words: strings.Fields(rest)}
	seen := map[string]bool{}
	for _, w := range f.words {
		name, _, pair := strings.Cut(w, "=")
		if pair && word != "pass" {
			if seen[name] {
				return nil, fmt.Errorf("second %s=", name)
			}
			seen[name] = true
		}
	}
	return f, nil
}

// done returns the first error.
func (f *fields) done() error {
	if f.err == nil && len(f.words) > 0 {
		f.err = fmt.Errorf("%s does not understand %q", f.word, f.words[0])
	}
	return f.err
}

// name takes the leading bare word.
func (f *fields) name(dst *string) {
	if len(f.words) == 0 || strings.Contains(f.words[0], "=") {
		f.fail(fmt.Errorf("%s needs a name first", f.word))
		return
	}
	*dst = f.words[0]
	f.words = f.words[1:]
}

// flag takes a bare word if it is there.
func (f *fields) flag(word string) bool {
	i := slices.Index(f.words, word)
	if i < 0 {
		return false
	}
	f.words = slices.Delete(f.words, i, i+1)
	return true
}

// bare takes a bare word that has to be there.
func (f *fields) bare(word, owner string) bool {
	if !f.flag(word) {
		f.fail(fmt.Errorf("%s needs the word %q", owner, word))
		return false
	}
	return true
}

func (f *fields) text(name string, dst *string) bool {
	for i, w := range f.words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			f.words = slices.Delete(f.words, i, i+1)
			if v == "" {
				f.fail(fmt.Errorf("%s= without a value", name))
			}
			*dst = v
			return true
		}
	}
	return false
}

func (f *fields) duration(name string, dst *time.Duration) bool {
	return value(f, name, dst, parseDuration)
}

// queue takes a duration, or a multiple of the bandwidth-delay product as 1bdp, which is that of the round trip.
func (f *fields) queue(name string, dst *time.Duration, rtt time.Duration) {
	value(f, name, dst, func(s string) (time.Duration, error) {
		n, ok := strings.CutSuffix(s, "bdp")
		if !ok {
			return parseDuration(s)
		}
		v, err := strconv.ParseFloat(n, 64)
		if err != nil || !(v > 0 && v <= 100) {
			return 0, fmt.Errorf("%q is not a number of bandwidth-delay products such as 1bdp, up to 100", s)
		}
		return time.Duration(v*float64(rtt)) / time.Microsecond * time.Microsecond, nil
	})
}

func (f *fields) rate(name string, dst *float64) bool { return value(f, name, dst, parseRate) }
func (f *fields) size(name string, dst *int64) bool   { return value(f, name, dst, parseSize) }
func (f *fields) count(name string, dst *int64) bool  { return value(f, name, dst, parseCount) }

func value[T any](f *fields, name string, dst *T, parse func(string) (T, error)) bool {
	var s string
	if !f.text(name, &s) {
		return false
	}
	v, err := parse(s)
	if err != nil {
		f.fail(fmt.Errorf("%s: %w", name, err))
		return true
	}
	*dst = v
	return true
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}
