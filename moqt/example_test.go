package moqt_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/moq-c4/moq-c4/moqt"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A publisher that serves one track, and a subscriber that reads it to its end. Package quicnet makes connections over the
// network; here both ends are in memory.
func Example() {
	client, server := moqt.Pipe(moqt.PipeConfig{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	publisher := moqt.New(server, moqt.Config{})
	go publisher.Run(ctx)
	go func() {
		for {
			req, err := publisher.Accept(ctx)
			if err != nil {
				return
			}
			switch req := req.(type) {
			case *moqt.IncomingSubscribe:
				go publish(ctx, req)
			default:
				req.Reject(nil)
			}
		}
	}()

	subscriber := moqt.New(client, moqt.Config{})
	go subscriber.Run(ctx)
	track, err := wire.NewFullTrackName(wire.MustNamespace("demo", "alice"), "greetings")
	if err != nil {
		log.Fatal(err)
	}
	sub, err := subscriber.Subscribe(ctx, moqt.SubscribeRequest{Track: track})
	if err != nil {
		log.Fatal(err)
	}
	for {
		in, err := sub.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for {
			object, err := in.Subgroup.Next()
			if err != nil {
				break // io.EOF after a FIN
			}
			payload, err := io.ReadAll(in.Subgroup)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("group %d, object %d: %s\n", in.Subgroup.Header().Group, object.ID, payload)
		}
	}
	// Output:
	// group 0, object 0: hello
	// group 0, object 1: world
	// moqt: subscription ended by publisher: TRACK_ENDED
}

// publish sends a group of two objects.
func publish(ctx context.Context, req *moqt.IncomingSubscribe) {
	p, err := req.Accept(moqt.AcceptSubscribe{})
	if err != nil {
		return
	}
	w, err := p.OpenSubgroup(ctx, moqt.SubgroupHeader{Group: 0, FirstObject: true, EndOfGroup: true})
	if err != nil {
		return
	}
	w.WriteObject(moqt.ObjectHeader{ID: 0}, []byte("hello"))
	w.WriteObject(moqt.ObjectHeader{ID: 1}, []byte("world"))
	w.Close()
	p.Done(wire.DoneTrackEnded, "")
}
