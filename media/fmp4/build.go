package fmp4

import (
	"fmt"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/codec"
)

// BuildInit makes a CMAF header for a track that came without one, from its
// codec, Config, Timescale and sizes. The track id is t.ID, or 1 if that is 0.
func BuildInit(t *media.Track) ([]byte, error) {
	entry := codec.Entry(t.Codec)
	if _, ok := configBoxes[entry]; !ok {
		return nil, fmt.Errorf("no MP4 sample entry for codec %q (%w)", t.Codec, media.ErrUnsupported)
	}
	if t.Timescale == 0 {
		return nil, fmt.Errorf("codec %q: timescale 0 (%w)", t.Codec, media.ErrMalformed)
	}
	if len(t.Config) == 0 && entry != "Opus" {
		return nil, fmt.Errorf("codec %q: no decoder configuration (%w)", t.Codec, media.ErrMalformed)
	}
	id := max(t.ID, 1)
	b := appendFtyp(nil)
	return appendBox(b, "moov", func(b []byte) []byte {
		b = appendMvhd(b)
		b = appendTrak(b, t, id, entry)
		return appendBox(b, "mvex", func(b []byte) []byte { return appendTrex(b, id) })
	}), nil
}

// appendFtyp says that this is a CMAF file. [BMFF] Section 4.3, File Type Box
func appendFtyp(b []byte) []byte {
	return appendBox(b, "ftyp", func(b []byte) []byte {
		return append(b, "iso6\x00\x00\x00\x00iso6cmfcmp41"...)
	})
}

// movieTimescale is the time unit of the headers we write. Nothing in them has a
// duration.
const movieTimescale = 1000

// appendMvhd writes a movie header for any number of tracks.
func appendMvhd(b []byte) []byte {
	return appendFull(b, "mvhd", 0, 0, func(b []byte) []byte {
		b = be64(b, 0) // creation, modification
		b = be32(b, movieTimescale)
		b = be32(b, 0)       // duration: of the fragments
		b = be32(b, 0x10000) // rate 1
		b = be16(b, 0x100)   // volume 1
		b = append(b, make([]byte, 10)...)
		b = appendMatrix(b)
		b = append(b, make([]byte, 24)...)
		return be32(b, 0xffffffff) // next track id: unknown
	})
}

// appendMatrix writes the matrix that changes nothing.
func appendMatrix(b []byte) []byte {
	for _, v := range []uint32{0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000} {
		b = be32(b, v)
	}
	return b
}

func appendTrex(b []byte, id uint32) []byte {
	return appendFull(b, "trex", 0, 0, func(b []byte) []byte {
		b = be32(b, id)
		b = be32(b, 1) // sample description
		return append(b, make([]byte, 12)...)
	})
}

func appendTrak(b []byte, t *media.Track, id uint32, entry string) []byte {
	video := t.Kind == media.Video
	return appendBox(b, "trak", func(b []byte) []byte {
		b = appendFull(b, "tkhd", 0, 3, func(b []byte) []byte { // enabled, in the movie
			b = be64(b, 0)
			b = be32(b, id)
			b = be64(b, 0)
			b = be64(b, 0)
			b = be32(b, 0) // layer, alternate group
			if video {
				b = be32(b, 0)
			} else {
				b = be32(b, 0x1000000) // volume 1
			}
			b = appendMatrix(b)
			b = be32(b, uint32(t.Width)<<16)
			return be32(b, uint32(t.Height)<<16)
		})
		return appendBox(b, "mdia", func(b []byte) []byte {
			b = appendFull(b, "mdhd", 0, 0, func(b []byte) []byte {
				b = be64(b, 0)
				b = be32(b, t.Timescale)
				b = be32(b, 0)
				b = be16(b, packLanguage(t.Language))
				return be16(b, 0)
			})
			b = appendFull(b, "hdlr", 0, 0, func(b []byte) []byte {
				b = be32(b, 0)
				if video {
					b = append(b, "vide"...)
				} else {
					b = append(b, "soun"...)
				}
				b = append(b, make([]byte, 12)...)
				return append(b, t.Kind.String()+"\x00"...)
			})
			return appendBox(b, "minf", func(b []byte) []byte {
				if video {
					b = appendFull(b, "vmhd", 0, 1, func(b []byte) []byte { return be64(b, 0) })
				} else {
					b = appendFull(b, "smhd", 0, 0, func(b []byte) []byte { return be32(b, 0) })
				}
				b = appendBox(b, "dinf", func(b []byte) []byte {
					return appendFull(b, "dref", 0, 0, func(b []byte) []byte {
						b = be32(b, 1)
						return appendFull(b, "url ", 0, 1, func(b []byte) []byte { return b })
					})
				})
				return appendStbl(b, t, entry)
			})
		})
	})
}

// appendStbl writes a sample table with no samples in it.
func appendStbl(b []byte, t *media.Track, entry string) []byte {
	return appendBox(b, "stbl", func(b []byte) []byte {
		b = appendFull(b, "stsd", 0, 0, func(b []byte) []byte {
			b = be32(b, 1)
			return appendEntry(b, t, entry)
		})
		for _, typ := range []string{"stts", "stsc", "stco"} {
			b = appendFull(b, typ, 0, 0, func(b []byte) []byte { return be32(b, 0) })
		}
		return appendFull(b, "stsz", 0, 0, func(b []byte) []byte { return be64(b, 0) })
	})
}

func appendEntry(b []byte, t *media.Track, entry string) []byte {
	return appendBox(b, entry, func(b []byte) []byte {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 1) // reserved, data reference
		if t.Kind == media.Video {
			b = append(b, make([]byte, 16)...)
			b = be16(b, uint16(t.Width))
			b = be16(b, uint16(t.Height))
			b = be32(b, 72<<16) // dots per inch
			b = be32(b, 72<<16)
			b = be32(b, 0)
			b = be16(b, 1) // frames per sample
			b = append(b, make([]byte, 32)...)
			b = be16(b, 24)
			b = be16(b, 0xffff)
		} else {
			b = be64(b, 0)
			b = be16(b, uint16(t.Channels))
			b = be16(b, 16)
			b = be32(b, 0)
			b = be32(b, uint32(min(t.SampleRate, 0xffff))<<16)
		}
		return appendConfig(b, t, entry)
	})
}

// appendConfig writes the box with the decoder configuration.
func appendConfig(b []byte, t *media.Track, entry string) []byte {
	return appendBox(b, configBoxes[entry], func(b []byte) []byte {
		switch entry {
		case "Opus":
			return codec.AppendDOps(b, t.Config, t.Channels)
		case "mp4a":
			return appendESDS(be32(b, 0), t)
		}
		return append(b, t.Config...)
	})
}

// appendESDS writes the descriptors around an AudioSpecificConfig.
func appendESDS(b []byte, t *media.Track) []byte {
	n := len(t.Config)
	b = append(b, tagES)
	b = appendDescriptorSize(b, 3+5+13+5+n+6)
	b = append(b, 0, 0, 0)
	b = append(b, tagDecoderConfig)
	b = appendDescriptorSize(b, 13+5+n)
	b = append(b, objectTypeAAC, 0x15, 0, 0, 0) // audio stream, buffer size not stated
	b = be32(b, uint32(t.Bitrate))
	b = be32(b, uint32(t.Bitrate))
	b = append(b, tagSpecificInfo)
	b = appendDescriptorSize(b, n)
	b = append(b, t.Config...)
	b = append(b, 6) // SLConfig
	b = appendDescriptorSize(b, 1)
	return append(b, 2)
}

// appendDescriptorSize writes a size in the four-byte form.
func appendDescriptorSize(b []byte, n int) []byte {
	return append(b, byte(n>>21)|0x80, byte(n>>14)|0x80, byte(n>>7)|0x80, byte(n)&0x7f)
}

// packLanguage is the reverse of language.
func packLanguage(s string) uint16 {
	if len(s) != 3 {
		s = "und"
	}
	var v uint16
	for i := range 3 {
		v = v<<5 | uint16(s[i]-0x60)&31
	}
	return v
}
