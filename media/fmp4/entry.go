package fmp4

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/codec"
)

// Lengths of the fixed parts of sample entries. [BMFF] Sections 12.1.3 and 12.2.3
const (
	visualEntrySize = 78
	audioEntrySize  = 28
)

// configBoxes are the boxes with the decoder configuration, by sample entry type.
var configBoxes = map[string]string{
	"avc1": "avcC", "avc3": "avcC", "hvc1": "hvcC", "hev1": "hvcC",
	"av01": "av1C", "vp09": "vpcC", "mp4a": "esds", "Opus": "dOps",
}

// readSampleDescription reads the codec from an stsd box into t. If the codec is
// not handled, it leaves t.Codec empty and says why in t.Label.
// [BMFF] Section 8.5.2, Sample Description Box
func readSampleDescription(stsd box, t *media.Track) error {
	if len(stsd.body) < 8 {
		return stsd.errorf("too short")
	}
	entries, err := children(stsd.body[8:], stsd.bodyPos()+8)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return stsd.errorf("has no sample entry")
	}
	entry := entries[0]
	configBox, ok := configBoxes[entry.typ]
	if !ok {
		_, err := codec.Describe(entry.typ, nil)
		t.Label = oneLine(err)
		return nil
	}
	kids, err := readEntryFields(entry, t)
	if err != nil {
		return err
	}
	var config []byte
	for _, k := range kids {
		switch k.typ {
		case configBox:
			if config, err = readConfig(k, t); errors.Is(err, media.ErrUnsupported) {
				t.Label = oneLine(err)
				return nil
			} else if err != nil {
				return err
			}
		case "btrt":
			c := cursor{b: k.body}
			c.u32()
			t.Bitrate = int(c.u32())
		}
	}
	info, err := codec.Describe(entry.typ, config)
	if errors.Is(err, media.ErrUnsupported) {
		t.Label = oneLine(err)
		return nil
	}
	if err != nil {
		return entry.errorf("%v", err)
	}
	t.Codec, t.Kind, t.Config = info.Codec, info.Kind, config
	t.Framerate = info.Framerate
	if info.Kind == media.Audio {
		if info.SampleRate > 0 {
			t.SampleRate = info.SampleRate
		}
		if info.Channels > 0 {
			t.Channels = info.Channels
		}
		if t.SampleRate > 0 {
			t.Priming = media.Rescale(int64(info.Priming), uint32(t.SampleRate), t.Timescale)
		}
	}
	return nil
}

// readEntryFields reads the fixed part of a sample entry and returns the boxes
// behind it.
func readEntryFields(entry box, t *media.Track) ([]box, error) {
	c := cursor{b: entry.body}
	fixed := visualEntrySize
	if entry.typ == "mp4a" || entry.typ == "Opus" {
		fixed = audioEntrySize
		c.skip(8)
		version := c.u16()
		c.skip(6)
		t.Channels = int(c.u16())
		c.skip(6)
		t.SampleRate = int(c.u32() >> 16)
		// QuickTime has more fields in versions 1 and 2.
		switch version {
		case 1:
			fixed += 16
		case 2:
			fixed += 36
		}
	} else {
		c.skip(24)
		t.Width, t.Height = int(c.u16()), int(c.u16())
	}
	if len(entry.body) < fixed {
		return nil, entry.errorf("too short")
	}
	return children(entry.body[fixed:], entry.bodyPos()+int64(fixed))
}

// readConfig takes the decoder configuration out of its box.
func readConfig(b box, t *media.Track) ([]byte, error) {
	switch b.typ {
	case "esds":
		return readESDS(b, t)
	case "dOps":
		head, err := codec.OpusHead(b.body)
		if err != nil {
			return nil, b.errorf("%v", err)
		}
		return head, nil
	}
	return b.body, nil
}

// Descriptor tags and the object type of AAC. ISO/IEC 14496-1 Sections 7.2.2.1 and 7.2.6.6
const (
	tagES            = 3
	tagDecoderConfig = 4
	tagSpecificInfo  = 5
	objectTypeAAC    = 0x40
)

// readESDS takes the AudioSpecificConfig out of the descriptors.
// ISO/IEC 14496-14 Section 5.6, ISO/IEC 14496-1 Section 7.2.6
func readESDS(b box, t *media.Track) ([]byte, error) {
	c := cursor{b: b.body}
	c.fullBox()
	es := descriptor(&c, tagES)
	es.skip(2)
	flags := es.u8()
	if flags&0x80 != 0 {
		es.skip(2)
	}
	if flags&0x40 != 0 {
		es.skip(int(es.u8()))
	}
	if flags&0x20 != 0 {
		es.skip(2)
	}
	dc := descriptor(&es, tagDecoderConfig)
	objectType := dc.u8()
	dc.skip(4)
	maxRate := dc.u32()
	dc.u32()
	info := descriptor(&dc, tagSpecificInfo)
	if objectType != objectTypeAAC && !dc.short {
		return nil, fmt.Errorf("audio of object type 0x%02x is not AAC (%w)", objectType, media.ErrUnsupported)
	}
	if info.short {
		return nil, b.errorf("holds no AudioSpecificConfig")
	}
	if t.Bitrate == 0 {
		t.Bitrate = int(maxRate)
	}
	return info.b, nil
}

// descriptor enters the next descriptor if it has the tag; else the result is short.
func descriptor(c *cursor, tag byte) cursor {
	if c.u8() != tag {
		return cursor{short: true}
	}
	size := 0
	for range 4 {
		v := c.u8()
		size = size<<7 | int(v&0x7f)
		if v&0x80 == 0 {
			break
		}
	}
	return cursor{b: c.take(size), short: c.short}
}

// oneLine is the message of an error without the sentinel at its end.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	s := err.Error()
	for _, sentinel := range []error{media.ErrUnsupported, media.ErrMalformed} {
		s = strings.TrimSuffix(s, " ("+sentinel.Error()+")")
	}
	return s
}
