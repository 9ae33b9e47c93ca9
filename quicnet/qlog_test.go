package quicnet

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/moqt"
)

// TestQLogOfController reads the controller's events in the qlog of a connection that sends a few megabytes.
func TestQLogOfController(t *testing.T) {
	dirs := make(map[moqt.Transport]string)
	for _, tr := range []moqt.Transport{moqt.TransportQUIC, moqt.TransportWebTransport} {
		dirs[tr] = t.TempDir()
	}
	bubble(t, 2_500_000, func(t *testing.T, tr moqt.Transport, n *simNet) {
		const size = 3_000_000
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{
			socket: n.socket, QLogDir: dirs[tr],
			Controller: func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) },
		}})
		client, server := s.connect(tr, DialConfig{TransportConfig: TransportConfig{socket: n.socket}})
		out, in := uniPair(t, server, client)
		go func() {
			out.Write(make([]byte, size))
			out.Close()
		}()
		if got, err := io.Copy(io.Discard, in); err != nil || got != size {
			t.Fatalf("got %d bytes, %v", got, err)
		}
	})
	for tr, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "*_server.sqlog"))
		if len(files) != 1 {
			t.Fatalf("%v: %d files", tr, len(files))
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		states := make(map[string]int)
		closed := false
		for record := range strings.SplitSeq(string(b), "\x1e") {
			if record == "" {
				continue
			}
			var event struct {
				Time float64
				Name string
				Data struct {
					Old, New, Trigger string
					Vars              map[string]float64
				}
			}
			if err := json.Unmarshal([]byte(record), &event); err != nil {
				t.Fatalf("%v: %v in %q", tr, err, record)
			}
			switch event.Name {
			case "recovery:congestion_state_updated":
				if event.Data.Trigger == "" {
					continue // quic-go's own controller, before it was replaced
				}
				states[event.Data.New]++
				if event.Time <= 0 || event.Data.Vars["nominal_rate"] <= 0 {
					t.Errorf("%v: %q", tr, record)
				}
			case "transport:connection_closed":
				closed = true
			}
		}
		if states["recovery"] == 0 || states["cruising"] == 0 || !closed {
			t.Errorf("%v: states %v, closed %v", tr, states, closed)
		}
	}
}
