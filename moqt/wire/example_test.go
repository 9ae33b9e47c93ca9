package wire_test

import (
	"errors"
	"fmt"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// A request stream is read by looking for one message after the other in what has
// arrived so far.
func ExampleParseMessage() {
	received := []byte{0x50, 0x00, 0x08, 0x00, 0x01, 0x04, 'd', 'e', 'm', 'o', 0x00, 0x02, 0x00}
	for {
		typ, body, n, err := wire.ConsumeFrame(received, wire.Draft18)
		if errors.Is(err, wire.ErrTruncated) {
			fmt.Println("read more after", len(received), "bytes of the next message")
			return
		}
		if err != nil {
			fmt.Println("close the session:", err)
			return
		}
		m, err := wire.ParseMessage(typ, body, wire.Draft18)
		if err != nil {
			fmt.Println("close the session:", err)
			return
		}
		received = received[n:]
		switch m := m.(type) {
		case *wire.SubscribeNamespace:
			fmt.Println(m.Type(), m.Prefix)
		default:
			fmt.Println(m.Type())
		}
	}
	// Output:
	// SUBSCRIBE_NAMESPACE demo
	// read more after 2 bytes of the next message
}

// Objects are sent as a header and a payload; only the header goes through this
// package, so the payload is never copied.
func ExampleSubgroupCursor_Append() {
	h := wire.SubgroupHeader{TrackAlias: 7, GroupID: 5, FirstObject: true}
	c := h.Cursor()
	fmt.Printf("%x\n", h.Append(nil, wire.Draft18))
	for id, payload := range []string{"a key frame", "another frame"} {
		o := wire.ObjectHeader{ID: uint64(id), PayloadLen: uint64(len(payload))}
		header, err := c.Append(nil, &o, wire.Draft18)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%x, then %q\n", header, payload)
	}
	// Output:
	// 700705
	// 000b, then "a key frame"
	// 000d, then "another frame"
}

// What is absent in a message is told from what is zero.
func ExampleOpt() {
	p := wire.Params{SubscriberPriority: wire.Some(uint8(0))}
	fmt.Println(p.SubscriberPriority.Or(wire.DefaultSubscriberPriority))
	fmt.Println(p.Forward.Or(wire.DefaultForward), p.Forward.IsSet())
	// Output:
	// 0
	// true false
}

func ExampleNamespace() {
	ns := wire.MustNamespace("example.net", "team2", "project_x")
	track := wire.FullTrackName{Namespace: ns, Name: "report"}
	fmt.Println(track)
	suffix, ok := ns.CutPrefix(wire.MustNamespace("example.net"))
	fmt.Println(suffix, ok)
	// Output:
	// example.2enet-team2-project_x--report
	// team2-project_x true
}
