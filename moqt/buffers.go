package moqt

import "sync"

// Sizes of the buffers that are kept for reuse.
const (
	scratchSize    = 2 << 10  // to encode a message, or a header with a small payload
	readBufferSize = 16 << 10 // to read a data stream
)

var (
	scratchPool    = sync.Pool{New: func() any { b := make([]byte, 0, scratchSize); return &b }}
	readBufferPool = sync.Pool{New: func() any { return new([readBufferSize]byte) }}
)

func getBuffer() *[]byte { return scratchPool.Get().(*[]byte) }

// putBuffer keeps b for reuse, unless it has grown large.
func putBuffer(b *[]byte) {
	if cap(*b) <= 2*scratchSize {
		*b = (*b)[:0]
		scratchPool.Put(b)
	}
}
