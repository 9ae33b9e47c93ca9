package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/sim/emu"
	"github.com/moq-c4/moq-c4/sim/scenario"
)

// run is the whole command.
func run(ctx context.Context, env cli.Env) error {
	f, err := parseFlags(env)
	if err != nil {
		return err
	}
	if f.list {
		fmt.Fprintln(env.Stdout, "presets:  ", strings.Join(emu.Presets(), ", "))
		fmt.Fprintln(env.Stdout, "scenarios:", strings.Join(scenario.Names(), ", "))
		return nil
	}
	p, err := emu.Listen(f.config)
	if err != nil {
		return err
	}
	f.log.Info("forwarding", "listen", p.Addr(), "to", f.config.To, "link", f.config.Link.Name, "ecn", emu.ECNSupported)
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if f.stats {
			show(ctx, p, env.Stderr)
		}
	}()
	err = p.Run(ctx)
	if err == nil {
		<-shown
		err = report(env.Stdout, p.Stats(), f.json)
	}
	return err
}

// show writes a line every second until ctx ends.
func show(ctx context.Context, p *emu.Proxy, w io.Writer) {
	fmt.Fprintf(w, "%-8s %7s  %9s %8s %8s %6s  %9s %8s %8s %6s\n", "time", "clients",
		"down kb/s", "dropped", "wait ms", "marked", "up kb/s", "dropped", "wait ms", "marked")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	begun, last := time.Now(), p.Stats()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s := p.Stats()
		down, up := s.Down.Since(&last.Down), s.Up.Since(&last.Up)
		fmt.Fprintf(w, "%-8s %7d  %s  %s\n", time.Since(begun).Round(time.Second), s.Clients, line(&down), line(&up))
		last = s
	}
}

// line is a direction's part of what happened in a second.
func line(c *emu.Counters) string {
	return fmt.Sprintf("%9d %8d %8.1f %6d", c.DeliveredBytes*8/1000, c.Dropped(), c.WaitMean().Seconds()*1e3, c.Marked)
}

// report writes what happened in all.
func report(w io.Writer, s emu.Stats, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	_, err := fmt.Fprintf(w, `clients %d, TCP connections %d, %s
          %12s %12s %12s %12s %10s %10s %10s
%s%spackets left the link %.2f ms late on average, %.2f ms at most
`, s.ClientsAll, s.TCP, s.Elapsed.Round(time.Second),
		"packets", "delivered", "bytes", "dropped", "marked", "wait ms", "max ms",
		total(emu.Down, &s.Down), total(emu.Up, &s.Up), s.LateMean.Seconds()*1e3, s.LateMax.Seconds()*1e3)
	return err
}

func total(d emu.Direction, c *emu.Counters) string {
	return fmt.Sprintf("%-10s%12d %12d %12d %12d %10d %10.1f %10.1f\n", d, c.Packets, c.Delivered, c.DeliveredBytes,
		c.Dropped(), c.Marked, c.WaitMean().Seconds()*1e3, c.WaitMax().Seconds()*1e3)
}
