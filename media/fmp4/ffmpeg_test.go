package fmp4

import (
	"bytes"
	"math"
	"testing"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/internal/fftest"
)

// encode is ffmpeg's arguments for 1.2 seconds of a test picture and a tone.
func encode(video []string, audio string, movflags string) []string {
	args := []string{
		"-f", "lavfi", "-i", "testsrc2=s=160x90:r=30:d=1.2",
		"-f", "lavfi", "-i", "sine=d=1.2:sample_rate=48000", "-c:v",
	}
	args = append(args, video...)
	return append(args, "-g", "18", "-pix_fmt", "yuv420p", "-c:a", audio, "-movflags", movflags, "-f", "mp4")
}

// What is read and recorded again looks and sounds the same to ffmpeg, with the
// same times and the same distance between sound and picture.
func TestRecordingIsTheSame(t *testing.T) {
	var (
		plain   = []string{"libx264", "-preset", "ultrafast", "-bf", "0"}
		bframes = []string{"libx264", "-preset", "ultrafast", "-bf", "2"}
		hevc    = []string{"libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:bframes=3"}
		vp9     = []string{"libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"}
		av1     = []string{"libsvtav1", "-preset", "12"}
	)
	const (
		// A header with edit lists, and offsets from the start of the file.
		delayed = "+frag_keyframe+delay_moov"
		// No edit lists: what primes the decoder shifts the sound.
		empty = "+frag_keyframe+empty_moov+default_base_moof"
		cmaf  = "+cmaf+frag_keyframe"
	)
	for _, c := range []struct {
		name     string
		video    []string
		audio    string
		movflags string
	}{
		{"AAC, edit list", plain, "aac", delayed},
		{"B pictures, AAC, edit list", bframes, "aac", delayed},
		{"B pictures, AAC, no edit list", bframes, "aac", empty},
		{"B pictures, Opus, negative composition offsets", bframes, "libopus", cmaf},
		{"H.265 with B pictures", hevc, "aac", delayed},
		{"VP9", vp9, "libopus", delayed},
		{"AV1", av1, "libopus", empty},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := fftest.Clip(t, encode(c.video, c.audio, c.movflags)...)
			got := copied(t, source)
			want, have := fftest.FrameMD5(t, source, false), fftest.FrameMD5(t, got, false)
			for stream := range 2 {
				want, have := want[stream], have[stream]
				if len(want) < 36 || len(have) != len(want) {
					t.Fatalf("stream %d: %d frames, want %d", stream, len(have), len(want))
				}
				for i := range want {
					if have[i] != want[i] {
						t.Fatalf("stream %d, frame %d: %+v\nwant %+v", stream, i, have[i], want[i])
					}
				}
			}
			if d := distance(fftest.Packets(t, got)) - distance(fftest.Packets(t, source)); math.Abs(d) > 0.0002 {
				t.Errorf("sound and picture came apart by %v s", d)
			}
		})
	}
}

// copied reads a file and records what was read.
func copied(t *testing.T, source []byte) []byte {
	t.Helper()
	r := newTestReader(t, bytes.NewReader(source))
	var out bytes.Buffer
	w, err := NewWriter(&out, r.Tracks(), WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range readAll(t, r) {
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// distance is how much later the first picture is than the first sound.
func distance(packets []fftest.Packet) float64 {
	first := [2]float64{math.Inf(1), math.Inf(1)}
	for _, p := range packets {
		first[p.Stream] = min(first[p.Stream], p.PTS)
	}
	return first[0] - first[1]
}

// ffmpeg 5.1 gives wrong times to some packets of sound if each frame is a
// fragment, and then does not play them. Here all are read, at the right time.
func TestFragmentPerFrame(t *testing.T) {
	video := []string{"libx264", "-preset", "ultrafast", "-tune", "zerolatency"}
	for _, audio := range []string{"aac", "libopus"} {
		whole := readAll(t, newTestReader(t, bytes.NewReader(fftest.Clip(t, encode(video, audio, "+cmaf+frag_keyframe")...))))
		each := readAll(t, newTestReader(t, bytes.NewReader(fftest.Clip(t, encode(video, audio, "+cmaf+frag_every_frame+separate_moof+skip_trailer")...))))
		for _, id := range []uint32{1, 2} {
			want, got := ofTrack(whole, id), ofTrack(each, id)
			if len(got) != len(want) {
				t.Fatalf("%s, track %d: %d frames, want %d", audio, id, len(got), len(want))
			}
			for i := range want {
				if got[i].DTS != want[i].DTS || got[i].PTS != want[i].PTS || got[i].Key != want[i].Key || !bytes.Equal(got[i].Payload, want[i].Payload) {
					t.Fatalf("%s, track %d, frame %d: DTS %d PTS %d key %v, want %d %d %v", audio, id, i,
						got[i].DTS, got[i].PTS, got[i].Key, want[i].DTS, want[i].PTS, want[i].Key)
				}
				if got[i].Duration <= 0 || got[i].Raw == nil {
					t.Fatalf("%s, track %d, frame %d: duration %d, raw %d bytes", audio, id, i, got[i].Duration, len(got[i].Raw))
				}
			}
		}
	}
}

// The key frames are those of the encoder, though ffmpeg says so only in the
// flags of first samples.
func TestKeyFrames(t *testing.T) {
	source := fftest.Clip(t, encode([]string{"libx264", "-preset", "ultrafast", "-bf", "2"}, "aac", "+frag_keyframe+delay_moov")...)
	for i, f := range ofTrack(readAll(t, newTestReader(t, bytes.NewReader(source))), 1) {
		if f.Key != (i%18 == 0) {
			t.Errorf("frame %d: key %v", i, f.Key)
		}
		if f.Track.Kind != media.Video {
			t.Fatal("track 1 is not video")
		}
	}
}
