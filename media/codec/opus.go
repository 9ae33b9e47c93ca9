package codec

import (
	"encoding/binary"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"

	"github.com/moq-c4/moq-c4/media"
)

// opusRate is the rate at which Opus counts, whatever the input had.
const opusRate = 48000

// opusHead begins an Opus identification header. RFC 7845 Section 5.1
const opusHead = "OpusHead"

// opusHeadSize is its length for up to two channels.
const opusHeadSize = 19

// describeOpus reads an identification header.
func describeOpus(config []byte) (Info, error) {
	if len(config) < opusHeadSize || string(config[:8]) != opusHead {
		return Info{}, malformed("OpusHead", "%d bytes, or no magic", len(config))
	}
	channels := int(config[9])
	if channels == 0 {
		return Info{}, malformed("OpusHead", "no channels")
	}
	return Info{
		Codec:      "opus",
		Kind:       media.Audio,
		SampleRate: opusRate,
		Channels:   channels,
		Priming:    int(binary.LittleEndian.Uint16(config[10:])),
	}, nil
}

// OpusHead makes the identification header of Opus in an MP4 file from the dOps
// box. Encapsulation of Opus in ISO Base Media File Format, Section 4.3.2
func OpusHead(dOps []byte) ([]byte, error) {
	if len(dOps) < 11 || dOps[0] != 0 {
		return nil, malformed("dOps", "%d bytes, or version not 0", len(dOps))
	}
	b := append([]byte(opusHead), 1, dOps[1])
	b = binary.LittleEndian.AppendUint16(b, binary.BigEndian.Uint16(dOps[2:]))
	b = binary.LittleEndian.AppendUint32(b, binary.BigEndian.Uint32(dOps[4:]))
	b = binary.LittleEndian.AppendUint16(b, binary.BigEndian.Uint16(dOps[8:]))
	return append(b, dOps[10:]...), nil
}

// AppendDOps is the reverse of OpusHead. It makes up a header for the channels
// if the identification header is not usable.
func AppendDOps(b, head []byte, channels int) []byte {
	if len(head) < opusHeadSize || string(head[:8]) != opusHead {
		b = append(b, 0, byte(channels))
		b = binary.BigEndian.AppendUint16(b, 312) // what libopus has at 48 kHz
		b = binary.BigEndian.AppendUint32(b, opusRate)
		return append(b, 0, 0, 0)
	}
	b = append(b, 0, head[9])
	b = binary.BigEndian.AppendUint16(b, binary.LittleEndian.Uint16(head[10:]))
	b = binary.BigEndian.AppendUint32(b, binary.LittleEndian.Uint32(head[12:]))
	b = binary.BigEndian.AppendUint16(b, binary.LittleEndian.Uint16(head[16:]))
	return append(b, head[18:]...)
}

// PacketLength is the length of an audio packet at the rate of its codec, or 0.
func (i Info) PacketLength(payload []byte) int {
	if i.Codec == "opus" {
		return int(opus.PacketDuration2(payload))
	}
	return i.PacketSamples
}
