package codec

import (
	"fmt"

	"github.com/moq-c4/moq-c4/media"
)

// describeAV1 reads an AV1CodecConfigurationRecord and makes the short form of
// the codec string. AV1 Codec ISO Media File Format Binding, Sections 2.3.3 and 5
func describeAV1(config []byte) (Info, error) {
	if len(config) < 4 || config[0] != 0x81 {
		return Info{}, malformed("av1C", "%d bytes, marker and version are not 0x81", len(config))
	}
	profile, level := config[1]>>5, config[1]&31
	tier := 'M'
	if config[2]&0x80 != 0 {
		tier = 'H'
	}
	depth := 8
	switch {
	case config[2]&0x40 != 0 && config[2]&0x20 != 0:
		depth = 12
	case config[2]&0x40 != 0:
		depth = 10
	}
	return Info{
		Codec: fmt.Sprintf("av01.%d.%02d%c.%02d", profile, level, tier, depth),
		Kind:  media.Video,
		// Pictures that are not shown travel with the one that is, so the order of
		// temporal units is the order of time.
		Reorder: 0,
	}, nil
}
