package media

// Kind is what a track carries.
type Kind uint8

// The kinds of tracks. The zero value is no kind.
const (
	Video Kind = iota + 1
	Audio
)

// String gives the role name of the catalogs: "video" or "audio".
func (k Kind) String() string {
	switch k {
	case Video:
		return "video"
	case Audio:
		return "audio"
	}
	return "unknown"
}

// Track describes one track of a source. It is not changed once handed out: a
// source that starts over with other parameters hands out new Tracks.
type Track struct {
	// ID tells the tracks of one source or catalog apart. It stays the same when
	// the source starts over. In MP4 it is the track_ID, which Init and
	// Frame.Raw carry too; in a catalog it is the place in the list.
	ID   uint32
	Kind Kind

	// Codec is the WebCodecs codec string, such as "avc1.42c01e" or "opus".
	Codec string

	// Timescale is the number of units per second of the frames' times.
	Timescale uint32

	// Config is the decoder configuration as WebCodecs calls it (description):
	// the content of avcC, hvcC, av1C or vpcC, the AudioSpecificConfig of AAC, the
	// identification header of Opus.
	Config []byte

	// Init is the CMAF header of this track alone: ftyp and moov with this trak
	// and its trex. It holds no edit list, since frame times have it applied.
	Init []byte

	// Video. A frame rate of 0 means unknown or variable.
	Width, Height int
	Framerate     float64

	// Audio.
	SampleRate, Channels int

	// Bitrate is the highest rate in bit/s, 0 if unknown.
	Bitrate int

	// Language is an ISO 639-2 code ("deu"), empty if not known.
	Language string

	// Label tells tracks of one kind apart when neither size nor language does.
	Label string

	// Priming is how much of the decoded sound at the very start of the source is
	// to be thrown away, in units of Timescale (AAC encoder delay, Opus pre-skip).
	Priming int64
}
