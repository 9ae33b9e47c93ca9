package quicnet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

type tracerFunc = func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace

// qlogTracer returns nil if there is no directory. HTTP/3 events are left out: webtransport-go never ends the
// recording of them, and the file would stay open and incomplete.
func qlogTracer(dir string, log *slog.Logger) tracerFunc {
	if dir == "" {
		return nil
	}
	return func(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		side := "server"
		if isClient {
			side = "client"
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s_%s.sqlog", id, side)))
		if err != nil {
			log.Warn("no qlog for this connection", "error", err)
			return nil
		}
		t := qlogwriter.NewConnectionFileSeq(&bufferedFile{bufio.NewWriter(f), f}, isClient, id, []string{qlog.EventSchema})
		go t.Run() // ends with the connection
		return t
	}
}

type bufferedFile struct {
	*bufio.Writer
	f *os.File
}

func (b *bufferedFile) Close() error { return errors.Join(b.Flush(), b.f.Close()) }
