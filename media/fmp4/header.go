package fmp4

import (
	"fmt"

	"github.com/moq-c4/moq-c4/media"
)

// maxTracks is the most tracks a header may have.
const maxTracks = 64

// Header is what the boxes before the first fragment say.
type Header struct {
	Tracks   []*media.Track
	Defaults Defaults

	// Shift is what the edit list of each track adds to its times, in the track's
	// timescale, so that they are presentation times.
	Shift map[uint32]int64

	// Skipped has a line for each track that is not in Tracks, with the reason.
	Skipped []string
}

// ParseHeader reads an initialization segment: the boxes ftyp (which may be
// missing) and moov. Each track gets an Init of its own.
func ParseHeader(data []byte) (*Header, error) {
	boxes, err := children(data, 0)
	if err != nil {
		return nil, err
	}
	var ftyp []byte
	for _, b := range boxes {
		switch b.typ {
		case "ftyp":
			ftyp = b.raw
		case "moov":
			return parseMoov(ftyp, b)
		}
	}
	return nil, malformed("moov", 0, "not found in the header")
}

// parseMoov reads a moov box. [BMFF] Section 8.2.1, Movie Box
func parseMoov(ftyp []byte, moov box) (*Header, error) {
	kids, err := children(moov.body, moov.bodyPos())
	if err != nil {
		return nil, err
	}
	h := &Header{Defaults: Defaults{}, Shift: map[uint32]int64{}}
	m := movie{ftyp: ftyp, trex: map[uint32][]byte{}}
	fragmented := false
	for _, k := range kids {
		switch k.typ {
		case "mvhd":
			m.mvhd = k.raw
			if m.timescale, err = mvhdTimescale(k); err != nil {
				return nil, err
			}
		case "mvex":
			fragmented = true
			if err := m.mvex(k, h.Defaults); err != nil {
				return nil, err
			}
		}
	}
	if !fragmented {
		return nil, fmt.Errorf("box %q at offset %d: the MP4 file is not fragmented; convert it with: ffmpeg -i in.mp4 -c copy -movflags +frag_keyframe+empty_moov+default_base_moof out.mp4 (%w)", "moov", moov.pos, media.ErrUnsupported)
	}
	for i, k := range kids {
		if k.typ != "trak" {
			continue
		}
		if i >= maxTracks+len(kids) || len(h.Tracks)+len(h.Skipped) >= maxTracks {
			return nil, k.errorf("more than %d tracks", maxTracks)
		}
		t, shift, err := m.trak(k)
		if err != nil {
			return nil, err
		}
		if _, twice := h.Shift[t.ID]; twice {
			return nil, k.errorf("track id %d is used twice", t.ID)
		}
		if t.Codec == "" {
			h.Skipped = append(h.Skipped, fmt.Sprintf("track %d: %s", t.ID, t.Label))
			continue
		}
		h.Tracks = append(h.Tracks, t)
		h.Shift[t.ID] = shift
	}
	if len(h.Tracks) == 0 {
		return nil, fmt.Errorf("box %q at offset %d: no usable track; %v (%w)", "moov", moov.pos, h.Skipped, media.ErrUnsupported)
	}
	return h, nil
}

// movie holds the parts of a moov that belong to all tracks.
type movie struct {
	ftyp, mvhd []byte
	timescale  uint32
	trex       map[uint32][]byte
}

// mvhdTimescale reads the time unit of edit durations. [BMFF] Section 8.2.2, Movie Header Box
func mvhdTimescale(b box) (uint32, error) {
	c := cursor{b: b.body}
	if version, _ := c.fullBox(); version == 1 {
		c.skip(16)
	} else {
		c.skip(8)
	}
	ts := c.u32()
	if c.short {
		return 0, b.errorf("too short")
	}
	return ts, nil
}

// mvex reads the defaults of fragments. [BMFF] Section 8.8.1, Movie Extends Box
func (m *movie) mvex(b box, defaults Defaults) error {
	kids, err := children(b.body, b.bodyPos())
	if err != nil {
		return err
	}
	for _, k := range kids {
		if k.typ != "trex" {
			continue
		}
		c := cursor{b: k.body}
		c.fullBox()
		id := c.u32()
		c.u32() // sample description index
		d := TrackDefaults{Duration: c.u32(), Size: c.u32(), Flags: c.u32()}
		if c.short {
			return k.errorf("too short")
		}
		defaults[id] = d
		m.trex[id] = k.raw
	}
	return nil
}

// trak reads a track and what its edit list adds to its times. A track that is
// not supported comes back without Codec and with the reason in Label.
// [BMFF] Section 8.3.1, Track Box
func (m *movie) trak(trak box) (*media.Track, int64, error) {
	t := &media.Track{}
	tkhd, err := trak.need("tkhd")
	if err != nil {
		return nil, 0, err
	}
	if t.ID, err = tkhdID(tkhd); err != nil {
		return nil, 0, err
	}
	mdhd, err := trak.need("mdia", "mdhd")
	if err != nil {
		return nil, 0, err
	}
	if err := readMdhd(mdhd, t); err != nil {
		return nil, 0, err
	}
	stsd, err := trak.need("mdia", "minf", "stbl", "stsd")
	if err != nil {
		return nil, 0, err
	}
	if err := readSampleDescription(stsd, t); err != nil {
		return nil, 0, err
	}
	shift, err := m.editShift(trak, t)
	if err != nil {
		return nil, 0, err
	}
	if t.Codec != "" {
		t.Init, err = m.trackInit(trak, t.ID)
	}
	return t, shift, err
}

// tkhdID reads the track id. [BMFF] Section 8.3.2, Track Header Box
func tkhdID(b box) (uint32, error) {
	c := cursor{b: b.body}
	if version, _ := c.fullBox(); version == 1 {
		c.skip(16)
	} else {
		c.skip(8)
	}
	id := c.u32()
	if c.short || id == 0 {
		return 0, b.errorf("no track id")
	}
	return id, nil
}

// readMdhd reads timescale and language. [BMFF] Section 8.4.2, Media Header Box
func readMdhd(b box, t *media.Track) error {
	c := cursor{b: b.body}
	version, _ := c.fullBox()
	if version == 1 {
		c.skip(16)
	} else {
		c.skip(8)
	}
	t.Timescale = c.u32()
	if version == 1 {
		c.skip(8)
	} else {
		c.skip(4)
	}
	lang := c.u16()
	if c.short {
		return b.errorf("too short")
	}
	if t.Timescale == 0 || t.Timescale > media.MaxTimescale {
		return b.errorf("timescale %d", t.Timescale)
	}
	t.Language = language(lang)
	return nil
}

// language unpacks three letters of five bits. "und" is no language.
func language(packed uint16) string {
	s := [3]byte{}
	for i := range s {
		s[i] = byte(packed>>(10-5*i))&31 + 0x60
		if s[i] < 'a' || s[i] > 'z' {
			return ""
		}
	}
	if string(s[:]) == "und" {
		return ""
	}
	return string(s[:])
}

// maxEdit is the longest edit in seconds: a year.
const maxEdit = 366 * 24 * 3600

// editShift reads the edit list as far as live streams use one: empty edits that
// delay the track, then the media time at which its presentation begins. That
// time is also how much the decoder is to throw away at the start of the sound.
// [BMFF] Section 8.6.6, Edit List Box
func (m *movie) editShift(trak box, t *media.Track) (int64, error) {
	b, ok, err := trak.find("edts", "elst")
	if err != nil || !ok {
		return 0, err
	}
	c := cursor{b: b.body}
	version, _ := c.fullBox()
	var delay int64 // of the movie
	for count := c.u32(); count > 0 && !c.short; count-- {
		var duration uint64
		var mediaTime int64
		if version == 1 {
			duration, mediaTime = c.u64(), int64(c.u64())
		} else {
			duration, mediaTime = uint64(c.u32()), int64(int32(c.u32()))
		}
		c.u32() // rate
		if c.short {
			break
		}
		if duration > maxEdit*uint64(m.timescale) || mediaTime > maxEdit*int64(t.Timescale) || mediaTime < -1 {
			return 0, b.errorf("edit of %d units at %d", duration, mediaTime)
		}
		if mediaTime < 0 {
			if delay += int64(duration); delay > maxEdit*int64(m.timescale) {
				return 0, b.errorf("delay of %d units", delay)
			}
			continue
		}
		if t.Kind == media.Audio {
			t.Priming = max(t.Priming, mediaTime)
		}
		return media.Rescale(delay, m.timescale, t.Timescale) - mediaTime, nil
	}
	if c.short {
		return 0, b.errorf("too short")
	}
	return media.Rescale(delay, m.timescale, t.Timescale), nil
}

// trackInit makes the CMAF header of one track: its trak without the edit list,
// which the frames' times have in them, and its trex. A moov with all tracks
// makes players take the first timescale for every track.
func (m *movie) trackInit(trak box, id uint32) ([]byte, error) {
	kids, err := children(trak.body, trak.bodyPos())
	if err != nil {
		return nil, err
	}
	b := m.ftyp
	if b == nil {
		b = appendFtyp(nil)
	}
	b = append([]byte(nil), b...)
	return appendBox(b, "moov", func(b []byte) []byte {
		if m.mvhd != nil {
			b = append(b, m.mvhd...)
		} else {
			b = appendMvhd(b)
		}
		b = appendBox(b, "trak", func(b []byte) []byte {
			for _, k := range kids {
				if k.typ != "edts" {
					b = append(b, k.raw...)
				}
			}
			return b
		})
		return appendBox(b, "mvex", func(b []byte) []byte {
			if trex := m.trex[id]; trex != nil {
				return append(b, trex...)
			}
			return appendTrex(b, id)
		})
	}), nil
}
