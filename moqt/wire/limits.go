package wire

import "math"

// Limits of the draft. A peer that goes above one is closed for it, before
// anything is allocated.
const (
	// MaxMessageLen is the largest body of a control message in bytes.
	// [MOQT-18] Section 10, Control Messages (Message Length is 16 bits)
	MaxMessageLen = math.MaxUint16

	// MaxNamespaceFields is the largest number of fields of a namespace.
	// [MOQT-18] Section 2.4.1, Track Naming
	MaxNamespaceFields = 32

	// MaxNameLen is the largest sum of the lengths of a namespace's fields and
	// the track name, in bytes.
	// [MOQT-18] Section 2.4.1, Track Naming
	MaxNameLen = 4096

	// MaxPropertyLen is the largest value of a key-value pair in bytes.
	// [MOQT-18] Section 1.4.3, Key-Value-Pair Structure
	MaxPropertyLen = math.MaxUint16

	// MaxReasonLen is the largest reason phrase in bytes.
	// [MOQT-18] Section 1.4.4, Reason Phrase Structure
	MaxReasonLen = 1024

	// MaxURILen is the largest New Session URI of a GOAWAY in bytes. It is also
	// applied to the Connect URI of a Redirect, for which the draft has no limit.
	// [MOQT-18] Section 10.4, GOAWAY
	MaxURILen = 8192
)

// Limits of this package, where the draft has none. Above them: [ErrTooLarge].
const (
	// MaxObjectPropertiesLen is the largest Properties of one object in bytes.
	// They are needed whole, so they bound what a stream's reader buffers.
	MaxObjectPropertiesLen = 1 << 17

	// MaxStreamHeaderLen is the longest header a subgroup or fetch stream can
	// start with, in bytes: type, alias, group, subgroup, priority.
	MaxStreamHeaderLen = 4*maxVarintLen + 1

	// MaxObjectHeaderLen is the longest object header on a stream in bytes.
	MaxObjectHeaderLen = 6*maxVarintLen + 1 + MaxObjectPropertiesLen

	// maxFrameHeaderLen is the longest type and length of a control message.
	maxFrameHeaderLen = maxVarintLen + 2
)
