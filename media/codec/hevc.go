package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"github.com/moq-c4/moq-c4/media"
)

// NAL unit types. ITU-T H.265 Table 7-1. From hevcIRAPFirst to hevcIRAPLast a
// picture is one at which decoding can start; those below hevcVCLEnd are slices.
const (
	hevcIRAPFirst = 16
	hevcIRAPLast  = 23
	hevcVCLEnd    = 32
	hevcSPS       = 33
)

// hvcCHeader is the length of the fixed part of the configuration.
const hvcCHeader = 23

// describeHEVC reads an HEVCDecoderConfigurationRecord. ISO/IEC 14496-15 Section 8.3.3.1
func describeHEVC(entry string, config []byte) (Info, error) {
	if len(config) < hvcCHeader {
		return Info{}, malformed("hvcC", "%d bytes, fewer than %d", len(config), hvcCHeader)
	}
	if config[21]&3 != 3 {
		return Info{}, fmt.Errorf("hvcC: NAL unit lengths of %d bytes are not handled, only 4 (%w)", config[21]&3+1, media.ErrUnsupported)
	}
	i := Info{Codec: hevcString(entry, config), Kind: media.Video, Reorder: -1}
	raw := hevcParameterSet(config, hevcSPS)
	var sps h265.SPS
	if raw == nil || sps.Unmarshal(raw) != nil {
		return i, nil // only the rate and the reordering stay unknown
	}
	i.Framerate = framerate(sps.FPS())
	if n := len(sps.MaxNumReorderPics); n > 0 {
		i.Reorder = int(min(sps.MaxNumReorderPics[n-1], 16))
	}
	return i, nil
}

// hevcString is the codec string. ISO/IEC 14496-15 Annex E.3
func hevcString(entry string, c []byte) string {
	var s strings.Builder
	s.WriteString(entry)
	s.WriteByte('.')
	if space := c[1] >> 6; space > 0 {
		s.WriteByte('A' + space - 1)
	}
	compatibility := bits.Reverse32(binary.BigEndian.Uint32(c[2:]))
	tier := 'L'
	if c[1]&0x20 != 0 {
		tier = 'H'
	}
	fmt.Fprintf(&s, "%d.%x.%c%d", c[1]&31, compatibility, tier, c[12])
	constraints := c[6:12]
	for len(constraints) > 0 && constraints[len(constraints)-1] == 0 {
		constraints = constraints[:len(constraints)-1]
	}
	for _, b := range constraints {
		fmt.Fprintf(&s, ".%x", b)
	}
	return s.String()
}

// hevcParameterSet is the first NAL unit of a type in the configuration, or nil.
func hevcParameterSet(config []byte, typ byte) []byte {
	arrays, b := config[22], config[hvcCHeader:]
	for ; arrays > 0 && len(b) >= 3; arrays-- {
		arrayType, units := b[0]&63, binary.BigEndian.Uint16(b[1:])
		b = b[3:]
		for ; units > 0; units-- {
			if len(b) < 2 {
				return nil
			}
			n := int(binary.BigEndian.Uint16(b))
			if len(b) < 2+n {
				return nil
			}
			if arrayType == typ {
				return b[2 : 2+n]
			}
			b = b[2+n:]
		}
	}
	return nil
}

// isKeyHEVC takes IDR, BLA and CRA pictures.
func isKeyHEVC(payload []byte) bool {
	for nal := range nalUnits(payload) {
		switch typ := nal[0] >> 1 & 63; {
		case typ >= hevcIRAPFirst && typ <= hevcIRAPLast:
			return true
		case typ < hevcVCLEnd:
			return false
		}
	}
	return false
}
