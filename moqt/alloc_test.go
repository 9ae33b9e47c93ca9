package moqt

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// nullConn takes everything and says nothing, so that what a session allocates itself can be counted.
type nullConn struct{ ctx context.Context }

func (c nullConn) OpenStream(context.Context) (Stream, error)        { return nullStream(c), nil }
func (c nullConn) OpenUniStream(context.Context) (SendStream, error) { return nullStream(c), nil }
func (c nullConn) AcceptStream(ctx context.Context) (Stream, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c nullConn) AcceptUniStream(ctx context.Context) (ReceiveStream, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (c nullConn) SendDatagram([]byte) error { return nil }
func (c nullConn) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (c nullConn) Close(uint64, string) error { return nil }
func (c nullConn) Context() context.Context   { return c.ctx }
func (c nullConn) Info() ConnInfo {
	return ConnInfo{Protocol: "moqt-18", Server: true, RemoteAddr: &net.UDPAddr{}}
}

type nullStream struct{ ctx context.Context }

func (nullStream) Write(b []byte) (int, error)      { return len(b), nil }
func (nullStream) Read([]byte) (int, error)         { return 0, io.EOF }
func (nullStream) Close() error                     { return nil }
func (nullStream) Reset(uint64)                     {}
func (nullStream) Stop(uint64)                      {}
func (nullStream) SetReliableBoundary()             {}
func (nullStream) SetPriority(uint8)                {}
func (nullStream) SetWriteDeadline(time.Time) error { return nil }
func (nullStream) SetReadDeadline(time.Time) error  { return nil }
func (s nullStream) Context() context.Context       { return s.ctx }

// repeatStream yields a header and then the same object for ever.
type repeatStream struct {
	nullStream
	header, object, rest []byte
}

func (s *repeatStream) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		s.rest = s.object
	}
	if s.header != nil {
		s.rest, s.header = s.header, nil
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// nullPublication is an established publication on a nullConn.
func nullPublication(tb testing.TB) *Publication {
	ctx, cancel := context.WithCancel(context.Background())
	s := New(nullConn{ctx}, Config{})
	done := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(done)
	}()
	tb.Cleanup(func() {
		cancel()
		<-done
	})
	h := s.newHandle(nullStream{ctx}, false)
	p := s.newPublication(h, trackA)
	h.setRole(p)
	p.alias = s.takeAlias()
	p.initialState(true)
	return p
}

// nullReader is the reader of a stream on which the same object repeats.
func nullReader(tb testing.TB, payload int) *SubgroupReader {
	s := New(nullConn{context.Background()}, Config{})
	sub := s.newSubscription(trackA)
	if err := sub.bind(7); err != nil {
		tb.Fatal(err)
	}
	object := []byte{0, 2, 2, 9}
	object = wire.AppendVarint(object, uint64(payload))
	object = append(object, bytes.Repeat([]byte("x"), payload)...)
	stream := &repeatStream{header: []byte{0x71, 7, 5}, object: object}
	s.serveSubgroup(newDataReader(s, stream))
	in, err := sub.Next(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return in.Subgroup
}

func wantAllocs(t *testing.T, what string, most float64, f func()) {
	t.Helper()
	f() // fills pools
	if got := testing.AllocsPerRun(1000, f); got > most {
		t.Errorf("%s: %v allocations, want at most %v", what, got, most)
	}
}

// What an object costs, beside what the transport does.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget under the race detector")
	}
	p := nullPublication(t)
	small, big := make([]byte, 80), make([]byte, 60_000)
	w, err := p.OpenSubgroup(t.Context(), SubgroupHeader{Properties: true})
	if err != nil {
		t.Fatal(err)
	}
	props := wire.Properties{2, 9}
	id := uint64(0)
	writeObject := func(b []byte) func() {
		return func() {
			w.WriteObject(ObjectHeader{ID: id, Properties: props}, b)
			id++
		}
	}
	wantAllocs(t, "WriteObject, small", 0, writeObject(small))
	wantAllocs(t, "WriteObject, big", 0, writeObject(big))
	wantAllocs(t, "Write", 0, func() { w.Write(big) })
	wantAllocs(t, "SendDatagram", 0, func() { p.SendDatagram(Datagram{Group: 1, Properties: props, Payload: small}) })

	for _, size := range []int{80, 60_000} {
		r := nullReader(t, size)
		wantAllocs(t, "read an object by chunks", 0, func() {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			for {
				if _, err := r.ReadChunk(); err != nil {
					break
				}
			}
		})
		buf := make([]byte, 64<<10)
		wantAllocs(t, "read an object", 0, func() {
			r.Next()
			for {
				if _, err := r.Read(buf); err != nil {
					break
				}
			}
		})
	}

	s := New(nullConn{context.Background()}, Config{})
	sub := s.newSubscription(trackA)
	if err := sub.bind(7); err != nil {
		t.Fatal(err)
	}
	datagram := unhex(`03 07 05 06 09 02 0209 "d"`)
	// The Datagram itself.
	wantAllocs(t, "receive a datagram", 1, func() {
		if err := s.takeDatagram(datagram); err != nil {
			t.Fatal(err)
		}
		if _, err := sub.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	// The stream, its entries in the books, and what ends it.
	wantAllocs(t, "open and close a subgroup", 10, func() {
		w, err := p.OpenSubgroup(t.Context(), SubgroupHeader{})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		w.forget()
	})
}

func BenchmarkWriteObject(b *testing.B) {
	p := nullPublication(b)
	w, err := p.OpenSubgroup(b.Context(), SubgroupHeader{})
	if err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 3750)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for id := uint64(0); b.Loop(); id++ {
		w.WriteObject(ObjectHeader{ID: id}, payload)
	}
}

func BenchmarkSendDatagram(b *testing.B) {
	p := nullPublication(b)
	payload := make([]byte, 80)
	b.ReportAllocs()
	for id := uint64(0); b.Loop(); id++ {
		p.SendDatagram(Datagram{Group: 1, Object: id, Payload: payload})
	}
}

func BenchmarkReadObject(b *testing.B) {
	r := nullReader(b, 3750)
	b.SetBytes(3750)
	b.ReportAllocs()
	for b.Loop() {
		r.Next()
		for {
			if _, err := r.ReadChunk(); err != nil {
				break
			}
		}
	}
}
