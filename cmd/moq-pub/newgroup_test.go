package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A subscriber that asks for a new group gets one with the next frame, and the other rendition has one as well.
func TestNewGroupRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		f := &flags{synthetic: true, namespace: wire.MustNamespace("live"), packaging: media.LOC, log: slog.New(slog.DiscardHandler)}
		in, err := openInput(f, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPublisher(f, nil, in.Tracks())
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		frames := make(chan sourced, sourceQueue)
		running.Go(func() { p.relay.Run(ctx) })
		running.Go(func() { in.read(ctx, frames) })
		running.Go(func() { p.publish(ctx, frames) })
		running.Go(func() { p.followGroupRequests(ctx, in.newGroup) })
		client, server := moqt.Pipe(moqt.PipeConfig{})
		s := moqt.New(client, moqt.Config{})
		running.Go(func() { p.relay.Serve(ctx, server) })
		running.Go(func() { s.Run(ctx) })
		if err := s.Ready(ctx); err != nil {
			t.Fatal(err)
		}

		groups := make(map[string]chan uint64)
		subs := make(map[string]*moqt.Subscription)
		for _, name := range []string{"video-low", "video-mid"} {
			sub, err := s.Subscribe(ctx, moqt.SubscribeRequest{Track: wire.FullTrackName{Namespace: f.namespace, Name: name}})
			if err != nil {
				t.Fatal(err)
			}
			if !sub.Info().DynamicGroups {
				t.Errorf("%s does not say that groups can be asked for", name)
			}
			began := make(chan uint64, 100)
			groups[name], subs[name] = began, sub
			running.Go(func() {
				for {
					in, err := sub.Next(ctx)
					if err != nil {
						return
					}
					began <- in.Subgroup.Header().Group
					running.Go(func() {
						for {
							if _, err := in.Subgroup.Next(); err != nil {
								return
							}
							io.Copy(io.Discard, in.Subgroup)
						}
					})
				}
			})
		}
		first := <-groups["video-low"]
		<-groups["video-mid"]
		time.Sleep(210 * time.Millisecond)
		asked := time.Now()
		for range 3 { // is the same request
			if _, err := subs["video-mid"].Update(ctx, wire.Params{NewGroupRequest: wire.Some(first + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		for name, began := range groups {
			if g := <-began; g != first+1 {
				t.Errorf("%s went on with group %d, want %d", name, g, first+1)
			}
		}
		if d := time.Since(asked); d > 70*time.Millisecond {
			t.Errorf("the new group came %v after it was asked for", d)
		}
		time.Sleep(900 * time.Millisecond)
		if n := len(groups["video-mid"]); n != 0 {
			t.Errorf("%d more groups in less than the length of one", n)
		}
		cancel()
		running.Wait()
	})
}
