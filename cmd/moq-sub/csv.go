package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
)

// csvWriter writes a line per frame. It is safe for use by several goroutines. A nil one writes nothing.
type csvWriter struct {
	mu   sync.Mutex
	file io.Closer
	w    *csv.Writer
}

func newCSV(path string) (*csvWriter, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, cli.Usage("--csv: %w", err)
	}
	c := &csvWriter{file: f, w: csv.NewWriter(f)}
	return c, c.w.Write([]string{"time", "track", "kind", "group", "object", "bytes", "key", "delay_us"})
}

// frame writes the line of one frame; the delay is empty if the capture time is not known.
func (c *csvWriter) frame(arrived time.Time, p media.Packet, f media.Frame, delay time.Duration, known bool) error {
	if c == nil {
		return nil
	}
	us := ""
	if known {
		us = strconv.FormatInt(delay.Microseconds(), 10)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.w.Flush() // so that the file can be followed
	return c.w.Write([]string{
		arrived.UTC().Format("2006-01-02T15:04:05.000000Z"), p.Track, f.Track.Kind.String(),
		strconv.FormatUint(p.Group, 10), strconv.FormatUint(p.Object, 10), strconv.Itoa(len(f.Payload)), strconv.FormatBool(f.Key), us,
	})
}

func (c *csvWriter) close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.Flush()
	if err := c.w.Error(); err != nil {
		return fmt.Errorf("--csv: %w", err)
	}
	return c.file.Close()
}
