// Package broadcast is the whole way from a source's frames to named, numbered
// packets and the catalogs that list them, and back.
package broadcast

import (
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// Config configures a Broadcast. The zero value is good.
type Config struct {
	// Packaging is media.CMAF (default) or media.LOC.
	Packaging media.Packaging
	// Start is the time of the start, from which group ids count. It has to be set.
	Start time.Time
}

// Broadcast packs the frames of one source.
type Broadcast struct{ cfg Config }

// New returns a Broadcast of the tracks of a source.
func New(cfg Config, tracks []*media.Track) (*Broadcast, error) { return &Broadcast{cfg: cfg}, nil }

// Renditions are the tracks as they are published: video-720p, video-360p (by
// height), audio (datagrams) and audio-stream (the same as streams).
func (b *Broadcast) Renditions() []media.Rendition { return nil }

// Update takes the tracks of the source after a Discontinuity and says whether
// the catalogs changed.
func (b *Broadcast) Update(tracks []*media.Track) (changed bool, err error) { return false, nil }

// MSF is the MSF catalog, for a track named catalog.MSFTrackName.
func (b *Broadcast) MSF(now time.Time) []byte { return nil }

// Hang is the hang catalog, for a track named catalog.HangTrackName; nil if no
// rendition fits it (packaging loc).
func (b *Broadcast) Hang() []byte { return nil }

// Package returns the packets of a frame, one for each rendition of its track,
// and what happened on the way. f.Capture has to hold the time of arrival, or
// the time the frame was due. A frame that cannot be sent gives no packets.
func (b *Broadcast) Package(f media.Frame) ([]media.Packet, []media.Event, error) {
	return nil, nil, nil
}

// NewUnpackager returns the unpackager for a rendition, as listed in a catalog.
func NewUnpackager(r media.Rendition) (media.Unpackager, error) { return nil, nil }
