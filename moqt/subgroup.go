package moqt

import (
	"context"
	"time"

	"github.com/moq-c4/moq-c4/moqt/wire"
)

// SubgroupHeader is what is said once about the objects of a stream.
type SubgroupHeader struct {
	Group    uint64
	Subgroup uint64

	// Priority is the publisher's. To send the track's default, leave HasPriority unset. When received, Priority is
	// always right: the track's default if HasPriority is not set.
	Priority    uint8
	HasPriority bool

	Properties  bool // objects have a Properties field, if only an empty one
	EndOfGroup  bool // the last object before FIN is the last of the group
	FirstObject bool // the first object of the stream is the first of the subgroup
}

// ObjectHeader is what comes before the payload of an object on a subgroup stream.
type ObjectHeader struct {
	ID         uint64
	Properties wire.Properties // when received: valid until the next call of Next
	PayloadLen uint64          // when sent: taken from the payload
	Status     wire.ObjectStatus
}

// SubgroupWriter sends the objects of one stream. One goroutine writes; Reset, SetWriteDeadline and Context may be called
// from others.
//
// The header is held back until the first Write, so that it goes out with the first object, and survives a reset where the transport
// can do that.
type SubgroupWriter struct{}

// Write sends bytes of objects that are encoded already, headers included. b need not hold whole objects.
// The errors are those of [SendStream].
func (w *SubgroupWriter) Write(b []byte) (int, error) { panic("not written") }

// WriteObject sends an object. Ids must rise. It does not go together with Write on the same stream.
func (w *SubgroupWriter) WriteObject(h ObjectHeader, payload []byte) error { panic("not written") }

// Close ends the stream: it holds all objects of the subgroup that the subscriber wants.
func (w *SubgroupWriter) Close() error { panic("not written") }

// Reset abandons the stream: not all objects were written. The header is delivered even so if the transport can do that, also
// if no object was written.
func (w *SubgroupWriter) Reset(code wire.StreamCode) { panic("not written") }

// SetWriteDeadline sets when a blocked Write gives up; the error then matches os.ErrDeadlineExceeded.
func (w *SubgroupWriter) SetWriteDeadline(t time.Time) error { panic("not written") }

// Context ends when the stream is finished, reset or stopped by the peer.
func (w *SubgroupWriter) Context() context.Context { panic("not written") }

// SubgroupReader receives the objects of one stream. One goroutine reads; Stop may be called from others.
// It must be read to its end or stopped.
type SubgroupReader struct{}

// Header returns what the stream says about its objects. If HasSubgroup is false, the subgroup is the id of the first object and is
// known after the first Next.
func (r *SubgroupReader) Header() SubgroupHeader { panic("not written") }

// SubgroupKnown reports whether Header().Subgroup has its value already.
func (r *SubgroupReader) SubgroupKnown() bool { panic("not written") }

// Next skips what is left of the current object and returns the next. It returns io.EOF after a FIN, and a [*StreamError]
// after a reset.
func (r *SubgroupReader) Next() (ObjectHeader, error) { panic("not written") }

// ReadChunk returns the next piece of the current object's payload as soon as there is one, and io.EOF at the end of the
// object. The bytes are valid until the next call of any method.
func (r *SubgroupReader) ReadChunk() ([]byte, error) { panic("not written") }

// Read reads from the payload of the current object, as io.Reader. It returns io.EOF at the end of the object.
func (r *SubgroupReader) Read(b []byte) (int, error) { panic("not written") }

// Stop asks the publisher to send no more of this subgroup.
func (r *SubgroupReader) Stop(code wire.StreamCode) { panic("not written") }

// SetReadDeadline sets when a blocked read gives up; the error then matches os.ErrDeadlineExceeded, and reading may go on
// after a new deadline was set.
func (r *SubgroupReader) SetReadDeadline(t time.Time) error { panic("not written") }
