package codec

import (
	"encoding/binary"
	"iter"
)

// nalUnits goes over the NAL units of a frame stored with 4-byte lengths. It
// stops where a length does not fit.
func nalUnits(payload []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(payload) >= 4 {
			n := uint64(binary.BigEndian.Uint32(payload))
			payload = payload[4:]
			if n > uint64(len(payload)) {
				return
			}
			if n > 0 && !yield(payload[:n]) {
				return
			}
			payload = payload[n:]
		}
	}
}
