package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

type unit struct {
	suffix string
	factor float64
}

var (
	rateUnits = []unit{{"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"bit/s", 1}}
	sizeUnits = []unit{{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}
)

func parseUnit(s string, units []unit, what string) (float64, error) {
	if s == "0" {
		return 0, nil
	}
	for _, u := range units {
		num, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(num, 64)
		if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			break
		}
		return v * u.factor, nil
	}
	return 0, fmt.Errorf("%q is not a %s such as %s", s, what, "20"+units[1].suffix)
}

func parseRate(s string) (float64, error) {
	v, err := parseUnit(s, rateUnits, "rate")
	if err == nil && v != 0 && (v < 1000 || v > 100e9) {
		err = fmt.Errorf("rate %q is not between 1kbit/s and 100Gbit/s", s)
	}
	return v, err
}

func parseSize(s string) (int64, error) {
	v, err := parseUnit(s, sizeUnits, "size")
	if err == nil && v > 1e12 {
		err = fmt.Errorf("size %q is more than 1000GB", s)
	}
	return int64(math.Round(v)), err
}

// parseDuration accepts whole microseconds, up to an hour.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 40ms", s)
	case d < 0 || d > time.Hour:
		return 0, fmt.Errorf("duration %q is not between 0 and 1h", s)
	case d%time.Microsecond != 0:
		return 0, fmt.Errorf("duration %q is not in whole microseconds", s)
	}
	return d, nil
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0, fmt.Errorf("%q is not a number between 0 and 1e9", s)
	}
	return n, nil
}
