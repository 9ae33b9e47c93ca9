package quicnet

import (
	"bufio"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"

	"github.com/moq-c4/moq-c4/moqt"
)

// dirBytes adds up the files of a directory.
func dirBytes(t *testing.T, dir string) (files int, bytes int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		files, bytes = files+1, bytes+info.Size()
	}
	return files, bytes
}

func TestQLogsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"old.sqlog", "older.sqlog", "other.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 600), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	q, err := NewQLogs(dir, 1000, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "older.sqlog")); err == nil {
		t.Error("the oldest file is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "other.txt")); err != nil {
		t.Error("a file of somebody else was deleted")
	}

	write := func(name string, n int) *qlogWriter {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		w := &qlogWriter{q: q, name: name, f: f}
		q.open++
		w.write(make([]byte, n))
		return w
	}
	open := func(w *qlogWriter) *qlogWriter {
		w.buf = bufio.NewWriter(fileFunc(w.write))
		return w
	}
	first := open(write("a.sqlog", 700)) // for which old.sqlog goes
	second := open(write("b.sqlog", 400))
	if files, bytes, cut := q.Usage(); files != 0 || bytes != 700 || cut != 1 || !second.full {
		t.Errorf("%d closed files, %d bytes, %d cut", files, bytes, cut)
	}
	first.Close()
	second.Close()
	third := open(write("c.sqlog", 900))
	third.Close()
	if _, bytes := dirBytes(t, dir); bytes > 1000+600 { // other.txt is not ours
		t.Errorf("%d bytes are in the directory", bytes)
	}
	if files, bytes, _ := q.Usage(); bytes != 900 || files == 0 {
		t.Errorf("%d files, %d bytes", files, bytes)
	}
}

func TestQLogsAreSampled(t *testing.T) {
	q, err := NewQLogs(t.TempDir(), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	id := byte(0)
	count := func() (n int) {
		for range 12 {
			id++
			if tr := q.tracer(t.Context(), false, quic.ConnectionIDFromBytes([]byte{id, 1, 2, 3})); tr != nil {
				n++
				tr.AddProducer().Close()
			}
		}
		return n
	}
	for every, want := range map[int]int{0: 0, 1: 12, 4: 3} {
		q.SetEvery(every)
		if got := count(); got != want {
			t.Errorf("one of %d: %d of 12", every, got)
		}
	}
	eventually(t, "the files are closed", func() bool {
		files, _, _ := q.Usage()
		return files == 15
	})
	if _, err := NewQLogs(filepath.Join(t.TempDir(), "missing"), 0, nil); err == nil {
		t.Error("a directory that is not there was taken")
	}
}

// Logging can be turned on while the server runs, together with the watch for acknowledgements.
func TestQLogsOfAServer(t *testing.T) {
	dir := t.TempDir()
	q, err := NewQLogs(dir, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, ListenConfig{TransportConfig: TransportConfig{QLogs: q}})
	visit := func() {
		client, server := s.connect(moqt.TransportQUIC, DialConfig{})
		client.Close(0, "")
		<-server.Context().Done()
	}
	visit()
	if files, _ := dirBytes(t, dir); files != 0 {
		t.Errorf("%d files before it was asked for", files)
	}
	q.SetEvery(1)
	visit()
	eventually(t, "a file is complete", func() bool {
		files, bytes, _ := q.Usage()
		return files == 1 && bytes > 1000
	})
}

// Whoever sends packets must not use up files or descriptors, nor touch the qlog of somebody else.
func TestQLogsOfAFlood(t *testing.T) {
	dir := t.TempDir()
	q, err := NewQLogs(dir, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	q.SetEvery(1)
	trace := func(i int) qlogwriter.Trace {
		return q.tracer(t.Context(), false, quic.ConnectionIDFromBytes([]byte{byte(i >> 8), byte(i), 1, 2}))
	}
	var open []qlogwriter.Trace
	for i := range 2 * maxQLogsOpen {
		if tr := trace(i); tr != nil {
			open = append(open, tr)
		}
	}
	if len(open) != maxQLogsOpen {
		t.Errorf("%d files are open, want %d", len(open), maxQLogsOpen)
	}
	for _, tr := range open {
		tr.AddProducer().Close()
	}
	eventually(t, "the files are closed", func() bool {
		files, _, _ := q.Usage()
		return files == len(open)
	})
	before, bytes := dirBytes(t, dir)
	if trace(0) != nil {
		t.Error("a connection got the file of another one that had its ID")
	}
	if files, now := dirBytes(t, dir); files != before || now != bytes {
		t.Errorf("%d files with %d bytes have become %d with %d", before, bytes, files, now)
	}
	if tr := trace(2 * maxQLogsOpen); tr == nil {
		t.Error("no file although others were closed")
	} else {
		tr.AddProducer().Close()
	}
	eventually(t, "that one too", func() bool {
		files, _, _ := q.Usage()
		return files == len(open)+1
	})

	q.mu.Lock()
	for range 2 * maxQLogFiles {
		q.closed = append(q.closed, qlogFile{"none" + qlogSuffix, 0})
	}
	q.fit(0)
	q.mu.Unlock()
	if files, _, _ := q.Usage(); files > maxQLogFiles {
		t.Errorf("%d files, want %d at most", files, maxQLogFiles)
	}
}
