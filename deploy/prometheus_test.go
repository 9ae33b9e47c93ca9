package deploy

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPrometheus has a real Prometheus watch a relay with load, and asks it what the dashboards and rules ask. Then it
// compares the histogram of delay with the frames that moq-sub has written down one by one.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for _, tool := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("MOQ_REQUIRE_TOOLS") != "" {
				t.Fatalf("%s is missing (make setup installs it)", tool)
			}
			t.Skipf("%s is missing (make setup installs it)", tool)
		}
	}
	d := startDemo(t)
	d.traffic()

	t.Run("panels", d.panels)
	t.Run("rules", d.rules)
	t.Run("delays", d.delays)
}

// demo is a relay, a publisher, subscribers and a Prometheus.
type demo struct {
	*testing.T
	dir        string
	prometheus string // base URL
	relay      string // address
	subOps     string // address of the metrics of the subscriber that writes frames.csv
	publisher  *exec.Cmd
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a program until the test ends; its output is shown if the test fails.
func (d *demo) start(name string, args ...string) *exec.Cmd {
	d.Helper()
	var log bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	d.Cleanup(func() {
		cmd.Process.Kill()
		<-done
		if d.Failed() {
			d.Logf("%s %s\n%s", filepath.Base(name), strings.Join(args, " "), log.String())
		}
	})
	return cmd
}

func startDemo(t *testing.T) *demo {
	d := &demo{T: t, dir: t.TempDir(), relay: freeAddr(t), subOps: freeAddr(t)}
	bin := func(name string) string { return filepath.Join(d.dir, name) }
	build := exec.Command("go", "build", "-o", d.dir+"/", "../cmd/moq-relay", "../cmd/moq-pub", "../cmd/moq-sub")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	relayOps, pubOps, listen := freeAddr(t), freeAddr(t), freeAddr(t)
	d.prometheus = "http://" + listen
	d.start(bin("moq-relay"), "--listen", d.relay, "--ops", relayOps, "--cc", "c4", "--track-metrics", "20", "--delivery-sample", "1", "--log-level", "warn")
	d.wait("the relay", "http://"+relayOps+"/readyz")
	d.publisher = d.start(bin("moq-pub"), "--namespace", "live/demo", "--synthetic", "--cc", "c4", "--ops", pubOps, "--tls-insecure", "--log-level", "error", "moqt://"+d.relay)

	// Rules and scrapes as they are deployed, but faster.
	for _, r := range []string{"frame-delay.rules.yml", "alerts.rules.yml"} {
		text := strings.ReplaceAll(read(t, "prometheus/"+r), "interval: 15s", "interval: 1s")
		if err := os.WriteFile(filepath.Join(d.dir, r), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := read(t, "prometheus/prometheus.yml")
	for _, change := range [][2]string{
		{"scrape_interval: 5s", "scrape_interval: 1s"},
		{"evaluation_interval: 15s", "evaluation_interval: 1s"},
		{"/etc/prometheus/rules", d.dir},
		{"relay:9464", relayOps},
		{"publisher:9465", pubOps},
	} {
		if !strings.Contains(config, change[0]) {
			t.Fatalf("prometheus.yml lacks %q", change[0])
		}
		config = strings.ReplaceAll(config, change[0], change[1])
	}
	config += fmt.Sprintf("  - job_name: moq-sub\n    static_configs:\n      - targets: [%q]\n", d.subOps)
	file := filepath.Join(d.dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "check", "config", file).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %s", out)
	}
	d.start("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(d.dir, "tsdb"), "--web.listen-address="+listen, "--log.level=warn")
	d.wait("Prometheus", d.prometheus+"/-/ready")
	return d
}

// wait waits until a page is there.
func (d *demo) wait(what, url string) {
	d.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
	}
	d.Fatalf("%s is not ready", what)
}

// traffic has subscribers over both transports, and clients that ask for what is not there.
func (d *demo) traffic() {
	d.Helper()
	sub := filepath.Join(d.dir, "moq-sub")
	common := []string{"--namespace", "live/demo", "--tls-insecure", "--log-level", "error"}
	d.start(sub, append(common, "--wait", "--ops", d.subOps, "--csv", d.csv(), "moqt://"+d.relay)...)
	d.start(sub, append(common, "--wait", "--csv", os.DevNull, "https://"+d.relay)...)
	d.wait("the subscriber", "http://"+d.subOps+"/readyz")
	// Requests, and refused ones, have to come between two scrapes.
	d.again(2*time.Second, sub, "--namespace", "live/nobody", "--tls-insecure", "--log-level", "error", "moqt://"+d.relay)
}

// again runs a program again and again until the test ends. It may fail.
func (d *demo) again(every time.Duration, name string, args ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			exec.CommandContext(ctx, name, args...).Run()
			select {
			case <-time.After(every):
			case <-ctx.Done():
			}
		}
	}()
	d.Cleanup(func() {
		cancel()
		<-done
	})
}

func (d *demo) csv() string { return filepath.Join(d.dir, "frames.csv") }

// query asks Prometheus, again and again while there is no answer: rates need time.
func (d *demo) query(t *testing.T, where, expr string) {
	t.Helper()
	why := ""
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		values, err := d.ask(expr)
		why = fmt.Sprint(err)
		if err == nil {
			for _, v := range values {
				if !math.IsNaN(v) {
					return
				}
			}
			why = fmt.Sprintf("%d values, none a number", len(values))
		}
		if time.Now().After(end) {
			break
		}
	}
	t.Errorf("%s: %s: %s", where, expr, why)
}

// ask returns the values that a query has now.
func (d *demo) ask(expr string) (values []float64, err error) {
	resp, err := http.PostForm(d.prometheus+"/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s", answer.Error)
	}
	for _, r := range answer.Data.Result {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// panels asks for everything that the dashboards draw.
func (d *demo) panels(t *testing.T) {
	files, err := filepath.Glob("grafana/dashboards/*.json")
	if err != nil || len(files) < 4 {
		t.Fatal("dashboards are missing", err)
	}
	n := 0
	for _, f := range files {
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
			Templating struct {
				List []struct{ Name, Definition string }
			}
		}
		if err := json.Unmarshal([]byte(read(t, f)), &board); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		variables := regexp.MustCompile(`\$\w+`)
		for _, v := range board.Templating.List {
			if m := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(v.Definition); m != nil {
				d.query(t, f+": variable "+v.Name, variables.ReplaceAllString(m[1], ".*"))
			}
		}
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				n++
				expr := strings.ReplaceAll(q.Expr, "$__rate_interval", "20s")
				d.query(t, filepath.Base(f)+": "+p.Title, variables.ReplaceAllString(expr, ".*"))
			}
		}
	}
	t.Logf("%d queries of panels", n)
}

// rules asks for what the rules record and what the alerts look at.
func (d *demo) rules(t *testing.T) {
	for _, r := range rules(t) {
		if !r.alert {
			d.query(t, r.name, r.expr)
			d.query(t, r.name, r.name)
			continue
		}
		for _, s := range selectors(r.expr) {
			d.query(t, r.name, s)
		}
	}
}

// delays stops the publisher, so that nothing changes any more, and compares the subscriber's histogram with its frames.
func (d *demo) delays(t *testing.T) {
	d.publisher.Process.Signal(syscall.SIGTERM)
	frames := func() int { return strings.Count(read(t, d.csv()), "\n") }
	for n := -1; frames() != n; {
		n = frames()
		time.Sleep(time.Second)
	}
	f, err := os.Open(d.csv())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) < 500 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	resp, err := http.Get("http://" + d.subOps + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	bucket := regexp.MustCompile(`(?m)^moq_frame_delay_seconds_bucket\{kind="(\w+)",priority="\w+",stage="end_to_end",le="([^"]+)"\} (\d+)$`)
	measured := make(map[string]map[float64]int)
	for _, m := range bucket.FindAllStringSubmatch(string(text), -1) {
		le, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		count, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		if measured[m[1]] == nil {
			measured[m[1]] = make(map[float64]int)
		}
		measured[m[1]][le] += count
	}
	for _, kind := range []string{"audio", "video"} {
		if len(measured[kind]) != 16 {
			t.Fatalf("%s has %d buckets", kind, len(measured[kind]))
		}
		for le, count := range measured[kind] {
			// The file has whole microseconds: a frame within one of a bound may be on either side.
			least, most := 0, 0
			for _, l := range lines[1:] {
				if l[2] != kind || l[7] == "" {
					continue
				}
				us, err := strconv.ParseFloat(l[7], 64)
				if err != nil {
					t.Fatal(err)
				}
				if us+1 <= le*1e6 {
					least++
				}
				if us <= le*1e6 {
					most++
				}
			}
			if count < least || count > most {
				t.Errorf("%s up to %v s: the histogram has %d frames, the file %d to %d", kind, le, count, least, most)
			}
		}
	}
}
