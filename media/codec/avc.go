package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

	"github.com/moq-c4/moq-c4/media"
)

// NAL unit types. ITU-T H.264 Table 7-1
const (
	avcSlice = 1
	avcIDR   = 5
	avcSEI   = 6
)

// seiRecoveryPoint is the SEI message that makes a picture without IDR one at
// which decoding can start. ITU-T H.264 Annex D.2.8
const seiRecoveryPoint = 6

// describeAVC reads an AVCDecoderConfigurationRecord. ISO/IEC 14496-15 Section 5.3.3.1
func describeAVC(entry string, config []byte) (Info, error) {
	if len(config) < 6 || config[0] != 1 {
		return Info{}, malformed("avcC", "%d bytes, version is not 1", len(config))
	}
	i := Info{
		Codec:   fmt.Sprintf("%s.%02x%02x%02x", entry, config[1], config[2], config[3]),
		Kind:    media.Video,
		Reorder: -1,
	}
	if config[4]&3 != 3 {
		return Info{}, fmt.Errorf("avcC: NAL unit lengths of %d bytes are not handled, only 4 (%w)", config[4]&3+1, media.ErrUnsupported)
	}
	if config[5]&31 == 0 { // avc3: the parameter sets are in the frames
		return i, nil
	}
	if len(config) < 8 {
		return Info{}, malformed("avcC", "ends before its SPS")
	}
	n := int(binary.BigEndian.Uint16(config[6:]))
	if len(config) < 8+n {
		return Info{}, malformed("avcC", "SPS of %d bytes does not fit", n)
	}
	var sps h264.SPS
	if err := sps.Unmarshal(config[8 : 8+n]); err != nil {
		return i, nil // only the rate and the reordering stay unknown
	}
	i.Framerate = framerate(sps.FPS())
	switch {
	case sps.PicOrderCntType == 2, sps.ProfileIdc == 66:
		// The output order is the decoding order. ITU-T H.264 Section 8.2.1.3
		// and Section A.2.1: baseline has no B slices.
		i.Reorder = 0
	case sps.VUI != nil && sps.VUI.BitstreamRestriction != nil:
		i.Reorder = int(min(sps.VUI.BitstreamRestriction.MaxNumReorderFrames, 16))
	}
	return i, nil
}

// isKeyAVC takes IDR pictures, and others if the container has them as sync
// samples and they carry a recovery point.
func isKeyAVC(payload []byte, sync bool) bool {
	recovery := false
	for nal := range nalUnits(payload) {
		switch nal[0] & 31 {
		case avcIDR:
			return true
		case avcSEI:
			recovery = recovery || len(nal) > 1 && nal[1] == seiRecoveryPoint
		case avcSlice:
			return sync && recovery
		}
	}
	return false
}
