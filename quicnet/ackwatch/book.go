package ackwatch

import (
	"slices"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

// Bounds of a book. What is beyond them is not told of.
const (
	maxStreams   = 4096 // with something that is not acknowledged
	maxGaps      = 256  // of a stream
	maxPackets   = 1 << 15
	maxDatagrams = 256 // handed to quic-go and not sent yet
)

// Acked is called when something was acknowledged. It runs on the connection's goroutine and must return at once.
type Acked = func(at time.Time)

// book knows what was sent and what of it was acknowledged. It is pure; its owner has a lock.
type book struct {
	streams   map[quic.StreamID]*stream
	packets   map[qlog.PacketNumber]content
	sent      []qlog.PacketNumber // those in packets, and some that no longer are, in order
	datagrams []datagram
}

// content is what there was to be told of in a packet.
type content struct {
	parts     []part
	datagrams []Acked
}

// part is a piece of a stream.
type part struct {
	id       quic.StreamID
	from, to int64
}

// span are bytes of a stream, without the last.
type span struct{ from, to int64 }

type stream struct {
	acked int64  // all before this is acknowledged
	gaps  []span // acknowledged behind that, in order
	fin   int64  // length, or -1
	marks []mark // in order of their offsets
}

type mark struct {
	end  int64
	done Acked
}

// datagram is one that quic-go has taken.
type datagram struct {
	bytes int64
	done  Acked // nil if nobody wants to know
}

func newBook() *book {
	return &book{streams: make(map[quic.StreamID]*stream), packets: make(map[qlog.PacketNumber]content)}
}

func (b *book) stream(id quic.StreamID) *stream {
	s := b.streams[id]
	if s == nil && len(b.streams) < maxStreams {
		s = &stream{fin: -1}
		b.streams[id] = s
	}
	return s
}

// mark asks for a call when the stream is acknowledged up to end. It reports whether that is so already.
func (b *book) mark(id quic.StreamID, end int64, done Acked) (already bool) {
	s := b.stream(id)
	if s == nil {
		return false
	}
	if s.acked >= end {
		return true
	}
	s.marks = append(s.marks, mark{end, done})
	return false
}

// datagram notes that the next datagram is handed to quic-go.
func (b *book) datagram(bytes int, done Acked) {
	if len(b.datagrams) == maxDatagrams {
		b.datagrams = slices.Delete(b.datagrams, 0, 1)
	}
	b.datagrams = append(b.datagrams, datagram{int64(bytes), done})
}

// undo takes the last datagram back: quic-go has not taken it.
func (b *book) undo() {
	if n := len(b.datagrams); n > 0 {
		b.datagrams = b.datagrams[:n-1]
	}
}

// onSent notes a packet.
func (b *book) onSent(number qlog.PacketNumber, frames []qlog.Frame) {
	var c content
	for _, f := range frames {
		switch f := f.Frame.(type) {
		case *qlog.StreamFrame:
			s := b.stream(f.StreamID)
			if s == nil {
				continue
			}
			if f.Fin {
				s.fin = f.Offset + f.Length
			}
			c.parts = append(c.parts, part{f.StreamID, f.Offset, f.Offset + f.Length})
		case *qlog.DatagramFrame:
			if done := b.nextDatagram(f.Length); done != nil {
				c.datagrams = append(c.datagrams, done)
			}
		case *qlog.ResetStreamFrame:
			delete(b.streams, f.StreamID)
		}
	}
	if len(c.parts)+len(c.datagrams) == 0 || len(b.packets) >= maxPackets {
		return
	}
	b.packets[number] = c
	b.sent = append(b.sent, number)
}

// maxOverhead is by how much a transport on top of QUIC may make a datagram longer, in bytes.
const maxOverhead = 8

// nextDatagram finds which datagram is sent, by its length: quic-go throws away without a word what does not fit into a
// packet any more.
func (b *book) nextDatagram(bytes int64) Acked {
	for i, d := range b.datagrams {
		if bytes >= d.bytes && bytes <= d.bytes+maxOverhead {
			b.datagrams = slices.Delete(b.datagrams, 0, i+1)
			return d.done
		}
	}
	return nil
}

// onLost forgets a packet. Its streams' data will be in another.
func (b *book) onLost(number qlog.PacketNumber) { delete(b.packets, number) }

// onAck takes an acknowledgement and returns what is to be called.
func (b *book) onAck(f *qlog.AckFrame) (done []Acked) {
	if len(f.AckRanges) == 0 {
		return nil
	}
	largest := f.LargestAcked()
	kept := b.sent[:0]
	for i, number := range b.sent {
		if number > largest {
			kept = append(kept, b.sent[i:]...)
			break
		}
		c, open := b.packets[number]
		switch {
		case !open: // lost meanwhile
		case f.AcksPacket(number):
			delete(b.packets, number)
			done = append(done, c.datagrams...)
			for _, p := range c.parts {
				done = b.acked(p, done)
			}
		case largest-number > maxPackets:
			delete(b.packets, number)
		default:
			kept = append(kept, number)
		}
	}
	b.sent = kept
	return done
}

// acked notes a part of a stream, and appends what is to be called.
func (b *book) acked(p part, done []Acked) []Acked {
	s := b.streams[p.id]
	if s == nil {
		return done
	}
	if p.from > s.acked {
		if len(s.gaps) < maxGaps {
			i, _ := slices.BinarySearchFunc(s.gaps, p.from, func(g span, from int64) int { return int(g.from - from) })
			s.gaps = slices.Insert(s.gaps, i, span{p.from, p.to})
		}
		return done
	}
	s.acked = max(s.acked, p.to)
	n := 0
	for n < len(s.gaps) && s.gaps[n].from <= s.acked {
		s.acked = max(s.acked, s.gaps[n].to)
		n++
	}
	s.gaps = slices.Delete(s.gaps, 0, n)
	n = 0
	for n < len(s.marks) && s.marks[n].end <= s.acked {
		done = append(done, s.marks[n].done)
		n++
	}
	s.marks = slices.Delete(s.marks, 0, n)
	if s.fin >= 0 && s.acked >= s.fin {
		delete(b.streams, p.id)
	}
	return done
}
