package sim

import (
	"time"

	"github.com/moq-c4/moq-c4/sim/scenario"
)

// mediaClient asks for the groups of each source by the client's clock, and
// measures how late the frames arrive.
type mediaClient struct {
	sources   []mediaSource
	nextGroup time.Duration // when the next group of any source is due
}

type mediaSource struct {
	*scenario.Source
	group   int32 // next to be asked for
	ended   bool  // datagrams
	latency latencyStats
}

func (m *mediaClient) reset(sources []scenario.Source) {
	m.sources = m.sources[:0]
	for i := range sources {
		m.sources = append(m.sources, mediaSource{Source: &sources[i]})
	}
	m.nextGroup = never
}

// askFirst asks for the first group of each source.
func (m *mediaClient) askFirst(r *receiver, now time.Duration) {
	for i := range m.sources {
		m.ask(r, i)
		if m.sources[i].Datagrams {
			r.open++
		}
	}
	m.schedule(r)
}

// askDue asks for the groups whose time has come.
func (m *mediaClient) askDue(r *receiver, now time.Duration) {
	if now < m.nextGroup {
		return
	}
	for i := range m.sources {
		for s := &m.sources[i]; int64(s.group) < s.Groups() && now >= m.groupStart(r, s, s.group); {
			m.ask(r, i)
		}
	}
	m.schedule(r)
}

func (m *mediaClient) groupStart(r *receiver, s *mediaSource, group int32) time.Duration {
	if s.Datagrams {
		return r.readyAt
	}
	return r.readyAt + time.Duration(group)*s.GroupTime()
}

func (m *mediaClient) ask(r *receiver, i int) {
	s := &m.sources[i]
	g := s.group
	s.group++
	q := request{source: int16(i), group: g}
	r.requests = append(r.requests, q)
	r.unanswered = append(r.unanswered, askedRequest{q, m.groupStart(r, s, g)})
	if s.Datagrams {
		return
	}
	st := r.addStream(streamID(int16(i), g, len(m.sources)))
	st.source, st.group, st.start = int16(i), g, m.groupStart(r, s, g)
	st.frames = min(s.Group, s.Frames-int64(g)*s.Group)
	if g > 0 {
		r.open-- // was counted as pending
	}
	if int64(s.group) < s.Groups() {
		r.open++ // keeps the connection open until the next group
	}
}

func (m *mediaClient) schedule(r *receiver) {
	m.nextGroup = never
	for i := range m.sources {
		if s := &m.sources[i]; int64(s.group) < s.Groups() {
			m.nextGroup = min(m.nextGroup, m.groupStart(r, s, s.group))
		}
	}
}

// onDatagram measures an audio frame.
func (m *mediaClient) onDatagram(r *receiver, now time.Duration, f *frame) {
	r.answered(f.source, 0)
	s := &m.sources[f.source]
	due := r.readyAt + s.FrameTime(f.offset)
	m.measure(r, now, int(f.source), f.offset, due)
}

// end notes the end of a datagram source, once.
func (m *mediaClient) end(source int16) bool {
	first := !m.sources[source].ended
	m.sources[source].ended = true
	return first
}

// onProgress measures the frames that have become complete. A group of a source
// that may be cancelled is given up when a frame is too late; the next group
// starts on time.
func (m *mediaClient) onProgress(r *receiver, now time.Duration, st *recvStream) {
	s := &m.sources[st.source]
	for st.frame < st.frames && st.contiguous >= frameEnd(s.Source, st.frame) {
		due := st.start + s.FrameTime(st.frame)
		if due >= r.sim.scenario.MeasureFrom {
			m.measure(r, now, int(st.source), int64(st.group)*s.Group+st.frame, due)
		}
		st.frame++
		if s.Cancel > 0 && st.frame < st.frames && now > st.start+s.Cancel+s.FrameTime(st.frame) {
			r.requests = append(r.requests, request{source: st.source, group: st.group, cancel: true})
			r.complete(st)
			r.conn.sender.stats.cancelled++
			return
		}
	}
}

// measure counts a frame's lateness. An early frame is on time.
func (m *mediaClient) measure(r *receiver, now time.Duration, source int, index int64, due time.Duration) {
	late := max(0, now-due)
	m.sources[source].latency.add(late)
	if t := r.sim.tracer; t != nil {
		t.Frame(now, r.conn.id, m.sources[source].Name, index, due)
	}
}
