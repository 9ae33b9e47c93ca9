package ops

import (
	"encoding/json"
	"flag"
	"log/slog"
	"strings"
	"testing"
)

func TestLogFormats(t *testing.T) {
	for _, test := range []struct {
		args []string
		want bool // whether an Info line is written
		json bool
	}{
		{nil, true, false},
		{[]string{"--log-format=text", "--log-level=debug"}, true, false},
		{[]string{"--log-format=json"}, true, true},
		{[]string{"--log-level=WARN"}, false, false},
		{[]string{"--log-level=error", "--log-format=json"}, false, true},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			var cfg LogConfig
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			cfg.AddFlags(fs)
			if err := fs.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			log, _, err := cfg.NewLogger(&out)
			if err != nil {
				t.Fatal(err)
			}
			log.Info("session started", "session", 7)
			if (out.Len() > 0) != test.want {
				t.Fatalf("wrote %q; want a line: %v", out.String(), test.want)
			}
			if test.want && json.Valid([]byte(out.String())) != test.json {
				t.Errorf("wrote %q; want JSON: %v", out.String(), test.json)
			}
		})
	}
}

func TestLogZeroConfig(t *testing.T) {
	var out strings.Builder
	log, _, err := LogConfig{}.NewLogger(&out)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("hidden")
	log.Info("shown")
	if got := out.String(); strings.Contains(got, "hidden") || !strings.Contains(got, "level=INFO msg=shown") {
		t.Errorf("wrote %q", got)
	}
}

func TestLogLevelChanges(t *testing.T) {
	var out strings.Builder
	log, level, err := LogConfig{}.NewLogger(&out)
	if err != nil {
		t.Fatal(err)
	}
	level.Set(slog.LevelDebug)
	log.Debug("shown")
	if out.Len() == 0 {
		t.Error("the debug line is missing")
	}
}

func TestLogConfigErrors(t *testing.T) {
	for _, cfg := range []LogConfig{{Format: "xml"}, {Level: "loud"}} {
		if _, _, err := cfg.NewLogger(new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%+v: got error %v, want one that lists the choices", cfg, err)
		}
	}
}
