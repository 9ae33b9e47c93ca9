package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/broadcast"
	"github.com/moq-c4/moq-c4/media/fmp4"
)

// run1 runs a program and returns what it says.
func run1(t *testing.T, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &errs)
	}
	return out.String(), errs.String()
}

// A recording that changes between renditions of different sizes decodes without an error, all of it.
func TestSimulcastDecodes(t *testing.T) {
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("MOQ_REQUIRE_TOOLS") != "" {
				t.Fatalf("%s is missing (make setup installs it)", tool)
			}
			t.Skipf("%s is missing (make setup installs it)", tool)
		}
	}
	dir := t.TempDir()
	for _, video := range []string{"libx264", "libx265"} {
		clip := filepath.Join(dir, video+".mp4")
		params := "-" + strings.TrimPrefix(video, "lib") + "-params"
		run1(t, "ffmpeg", "-v", "error", "-t", "4", "-i", filepath.Join("..", "..", "testdata", "clip.mp4"),
			"-filter_complex", "[0:v]setpts=N/30/TB,split=2[a][m];[a]scale=320:180[hi];[m]scale=160:90[lo]", "-map", "[hi]", "-map", "[lo]",
			"-c:v", video, "-preset", "ultrafast", params, "bframes=2:log-level=error:open-gop=0", "-profile:v:1", "main",
			"-pix_fmt", "yuv420p", "-fps_mode", "passthrough", "-g", "15", "-keyint_min", "15", "-sc_threshold", "0", "-movflags", "frag_keyframe+delay_moov+default_base_moof", clip)
		for _, packaging := range []media.Packaging{media.CMAF, media.LOC} {
			t.Run(video+" "+string(packaging), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out.mp4")
				groups, frames, switches := spliceFile(t, clip, out, packaging)
				if groups != 8 || switches < 4 {
					t.Errorf("%d groups with %d switches were recorded, want 8 with 4 at least", groups, switches)
				}
				if _, errs := run1(t, "ffmpeg", "-v", "error", "-xerror", "-i", out, "-f", "null", "-"); errs != "" {
					t.Errorf("ffmpeg says:\n%s", errs)
				}
				n, errs := run1(t, "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", out)
				if got := strings.Trim(n, "\n,"); got != strconv.Itoa(frames) || errs != "" {
					t.Errorf("%s frames can be decoded of %d\n%s", got, frames, errs)
				}
				sizes, _ := run1(t, "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=width", "-of", "csv=p=0", out)
				if !strings.Contains(sizes, "320") || !strings.Contains(sizes, "160") {
					t.Error("the pictures are not of both sizes")
				}
			})
		}
	}
}

// Renditions may reorder their pictures by different amounts: the first pictures of a group then have decode times before those
// of the last ones of the group before.
func TestSimulcastDecodeTimes(t *testing.T) {
	out := &media.Track{Timescale: 90000}
	s := &simulcast{out: out, lastDTS: -1}
	lesser, better := &media.Track{Timescale: 30}, &media.Track{Timescale: 15360}
	const frame = 512 // of better
	last := int64(-1)
	for _, f := range []media.Frame{
		{Track: lesser, DTS: 28, PTS: 28, Duration: 1},
		{Track: lesser, DTS: 29, PTS: 29, Duration: 1},
		{Track: better, DTS: 28 * frame, PTS: 30 * frame, Duration: frame}, // reordered by two frames
		{Track: better, DTS: 29 * frame, PTS: 32 * frame, Duration: frame},
		{Track: better, DTS: 30 * frame, PTS: 31 * frame, Duration: frame},
		{Track: better, DTS: 31 * frame, PTS: 34 * frame, Duration: frame},
		{Track: lesser, DTS: 34, PTS: 34, Duration: 1},
	} {
		want := media.Rescale(f.PTS, f.Track.Timescale, out.Timescale)
		got := s.frame(f, false)
		if got.DTS <= last || got.PTS != want || got.DTS > got.PTS || got.Track != out {
			t.Errorf("DTS %d after %d, PTS %d, want %d", got.DTS, last, got.PTS, want)
		}
		last = got.DTS
	}
}

// spliceFile plays a file with two renditions through a simulcast. Of every third group of the better one only
// the beginning comes, and of some nothing.
func spliceFile(t *testing.T, in, out string, packaging media.Packaging) (groups, frames int, switches uint64) {
	t.Helper()
	file, err := fmp4.OpenFile(in, fmp4.FileConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b, err := broadcast.New(broadcast.Config{Packaging: packaging, Start: time.Unix(1_800_000_000, 0)}, file.Tracks())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	record, err := newRecorder(out, io.Discard, log)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulcast(b.Renditions(), time.Second, record, log)
	if err != nil || s == nil {
		t.Fatalf("no simulcast: %v", err)
	}
	if err := record.begin([]*media.Track{s.out}); err != nil {
		t.Fatal(err)
	}
	first := uint64(0)
	whole := make([]map[uint64]int, 2) // objects by rank and group
	for i := range whole {
		whole[i] = make(map[uint64]int)
	}
	var packets []media.Packet
	for {
		f, err := file.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Capture = time.Unix(1_800_000_000, 0).Add(f.DTSTime())
		ps, events, err := b.Package(f)
		if len(events) > 0 {
			t.Fatalf("the renditions do not go together: %v", events)
		}
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, ps...)
	}
	take := func(rank int, e event) {
		if err := s.take(rank, e); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range packets {
		rank, ok := s.rankOf(p.Track)
		if !ok {
			continue
		}
		if first == 0 {
			first = p.Group
		}
		n := p.Group - first
		if p.Object == 0 && n > 0 { // the group before has ended
			take(rank, event{packet: media.Packet{Group: p.Group - 1}, end: true, late: rank == 0 && cutAfter(n-1) >= 0})
		}
		if cut := cutAfter(n); rank == 0 && cut >= 0 && int(p.Object) >= cut {
			continue
		}
		whole[rank][p.Group]++
		take(rank, event{packet: p})
	}
	last := packets[len(packets)-1].Group
	for rank := range whole {
		take(rank, event{packet: media.Packet{Group: last}, end: true})
	}
	if err := s.tick(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := record.close(); err != nil {
		t.Fatal(err)
	}
	for g := first; g <= last; g++ {
		if cutAfter(g-first) >= 0 {
			frames += whole[1][g]
		} else {
			frames += whole[0][g]
		}
	}
	r := s.report()
	for _, n := range r.Groups {
		groups += int(n)
	}
	return groups, frames, r.Switches
}

// cutAfter is how many objects of a group of the better rendition come; -1 is all.
func cutAfter(group uint64) int {
	switch group % 4 {
	case 1:
		return 7
	case 2:
		return 0
	}
	return -1
}
