package fmp4

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/codec"
)

// ReaderConfig configures a Reader. The zero value is good.
type ReaderConfig struct {
	// Now stamps arrivals. Default time.Now.
	Now func() time.Time
}

// Reader is a media.Source over a stream of fragmented MP4, such as the output
// of ffmpeg in a pipe. Fragments with several samples become a frame each. When
// another header comes in the middle of the stream, the source has started over:
// Tracks changes and the first frame of each track is marked Discontinuity.
//
// A Reader is for one goroutine. Closing the underlying stream makes Next return.
type Reader struct {
	now func() time.Time
	r   *boxReader

	ftyp   []byte
	header *Header
	tracks []*media.Track
	states map[uint32]*trackState
	queue  []media.Frame
	err    error // what Next returns when the queue is empty
	run    int   // how often the source has started over
}

// trackState is what the Reader knows of a track besides its description.
type trackState struct {
	track    *media.Track
	info     codec.Info
	shift    int64
	duration int64 // of the latest frame that had one
	clock    soundClock
	restart  bool // the next frame is the first after the source started over
	frames   int
}

// NewReader reads the header and the first frame or so of each track. It stops
// at the first thing that is no fragmented MP4 with an error that names the box.
func NewReader(r io.Reader, cfg ReaderConfig) (*Reader, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	rd := &Reader{now: cfg.Now, r: newBoxReader(r)}
	for rd.header == nil {
		if err := rd.step(); err != nil {
			if err == io.EOF {
				err = malformed("moov", rd.r.pos, "the input ends before it")
			}
			return nil, err
		}
	}
	rd.probe()
	return rd, nil
}

// Tracks implements media.Source.
func (r *Reader) Tracks() []*media.Track { return r.tracks }

// Skipped lists the tracks that are not offered, each as one line with the reason.
func (r *Reader) Skipped() []string { return r.header.Skipped }

// Cut reports, after the end, whether that came in the middle of a box: the source was killed, or the file is not whole.
func (r *Reader) Cut() bool { return r.r.cut }

// Next implements media.Source.
func (r *Reader) Next() (media.Frame, error) {
	for len(r.queue) == 0 {
		if r.err != nil {
			return media.Frame{}, r.err
		}
		r.err = r.step()
	}
	f := r.queue[0]
	r.queue = r.queue[1:]
	if len(r.queue) == 0 {
		r.queue = nil
	}
	return f, nil
}

// step reads one box and acts on it.
func (r *Reader) step() error {
	h, err := r.r.header()
	if err != nil {
		if errors.Is(err, media.ErrMalformed) && r.header != nil {
			return r.r.resync(h, err)
		}
		return err
	}
	switch h.typ {
	case "ftyp":
		r.ftyp, err = r.r.body(nil, h)
		return err
	case "moov":
		return r.moov(h)
	case "moof":
		data, err := r.fragment(h)
		if errors.Is(err, media.ErrMalformed) && r.header != nil {
			r.r.last = data
			return r.r.resync(boxHeader{}, err)
		}
		return err
	case "mdat":
		return errNotFragmented(h)
	}
	if r.header != nil && r.r.hidesFtyp(h) {
		return r.r.resync(h, malformed(h.typ, h.pos, "the box before it was cut short"))
	}
	return r.r.skip(h)
}

// moov takes a new header.
func (r *Reader) moov(h boxHeader) error {
	raw, err := r.r.body(nil, h)
	if err != nil {
		return err
	}
	b, _, err := nextBox(raw, h.pos)
	if err != nil {
		return err
	}
	header, err := parseMoov(r.ftyp, b)
	if err != nil {
		return err
	}
	if r.header != nil {
		r.run++
	}
	states := map[uint32]*trackState{}
	for _, t := range header.Tracks {
		info, err := codec.Describe(t.Codec, t.Config)
		if err != nil {
			return err
		}
		if t.Framerate == 0 && r.states[t.ID] != nil {
			t.Framerate = r.states[t.ID].track.Framerate
		}
		states[t.ID] = &trackState{track: t, info: info, shift: header.Shift[t.ID], restart: r.run > 0}
	}
	r.header, r.tracks, r.states = header, header.Tracks, states
	r.r.last = nil
	return nil
}

// fragment reads from a moof to the end of its mdat and queues the frames. Boxes
// in between count, because data offsets do. It returns what it read, up to the
// current position.
func (r *Reader) fragment(h boxHeader) ([]byte, error) {
	if r.header == nil {
		return nil, malformed(h.typ, h.pos, "comes before the moov")
	}
	data, err := r.r.body(nil, h)
	if err != nil {
		return nil, err
	}
	for typ := ""; typ != "mdat"; {
		next, err := r.r.header()
		if err != nil {
			return append(data, next.head...), err
		}
		switch {
		case next.typ == "ftyp" || next.typ == "moov" || next.typ == "moof":
			// The mdat is missing: the source was killed before it.
			r.r.unread(next)
			return data, nil
		case int64(len(data))+next.size > 2*maxBox:
			return append(data, next.head...), malformed(next.typ, next.pos, "the fragment is larger than %d", 2*maxBox)
		}
		if data, err = r.r.body(data, next); err != nil {
			return nil, err
		}
		typ = next.typ
	}
	samples, err := parseFragment(data, h.pos, r.header.Defaults)
	if err != nil {
		return data, err
	}
	r.r.last = data
	r.queueSamples(data, samples)
	return data, nil
}

// queueSamples makes frames of the samples, in order of decode time between
// tracks: a fragment of a second has all of its video before all of its sound.
func (r *Reader) queueSamples(raw []byte, samples []Sample) {
	now := r.now()
	first := len(r.queue)
	for _, s := range samples {
		st := r.states[s.TrackID]
		if st == nil || len(s.Data) == 0 {
			continue
		}
		f := st.frame(s)
		if len(samples) == 1 {
			f.Raw = raw
		}
		f.Capture, f.Run = now, r.run
		r.queue = append(r.queue, f)
	}
	slices.SortStableFunc(r.queue[first:], func(a, b media.Frame) int {
		return cmp.Compare(a.DTSTime(), b.DTSTime())
	})
}

// frame makes the frame of a sample.
func (st *trackState) frame(s Sample) media.Frame {
	dts := s.DTS
	length := st.packetLength(s.Data)
	if st.track.Kind == media.Audio {
		dts = st.clock.fix(dts, int64(s.Duration), length)
	}
	dts += st.shift
	f := media.Frame{
		Track:         st.track,
		DTS:           dts,
		PTS:           dts + int64(s.Offset),
		Duration:      int64(s.Duration),
		Key:           codec.IsKey(st.track.Codec, s.Data, s.Sync),
		Payload:       s.Data,
		Discontinuity: st.restart,
	}
	st.restart = false
	st.frames++
	if f.Duration == 0 {
		f.Duration = st.guessDuration(length)
	}
	if f.Duration > 0 {
		st.duration = f.Duration
	}
	return f
}

// packetLength is the length of an audio packet by its codec, or 0.
func (st *trackState) packetLength(data []byte) int64 {
	n := st.info.PacketLength(data)
	if n == 0 || st.track.SampleRate <= 0 {
		return 0
	}
	return media.Rescale(int64(n), uint32(st.track.SampleRate), st.track.Timescale)
}

// guessDuration is for samples that state none. ffmpeg does not know the
// duration of a frame that it writes as soon as it is there.
func (st *trackState) guessDuration(length int64) int64 {
	t := st.track
	if length > 0 {
		return length
	}
	if st.duration > 0 {
		return st.duration
	}
	if t.Framerate > 0 {
		return int64(float64(t.Timescale)/t.Framerate + 0.5)
	}
	return 0
}

// Limits of probe.
const (
	probeFrames = 256
	probeTime   = time.Second
)

// probe reads on until every track has had a frame, and takes the frame rate of
// video tracks from the length of their first one where the codec does not
// state it. Errors show up in Next.
func (r *Reader) probe() {
	for r.err == nil && !r.probed() {
		r.err = r.step()
	}
	for _, f := range r.queue {
		t := f.Track
		if t.Kind == media.Video && t.Framerate == 0 && f.Duration > 0 {
			t.Framerate = float64(int64(float64(t.Timescale)/float64(f.Duration)*1000+0.5)) / 1000
		}
	}
}

// probed tells whether enough was read ahead.
func (r *Reader) probed() bool {
	if len(r.queue) == 0 {
		return false
	}
	missing := false
	for _, st := range r.states {
		missing = missing || st.frames == 0
	}
	span := r.queue[len(r.queue)-1].DTSTime() - r.queue[0].DTSTime()
	return !missing || len(r.queue) >= probeFrames || span >= probeTime
}
