package codec

import (
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"github.com/moq-c4/moq-c4/media"
)

// describeAAC reads an AudioSpecificConfig. ISO/IEC 14496-3 Section 1.6.2.1
func describeAAC(config []byte) (Info, error) {
	var asc mpeg4audio.AudioSpecificConfig
	if err := asc.Unmarshal(config); err != nil {
		return Info{}, fmt.Errorf("AudioSpecificConfig: %w (%w)", err, media.ErrUnsupported)
	}
	i := Info{
		Codec:         fmt.Sprintf("mp4a.40.%d", asc.Type),
		Kind:          media.Audio,
		SampleRate:    asc.SampleRate,
		Channels:      aacChannels(asc.ChannelConfig),
		PacketSamples: 1024,
	}
	if asc.FrameLengthFlag {
		i.PacketSamples = 960
	}
	if asc.ExtensionType != 0 { // SBR doubles the rate and so the length
		i.Codec = fmt.Sprintf("mp4a.40.%d", asc.ExtensionType)
		if asc.ExtensionSampleRate > asc.SampleRate && asc.SampleRate > 0 {
			i.PacketSamples = i.PacketSamples * asc.ExtensionSampleRate / asc.SampleRate
			i.SampleRate = asc.ExtensionSampleRate
		}
	}
	return i, nil
}

// aacChannels is the number of channels of a configuration, 0 where it is said
// elsewhere. ISO/IEC 14496-3 Table 1.19
func aacChannels(config uint8) int {
	if config == 7 {
		return 8
	}
	return int(config)
}
