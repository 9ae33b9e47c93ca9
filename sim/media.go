package sim

import (
	"slices"
	"time"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

// mediaServer paces the frames of the sources that the client asked for. Video
// is written frame by frame: the next frame is never written before the one
// before it has been handed over completely.
type mediaServer struct {
	used    bool
	wake    time.Duration // when runMedia is due
	order   []*sendStream // video streams by age
	audio   []audioServer
	endsDue []int16 // datagram sources whose end has to be told
}

// audioServer paces a datagram source.
type audioServer struct {
	source int16
	start  time.Duration
	sent   int64
	ended  bool
}

func (m *mediaServer) reset() {
	*m = mediaServer{wake: never, order: m.order[:0], audio: m.audio[:0], endsDue: m.endsDue[:0]}
}

// streamID numbers the streams of sources.
func streamID(source int16, group int32, sources int) int32 {
	return group*int32(sources) + int32(source)
}

// onRequest starts a group of a source, or stops it.
func (s *sender) onRequest(now time.Duration, r request) {
	sources := s.conn.flow.Sources
	id := streamID(r.source, r.group, len(sources))
	src := &sources[r.source]
	if r.cancel {
		if st := s.stream(id); st != nil {
			st.closed = true
			st.repeats = st.repeats[:0]
		}
		return
	}
	if s.media.started(r.source, src.Datagrams) || s.stream(id) != nil {
		return // asked again
	}
	s.media.used = true
	if src.Datagrams {
		s.media.audio = append(s.media.audio, audioServer{source: r.source, start: now})
		s.media.wake = now
		return
	}
	st := s.addStream(id, src.Priority)
	st.source, st.start, st.nextAt, st.active = r.source, now, now, true
	st.frames = min(src.Group, src.Frames-int64(r.group)*src.Group)
	s.media.order = append(s.media.order, st)
}

// started reports whether a datagram source has been started.
func (m *mediaServer) started(source int16, datagrams bool) bool {
	return datagrams && slices.ContainsFunc(m.audio, func(a audioServer) bool { return a.source == source })
}

// runMedia is the application's timer. It sends the audio that is due, wakes
// the video streams whose next frame is due, and finds the next time.
//
// The reference's application forgets the audio's time if an idle video stream
// is looked at after it; with the quirk MediaTimer it does so here.
func (s *sender) runMedia(now time.Duration) {
	m := &s.media
	next := never
	for i := range m.audio {
		a := &m.audio[i]
		if a.ended {
			continue
		}
		src := &s.conn.flow.Sources[a.source]
		for a.sent < src.Frames && now >= a.start+src.FrameTime(a.sent) {
			s.datagrams = append(s.datagrams, datagram{source: a.source, priority: src.Priority, index: a.sent})
			a.sent++
		}
		if at := a.start + src.FrameTime(a.sent); a.sent == src.Frames && now >= at {
			a.ended = true
			m.endsDue = append(m.endsDue, a.source)
		} else {
			next = min(next, at)
		}
	}
	kept := m.order[:0]
	for _, st := range m.order {
		if st.finSent || st.closed {
			continue
		}
		kept = append(kept, st)
		switch {
		case st.active:
		case st.nextAt <= now:
			st.active = true
		case s.sim.quirks.MediaTimer:
			next = st.nextAt
		default:
			next = min(next, st.nextAt)
		}
	}
	m.order = kept
	m.wake = next
}

// frameBytes returns how many bytes of the present frame are left to send, and
// begins the next frame if it is time.
func (s *sender) frameBytes(st *sendStream) int64 {
	if st.frameLeft == 0 && st.active && st.frame < st.frames {
		src := &s.conn.flow.Sources[st.source]
		st.frameLeft = src.Size
		if st.frame == 0 {
			st.frameLeft = src.Key
		}
		st.frame++
	}
	return st.frameLeft
}

// advanceMedia notes that n bytes of the present frame were sent.
func (s *sender) advanceMedia(now time.Duration, st *sendStream, n int64) {
	st.frameLeft -= n
	if st.frameLeft > 0 {
		return
	}
	if st.frame == st.frames {
		st.finSent, st.active = true, false
		return
	}
	st.nextAt = st.start + s.conn.flow.Sources[st.source].FrameTime(st.frame)
	if now < st.nextAt {
		st.active = false
		s.media.wake = min(s.media.wake, st.nextAt)
	}
}

// frameEnd returns the offset in its group's stream where frame n ends.
func frameEnd(src *scenario.Source, n int64) int64 { return src.Key + n*src.Size }
