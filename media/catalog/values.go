package catalog

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/moq-c4/moq-c4/media"
)

// Integer is a number without a fraction. Those who write catalogs in JavaScript
// may have computed it, so a fraction is read too, and cut off.
type Integer int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Integer) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	if math.Abs(f) > 1<<53 {
		return fmt.Errorf("number %v is out of range", f)
	}
	*n = Integer(f)
	return nil
}

// timescale is the number as a timescale; one that cannot be becomes one that
// checkTrack refuses.
func (n Integer) timescale() uint32 {
	if n < 0 || n > media.MaxTimescale {
		return math.MaxUint32
	}
	return uint32(n)
}

// Text is a string. A number is read too, where drafts or their readers have
// been of two minds.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (s *Text) UnmarshalJSON(b []byte) error {
	var n json.Number
	if len(b) > 0 && b[0] != '"' && json.Unmarshal(b, &n) == nil {
		*s = Text(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}
