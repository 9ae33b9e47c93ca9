package moqt

import (
	"errors"
	"io"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// SubgroupReader receives the objects of one stream. One goroutine reads; Stop may be called from others.
// It must be read to its end or stopped.
type SubgroupReader struct {
	d      *dataReader
	sub    *Subscription // set before the application sees it
	wire   wire.SubgroupHeader
	header SubgroupHeader
	cursor wire.SubgroupCursor
}

// serveSubgroup reads the header of a subgroup stream and hands the stream to its subscription.
func (s *Session) serveSubgroup(d *dataReader) {
	r := &SubgroupReader{d: d}
	err := d.header(func(b []byte) (n int, err error) {
		r.wire, n, err = wire.ConsumeSubgroupHeader(b, s.version)
		return n, err
	})
	if err != nil {
		return
	}
	d.objects = true
	r.cursor = r.wire.Cursor()
	priority, hasPriority := r.wire.Priority.Get()
	r.header = SubgroupHeader{
		Group:       r.wire.GroupID,
		Subgroup:    r.wire.SubgroupID, // zero if it is not in the header
		Priority:    priority,
		HasPriority: hasPriority,
		Properties:  r.wire.HasProperties,
		EndOfGroup:  r.wire.EndOfGroup,
		FirstObject: r.wire.FirstObject,
	}
	s.logSubgroup("parsed", r.wire.TrackAlias, &r.header)
	s.placeSubgroup(r)
}

// Header returns what the stream says about its objects.
func (r *SubgroupReader) Header() SubgroupHeader { return r.header }

// SubgroupKnown reports whether Header().Subgroup has its value already. It can be the id of the first object; then it is known after
// the first Next.
func (r *SubgroupReader) SubgroupKnown() bool {
	_, started := r.cursor.Last()
	return started || r.wire.IDMode != wire.SubgroupIDFirstObject
}

// Next skips what is left of the current object and returns the next. It returns io.EOF after a FIN, and a [*StreamError]
// after a reset.
func (r *SubgroupReader) Next() (ObjectHeader, error) {
	if err := r.d.skipPayload(); err != nil {
		return ObjectHeader{}, r.ended(err)
	}
	for {
		known := r.SubgroupKnown()
		o, n, err := r.cursor.Consume(r.d.buffered(), r.d.s.version)
		if err == nil {
			if !known {
				r.header.Subgroup = o.ID
			}
			r.d.take(n)
			r.d.left = o.PayloadLen
			return ObjectHeader{ID: o.ID, Properties: o.Properties, PayloadLen: o.PayloadLen, Status: o.Status}, nil
		}
		if !errors.Is(err, wire.ErrTruncated) {
			return ObjectHeader{}, r.ended(r.d.broken(err))
		}
		begun := len(r.d.buffered()) > 0
		if err := r.d.fill(); err != nil {
			return ObjectHeader{}, r.ended(r.d.finished(err, begun))
		}
	}
}

// ReadChunk returns the next piece of the current object's payload as soon as there is one, and io.EOF at the end of the
// object. The bytes are valid until the next call of any method.
func (r *SubgroupReader) ReadChunk() ([]byte, error) {
	b, err := r.d.chunk()
	return b, r.ended(err)
}

// Read reads from the payload of the current object, as io.Reader. It returns io.EOF at the end of the object.
func (r *SubgroupReader) Read(b []byte) (int, error) {
	n, err := r.d.readPayload(b)
	return n, r.ended(err)
}

// ended takes the stream off the subscription's books if nothing more comes. It returns err.
func (r *SubgroupReader) ended(err error) error {
	if err != nil && r.d.err != nil {
		r.sub.forget(r)
	}
	return err
}

// Stop asks the publisher to send no more of this subgroup.
func (r *SubgroupReader) Stop(code wire.StreamCode) {
	r.d.stream.Stop(uint64(code))
	if r.sub != nil {
		r.sub.forget(r)
	}
}

// SetReadDeadline sets when a blocked read gives up; the error then matches os.ErrDeadlineExceeded, and reading may go on
// after a new deadline was set.
func (r *SubgroupReader) SetReadDeadline(t time.Time) error { return r.d.stream.SetReadDeadline(t) }

var _ io.Reader = (*SubgroupReader)(nil)
