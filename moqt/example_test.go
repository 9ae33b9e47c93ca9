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

// pair makes two sessions that talk in memory.
func pair(ctx context.Context) (client, server *moqt.Session) {
	a, b := moqt.Pipe(moqt.PipeConfig{})
	client, server = moqt.New(a, moqt.Config{}), moqt.New(b, moqt.Config{})
	go client.Run(ctx)
	go server.Run(ctx)
	return client, server
}

var greetings = wire.FullTrackName{Namespace: wire.MustNamespace("demo", "alice"), Name: "greetings"}

// A subscriber that takes over a track where it is, and fetches what came before.
func ExampleSession_Subscribe() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, server := pair(ctx)
	go func() { // the publisher has sent group 7 up to object 1
		req, _ := server.Accept(ctx)
		largest := func() (wire.Location, bool) { return wire.Location{Group: 7, Object: 1}, true }
		req.(*moqt.IncomingSubscribe).Accept(moqt.AcceptSubscribe{Largest: largest})
		req, _ = server.Accept(ctx)
		fetch := req.(*moqt.IncomingFetch)
		w, _ := fetch.Accept(moqt.FetchOK{End: fetch.End})
		for id := range uint64(2) {
			w.WriteObject(moqt.FetchObject{Group: 7, Object: id}, []byte("hello"))
		}
		w.Close()
	}()

	sub, err := client.Subscribe(ctx, moqt.SubscribeRequest{
		Track:  greetings,
		Params: wire.Params{Filter: wire.Some(wire.Filter{Type: wire.FilterLargestObject})},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer sub.Close()
	past, err := client.Fetch(ctx, moqt.FetchRequest{Joining: sub}) // from the beginning of the current group
	if err != nil {
		log.Fatal(err)
	}
	for {
		object, err := past.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		payload, _ := io.ReadAll(past)
		fmt.Printf("group %d, object %d: %s\n", object.Group, object.Object, payload)
	}
	// Output:
	// group 7, object 0: hello
	// group 7, object 1: hello
}

// A publisher that offers a track without being asked, and sends while somebody wants it.
func ExampleSession_Publish() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, server := pair(ctx)
	go func() { // the subscriber
		req, _ := server.Accept(ctx)
		sub, err := req.(*moqt.IncomingPublish).Accept(wire.Params{})
		if err != nil {
			log.Fatal(err)
		}
		in, _ := sub.Next(ctx)
		fmt.Printf("group %d: %s\n", in.Datagram.Group, in.Datagram.Payload)
		sub.Close()
	}()

	pub, err := client.Publish(ctx, moqt.PublishRequest{Track: greetings})
	if err != nil {
		log.Fatal(err)
	}
	if pub.State().Forward {
		pub.SendDatagram(moqt.Datagram{Group: 1, Payload: []byte("hello")})
	}
	<-pub.Context().Done() // the subscriber has left
	fmt.Println("done")
	// Output:
	// group 1: hello
	// done
}

// A subscriber that finds out what there is.
func ExampleSession_SubscribeNamespace() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, server := pair(ctx)
	go func() {
		req, _ := server.Accept(ctx)
		wish := req.(*moqt.IncomingSubscribeNamespace)
		wish.Accept()
		wish.Announce(greetings.Namespace)
	}()

	namespaces, err := client.SubscribeNamespace(ctx, wire.MustNamespace("demo"))
	if err != nil {
		log.Fatal(err)
	}
	event, err := namespaces.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(event.Namespace, "gone:", event.Gone)
	// Output: demo-alice gone: false
}
