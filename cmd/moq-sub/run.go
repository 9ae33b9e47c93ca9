package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
)

// tablePeriod is how often --stats shows the table.
const tablePeriod = time.Second

// run is the whole command.
func run(ctx context.Context, env cli.Env) error {
	f, err := parseFlags(env)
	if err != nil {
		return err
	}
	outer := ctx
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	if f.lists() {
		return over(outer, list(ctx, f, env.Stdout))
	}

	r := &receiver{flags: f, log: f.log, stats: &statistics{began: time.Now()}, sinks: make(map[string]*sink), late: &punctuality{limits: f.late}}
	if r.csv, err = newCSV(f.csv); err != nil {
		return err
	}
	if r.record, err = newRecorder(f.output, env.Stdout, f.log); err != nil {
		return errors.Join(err, r.csv.close())
	}
	r.measure = newMeasurement(f.ops.Registry(), r.stats)
	var table sync.WaitGroup
	shown, stop := context.WithCancel(ctx)
	defer stop()
	served, err := f.ops.Serve(shown, r.measure.registry(), f.log)
	if err != nil {
		return errors.Join(err, r.record.close(), r.csv.close())
	}
	table.Go(served)
	if f.stats {
		table.Go(func() {
			for cli.Sleep(shown, tablePeriod) == nil {
				r.stats.writeTable(env.Stderr, time.Now(), tablePeriod)
			}
		})
	}
	err = over(outer, r.run(ctx))
	if tickErr := r.simulcast.tick(time.Now().Add(time.Hour)); err == nil { // what is still waited for
		err = tickErr
	}
	stop()
	table.Wait()

	closed := errors.Join(r.record.close(), r.csv.close())
	if f.json {
		if err := r.stats.writeJSON(env.Stdout, time.Now(), r.simulcast.report()); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return closed
}

// over turns the end of --duration, and of the process by a signal, into success.
func over(outer context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || (errors.Is(err, context.Canceled) && outer.Err() != nil) {
		return nil
	}
	return err
}
