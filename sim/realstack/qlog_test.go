//go:build linux

package realstack

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// meanRTT reads the server's round-trip samples from its qlog, the only place where quic-go tells each of them.
func meanRTT(t testing.TB, dir string) time.Duration {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_server.sqlog"))
	if err != nil || len(files) != 1 {
		t.Fatalf("qlog files %v, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var sum float64 // ms
	n := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, value, ok := bytes.Cut(lines.Bytes(), []byte(`"latest_rtt":`))
		if !ok {
			continue
		}
		end := bytes.IndexAny(value, ",}")
		v, err := strconv.ParseFloat(string(value[:max(0, end)]), 64)
		if err != nil {
			t.Fatalf("qlog: %s", lines.Bytes())
		}
		sum += v
		n++
	}
	if n == 0 || lines.Err() != nil {
		t.Fatalf("%d round-trip samples in the qlog, %v", n, lines.Err())
	}
	return time.Duration(sum / float64(n) * float64(time.Millisecond))
}
