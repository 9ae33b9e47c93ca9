package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/fmp4"
	"github.com/moq-c4/moq-c4/media/synthetic"
)

// sourceQueue is how many frames the source may be ahead of the publisher. More than that
// and the source waits, as a pipe does.
const sourceQueue = 64

// input is an open source.
type input struct {
	media.Source
	log   *slog.Logger
	live  bool   // it delivers frames when they are due
	close func() // makes a blocked Next return, if that can be done

	newGroup func() // asks for a key frame in all videos; nil if the source cannot make one
}

// openWhile is openInput that gives up when ctx ends. A standard input that says nothing is read on until the process ends.
func openWhile(ctx context.Context, f *flags, stdin io.Reader) (*input, error) {
	type result struct {
		in  *input
		err error
	}
	opened := make(chan result, 1)
	go func() {
		in, err := openInput(f, stdin)
		opened <- result{in, err}
	}()
	select {
	case r := <-opened:
		return r.in, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func openInput(f *flags, stdin io.Reader) (*input, error) {
	switch {
	case f.synthetic:
		s := synthetic.New(synthetic.Config{})
		return &input{Source: s, log: f.log, close: func() {}, newGroup: s.NewGroup}, nil
	case f.input != "-":
		file, err := fmp4.OpenFile(f.input, fmp4.FileConfig{Loop: f.loop})
		if err != nil {
			return nil, cli.Usage("--input: %w", err)
		}
		logSkipped(f.log, file.Skipped())
		return &input{Source: file, log: f.log, close: func() { file.Close() }}, nil
	}
	buffered := bufio.NewReader(stdin)
	if _, err := buffered.Peek(1); err == io.EOF {
		return nil, errors.New("standard input is empty: did the program before the pipe fail? To publish a file, use --input")
	}
	r, err := fmp4.NewReader(buffered, fmp4.ReaderConfig{})
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	logSkipped(f.log, r.Skipped())
	in := &input{Source: r, log: f.log, live: true, close: func() {}}
	if c, ok := stdin.(io.Closer); ok {
		in.close = func() { c.Close() }
	}
	return in, nil
}

// logSkipped tells which tracks of the input are not published.
func logSkipped(log *slog.Logger, skipped []string) {
	for _, why := range skipped {
		log.Warn("track of the input is not published", "reason", why)
	}
}

// sourced is a frame on its way from the source to the publisher.
type sourced struct {
	media.Frame
	tracks []*media.Track // set with the first frame after the source has begun anew
}

// read sends the source's frames to out, each when it is due, until the source or ctx ends.
// It owns the source and closes out.
func (in *input) read(ctx context.Context, out chan<- sourced) error {
	defer close(out)
	var pacer media.Pacer
	for {
		f, err := in.Next()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			if c, ok := in.Source.(interface{ Cut() bool }); ok && c.Cut() {
				in.log.Warn("the input was cut off in the middle of a box", "remedy", "if it is a file, it is not whole")
			}
			return nil
		case err != nil:
			return fmt.Errorf("input: %w", err)
		}
		if !in.live {
			now := time.Now()
			due := pacer.Due(f, now)
			if err := cli.Sleep(ctx, due.Sub(now)); err != nil {
				return err
			}
			f.Capture = due
		}
		s := sourced{Frame: f}
		if f.Discontinuity {
			s.tracks = in.Tracks()
		}
		select {
		case out <- s:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
