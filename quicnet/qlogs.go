package quicnet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// qlogSuffix is that of the files in a directory of qlogs.
const qlogSuffix = ".sqlog"

// defaultQLogBytes is how much a directory of qlogs holds by default: 1 GiB.
const defaultQLogBytes = 1 << 30

// Bounds beside that of the bytes: whoever sends a packet with a new connection ID gets a file, if only a short one.
const (
	maxQLogFiles = 10_000 // in the directory
	maxQLogsOpen = 256    // at once; each has a file descriptor
)

// QLogs is a directory that gets a qlog file of some connections, and whose size is bounded: the oldest files are
// deleted, and if all are still being written to, the newest one ends early. There are 10,000 files at most, and 256 that are
// being written to; further connections get none. Its methods may be called at any time.
type QLogs struct {
	dir string
	max int64
	log *slog.Logger

	every atomic.Int64  // one of so many connections; 0: none
	seen  atomic.Uint64 // connections

	mu     sync.Mutex // guards what follows
	open   int
	closed []qlogFile // oldest first
	bytes  int64      // of all files
	cut    uint64     // files that ended early
}

// qlogFile is a file that nobody writes to.
type qlogFile struct {
	name  string
	bytes int64
}

// NewQLogs prepares a directory, which has to be there. Files that are in it already count, and are deleted first.
// maxBytes bounds the files together; 0 is 1 GiB. Of how many connections one gets a file is told by [QLogs.SetEvery];
// none does before.
func NewQLogs(dir string, maxBytes int64, log *slog.Logger) (*QLogs, error) {
	q := &QLogs{dir: dir, max: cmp.Or(maxBytes, defaultQLogBytes), log: log}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type old struct {
		qlogFile
		written time.Time
	}
	var olds []old
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), qlogSuffix) {
			continue
		}
		olds = append(olds, old{qlogFile{e.Name(), info.Size()}, info.ModTime()})
	}
	slices.SortFunc(olds, func(a, b old) int { return a.written.Compare(b.written) })
	for _, o := range olds {
		q.closed = append(q.closed, o.qlogFile)
		q.bytes += o.bytes
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fit(0)
	return q, nil
}

// SetEvery says of how many new connections one gets a file: 1 is each, 0 none.
func (q *QLogs) SetEvery(n int) { q.every.Store(int64(max(n, 0))) }

// Every returns what SetEvery has set.
func (q *QLogs) Every() int { return int(q.every.Load()) }

// Usage returns how many files there are that nobody writes to, the bytes of all, and how many ended early for want of room.
func (q *QLogs) Usage() (files int, bytes int64, cut uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.closed), q.bytes, q.cut
}

// tracer gives a connection its file. HTTP/3 events are left out: webtransport-go never ends the recording of them, and the
// file would stay open and incomplete.
func (q *QLogs) tracer(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	every := uint64(q.every.Load())
	if every == 0 || q.seen.Add(1)%every != 0 {
		return nil
	}
	side := "server"
	if isClient {
		side = "client"
	}
	q.mu.Lock()
	full := q.open >= maxQLogsOpen
	if !full {
		q.open++
	}
	q.mu.Unlock()
	if full {
		return nil
	}
	name := fmt.Sprintf("%s_%s%s", id, side, qlogSuffix)
	// A client chooses the ID: it must not empty the file of another connection.
	f, err := os.OpenFile(filepath.Join(q.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		q.mu.Lock()
		q.open--
		q.mu.Unlock()
		if !errors.Is(err, fs.ErrExist) { // which packets that come late can cause, and strangers
			q.log.Warn("no qlog for this connection", "error", err)
		}
		return nil
	}
	w := &qlogWriter{q: q, name: name, f: f}
	w.buf = bufio.NewWriter(fileFunc(w.write))
	t := qlogwriter.NewConnectionFileSeq(w, isClient, id, []string{qlog.EventSchema})
	go t.Run() // ends with the connection
	return t
}

// fit deletes the oldest files until n more bytes have room, and reports whether they have. q.mu is held.
func (q *QLogs) fit(n int64) bool {
	for len(q.closed) > 0 && (q.bytes+n > q.max || len(q.closed)+q.open > maxQLogFiles) {
		old := q.closed[0]
		q.closed = q.closed[1:]
		if err := os.Remove(filepath.Join(q.dir, old.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			q.log.Warn("an old qlog cannot be deleted", "error", err)
		}
		q.bytes -= old.bytes
	}
	return q.bytes+n <= q.max
}

// qlogWriter writes one file. One goroutine uses it.
type qlogWriter struct {
	q     *QLogs
	name  string
	f     *os.File
	buf   *bufio.Writer
	bytes int64
	full  bool // there was no room: nothing more is written
}

// Write is that of io.Writer.
func (w *qlogWriter) Write(p []byte) (int, error) { return w.buf.Write(p) }

// write puts what was buffered into the file.
func (w *qlogWriter) write(p []byte) (int, error) {
	if w.full {
		return len(p), nil
	}
	w.q.mu.Lock()
	if w.q.fit(int64(len(p))) {
		w.q.bytes += int64(len(p))
	} else {
		w.full = true
		w.q.cut++
	}
	w.q.mu.Unlock()
	if w.full {
		return len(p), nil
	}
	n, err := w.f.Write(p)
	w.bytes += int64(len(p)) // as it is in the books
	return n, err
}

// Close ends the file, which may be deleted from now on.
func (w *qlogWriter) Close() error {
	err := errors.Join(w.buf.Flush(), w.f.Close())
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	w.q.open--
	w.q.closed = append(w.q.closed, qlogFile{w.name, w.bytes})
	w.q.fit(0)
	return err
}

// fileFunc is an io.Writer made of a function.
type fileFunc func([]byte) (int, error)

func (f fileFunc) Write(p []byte) (int, error) { return f(p) }
