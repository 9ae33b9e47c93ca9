package fmp4

import (
	"encoding/binary"
	"fmt"

	"github.com/moq-c4/moq-c4/media"
)

// box is one box inside a buffer. [BMFF] Section 4.2, Object Structure
type box struct {
	typ  string
	pos  int64  // of its first byte in the stream, for messages
	raw  []byte // header included
	body []byte
}

// errorf is an error about this box.
func (b box) errorf(format string, args ...any) error {
	return malformed(b.typ, b.pos, format, args...)
}

func malformed(typ string, pos int64, format string, args ...any) error {
	return fmt.Errorf("box %q at offset %d: %s (%w)", typ, pos, fmt.Sprintf(format, args...), media.ErrMalformed)
}

// bodyPos is the offset of the body in the stream.
func (b box) bodyPos() int64 { return b.pos + int64(len(b.raw)-len(b.body)) }

// nextBox takes the first box off data, which lies at pos in the stream.
func nextBox(data []byte, pos int64) (b box, rest []byte, err error) {
	if len(data) < 8 {
		return box{}, nil, malformed("?", pos, "%d bytes left where a box header needs 8", len(data))
	}
	size, head := uint64(binary.BigEndian.Uint32(data)), 8
	typ := string(data[4:8])
	if size == 1 {
		if len(data) < 16 {
			return box{}, nil, malformed(typ, pos, "ends within its header")
		}
		size, head = binary.BigEndian.Uint64(data[8:]), 16
	}
	if size < uint64(head) || size > uint64(len(data)) {
		return box{}, nil, malformed(typ, pos, "size %d, but %d bytes are there", size, len(data))
	}
	return box{typ: typ, pos: pos, raw: data[:size:size], body: data[head:size:size]}, data[size:], nil
}

// children splits data, the content of a box at pos, into boxes.
func children(data []byte, pos int64) ([]box, error) {
	var out []box
	for len(data) > 0 {
		b, rest, err := nextBox(data, pos)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
		pos += int64(len(b.raw))
		data = rest
	}
	return out, nil
}

// find follows path through first children. It reports false if there is none.
func (b box) find(path ...string) (box, bool, error) {
	for _, typ := range path {
		kids, err := children(b.body, b.bodyPos())
		if err != nil {
			return box{}, false, err
		}
		found := false
		for _, k := range kids {
			if k.typ == typ {
				b, found = k, true
				break
			}
		}
		if !found {
			return box{}, false, nil
		}
	}
	return b, true, nil
}

// need is find for a box that has to be there.
func (b box) need(path ...string) (box, error) {
	c, ok, err := b.find(path...)
	if err == nil && !ok {
		err = b.errorf("has no %v", path)
	}
	return c, err
}

// cursor reads big-endian fields. After a read past the end every value is 0 and
// short is true, so that callers check once.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || len(c.b) < n {
		c.short, c.b = true, nil
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) skip(n int) { c.take(n) }

func (c *cursor) u8() uint8 {
	if v := c.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if v := c.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if v := c.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if v := c.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

// fullBox reads version and flags. [BMFF] Section 4.2, FullBox
func (c *cursor) fullBox() (version uint8, flags uint32) {
	v := c.u32()
	return uint8(v >> 24), v & 0xffffff
}

// appendBox appends a box whose body is appended by fill.
func appendBox(b []byte, typ string, fill func(b []byte) []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = append(b, typ...)
	b = fill(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

// appendFull is appendBox for a box that starts with version and flags.
func appendFull(b []byte, typ string, version uint8, flags uint32, fill func(b []byte) []byte) []byte {
	return appendBox(b, typ, func(b []byte) []byte {
		return fill(be32(b, uint32(version)<<24|flags))
	})
}

var (
	be16 = binary.BigEndian.AppendUint16
	be32 = binary.BigEndian.AppendUint32
	be64 = binary.BigEndian.AppendUint64
)
