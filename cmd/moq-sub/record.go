package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/fmp4"
)

// recorder writes the frames of all tracks as one MP4 file. It is safe for use by several goroutines. A nil one
// records nothing.
type recorder struct {
	mu   sync.Mutex
	out  *bufio.Writer
	file io.Closer // nil for standard output
	mp4  *fmp4.Writer
	log  *slog.Logger
}

// newRecorder opens the file; the tracks come with begin.
func newRecorder(path string, stdout io.Writer, log *slog.Logger) (*recorder, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		return &recorder{out: bufio.NewWriter(stdout), log: log}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, cli.Usage("-o: %w", err)
	}
	return &recorder{out: bufio.NewWriterSize(f, 1<<16), file: f, log: log}, nil
}

// begin sets the tracks of the file, once.
func (r *recorder) begin(tracks []*media.Track) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mp4 != nil {
		return nil
	}
	w, err := fmp4.NewWriter(r.out, tracks, fmp4.WriterConfig{})
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.mp4 = w
	return nil
}

func (r *recorder) write(f media.Frame) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mp4 == nil {
		return nil
	}
	if err := r.mp4.Write(f); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if r.file == nil { // somebody watches
		return r.out.Flush()
	}
	return nil
}

// close writes what is held back.
func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mp4 != nil {
		if err := r.mp4.Flush(); err != nil {
			return fmt.Errorf("record: %w", err)
		}
		if n := r.mp4.Dropped(); n > 0 {
			r.log.Warn("frames not recorded", "frames", n, "reason", "they came before the start of the file, or their track cannot be recorded")
		}
	}
	if err := r.out.Flush(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if r.file != nil {
		return r.file.Close()
	}
	return nil
}
