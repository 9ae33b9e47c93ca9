package broadcast

import (
	"bytes"
	"io"
	"strconv"
	"testing"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/media/fmp4"
	"github.com/moq-c4/moq-c4/media/internal/fftest"
)

// encode makes 2.4 s of a test picture in two sizes, with a key frame every 0.6 s,
// and a tone.
func encode(t testing.TB, video, audio, movflags string) []byte {
	t.Helper()
	return fftest.Clip(
		t, "-f", "lavfi", "-i", "testsrc2=s=160x90:r=30:d=2.4", "-f", "lavfi", "-i", "sine=d=2.4:sample_rate=48000",
		"-filter_complex", "[0:v]split=2[hi][m];[m]scale=128:72[lo]", "-map", "[hi]", "-map", "[lo]", "-map", "1:a",
		"-c:v", video, "-preset", "ultrafast", "-x265-params", "log-level=error:bframes=2:open-gop=0", "-x264-params", "bframes=2",
		"-g", "18", "-keyint_min", "18", "-sc_threshold", "0", "-c:a", audio, "-movflags", movflags, "-f", "mp4",
	)
}

// groupLength is how many frames a group of encode has.
const groupLength = 18

// subscriber is what receives the packets of some tracks and records them.
type subscriber struct {
	t      *testing.T
	unpack map[string]media.Unpackager
	file   bytes.Buffer
	writer *fmp4.Writer
	next   map[string]media.Position
}

// newSubscriber subscribes to the video, and to the sound either way.
func newSubscriber(t *testing.T, msf []byte, datagrams bool) *subscriber {
	t.Helper()
	m, err := catalog.ParseMSF(msf)
	if err != nil {
		t.Fatal(err)
	}
	renditions, skipped := m.Renditions()
	if len(skipped) > 0 {
		t.Fatalf("skipped %v", skipped)
	}
	s := &subscriber{t: t, unpack: map[string]media.Unpackager{}, next: map[string]media.Position{}}
	var tracks []*media.Track
	for _, r := range renditions {
		if r.Track.Kind == media.Audio && r.Datagram != datagrams {
			continue
		}
		if s.unpack[r.Name], err = NewUnpackager(r); err != nil {
			t.Fatal(err)
		}
		tracks = append(tracks, r.Track)
	}
	if s.writer, err = fmp4.NewWriter(&s.file, tracks, fmp4.WriterConfig{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// receive takes a packet and checks its numbers.
func (s *subscriber) receive(p media.Packet) {
	s.t.Helper()
	u := s.unpack[p.Track]
	if u == nil {
		return
	}
	at := media.Position{Group: p.Group, Object: p.Object}
	next, seen := s.next[p.Track]
	if seen && at != next && at != (media.Position{Group: next.Group + 1}) {
		s.t.Fatalf("%s: %+v, where %+v is next", p.Track, at, next)
	}
	if !seen && p.Object != 0 {
		return // in the middle of a group
	}
	if p.Object == 0 && !p.Key {
		s.t.Fatalf("%s: group %d does not begin with a key frame", p.Track, p.Group)
	}
	s.next[p.Track] = media.Position{Group: p.Group, Object: p.Object + 1}
	frames, err := u.Unpack(p)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range frames {
		if err := s.writer.Write(f); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *subscriber) recording() []byte {
	s.t.Helper()
	if err := s.writer.Flush(); err != nil {
		s.t.Fatal(err)
	}
	if s.writer.Dropped() > 0 {
		s.t.Errorf("%d frames were dropped", s.writer.Dropped())
	}
	return s.file.Bytes()
}

// publish packs a source and gives the packets to take.
func publish(t *testing.T, source []byte, packaging media.Packaging, take func(b *Broadcast, p media.Packet)) {
	t.Helper()
	r, err := fmp4.NewReader(bytes.NewReader(source), fmp4.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{Packaging: packaging, Start: testTime}, r.Tracks())
	if err != nil {
		t.Fatal(err)
	}
	start := testTime
	for {
		f, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Capture = start.Add(f.DTSTime()) // as if it were live
		packets, events, err := b.Package(f)
		if err != nil || len(events) > 0 {
			t.Fatalf("events %v, error %v", events, err)
		}
		for _, p := range packets {
			take(b, p)
		}
	}
}

// What a subscriber records through either packaging looks and sounds the same to
// ffmpeg as the source, from the group on at which it joined.
func TestRecordingIsTheSame(t *testing.T) {
	for _, c := range []struct{ name, video, audio, movflags string }{
		{"H.264 with B pictures and AAC with edit lists", "libx264", "aac", "+frag_keyframe+delay_moov"},
		{"H.265 with B pictures and Opus", "libx265", "libopus", "+cmaf+frag_keyframe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := encode(t, c.video, c.audio, c.movflags)
			decoded, stored := fftest.FrameMD5(t, source, false), fftest.FrameMD5(t, source, true)
			for _, packaging := range []media.Packaging{media.CMAF, media.LOC} {
				t.Run(string(packaging), func(t *testing.T) {
					var whole, late *subscriber
					publish(t, source, packaging, func(b *Broadcast, p media.Packet) {
						if whole == nil {
							whole = newSubscriber(t, b.MSF(testTime), false)
						}
						if late == nil && p.Track == "video-90p" && p.Group == media.FirstGroup(testTime)+2 {
							late = newSubscriber(t, b.MSF(testTime), true)
						}
						whole.receive(p)
						if late != nil {
							late.receive(p)
						}
					})
					wantSame(t, "from the start", fftest.FrameMD5(t, whole.recording(), false), decoded)
					recorded := late.recording()
					wantTail(t, "joined late, as stored", fftest.FrameMD5(t, recorded, true), stored, 0, 1, 2)
					// Decoders of sound fill in noise that depends on all that they have
					// decoded, so what is decoded is only compared for video.
					wantTail(t, "joined late, decoded", fftest.FrameMD5(t, recorded, false), decoded, 0, 1)
				})
			}
		})
	}
}

// bySource is the stream of the source that a stream of a recording shows: in
// the catalog the smaller video comes first.
var bySource = map[int]int{0: 1, 1: 0, 2: 2}

// wantSame wants the same frames at the same times.
func wantSame(t *testing.T, why string, got, want map[int][]fftest.MD5) {
	t.Helper()
	for stream, source := range bySource {
		got, want := got[stream], want[source]
		if len(want) < 70 || len(got) != len(want) {
			t.Errorf("%s, stream %d: %d frames, want %d", why, stream, len(got), len(want))
			continue
		}
		shift := ticks(t, got[0].PTS) - ticks(t, want[0].PTS)
		for i := range want {
			if got[i].Hash != want[i].Hash || ticks(t, got[i].PTS)-ticks(t, want[i].PTS) != shift || got[i].Duration != want[i].Duration {
				t.Errorf("%s, stream %d, frame %d: %+v, want %+v", why, stream, i, got[i], want[i])
				break
			}
		}
	}
}

// wantTail wants of some streams the last frames of the source: of video two
// groups, of sound more than a second.
func wantTail(t *testing.T, why string, got, want map[int][]fftest.MD5, streams ...int) {
	t.Helper()
	for _, stream := range streams {
		got, want := got[stream], want[bySource[stream]]
		if stream != 2 && len(got) != 2*groupLength || len(got) < 2*groupLength || len(got) > len(want)-groupLength {
			t.Errorf("%s, stream %d: %d frames of %d", why, stream, len(got), len(want))
			continue
		}
		want = want[len(want)-len(got):]
		shift := ticks(t, got[0].PTS) - ticks(t, want[0].PTS)
		for i := range want {
			if got[i].Hash != want[i].Hash || ticks(t, got[i].PTS)-ticks(t, want[i].PTS) != shift {
				t.Errorf("%s, stream %d, frame %d of the last %d: %+v, want %+v", why, stream, i, len(want), got[i], want[i])
				break
			}
		}
	}
}

func ticks(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
