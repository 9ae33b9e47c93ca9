package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// listQuiet is how long no namespace must come for the list to be complete: the protocol has no end mark.
const listQuiet = 500 * time.Millisecond

// list prints what the relay, or a broadcast, has.
func list(ctx context.Context, f *flags, out io.Writer) error {
	var backoff cli.Backoff
	for {
		err := f.dialer.WithSession(ctx, func(ctx context.Context, s *moqt.Session) error {
			if f.named {
				return listTracks(ctx, s, f, out)
			}
			return listNamespaces(ctx, s, f, out)
		})
		if err == nil || !f.wait || ctx.Err() != nil {
			return err
		}
		f.log.Info("waiting", "reason", err)
		if err := cli.Sleep(ctx, backoff.Next()); err != nil {
			return err
		}
	}
}

func listNamespaces(ctx context.Context, s *moqt.Session, f *flags, out io.Writer) error {
	n, err := s.SubscribeNamespace(ctx, wire.Namespace{})
	if err != nil {
		return fmt.Errorf("the relay does not list its namespaces: %w", err)
	}
	defer n.Close()
	found := 0
	for {
		// The first may take as long as it likes with --wait.
		until, cancel := ctx, context.CancelFunc(func() {})
		if found > 0 || !f.wait {
			until, cancel = context.WithTimeout(ctx, listQuiet)
		}
		e, err := n.Next(until)
		cancel()
		switch {
		case err == nil && !e.Gone:
			found++
			fmt.Fprintln(out, cli.FormatNamespace(e.Namespace))
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded) && found > 0:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			return cli.NotFound("the relay has no namespaces; use --wait to wait for one")
		default:
			return err
		}
	}
}

func listTracks(ctx context.Context, s *moqt.Session, f *flags, out io.Writer) error {
	err := followCatalog(ctx, s, f, f.wait, func(renditions []media.Rendition) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "TRACK\tKIND\tCODEC\tFORMAT\tKBIT/S\tPACKAGING\tSENT IN")
		for _, r := range renditions {
			t := r.Track
			format := fmt.Sprintf("%d Hz, %d ch", t.SampleRate, t.Channels)
			if t.Kind == media.Video {
				format = fmt.Sprintf("%dx%d, %g fps", t.Width, t.Height, t.Framerate)
			}
			rate, sent := "-", "streams"
			if t.Bitrate > 0 {
				rate = fmt.Sprint(t.Bitrate / 1000)
			}
			if r.Datagram {
				sent = "datagrams"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, t.Kind, t.Codec, format, rate, r.Packaging, sent)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return errStop
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}
