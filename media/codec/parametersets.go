package codec

import (
	"encoding/binary"
	"strings"
)

// ParameterSets are the parameter sets of a decoder configuration of H.264 or H.265 as NAL units with 4-byte lengths, as they
// may stand in front of a key frame. A stream that has them there can change its format at each, where its sample entry
// says so; see [InBand]. Nil if the configuration is of another codec, or malformed.
func ParameterSets(codec string, config []byte) []byte {
	switch Entry(codec) {
	case "avc1", "avc3":
		return parameterSetsAVC(config)
	case "hvc1", "hev1":
		return parameterSetsHEVC(config)
	}
	return nil
}

// InBand is the codec string of the same codec with parameter sets in the frames.
func InBand(codec string) string {
	for from, to := range map[string]string{"avc1": "avc3", "hvc1": "hev1"} {
		if rest, ok := strings.CutPrefix(codec, from); ok {
			return to + rest
		}
	}
	return codec
}

// parameterSetsAVC reads an AVCDecoderConfigurationRecord. ISO/IEC 14496-15 Section 5.3.3.1
func parameterSetsAVC(c []byte) (out []byte) {
	if len(c) < 6 {
		return nil
	}
	count, c := int(c[5]&31), c[6:]
	for range 2 { // SPS, PPS
		for range count {
			var ok bool
			if out, c, ok = appendUnit(out, c); !ok {
				return nil
			}
		}
		if len(c) == 0 {
			return out
		}
		count, c = int(c[0]), c[1:]
	}
	return out
}

// parameterSetsHEVC reads an HEVCDecoderConfigurationRecord. ISO/IEC 14496-15 Section 8.3.3.1
func parameterSetsHEVC(c []byte) (out []byte) {
	if len(c) < 23 {
		return nil
	}
	arrays, c := int(c[22]), c[23:]
	for range arrays { // VPS, SPS, PPS, in this order, and maybe SEI
		if len(c) < 3 {
			return nil
		}
		count := int(binary.BigEndian.Uint16(c[1:]))
		c = c[3:]
		for range count {
			var ok bool
			if out, c, ok = appendUnit(out, c); !ok {
				return nil
			}
		}
	}
	return out
}

// appendUnit moves a NAL unit from c, where its length has 2 bytes, to out, where it has 4.
func appendUnit(out, c []byte) (_, rest []byte, ok bool) {
	if len(c) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(c))
	if len(c) < 2+n {
		return nil, nil, false
	}
	out = binary.BigEndian.AppendUint32(out, uint32(n))
	return append(out, c[2:2+n]...), c[2+n:], true
}
