package media

import "time"

// TimelineConfig configures a Timeline. The zero value is good.
type TimelineConfig struct {
	// MaxGap is the largest step forward in a source's decode times that is taken
	// as it is, and the longest a frame may last. Default 10 s.
	MaxGap time.Duration

	// MaxLag is how far a source may fall behind the wall clock for good before
	// its times are moved up. Default 1 s.
	MaxLag time.Duration
}

// Timeline moves the times of a source onto the wall clock, all tracks by the
// same distance, so that they stay together. Decode times rise within each
// track, whatever the source does:
//
//   - It starts over, from 0 or anywhere: its times go on at the time of arrival.
//   - Its times jump back, or ahead by more than MaxGap: the same.
//   - It stops for a while and then goes on with the times it had: when it has
//     been behind by more than MaxLag for some 20 s and does not catch up, its
//     times are moved up at the next key frame. A source that does catch up, as
//     ffmpeg -re does, keeps its times.
//
// A shift of the wall clock itself does not matter.
//
// A Timeline also says when frames were captured. No frame can arrive before it
// was captured, so the frames that take the shortest way tell how the source's
// clock and the wall clock relate; the least distance over the last 10 to 20 s
// is used.
type Timeline struct {
	cfg    TimelineConfig
	tracks map[uint32]*timelineTrack
	epoch  epoch         // the current one; serial 0 before the first frame
	end    time.Duration // the latest end of a frame so far
	behind envelope      // arrival minus presentation time
	stable time.Duration // what behind was when the last but one window ended
	wasLow bool          // stable is set
	lag    time.Duration // to be made up for at the next key frame
	video  bool          // there is video, so that epochs begin at its key frames
}

// epoch is a stretch of the source in which its times have one distance from ours.
type epoch struct {
	serial int
	run    int // of the source
	offset time.Duration

	// from is the presentation time in the source at which a track that goes on
	// without a break enters this epoch; a track that breaks enters at once.
	from    time.Duration
	hasFrom bool
}

// timelineTrack is the state of one track.
type timelineTrack struct {
	serial  int   // of its epoch
	run     int   // of its epoch
	offset  int64 // of its epoch, in the track's timescale
	next    int64 // where the next frame is expected in the source
	last    int64 // the latest decode time handed out
	nominal int64 // the latest duration that was not too long
}

const (
	// lagWindow is the length of one window of Timeline.behind.
	lagWindow = 10 * time.Second
	// lagJitter is how much the lowest lag of two windows may differ for the lag
	// to be lasting: a source that catches up does so by more.
	lagJitter = lagWindow / 20
	// maxBack is how far a decode time may go back without that being a new start.
	maxBack = 100 * time.Millisecond
	// guard is left free between two epochs, since the tracks of a source do not
	// all begin and end at the same time.
	guard = 100 * time.Millisecond
)

// NewTimeline returns a Timeline that has seen nothing.
func NewTimeline(cfg TimelineConfig) *Timeline {
	if cfg.MaxGap == 0 {
		cfg.MaxGap = 10 * time.Second
	}
	if cfg.MaxLag == 0 {
		cfg.MaxLag = time.Second
	}
	return &Timeline{
		cfg:    cfg,
		tracks: map[uint32]*timelineTrack{},
		behind: envelope{window: lagWindow},
	}
}

// Map returns the frame with its times counted from the Unix epoch and its
// Capture refined. f.Capture has to hold the time of arrival, or for a source
// that is paced the time at which the frame was due. If the zero time is there,
// the source's times are taken to be wall clock already.
func (t *Timeline) Map(f Frame) (Frame, []Event) {
	at := f.Capture
	if at.IsZero() {
		at = time.Unix(0, 0).Add(f.PTSTime())
	}
	var events []Event
	if f.Track.Kind == Video {
		t.video = true
	}
	if f.Duration < 0 || f.Length() > t.cfg.MaxGap {
		f.Duration = 0
	}
	tr := t.track(f, at, &events)
	if f.Duration == 0 {
		f.Duration = tr.nominal
	}
	tr.nominal = f.Duration
	tr.next = f.DTS + f.Duration

	f.DTS += tr.offset
	f.PTS += tr.offset
	if f.DTS <= tr.last {
		f.PTS += tr.last + 1 - f.DTS
		f.DTS = tr.last + 1
	}
	tr.last = f.DTS
	t.end = max(t.end, f.DTSTime()+f.Length(), f.PTSTime()+f.Length())

	f.Capture = t.capture(f, at)
	return f, events
}

// track finds the state of the frame's track and moves it to the epoch the
// frame belongs to.
func (t *Timeline) track(f Frame, at time.Time, events *[]Event) *timelineTrack {
	tr, known := t.tracks[f.Track.ID]
	if !known {
		tr = &timelineTrack{last: -1 << 62}
		t.tracks[f.Track.ID] = tr
	}
	old := t.epoch
	jump := Duration(f.DTS-tr.next, f.Track.Timescale)
	switch {
	case old.serial == 0:
		t.begin(epoch{run: f.Run, offset: since(at) - f.PTSTime()})
	case f.Run != old.run:
		t.begin(epoch{run: f.Run, offset: t.after(f, at)})
		*events = append(*events, Event{Kind: EventRestart, Track: f.Track, Shift: t.epoch.offset - old.offset})
	case !known, f.Run != tr.run:
		// Another track has begun this run.
	case jump < -maxBack || jump > t.cfg.MaxGap:
		if tr.serial == old.serial || !t.fits(tr, f, at) {
			t.begin(epoch{run: f.Run, offset: t.after(f, at)})
			*events = append(*events, Event{Kind: EventJump, Track: f.Track, Shift: t.epoch.offset - old.offset})
		}
	case t.lag > 0 && f.Key && (f.Track.Kind == Video || !t.video):
		lag := t.lag
		t.begin(epoch{run: f.Run, offset: old.offset + lag, from: f.PTSTime(), hasFrom: true})
		*events = append(*events, Event{Kind: EventLag, Track: f.Track, Shift: lag})
	case tr.serial < old.serial && old.hasFrom && f.PTSTime() >= old.from:
		// It has come to where its times are moved up.
	default:
		return tr
	}
	tr.serial, tr.run = t.epoch.serial, f.Run
	tr.offset = Ticks(t.epoch.offset, f.Track.Timescale)
	return tr
}

// after is the offset at which a frame that has no past is put at its time of
// arrival, or behind all that there is.
func (t *Timeline) after(f Frame, at time.Time) time.Duration {
	return max(since(at)-f.PTSTime(), t.end+guard-min(f.DTSTime(), f.PTSTime()))
}

// fits tells whether a frame that breaks with its track's past belongs to the
// epoch that another track has begun: its time there is about now.
func (t *Timeline) fits(tr *timelineTrack, f Frame, at time.Time) bool {
	when := f.PTSTime() + t.epoch.offset
	off := when - since(at)
	return off > -t.cfg.MaxGap && off < t.cfg.MaxGap && Ticks(when, f.Track.Timescale) > tr.last
}

// begin starts an epoch.
func (t *Timeline) begin(e epoch) {
	e.serial = t.epoch.serial + 1
	t.epoch = e
	t.lag, t.wasLow = 0, false
	t.behind.reset()
}

// capture estimates when a frame was captured, given its time of arrival, and
// watches how far the source is behind.
func (t *Timeline) capture(f Frame, at time.Time) time.Time {
	pts := f.PTSTime()
	if t.behind.observe(at, since(at)-pts) {
		low := t.behind.prev
		diff := max(low-t.stable, t.stable-low)
		if t.wasLow && low > t.cfg.MaxLag && diff < lagJitter {
			t.lag = low
		}
		t.stable, t.wasLow = low, true
	}
	return time.Unix(0, 0).Add(pts + t.behind.low())
}

// since is the time since the Unix epoch.
func since(at time.Time) time.Duration { return time.Duration(at.UnixNano()) }
