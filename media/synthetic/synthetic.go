// Package synthetic is a source of made-up media with exact sizes and rates: the
// call of the C4 test plan. Each payload can be checked for having arrived whole.
package synthetic

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// Codec is the codec string of the tracks. No decoder knows it.
const Codec = "synthetic"

// The call of the C4 test plan: sizes in bytes, rates in frames per second.
const (
	AudioRate = 50
	AudioSize = 80

	VideoRate     = 30
	VideoGroup    = 30 // frames
	LowKeySize    = 37500
	LowDeltaSize  = 3750
	HighKeySize   = 62500
	HighDeltaSize = 6250
)

// Timescales of the tracks.
const (
	audioTimescale = 48000
	videoTimescale = 90000
)

// Config configures a Source. The zero value is the call of the C4 test plan.
type Config struct {
	// Duration ends the source. Default 0: it never ends.
	Duration time.Duration
}

// Source is the media.Source. It does not wait: a media.Pacer gives frames their
// time.
type Source struct {
	cfg     Config
	streams []stream
	tracks  []*media.Track

	wanted    atomic.Bool   // NewGroup was called
	videoTime time.Duration // of the newest video frame; -1 before the first
	keyTime   time.Duration // where the groups begin that were asked for last; -1 before the first time
}

// stream is a track and where it is.
type stream struct {
	track  *media.Track
	length int64  // of a frame, in the track's timescale
	seq    uint64 // of the next frame
	first  uint64 // of the current group
	group  uint64 // frames in a group
	key    int    // bytes of the first frame of a group
	delta  int    // and of the others
}

// New returns a Source.
func New(cfg Config) *Source {
	s := &Source{cfg: cfg, videoTime: -1, keyTime: -1, streams: []stream{
		{
			track: &media.Track{
				ID: 1, Kind: media.Audio, Codec: Codec, Timescale: audioTimescale,
				SampleRate: audioTimescale, Channels: 1, Bitrate: AudioRate * AudioSize * 8,
			},
			length: audioTimescale / AudioRate, group: 1, key: AudioSize,
		},
		video(2, "low", LowKeySize, LowDeltaSize),
		video(3, "mid", HighKeySize, HighDeltaSize),
	}}
	for _, st := range s.streams {
		s.tracks = append(s.tracks, st.track)
	}
	return s
}

func video(id uint32, label string, key, delta int) stream {
	return stream{
		track: &media.Track{
			ID: id, Kind: media.Video, Codec: Codec, Timescale: videoTimescale, Label: label,
			Framerate: VideoRate, Bitrate: (key + (VideoGroup-1)*delta) * 8 * VideoRate / VideoGroup,
		},
		length: videoTimescale / VideoRate, group: VideoGroup, key: key, delta: delta,
	}
}

// Tracks implements media.Source: audio, the smaller and the better video.
func (s *Source) Tracks() []*media.Track { return s.tracks }

// Next implements media.Source. Frames are in order of time; of those of the same
// time the audio comes first, then the smaller video.
func (s *Source) Next() (media.Frame, error) {
	first := &s.streams[0]
	for i := range s.streams[1:] {
		if st := &s.streams[i+1]; st.time() < first.time() {
			first = st
		}
	}
	if s.cfg.Duration > 0 && first.time() >= s.cfg.Duration {
		return media.Frame{}, io.EOF
	}
	if first.track.Kind != media.Video {
		return first.next(false), nil
	}
	// All videos begin the new group at the same time: at one of which none has had its frame yet.
	if t := first.time(); t > s.videoTime {
		s.videoTime = t
		if s.wanted.Swap(false) {
			s.keyTime = t
		}
	}
	return first.next(first.time() == s.keyTime), nil
}

// NewGroup asks for a key frame in all videos as soon as possible, instead of when their groups are full. It may be called
// from any goroutine.
func (s *Source) NewGroup() { s.wanted.Store(true) }

// time is when the next frame is due.
func (st *stream) time() time.Duration {
	return media.Duration(int64(st.seq)*st.length, st.track.Timescale)
}

// next is the next frame, a key frame if one is due or asked for.
func (st *stream) next(key bool) media.Frame {
	if key || st.seq-st.first == st.group {
		st.first = st.seq
	}
	t := int64(st.seq) * st.length
	f := media.Frame{
		Track: st.track, DTS: t, PTS: t, Duration: st.length,
		Key: st.seq == st.first,
	}
	size := st.delta
	if f.Key {
		size = st.key
	}
	f.Payload = payload(st.track.ID, st.seq, size)
	st.seq++
	return f
}

// A payload starts with a header: magic, track, size and number of the frame.
// The rest are random bytes that follow from these.
const (
	magic      = "C4sy"
	headerSize = 4 + 4 + 4 + 8
)

// payload makes the bytes of a frame.
func payload(track uint32, seq uint64, size int) []byte {
	b := make([]byte, 0, size)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, track)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = binary.BigEndian.AppendUint64(b, seq)
	return fill(b, track, seq, size)
}

// fill appends the random part until b has the size.
func fill(b []byte, track uint32, seq uint64, size int) []byte {
	r := rand.NewPCG(uint64(track), seq)
	for len(b) < size {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], r.Uint64())
		b = append(b, word[:min(8, size-len(b))]...)
	}
	return b
}

// Verify tells which frame a payload is and whether it is whole and unchanged.
// Its error wraps media.ErrMalformed.
func Verify(b []byte) (track uint32, seq uint64, err error) {
	if len(b) < headerSize || string(b[:4]) != magic {
		return 0, 0, fmt.Errorf("synthetic payload of %d bytes: no header (%w)", len(b), media.ErrMalformed)
	}
	track = binary.BigEndian.Uint32(b[4:])
	size := binary.BigEndian.Uint32(b[8:])
	seq = binary.BigEndian.Uint64(b[12:])
	if uint64(size) != uint64(len(b)) {
		return track, seq, fmt.Errorf("synthetic frame %d of track %d: %d bytes of %d (%w)", seq, track, len(b), size, media.ErrMalformed)
	}
	want := payload(track, seq, len(b))
	for i := range b {
		if b[i] != want[i] {
			return track, seq, fmt.Errorf("synthetic frame %d of track %d: byte %d differs (%w)", seq, track, i, media.ErrMalformed)
		}
	}
	return track, seq, nil
}
