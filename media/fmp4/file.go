package fmp4

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// FileConfig configures a File.
type FileConfig struct {
	// Loop starts over at the end, for ever, with times that go on.
	Loop bool
}

// File is a media.Source over a fragmented MP4 file. Its frames come as fast as
// they are asked for; a media.Pacer gives them their time.
type File struct {
	r    io.ReadSeeker
	file *os.File // nil if not opened by OpenFile
	cfg  FileConfig
	rd   *Reader
	in   *interleaver

	tracks []*media.Track
	offset time.Duration // where this pass begins
	end    time.Duration // where it ends so far, from its own beginning
	frames int           // of this pass
	run    int           // of the latest frame
	base   int           // what is added to the runs of this pass
}

// OpenFile opens a file.
func OpenFile(path string, cfg FileConfig) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := NewFile(file, cfg)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.file = file
	return f, nil
}

// NewFile reads a file that is open already.
func NewFile(r io.ReadSeeker, cfg FileConfig) (*File, error) {
	rd, err := NewReader(r, ReaderConfig{})
	if err != nil {
		return nil, err
	}
	return &File{r: r, cfg: cfg, rd: rd, in: newInterleaver(rd), tracks: rd.Tracks()}, nil
}

// Close closes the file if OpenFile opened it.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Tracks implements media.Source.
func (f *File) Tracks() []*media.Track { return f.tracks }

// Cut reports, after the end, whether the file is not whole.
func (f *File) Cut() bool { return f.rd.Cut() }

// Skipped is like Reader.Skipped.
func (f *File) Skipped() []string { return f.rd.Skipped() }

// Next implements media.Source. The frames have no Capture, and are in order of
// decode time between tracks however the file has them.
func (f *File) Next() (media.Frame, error) {
	for {
		fr, err := f.in.next()
		if err == io.EOF && f.cfg.Loop && f.frames > 0 {
			if err := f.rewind(); err != nil {
				return media.Frame{}, err
			}
			continue
		}
		if err != nil {
			return media.Frame{}, err
		}
		if fr.Discontinuity {
			f.tracks = f.rd.Tracks()
		}
		f.frames++
		fr.Run += f.base
		f.run = fr.Run
		f.end = max(f.end, fr.PTSTime()+fr.Length())
		fr.Capture = time.Time{}
		if f.offset == 0 {
			return fr, nil
		}
		// Sound that only primes the decoder would overlap the end of the last
		// pass, and the decoder is primed by that already.
		if fr.Track.Kind == media.Audio && fr.PTS < 0 {
			continue
		}
		return f.moved(fr), nil
	}
}

// rewind begins the next pass where the longest track of this one ended, so that
// sound and picture stay together.
func (f *File) rewind() error {
	if _, err := f.r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	rd, err := NewReader(f.r, ReaderConfig{})
	if err != nil {
		return err
	}
	f.rd, f.in, f.offset, f.end, f.frames = rd, newInterleaver(rd), f.offset+f.end, 0, 0
	f.base = f.run
	return nil
}

// moved is the frame in the time of this pass and as one of the tracks that were
// handed out first.
func (f *File) moved(fr media.Frame) media.Frame {
	for _, t := range f.tracks {
		if t.ID == fr.Track.ID {
			fr.Track = t
		}
	}
	shift := media.Ticks(f.offset, fr.Track.Timescale)
	fr.DTS += shift
	fr.PTS += shift
	return fr
}
