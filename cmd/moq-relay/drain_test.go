package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/relay"
)

// A relay that drains ends when its clients have left, at once, over both transports.
func TestDrain(t *testing.T) {
	for _, scheme := range []string{"moqt", "https"} {
		t.Run(scheme, func(t *testing.T) {
			rt := startRelay(t, "--drain", "10s")
			url := scheme + "://" + rt.process.listener.Addrs()[0].String() + "/"
			dial := func() moqt.Conn {
				conn, err := quicnet.Dial(t.Context(), url, quicnet.DialConfig{TransportConfig: quicnet.TransportConfig{}, Insecure: true})
				if err != nil {
					t.Fatal(err)
				}
				return conn
			}
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			name := wire.FullTrackName{Namespace: wire.MustNamespace("live"), Name: "video"}
			source := relay.New(relay.Config{})
			running.Go(func() { source.Run(ctx) })
			local, err := source.Publish(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			announced := make(chan struct{})
			pubConn := dial()
			running.Go(func() {
				source.Connect(ctx, pubConn, moqt.Config{}, []wire.Namespace{name.Namespace}, func() { close(announced) })
			})
			<-announced

			viewer := moqt.New(dial(), moqt.Config{})
			running.Go(func() { viewer.Run(ctx) })
			if err := viewer.Ready(ctx); err != nil {
				t.Fatal(err)
			}
			sub, err := viewer.Subscribe(ctx, moqt.SubscribeRequest{Track: name})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() { // as a subscriber that leaves when it is asked to
				<-viewer.GoingAway()
				viewer.Close(wire.SessionNoError, "")
			})
			if err := local.Write(relay.LocalObject{Group: 1, Payload: make([]byte, 1000)}); err != nil {
				t.Fatal(err)
			}
			if _, err := sub.Next(ctx); err != nil {
				t.Fatal(err)
			}

			began := time.Now()
			local.End() // the publisher is stopped at the same time
			rt.stop()
			if err := <-rt.ended; err != nil {
				t.Error(err)
			}
			rt.process = nil
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("draining took %v though everybody had left", took)
			}
		})
	}
}
