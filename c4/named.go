package c4

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Named returns the configuration with the given name: "c4", "c4-draft04" or
// "c4-draft05", and variants of them.
//
// A variant is one of these names followed by changes to fields of Config, each
// behind a plus sign: "c4-draft05+PushEras=2+BacklogMeasured". A field that is
// true or false is true without a value, durations are written like "1s" and
// coefficients in units of 1/1024.
func Named(name string) (Config, error) {
	base, changes, changed := strings.Cut(name, "+")
	var c Config
	switch base {
	case "c4":
		c = Default()
	case "c4-draft04":
		c = Draft04()
	case "c4-draft05":
		c = Draft05()
	default:
		return Config{}, fmt.Errorf("c4: unknown profile %q", base)
	}
	if !changed {
		return c, nil
	}
	for change := range strings.SplitSeq(changes, "+") {
		field, value, given := strings.Cut(change, "=")
		if err := c.set(field, value, given); err != nil {
			return Config{}, err
		}
	}
	return c, c.Check()
}

// set changes the field of that name.
func (c *Config) set(field, value string, given bool) error {
	f := reflect.ValueOf(c).Elem().FieldByName(field)
	if !f.IsValid() {
		return fmt.Errorf("c4: no field %q", field)
	}
	if !given {
		value = "true"
	}
	var err error
	switch f.Interface().(type) {
	case bool:
		var v bool
		v, err = strconv.ParseBool(value)
		f.SetBool(v)
	case time.Duration:
		var v time.Duration
		v, err = time.ParseDuration(value)
		f.SetInt(int64(v))
	default:
		if f.CanInt() {
			var v int64
			v, err = strconv.ParseInt(value, 10, f.Type().Bits())
			f.SetInt(v)
		} else {
			var v uint64
			v, err = strconv.ParseUint(value, 10, f.Type().Bits())
			f.SetUint(v)
		}
	}
	if err != nil {
		return fmt.Errorf("c4: %s: %q is not a value of it", field, value)
	}
	return nil
}
