package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
	"github.com/moq-c4/moq-c4/cmd/internal/frames"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/relay"
)

// relayTest is a relay that runs in the test's process.
type relayTest struct {
	*testing.T
	process *process
	ops     string // base URL
	log     *clitest.Buffer
	ended   chan error
	stop    func()
}

func startRelay(t *testing.T, args ...string) *relayTest {
	t.Helper()
	rt := &relayTest{T: t, log: &clitest.Buffer{}, ended: make(chan error, 1)}
	args = append([]string{"--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0", "--drain", "100ms"}, args...)
	ctx, stop := context.WithCancel(context.Background())
	rt.stop = stop
	started := make(chan *process, 1)
	env := cli.Env{Args: args, Stderr: rt.log, Stdout: io.Discard}
	go func() { rt.ended <- runUntil(ctx, env, func(p *process) { started <- p }) }()
	select {
	case rt.process = <-started:
	case err := <-rt.ended:
		t.Fatal(err)
	}
	rt.ops = "http://" + rt.process.ops.Addr().String()
	t.Cleanup(func() {
		stop()
		if rt.process != nil {
			<-rt.ended
		}
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Log(rt.log.String())
		}
	})
	return rt
}

// call sends a request to the admin API and returns status and body.
func (rt *relayTest) call(method, path, body string) (int, string) {
	rt.Helper()
	req, err := http.NewRequestWithContext(rt.Context(), method, rt.ops+path, strings.NewReader(body))
	if err != nil {
		rt.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		rt.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		rt.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (rt *relayTest) get(path string, into any) {
	rt.Helper()
	status, body := rt.call("GET", path, "")
	if status != http.StatusOK {
		rt.Fatalf("%s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		rt.Fatalf("%s: %v in %s", path, err, body)
	}
}

// traffic has a publisher, and a subscriber that gets n objects of its track, and ends with the test.
func (rt *relayTest) traffic(n int) {
	rt.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	rt.Cleanup(func() {
		cancel()
		running.Wait()
	})
	name := wire.FullTrackName{Namespace: wire.MustNamespace("live", "demo"), Name: "video-360p"}
	source := relay.New(relay.Config{})
	running.Go(func() { source.Run(ctx) })
	local, err := source.Publish(name, nil)
	if err != nil {
		rt.Fatal(err)
	}
	announced := make(chan struct{})
	client, server := moqt.Pipe(moqt.PipeConfig{})
	running.Go(func() { rt.process.relay.Serve(ctx, server) })
	running.Go(func() {
		source.Connect(ctx, client, moqt.Config{}, []wire.Namespace{name.Namespace}, func() { close(announced) })
	})
	<-announced

	client, server = moqt.Pipe(moqt.PipeConfig{})
	running.Go(func() { rt.process.relay.Serve(ctx, server) })
	viewer := moqt.New(client, moqt.Config{})
	running.Go(func() { viewer.Run(ctx) })
	if err := viewer.Ready(ctx); err != nil {
		rt.Fatal(err)
	}
	sub, err := viewer.Subscribe(ctx, moqt.SubscribeRequest{Track: name})
	if err != nil {
		rt.Fatal(err)
	}
	for i := range n {
		props, err := wire.AppendProperties(nil, []wire.Property{{Type: 0x10, Uint: uint64(time.Now().Add(-20 * time.Millisecond).UnixMicro())}}, wire.Draft18)
		if err != nil {
			rt.Fatal(err)
		}
		if err := local.Write(relay.LocalObject{Group: 5, Object: uint64(i), Priority: 4, Properties: props, Payload: make([]byte, 1000)}); err != nil {
			rt.Fatal(err)
		}
	}
	in, err := sub.Next(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	for range n {
		if _, err := in.Subgroup.Next(); err != nil {
			rt.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, in.Subgroup); err != nil {
			rt.Fatal(err)
		}
	}
}

func TestAdmin(t *testing.T) {
	rt := startRelay(t)
	rt.traffic(50)

	var s statusAnswer
	rt.get("/api/v1/status", &s)
	if !s.Ready || s.Sessions != 2 || s.Tracks != 1 || s.Subscriptions != 1 || s.ByKind["pipe moqt-18"] != 2 || s.Cache.Bytes < 50_000 || s.Cache.MaxBytes != 256<<20 {
		t.Errorf("status: %+v", s)
	}
	if d := s.Delays["ingest"]; d.Count != 50 || d.P50 < 19 || d.P50 > 5000 {
		t.Errorf("ingest: %+v", d)
	}
	var tracks struct{ Tracks []trackAnswer }
	rt.get("/api/v1/tracks", &tracks)
	if len(tracks.Tracks) != 1 {
		t.Fatalf("tracks: %+v", tracks)
	}
	tr := tracks.Tracks[0]
	if tr.Namespace != "live/demo" || tr.Track != "video-360p" || tr.Kind != "video" || tr.Subscribers != 1 || tr.Publishers != 1 || tr.Objects != 50 ||
		tr.Bytes != 50_000 || tr.LargestGroup == nil || *tr.LargestGroup != 5 || *tr.LargestID != 49 || tr.Delays["relay"].Count == 0 {
		t.Errorf("track: %+v", tr)
	}
	var sessions struct{ Sessions []sessionAnswer }
	rt.get("/api/v1/sessions", &sessions)
	if len(sessions.Sessions) != 2 || sessions.Sessions[0].Upstreams != 1 || sessions.Sessions[1].Subscriptions != 1 {
		t.Errorf("sessions: %+v", sessions)
	}
	var cache cacheAnswer
	rt.get("/api/v1/cache", &cache)
	if cache.Bytes != s.Cache.Bytes || cache.Misses["subscribe"] != 1 {
		t.Errorf("cache: %+v", cache)
	}
	var history struct{ Points []any }
	rt.get("/api/v1/history?after=nonsense", &history)
	if history.Points == nil {
		t.Error("history: no list")
	}
}

func TestAdminLogLevel(t *testing.T) {
	rt := startRelay(t)
	if status, body := rt.call("GET", "/api/v1/log-level", ""); status != 200 || !strings.Contains(body, `"INFO"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := rt.call("PUT", "/api/v1/log-level", `{"level":"debug"}`); status != 200 || !strings.Contains(body, `"DEBUG"`) {
		t.Errorf("%d %s", status, body)
	}
	if !rt.process.log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("nothing has changed")
	}
	for _, bad := range []string{`{"level":"loud"}`, `{"lvl":"info"}`, `{}`, `x`} {
		if status, body := rt.call("PUT", "/api/v1/log-level", bad); status != 400 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

func TestAdminQLog(t *testing.T) {
	rt := startRelay(t)
	if status, body := rt.call("PUT", "/api/v1/qlog", `{"every":1}`); status != 400 || !strings.Contains(body, "--qlog") {
		t.Errorf("without --qlog: %d %s", status, body)
	}
	rt = startRelay(t, "--qlog", t.TempDir(), "--qlog-every", "0")
	var q qlogAnswer
	if rt.get("/api/v1/qlog", &q); q.Directory == "" || q.Every != 0 {
		t.Errorf("%+v", q)
	}
	if status, body := rt.call("PUT", "/api/v1/qlog", `{"every":10}`); status != 200 || rt.process.qlogs.Every() != 10 {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := rt.call("PUT", "/api/v1/qlog", `{}`); status != 400 {
		t.Errorf("nothing was asked for: %d", status)
	}
}

func TestAdminDrain(t *testing.T) {
	rt := startRelay(t)
	if status, _ := rt.call("GET", "/api/v1/drain", ""); status == 200 {
		t.Error("GET has drained")
	}
	if status, body := rt.call("POST", "/api/v1/drain", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if err := <-rt.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	rt.process = nil
}

func TestStatusCommand(t *testing.T) {
	rt := startRelay(t)
	rt.traffic(3)
	addr := strings.TrimPrefix(rt.ops, "http://")
	show := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), cli.Env{Args: append([]string{"status", "--ops", addr}, args...), Stdout: &out, Stderr: io.Discard}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, want := range []string{
		`sessions +2 \(2 pipe moqt-18\)`, `tracks +1, 1 subscriptions, 1 namespaces`, `live/demo / video-360p +video +1 +5`, `ingest +3 +`, `SESSION`, `streams cut +none`,
	} {
		if got := show("--sessions"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	var r statusReport
	if err := json.Unmarshal([]byte(show("--json")), &r); err != nil || r.Status.Sessions != 2 || len(r.Tracks) != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestStatusWrongUse(t *testing.T) {
	clitest.WrongUse(t, runStatus, map[string]string{"extra": "no arguments", "--what": "-what", "--ops %zz": "--ops"})
	err := runStatus(t.Context(), cli.Env{Args: []string{"--ops", "127.0.0.1:1"}, Stdout: io.Discard, Stderr: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "no relay answers") {
		t.Errorf("got %v", err)
	}
}

func TestStatusFlagsAreDocumented(t *testing.T) {
	clitest.FlagsDocumented(t, runStatus, "moq-relay status")
}

func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[2Jé\n"); got != `a\x1b[2Jé\n` {
		t.Errorf("got %q", got)
	}
}

// The page takes nothing from elsewhere, and asks for what the API has.
func TestLivePage(t *testing.T) {
	rt := startRelay(t)
	for _, path := range []string{"/", "/page.js", "/page.css"} {
		status, body := rt.call("GET", path, "")
		if status != 200 || strings.Contains(body, "http://") || strings.Contains(body, "https://") || strings.Contains(body, `src="//`) {
			t.Errorf("%s: %d, or something from elsewhere", path, status)
		}
	}
	js, err := os.ReadFile("page/page.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("api/v1/[a-z-]+").FindAllString(string(js), -1) {
		if status, _ := rt.call("GET", "/"+m, ""); status != 200 {
			t.Errorf("%s: %d", m, status)
		}
	}
	for s := range frames.NumStages {
		if !strings.Contains(string(js), `"`+s.String()+`"`) {
			t.Errorf("the page does not draw %s", s)
		}
	}
}

// Each path of the API is in the documentation.
func TestAdminIsDocumented(t *testing.T) {
	source, err := os.ReadFile("admin.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`s\.Handle\("([A-Z]+ /api/[^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(found) < 5 {
		t.Fatal("no paths found")
	}
	for _, m := range found {
		if !strings.Contains(string(page), "`"+m[1]+"`") {
			t.Errorf("docs/operations.md lacks %q", m[1])
		}
	}
}
