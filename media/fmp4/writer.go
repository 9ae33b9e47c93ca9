package fmp4

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// WriterConfig configures a Writer. The zero value is good.
type WriterConfig struct {
	// Hold is how much is held back at the start, waiting for every track to
	// begin, because the file begins with the earliest frame. Default 1 s.
	Hold time.Duration
}

// maxHeld bounds what is held back by number too.
const maxHeld = 4096

// Writer records frames as one fragmented MP4 file, a fragment per frame, so that
// a player can follow while it grows. It starts at time 0 whatever the frames'
// times are, and keeps the distances between tracks. A Writer is for one
// goroutine.
type Writer struct {
	w      io.Writer
	cfg    WriterConfig
	tracks []*writerTrack
	seq    uint32
	buf    []byte

	started bool
	held    []media.Frame
	dropped int
}

// writerTrack is a track of the file; its id there is its place plus 1.
type writerTrack struct {
	track *media.Track // as of its first frame, once there is one
	id    uint32
	seen  bool
	left  bool  // it is not in the file
	base  int64 // the DTS that becomes 0
	last  int64 // the DTS of the latest frame, in the file
}

// NewWriter returns a Writer for the tracks, which are told apart by their ID.
// Nothing is written before the first fragment; by then each track needs Init, or
// what BuildInit makes one from, and a track that lacks it and had no frame is
// left out.
func NewWriter(w io.Writer, tracks []*media.Track, cfg WriterConfig) (*Writer, error) {
	if cfg.Hold == 0 {
		cfg.Hold = time.Second
	}
	if len(tracks) == 0 {
		return nil, fmt.Errorf("no track to record")
	}
	wr := &Writer{w: w, cfg: cfg}
	for i, t := range tracks {
		if wr.find(t.ID) != nil {
			return nil, fmt.Errorf("record: track id %d is used twice", t.ID)
		}
		wr.tracks = append(wr.tracks, &writerTrack{track: t, id: uint32(i + 1), last: -1})
	}
	return wr, nil
}

func (w *Writer) find(id uint32) *writerTrack {
	for _, t := range w.tracks {
		if t.track.ID == id {
			return t
		}
	}
	return nil
}

// Write records a frame of one of the tracks. Frames of a track have to come in
// decode order: one that is not later than the one before is dropped, as happens
// when a group is received twice.
func (w *Writer) Write(f media.Frame) error {
	t := w.find(f.Track.ID)
	if t == nil {
		return fmt.Errorf("record: the frame is of track %d, which is not recorded", f.Track.ID)
	}
	if w.started {
		return w.write(t, f)
	}
	if !t.seen {
		t.seen, t.track = true, f.Track
	}
	w.held = append(w.held, f)
	if w.waiting() {
		return nil
	}
	return w.Flush()
}

// waiting tells whether to hold frames back for a track that has not begun.
func (w *Writer) waiting() bool {
	first, last := w.held[0].DTSTime(), w.held[0].DTSTime()
	for _, f := range w.held {
		first, last = min(first, f.DTSTime()), max(last, f.DTSTime())
	}
	missing := slices.ContainsFunc(w.tracks, func(t *writerTrack) bool { return !t.seen })
	return missing && last-first < w.cfg.Hold && len(w.held) < maxHeld
}

// Flush writes what is held back. It has to be called at the end, and may be at
// any time.
func (w *Writer) Flush() error {
	if w.started || len(w.held) == 0 {
		return nil
	}
	header, err := w.header()
	if err != nil {
		return err
	}
	w.started = true
	slices.SortStableFunc(w.held, func(a, b media.Frame) int {
		return cmp.Compare(a.DTSTime(), b.DTSTime())
	})
	base := w.held[0].DTSTime()
	for _, t := range w.tracks {
		t.base = media.Ticks(base, t.track.Timescale)
	}
	if _, err := w.w.Write(header); err != nil {
		return err
	}
	held := w.held
	w.held = nil
	for _, f := range held {
		if err := w.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// Dropped is how many frames were not recorded, for being too early or of a
// track that was left out.
func (w *Writer) Dropped() int { return w.dropped }

// header is the ftyp and moov of the file.
func (w *Writer) header() ([]byte, error) {
	var traks, trexs []byte
	for _, t := range w.tracks {
		trak, err := trakFor(t.track, t.id)
		if err != nil && !t.seen {
			t.left = true
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("record track %d: %w", t.id, err)
		}
		traks = append(traks, trak...)
		trexs = appendTrex(trexs, t.id)
	}
	b := appendFtyp(nil)
	return appendBox(b, "moov", func(b []byte) []byte {
		b = appendMvhd(b)
		b = append(b, traks...)
		return appendBox(b, "mvex", func(b []byte) []byte { return append(b, trexs...) })
	}), nil
}

// trakFor is the trak box of a track with the id it has in the file, and without
// an edit list: the frames' times have it in them.
func trakFor(t *media.Track, id uint32) ([]byte, error) {
	init := t.Init
	if len(init) == 0 {
		var err error
		if init, err = BuildInit(t); err != nil {
			return nil, err
		}
	}
	boxes, err := children(init, 0)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(boxes, func(b box) bool { return b.typ == "moov" })
	if i < 0 {
		return nil, malformed("moov", 0, "not found in the header")
	}
	trak, err := boxes[i].need("trak")
	if err != nil {
		return nil, err
	}
	kids, err := children(trak.body, trak.bodyPos())
	if err != nil {
		return nil, err
	}
	var found bool
	out := appendBox(nil, "trak", func(b []byte) []byte {
		for _, k := range kids {
			if k.typ == "tkhd" {
				if _, err = tkhdID(k); err == nil {
					found = true
					b = appendTkhdWithID(b, k, id)
				}
			} else if k.typ != "edts" {
				b = append(b, k.raw...)
			}
		}
		return b
	})
	if err == nil && !found {
		err = trak.errorf("has no tkhd")
	}
	return out, err
}

// appendTkhdWithID appends a track header, whose id tkhdID could read, with
// another id.
func appendTkhdWithID(b []byte, tkhd box, id uint32) []byte {
	at := len(b) + len(tkhd.raw) - len(tkhd.body) + 12
	if tkhd.body[0] == 1 {
		at += 8
	}
	b = append(b, tkhd.raw...)
	binary.BigEndian.PutUint32(b[at:], id)
	return b
}

// write appends the fragment of a frame to the file.
func (w *Writer) write(t *writerTrack, f media.Frame) error {
	f.DTS -= t.base
	f.PTS -= t.base
	if f.DTS <= t.last || t.left {
		w.dropped++
		return nil
	}
	t.last = f.DTS
	w.seq++
	w.buf = AppendFragment(w.buf[:0], w.seq, FrameSample(f, t.id))
	_, err := w.w.Write(w.buf)
	return err
}
