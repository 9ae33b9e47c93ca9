package ackwatch

import (
	"slices"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

// bookTest drives a book and remembers what it has told.
type bookTest struct {
	*testing.T
	*book
	told []string
}

func newBookTest(t *testing.T) *bookTest { return &bookTest{T: t, book: newBook()} }

func (b *bookTest) done(name string) Acked {
	return func(time.Time) { b.told = append(b.told, name) }
}

func (b *bookTest) send(number int, frames ...any) {
	var list []qlog.Frame
	for _, f := range frames {
		list = append(list, qlog.Frame{Frame: f})
	}
	b.onSent(qlog.PacketNumber(number), list)
}

func data(id, from, to int) *qlog.StreamFrame {
	return &qlog.StreamFrame{StreamID: quic.StreamID(id), Offset: int64(from), Length: int64(to - from)}
}

func fin(id, from, to int) *qlog.StreamFrame {
	f := data(id, from, to)
	f.Fin = true
	return f
}

// ack acknowledges ranges of packets, given as pairs, the highest first.
func (b *bookTest) ack(want []string, ranges ...int) {
	b.Helper()
	f := &qlog.AckFrame{}
	for i := 0; i < len(ranges); i += 2 {
		f.AckRanges = append(f.AckRanges, qlog.AckRange{Smallest: qlog.PacketNumber(ranges[i]), Largest: qlog.PacketNumber(ranges[i+1])})
	}
	for _, d := range b.onAck(f) {
		d(time.Time{})
	}
	if !slices.Equal(b.told, want) {
		b.Errorf("after %v: told of %q, want %q", ranges, b.told, want)
	}
	b.told = nil
}

func TestInOrder(t *testing.T) {
	b := newBookTest(t)
	b.send(1, data(3, 0, 100))
	b.mark(3, 100, b.done("first"))
	b.send(2, data(3, 100, 200), data(7, 0, 50))
	b.mark(3, 200, b.done("second"))
	b.ack([]string{"first"}, 1, 1)
	b.ack(nil, 1, 1)
	b.ack([]string{"second"}, 1, 2)
	if !b.mark(7, 50, b.done("late")) {
		t.Error("what was acknowledged before the mark is not told of")
	}
}

// A mark is reached when everything before it has been acknowledged, in whatever order.
func TestHoles(t *testing.T) {
	b := newBookTest(t)
	b.send(1, data(3, 0, 100))
	b.send(2, data(3, 100, 200))
	b.send(3, data(3, 200, 300))
	b.mark(3, 300, b.done("all"))
	b.ack(nil, 3, 3)
	b.ack(nil, 3, 3, 1, 1)
	b.onLost(2)
	b.send(4, data(3, 100, 150))
	b.send(5, data(3, 150, 200))
	b.ack(nil, 5, 5)
	b.ack([]string{"all"}, 4, 5)
}

func TestEnds(t *testing.T) {
	b := newBookTest(t)
	b.send(1, fin(3, 0, 100))
	b.send(2, data(7, 0, 100))
	b.mark(7, 100, b.done("reset"))
	b.send(3, &qlog.ResetStreamFrame{StreamID: 7})
	b.ack(nil, 1, 3)
	if len(b.streams)+len(b.packets)+len(b.sent) > 0 {
		t.Errorf("something is left: %v, %v, %v", b.streams, b.packets, b.sent)
	}
}

// quic-go may drop a datagram without a word; those behind it are still told apart.
func TestDatagrams(t *testing.T) {
	b := newBookTest(t)
	b.datagram(100, b.done("dropped"))
	b.datagram(80, b.done("second"))
	b.datagram(90, nil)
	b.datagram(80, b.done("fourth"))
	b.datagram(70, b.done("not taken"))
	b.undo()
	b.send(1, &qlog.DatagramFrame{Length: 81})
	b.send(2, &qlog.DatagramFrame{Length: 91})
	b.send(3, &qlog.DatagramFrame{Length: 81})
	b.onLost(3)
	b.ack([]string{"second"}, 1, 3)
	if len(b.datagrams) > 0 {
		t.Errorf("%d are left", len(b.datagrams))
	}
}

// Nothing that the peer does makes a book grow without bound.
func TestBounds(t *testing.T) {
	b := newBookTest(t)
	for i := range 3 * maxPackets {
		b.send(i, data(4*i+3, 0, 1))
		b.datagram(1, b.done("x"))
	}
	if len(b.streams) > maxStreams || len(b.packets) > maxPackets || len(b.sent) > maxPackets || len(b.datagrams) > maxDatagrams {
		t.Errorf("%d streams, %d packets, %d datagrams", len(b.streams), len(b.packets), len(b.datagrams))
	}
	b = newBookTest(t)
	for i := range 3 * maxGaps {
		b.acked(part{3, int64(2*i + 1), int64(2*i + 2)}, nil)
		b.send(i, data(3, 2*i+1, 2*i+2))
		b.ack(nil, i, i)
	}
	if n := len(b.streams[3].gaps); n > maxGaps {
		t.Errorf("%d gaps", n)
	}
}

func TestSampler(t *testing.T) {
	var none *Sampler
	if none.Trace(nil) != nil || new(Sampler).Trace(nil) != nil {
		t.Error("no sampler, yet a watch")
	}
	s := &Sampler{Least: 2, Every: 10}
	first, second := s.Trace(nil), s.Trace(nil)
	if first == nil || second == nil || s.Trace(nil) != nil {
		t.Error("not the first two")
	}
	s.Live(10)
	if s.Trace(nil) == nil || s.Trace(nil) != nil {
		t.Error("not one in ten more")
	}
	r := first.AddProducer()
	r.Close()
	r.Close()
	if s.Trace(nil) == nil || s.Trace(nil) != nil {
		t.Error("the place of a connection that has ended was not given to one other")
	}
}
