package ops

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
)

// A LogConfig says how a process logs. The zero value logs Info and above as text.
type LogConfig struct {
	Format string // "text" (default) for people or "json" for collectors
	Level  string // "debug", "info" (default), "warn" or "error"
}

// AddFlags registers --log-format and --log-level.
func (c *LogConfig) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.Format, "log-format", "text", "log lines as `text` or json")
	fs.StringVar(&c.Level, "log-level", "info", "lowest `level` logged: debug, info, warn, error")
}

// NewLogger returns a logger that writes to w, and its level, which may be
// changed at any time. It fails on a format or level that does not exist.
func (c LogConfig) NewLogger(w io.Writer) (*slog.Logger, *slog.LevelVar, error) {
	level := new(slog.LevelVar)
	if c.Level != "" {
		if err := level.UnmarshalText([]byte(c.Level)); err != nil {
			return nil, nil, fmt.Errorf("log level %q: want debug, info, warn or error", c.Level)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch c.Format {
	case "", "text":
		return slog.New(slog.NewTextHandler(w, options)), level, nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), level, nil
	}
	return nil, nil, fmt.Errorf("log format %q: want text or json", c.Format)
}
