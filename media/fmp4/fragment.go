package fmp4

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/moq-c4/moq-c4/media"
)

// maxSamples is the most samples one fragment may hold. A trun without
// per-sample fields could name four thousand million in 16 bytes.
const maxSamples = 1 << 16

// Sample is one sample of a fragment.
type Sample struct {
	TrackID  uint32
	DTS      int64  // decode time in the track's timescale
	Offset   int32  // composition time offset: PTS = DTS + Offset
	Duration uint32 // 0 if the fragment does not say
	Sync     bool   // a sync sample by its flags
	Data     []byte
}

// Defaults are the values a fragment may leave out, by track id. They come from
// the trex boxes of the header.
type Defaults map[uint32]TrackDefaults

// TrackDefaults are the defaults of one track. [BMFF] Section 8.8.3, Track Extends Box
type TrackDefaults struct{ Duration, Size, Flags uint32 }

// Flags of tfhd, trun and samples. [BMFF] Sections 8.8.7, 8.8.8 and 8.8.3.1
const (
	tfhdBaseDataOffset    = 0x000001
	tfhdDescriptionIndex  = 0x000002
	tfhdDefaultDuration   = 0x000008
	tfhdDefaultSize       = 0x000010
	tfhdDefaultFlags      = 0x000020
	tfhdDefaultBaseIsMoof = 0x020000

	trunDataOffset  = 0x000001
	trunFirstFlags  = 0x000004
	trunDuration    = 0x000100
	trunSize        = 0x000200
	trunFlags       = 0x000400
	trunCompoOffset = 0x000800

	sampleNonSync   = 0x00010000
	sampleDependsNo = 0x02000000 // sample_depends_on = 2: it does not depend on others
	sampleDepends   = 0x01000000 // sample_depends_on = 1
)

// ParseFragments lists the samples of any number of fragments, each a moof and
// the mdat behind it, with boxes of other types between them, such as styp and
// prft. Sample.Data points into data.
func ParseFragments(data []byte, defaults Defaults) ([]Sample, error) {
	boxes, err := children(data, 0)
	if err != nil {
		return nil, err
	}
	var samples []Sample
	for i, b := range boxes {
		if b.typ != "moof" {
			continue
		}
		end := int64(len(data))
		for _, next := range boxes[i+1:] {
			if next.typ == "moof" {
				end = next.pos
				break
			}
		}
		more, err := parseFragment(data[b.pos:end], b.pos, defaults)
		if err != nil {
			return nil, err
		}
		if samples = append(samples, more...); len(samples) > maxSamples {
			return nil, b.errorf("more than %d samples", maxSamples)
		}
	}
	if len(samples) == 0 {
		return nil, malformed("moof", 0, "not found, or without samples")
	}
	return samples, nil
}

// parseFragment is ParseFragments for one fragment that lies at pos in its stream, to
// which absolute data offsets refer.
func parseFragment(data []byte, pos int64, defaults Defaults) ([]Sample, error) {
	moof, _, err := nextBox(data, pos)
	if err != nil {
		return nil, err
	}
	if moof.typ != "moof" {
		return nil, moof.errorf("expected a moof")
	}
	kids, err := children(moof.body, moof.bodyPos())
	if err != nil {
		return nil, err
	}
	f := fragmentParser{data: data, pos: pos, defaults: defaults}
	for _, k := range kids {
		if k.typ != "traf" {
			continue
		}
		if err := f.traf(k); err != nil {
			return nil, err
		}
	}
	return f.samples, nil
}

// fragmentParser holds what carries over from one traf to the next.
type fragmentParser struct {
	data     []byte
	pos      int64
	defaults Defaults
	dataEnd  int64 // end of the data of the previous traf, relative to data
	samples  []Sample
}

// traf reads a track fragment. [BMFF] Section 8.8.6, Track Fragment Box
func (f *fragmentParser) traf(traf box) error {
	kids, err := children(traf.body, traf.bodyPos())
	if err != nil {
		return err
	}
	var (
		id      uint32
		def     TrackDefaults
		base    int64 // what data offsets count from, relative to data
		dts     int64
		haveHd  bool
		haveDT  bool
		dataPos int64
	)
	for _, k := range kids {
		switch k.typ {
		case "tfhd":
			if id, def, base, err = f.tfhd(k); err != nil {
				return err
			}
			haveHd, dataPos = true, base
		case "tfdt":
			if dts, err = tfdt(k); err != nil {
				return err
			}
			haveDT = true
		case "trun":
			if !haveHd {
				return k.errorf("comes before the tfhd of its traf")
			}
			if !haveDT {
				return k.errorf("has no tfdt before it, so its time is unknown")
			}
			if dts, dataPos, err = f.trun(k, id, def, base, dataPos, dts); err != nil {
				return err
			}
		}
	}
	f.dataEnd = dataPos
	return nil
}

// tfhd reads a track fragment header. [BMFF] Section 8.8.7, Track Fragment Header Box
func (f *fragmentParser) tfhd(b box) (id uint32, def TrackDefaults, base int64, err error) {
	c := cursor{b: b.body}
	_, flags := c.fullBox()
	id = c.u32()
	def = f.defaults[id]
	// Without an offset of its own, the first traf counts from the moof and each
	// further one from the end of the data of the one before.
	base = f.dataEnd
	if flags&tfhdDefaultBaseIsMoof != 0 {
		base = 0
	}
	if flags&tfhdBaseDataOffset != 0 {
		abs := c.u64()
		if abs > math.MaxInt64 {
			return 0, def, 0, b.errorf("base data offset %d", abs)
		}
		base = int64(abs) - f.pos
	}
	if flags&tfhdDescriptionIndex != 0 {
		c.u32()
	}
	if flags&tfhdDefaultDuration != 0 {
		def.Duration = c.u32()
	}
	if flags&tfhdDefaultSize != 0 {
		def.Size = c.u32()
	}
	if flags&tfhdDefaultFlags != 0 {
		def.Flags = c.u32()
	}
	if c.short {
		return 0, def, 0, b.errorf("too short")
	}
	return id, def, base, nil
}

// maxTime bounds decode times, so that sums with durations cannot overflow.
const maxTime = math.MaxInt64 / 4

// tfdt reads the decode time. [BMFF] Section 8.8.12, Track Fragment Decode Time Box
func tfdt(b box) (int64, error) {
	c := cursor{b: b.body}
	var t uint64
	if version, _ := c.fullBox(); version == 1 {
		t = c.u64()
	} else {
		t = uint64(c.u32())
	}
	if c.short {
		return 0, b.errorf("too short")
	}
	if t > maxTime {
		return 0, b.errorf("decode time %d", t)
	}
	return int64(t), nil
}

// trun reads a run of samples and returns the decode time and the data position
// behind it. [BMFF] Section 8.8.8, Track Fragment Run Box
func (f *fragmentParser) trun(b box, id uint32, def TrackDefaults, base, dataPos, dts int64) (int64, int64, error) {
	c := cursor{b: b.body}
	_, flags := c.fullBox()
	count := int(c.u32())
	if count+len(f.samples) > maxSamples {
		return 0, 0, b.errorf("%d samples, more than %d in one fragment", count, maxSamples)
	}
	if flags&trunDataOffset != 0 {
		dataPos = base + int64(int32(c.u32()))
	}
	firstFlags := def.Flags
	if flags&trunFirstFlags != 0 {
		firstFlags = c.u32()
	}
	for i := range count {
		size, sampleFlags := def.Size, def.Flags
		s := Sample{TrackID: id, DTS: dts, Duration: def.Duration}
		if i == 0 {
			sampleFlags = firstFlags
		}
		if flags&trunDuration != 0 {
			s.Duration = c.u32()
		}
		if flags&trunSize != 0 {
			size = c.u32()
		}
		if flags&trunFlags != 0 {
			sampleFlags = c.u32()
		}
		if flags&trunCompoOffset != 0 {
			// Version 0 has unsigned offsets. Values past 31 bits there are
			// negative ones of writers that set no version.
			s.Offset = int32(c.u32())
		}
		if c.short {
			return 0, 0, b.errorf("ends in sample %d of %d", i, count)
		}
		s.Sync = sampleFlags&sampleNonSync == 0
		end := dataPos + int64(size)
		if dataPos < 0 || end > int64(len(f.data)) {
			return 0, 0, b.errorf("sample %d of track %d lies at %d to %d of a fragment of %d bytes", i, id, dataPos, end, len(f.data))
		}
		s.Data = f.data[dataPos:end:end]
		f.samples = append(f.samples, s)
		dataPos = end
		if dts += int64(s.Duration); dts > maxTime {
			return 0, 0, b.errorf("decode time %d", dts)
		}
	}
	return dts, dataPos, nil
}

// Sizes of the boxes that AppendFragment writes.
const (
	mfhdSize       = 8 + 4 + 4
	tfhdSize       = 8 + 4 + 4
	tfdtSize       = 8 + 4 + 8
	trunHeaderSize = 8 + 4 + 4 + 4
)

// AppendFragment appends a moof with this one sample and its mdat: everything
// about the sample is explicit and the decode time has 64 bits, so that it can
// be read without the header. seq is the fragment's sequence number.
func AppendFragment(b []byte, seq uint32, s Sample) []byte {
	trunFlag := uint32(trunDataOffset | trunDuration | trunSize | trunFlags)
	trunSize := trunHeaderSize + 12
	if s.Offset != 0 {
		trunFlag |= trunCompoOffset
		trunSize += 4
	}
	trafSize := 8 + tfhdSize + tfdtSize + trunSize
	moofSize := 8 + mfhdSize + trafSize

	b = be32(b, uint32(moofSize))
	b = append(b, "moof"...)
	b = be32(b, mfhdSize)
	b = append(b, "mfhd\x00\x00\x00\x00"...)
	b = be32(b, seq)
	b = be32(b, uint32(trafSize))
	b = append(b, "traf"...)
	b = be32(b, tfhdSize)
	b = append(b, "tfhd"...)
	b = be32(b, tfhdDefaultBaseIsMoof)
	b = be32(b, s.TrackID)
	b = be32(b, tfdtSize)
	b = append(b, "tfdt"...)
	b = be32(b, 1<<24)
	b = be64(b, uint64(s.DTS))
	b = be32(b, uint32(trunSize))
	b = append(b, "trun"...)
	b = be32(b, 1<<24|trunFlag)
	b = be32(b, 1)
	b = be32(b, uint32(moofSize)+8)
	b = be32(b, s.Duration)
	b = be32(b, uint32(len(s.Data)))
	if s.Sync {
		b = be32(b, sampleDependsNo)
	} else {
		b = be32(b, sampleDepends|sampleNonSync)
	}
	if s.Offset != 0 {
		b = be32(b, uint32(s.Offset))
	}
	b = be32(b, uint32(len(s.Data))+8)
	b = append(b, "mdat"...)
	return append(b, s.Data...)
}

// FragmentOverhead is the most that AppendFragment adds to the data of a sample.
const FragmentOverhead = 8 + mfhdSize + 8 + tfhdSize + tfdtSize + trunHeaderSize + 16 + 8

// AppendRetimed appends a copy of raw, a moof and mdat, with its decode time set
// to s.DTS and not a byte changed besides. It reports false, and appends nothing,
// if that does not make a fragment of exactly the sample s which, like those of
// AppendFragment, can be read without the header and as soon as the moof is
// known: if raw has a 32-bit decode time, leaves the duration or the flags of the
// sample to the header, has offsets that count from the start of its file, or
// anything between the moof and the sample.
func AppendRetimed(b, raw []byte, s Sample) ([]byte, bool) {
	samples, err := parseFragment(raw, 0, nil)
	if err != nil || len(samples) != 1 {
		return b, false
	}
	got := samples[0]
	if got.TrackID != s.TrackID || got.Offset != s.Offset || got.Duration != s.Duration || got.Sync != s.Sync || got.Duration == 0 {
		return b, false
	}
	moof, rest, err := nextBox(raw, 0)
	if err != nil {
		return b, false
	}
	mdat, rest, err := nextBox(rest, int64(len(moof.raw)))
	if err != nil || mdat.typ != "mdat" || len(rest) > 0 || !bytes.Equal(mdat.body, s.Data) || len(got.Data) != len(mdat.body) {
		return b, false
	}
	tfdtPos, ok := explicitTime(moof)
	if !ok {
		return b, false
	}
	start := len(b)
	b = append(b, raw...)
	binary.BigEndian.PutUint64(b[start+tfdtPos:], uint64(s.DTS))
	return b, true
}

// explicitTime is the position of the 64-bit decode time in a moof with one
// traf, if nothing in there depends on the header or the place in the file.
func explicitTime(moof box) (pos int, ok bool) {
	traf, found, err := moof.find("traf")
	if err != nil || !found {
		return 0, false
	}
	kids, err := children(traf.body, traf.bodyPos())
	if err != nil {
		return 0, false
	}
	var flagged, local bool
	for _, k := range kids {
		c := cursor{b: k.body}
		version, flags := c.fullBox()
		switch k.typ {
		case "tfhd":
			local = flags&tfhdBaseDataOffset == 0 && flags&tfhdDefaultBaseIsMoof != 0
			flagged = flagged || flags&tfhdDefaultFlags != 0
		case "tfdt":
			if version == 1 {
				pos = int(k.bodyPos()) + 4
			}
		case "trun":
			flagged = flagged || flags&(trunFlags|trunFirstFlags) != 0
		}
	}
	return pos, local && flagged && pos > 0
}

// FrameSample is the sample of a frame, with the track id it is to have.
func FrameSample(f media.Frame, id uint32) Sample {
	return Sample{
		TrackID:  id,
		DTS:      f.DTS,
		Offset:   int32(f.PTS - f.DTS),
		Duration: uint32(min(max(f.Duration, 0), math.MaxUint32)),
		Sync:     f.Key,
		Data:     f.Payload,
	}
}
