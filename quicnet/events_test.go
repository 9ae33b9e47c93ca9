package quicnet

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/quicnet/ackwatch"
)

// What the session says stands in the qlog file of its connection, beside QUIC's own events, and the file ends.
func TestEvents(t *testing.T) {
	for _, tr := range []moqt.Transport{moqt.TransportQUIC, moqt.TransportWebTransport} {
		for _, watched := range []int{0, 9} {
			dir := t.TempDir()
			q, err := NewQLogs(dir, 0, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			q.SetEvery(1)
			s := startServer(t, ListenConfig{TransportConfig: TransportConfig{QLogs: q, Acks: &ackwatch.Sampler{Least: watched}}})
			client, server := s.connect(tr, DialConfig{})
			if client.(moqt.EventLogger).LogsEvents() || !server.(moqt.EventLogger).LogsEvents() {
				t.Error("not the server alone writes events")
			}
			server.(moqt.EventLogger).LogEvent("moqt:test_event", moqt.EventField{Name: "text", Text: `a "b"`}, moqt.EventField{Name: "number", Number: 7})
			client.(moqt.EventLogger).LogEvent("moqt:nowhere")
			client.Close(0, "")
			<-server.Context().Done()
			eventually(t, "the file is complete", func() bool {
				files, _, _ := q.Usage()
				return files == 1
			})
			server.(moqt.EventLogger).LogEvent("moqt:too_late")
			names, err := filepath.Glob(dir + "/*.sqlog")
			if err != nil || len(names) != 1 {
				t.Fatalf("%v, %v", names, err)
			}
			b, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`"name":"moqt:test_event"`, `"text":"a \"b\""`, `"number":7`, `transport:packet_sent`, `connection_closed`} {
				if !strings.Contains(string(b), want) {
					t.Errorf("%s, watched %d: %s is missing", tr, watched, want)
				}
			}
		}
	}
}
