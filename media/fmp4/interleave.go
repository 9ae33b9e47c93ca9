package fmp4

import (
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// maxAhead is how far one track may be read ahead of another.
const maxAhead = 5 * time.Second

// interleaver puts the frames of a source in order of decode time between
// tracks. Files are often written with a fragment of a second of one track, then
// one of another; sent in that order, the second track would be a second late.
type interleaver struct {
	src  media.Source
	held []heldTrack
	err  error // what the source ended with
}

// heldTrack has the frames of one track that were read and not yet returned.
type heldTrack struct {
	id     uint32
	frames []media.Frame
}

func newInterleaver(src media.Source) *interleaver {
	l := &interleaver{src: src}
	for _, t := range src.Tracks() {
		l.held = append(l.held, heldTrack{id: t.ID})
	}
	return l
}

// next returns the earliest frame.
func (l *interleaver) next() (media.Frame, error) {
	for l.err == nil && !l.complete() {
		f, err := l.src.Next()
		if err != nil {
			l.err = err
			break
		}
		l.hold(f)
	}
	var first *heldTrack
	for i := range l.held {
		t := &l.held[i]
		if len(t.frames) > 0 && (first == nil || before(t.frames[0], first.frames[0])) {
			first = t
		}
	}
	if first == nil {
		return media.Frame{}, l.err
	}
	f := first.frames[0]
	first.frames = first.frames[1:]
	return f, nil
}

// hold keeps a frame, of a new track too if the source has started over.
func (l *interleaver) hold(f media.Frame) {
	for i := range l.held {
		if l.held[i].id == f.Track.ID {
			l.held[i].frames = append(l.held[i].frames, f)
			return
		}
	}
	l.held = append(l.held, heldTrack{f.Track.ID, []media.Frame{f}})
}

// complete tells whether the earliest frame there will be is held, as far as it
// is worth reading on for it.
func (l *interleaver) complete() bool {
	all := true
	for _, t := range l.held {
		if len(t.frames) == 0 {
			all = false
			continue
		}
		first, last := t.frames[0], t.frames[len(t.frames)-1]
		if first.Run != last.Run || last.DTSTime()-first.DTSTime() >= maxAhead {
			return true
		}
	}
	return all
}

// before tells whether a comes before b, be they of different runs of the source
// or of one.
func before(a, b media.Frame) bool {
	if a.Run != b.Run {
		return a.Run < b.Run
	}
	return a.DTSTime() < b.DTSTime()
}
