package fmp4

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/moq-c4/moq-c4/media"
)

// maxBox is the largest box that is read.
const maxBox = 64 << 20

// boxReader reads top-level boxes from a stream and finds its way back when a
// stream was cut in the middle of a box and another one follows.
type boxReader struct {
	src  io.Reader     // the stream
	r    *bufio.Reader // reads it, after what is to be read again
	pos  int64         // of the next byte
	back *boxHeader    // a header that was given back
	cut  bool          // the stream ended within a box
	last []byte        // what came since the latest fragment began: the start of the next stream may hide there
}

func newBoxReader(r io.Reader) *boxReader {
	return &boxReader{src: r, r: bufio.NewReaderSize(r, 1<<16)}
}

// again puts b in front of what comes next. Readers are not stacked: a source can come back for weeks.
func (r *boxReader) again(b []byte) {
	ahead, _ := r.r.Peek(r.r.Buffered())
	b = append(bytes.Clone(b), ahead...)
	r.r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(b), r.src), 1<<16)
}

// boxHeader is a box of which only the header was read.
type boxHeader struct {
	typ  string
	pos  int64
	head []byte
	size int64 // header included
}

// header reads the header of the next box. It returns io.EOF at the end of the
// stream, also if that comes within the header.
func (r *boxReader) header() (boxHeader, error) {
	if r.back != nil {
		h := *r.back
		r.back = nil
		return h, nil
	}
	h := boxHeader{pos: r.pos}
	head := make([]byte, 8, 16)
	if err := r.full(head); err != nil {
		return h, err
	}
	h.typ, h.size = string(head[4:]), int64(binary.BigEndian.Uint32(head))
	if h.size == 1 {
		head = head[:16]
		if err := r.full(head[8:]); err != nil {
			return h, err
		}
		size := binary.BigEndian.Uint64(head[8:])
		h.size = int64(min(size, 1<<62))
	}
	h.head = head
	switch {
	case !printable(h.typ):
		return h, malformed(h.typ, h.pos, "this is not the start of a box")
	case h.size == 0:
		return h, malformed(h.typ, h.pos, "size 0 (to the end of the file) is not possible in a live stream")
	case h.size < int64(len(head)):
		return h, malformed(h.typ, h.pos, "size %d is less than its header", h.size)
	case h.size > maxBox:
		return h, malformed(h.typ, h.pos, "size %d is more than the limit of %d", h.size, maxBox)
	}
	return h, nil
}

// printable tells whether a box type consists of characters that types have.
func printable(typ string) bool {
	for i := range len(typ) {
		if c := typ[i]; (c < ' ' || c > '~') && c != 0xa9 {
			return false
		}
	}
	return true
}

// body appends the whole box to b. Memory grows with what really arrives, not
// with what the header says.
func (r *boxReader) body(b []byte, h boxHeader) ([]byte, error) {
	w := bytes.NewBuffer(append(b, h.head...))
	want := h.size - int64(len(h.head))
	w.Grow(int(min(want, 1<<20)))
	n, err := io.CopyN(w, r.r, want)
	r.pos += n
	if err != nil {
		return nil, r.eof(err, true)
	}
	return w.Bytes(), nil
}

// maxKept is the largest box that skip keeps for resync.
const maxKept = 1 << 20

// skip passes over a box of a type that does not matter.
func (r *boxReader) skip(h boxHeader) error {
	if h.size <= maxKept && len(r.last) <= maxBox {
		last, err := r.body(r.last, h)
		r.last = last
		return err
	}
	r.last = nil
	n, err := io.CopyN(io.Discard, r.r, h.size-int64(len(h.head)))
	r.pos += n
	return r.eof(err, true)
}

// unread gives back the header that was read last.
func (r *boxReader) unread(h boxHeader) { r.back = &h }

// hidesFtyp tells whether the box is none but the start of the next stream, of
// which the box before has the first bytes.
func (r *boxReader) hidesFtyp(h boxHeader) bool {
	next, _ := r.r.Peek(ftypHead)
	around := append([]byte(nil), r.last[max(0, len(r.last)-ftypHead):]...)
	return findFtyp(append(append(around, h.head...), next...)) >= 0
}

func (r *boxReader) full(b []byte) error {
	n, err := io.ReadFull(r.r, b)
	r.pos += int64(n)
	return r.eof(err, n > 0)
}

// eof makes an end in the middle of a box an ordinary end, of which cut tells: that is how a live source ends that is killed.
func (r *boxReader) eof(err error, within bool) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	if errors.Is(err, io.EOF) && within {
		r.cut = true
	}
	return err
}

// maxResync is how far the start of the next stream is looked for.
const maxResync = maxBox

// resync is called when what was read last, h at the end of it, makes no sense. If a source was killed in
// the middle of a fragment and another one goes on writing to the same pipe, its
// ftyp lies within the box that was read last, or further on. resync sets the
// reader to that ftyp, or gives up with cause.
func (r *boxReader) resync(h boxHeader, cause error) error {
	seen := append(append([]byte(nil), r.last...), h.head...)
	from := r.pos - int64(len(seen))
	r.last = nil
	if i := findFtyp(seen); i >= 0 {
		r.pos = from + int64(i)
		r.again(seen[i:])
		return nil
	}
	// Slide a window of the length of a short ftyp over the rest.
	window := seen[max(0, len(seen)-ftypHead+1):]
	for range maxResync {
		c, err := r.r.ReadByte()
		if err != nil {
			return cause
		}
		r.pos++
		window = append(window[max(0, len(window)-ftypHead+1):], c)
		if findFtyp(window) == 0 {
			r.pos -= int64(len(window))
			r.again(window)
			return nil
		}
	}
	return fmt.Errorf("no start of a stream in %d bytes after: %w", maxResync, cause)
}

// ftypHead is how many bytes of an ftyp box are looked at: size, type and brand.
const ftypHead = 12

// findFtyp is the index of the first ftyp box in b, or -1.
func findFtyp(b []byte) int {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte("ftyp"))
		if i < 0 {
			return -1
		}
		i += from
		if i >= 4 && len(b)-i >= ftypHead-4 {
			size := binary.BigEndian.Uint32(b[i-4:])
			if size >= 16 && size <= 1024 && printable(string(b[i+4:i+8])) {
				return i - 4
			}
		}
		from = i + 4
	}
}

// errNotFragmented is for media data that no moof announces.
func errNotFragmented(h boxHeader) error {
	return fmt.Errorf("box %q at offset %d: media data without a moof before it: the MP4 file is not fragmented (%w)", h.typ, h.pos, media.ErrUnsupported)
}
