package moqt

import (
	"context"
	"io"
	"testing"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// objects16 returns one object of a subgroup stream with properties, after those of the stream's header, in a draft.
func objects16(v wire.Version, size int) (header, object []byte) {
	h := wire.SubgroupHeader{TrackAlias: 1, GroupID: 100, HasProperties: true}
	header = h.Append(nil, v)
	props, _ := wire.AppendProperties(nil, []wire.Property{{Type: 0x10, Uint: 1_700_000_000_000_000}}, v)
	c := h.Cursor()
	c.Append(nil, &wire.ObjectHeader{}, v) // ids go up by one from here
	object, _ = c.Append(nil, &wire.ObjectHeader{ID: 1, Properties: props, PayloadLen: uint64(size)}, v)
	return header, append(object, make([]byte, size)...)
}

// What the adapter costs for an object that goes out, and for one that comes in.
func BenchmarkRewrite16(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		name := map[int]string{100: "100B", 10_000: "10kB"}[size]
		b.Run("out/"+name, func(b *testing.B) {
			header, object := objects16(adaptedVersion, size)
			w := &send16{SendStream: nullStream{context.Background()}}
			w.Write(header)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(object); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("in/"+name, func(b *testing.B) {
			header, object := objects16(wire.Draft16, size)
			r := &receive16{ReceiveStream: &repeatStream{header: header, object: object, rest: header}}
			buf := make([]byte, 16<<10)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.ReadFull(r, buf[:size]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
