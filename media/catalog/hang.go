package catalog

import "github.com/moq-c4/moq-c4/media"

// HangTrackName is the name of the track that carries the hang catalog.
const HangTrackName = "catalog.json"

// Hang is a hang catalog ([hang] Section "Catalog"). Renditions are by track name.
type Hang struct {
	Video *HangVideo `json:"video,omitempty"`
	Audio *HangAudio `json:"audio,omitempty"`
}

// HangVideo is the video section.
type HangVideo struct {
	Renditions map[string]HangRendition `json:"renditions"`
}

// HangAudio is the audio section.
type HangAudio struct {
	Renditions map[string]HangRendition `json:"renditions"`
}

// HangRendition describes one track; the fields of the other kind are empty.
type HangRendition struct {
	Codec       string        `json:"codec"`
	Container   HangContainer `json:"container"`
	Description string        `json:"description,omitempty"` // hex
	Bitrate     int           `json:"bitrate,omitempty"`
	Jitter      int           `json:"jitter,omitempty"` // ms

	CodedWidth  int     `json:"codedWidth,omitempty"`
	CodedHeight int     `json:"codedHeight,omitempty"`
	Framerate   float64 `json:"framerate,omitempty"`

	SampleRate       int `json:"sampleRate,omitempty"`
	NumberOfChannels int `json:"numberOfChannels,omitempty"`
}

// HangContainer says how objects are framed.
type HangContainer struct {
	Kind string `json:"kind"`
	Init string `json:"init,omitempty"` // base64, with kind "cmaf"
}

// NewHang describes those renditions a hang player can take: not the datagram
// ones, and only packaging cmaf. It returns nil if none is left.
func NewHang(renditions []media.Rendition) *Hang { return nil }

// Marshal is the catalog as JSON.
func (h *Hang) Marshal() []byte { return nil }

// ParseHang reads a catalog object. Unknown fields are ignored.
func ParseHang(data []byte) (*Hang, error) { return &Hang{}, nil }

// Renditions lists the tracks that this package can unpack, and says for each of
// the others why not.
func (h *Hang) Renditions() (renditions []media.Rendition, skipped []error) { return nil, nil }
