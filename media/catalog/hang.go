package catalog

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/moq-c4/moq-c4/media"
)

// HangTrackName is the name of the track that carries the hang catalog, one
// object in each group.
const HangTrackName = "catalog.json"

// Hang is a hang catalog. [hang] Section "Catalog"
type Hang struct {
	Video *HangMedia `json:"video,omitempty"`
	Audio *HangMedia `json:"audio,omitempty"`
}

// HangMedia is the section of one kind of media, with its renditions by track name.
type HangMedia struct {
	Renditions map[string]HangRendition `json:"renditions"`
}

// HangRendition describes one track; the fields of the other kind are empty.
type HangRendition struct {
	Codec       string        `json:"codec"`
	Container   HangContainer `json:"container"`
	Description string        `json:"description,omitempty"` // hex
	Bitrate     Integer       `json:"bitrate,omitempty"`

	// Jitter is the most by which a frame may come late for the way it was made,
	// in ms: here the length of one.
	Jitter Integer `json:"jitter,omitempty"`

	CodedWidth  Integer `json:"codedWidth,omitempty"`
	CodedHeight Integer `json:"codedHeight,omitempty"`
	Framerate   float64 `json:"framerate,omitempty"`

	SampleRate       Integer `json:"sampleRate,omitempty"`
	NumberOfChannels Integer `json:"numberOfChannels,omitempty"`

	// Broadcast is the path of another broadcast which the track is in.
	Broadcast string `json:"broadcast,omitempty"`
}

// HangContainer says how objects are framed.
type HangContainer struct {
	Kind string `json:"kind"`
	Init string `json:"init,omitempty"` // base64, with kind "cmaf"
}

// NewHang describes those renditions a hang player can take: not the datagram
// ones, and only packaging cmaf. It returns nil if none is left.
func NewHang(renditions []media.Rendition) *Hang {
	h := &Hang{}
	for _, r := range renditions {
		if r.Datagram || r.Packaging != media.CMAF {
			continue
		}
		t := r.Track
		e := HangRendition{
			Codec: t.Codec, Bitrate: Integer(bitrate(t)),
			Container:  HangContainer{Kind: "cmaf", Init: base64.StdEncoding.EncodeToString(t.Init)},
			CodedWidth: Integer(t.Width), CodedHeight: Integer(t.Height), Framerate: t.Framerate,
			SampleRate: Integer(t.SampleRate), NumberOfChannels: Integer(t.Channels),
		}
		section := &h.Audio
		if t.Kind == media.Video {
			section = &h.Video
			if t.Framerate > 0 {
				e.Jitter = Integer(math.Ceil(1000 / t.Framerate))
			}
		}
		if *section == nil {
			*section = &HangMedia{Renditions: map[string]HangRendition{}}
		}
		(*section).Renditions[r.Name] = e
	}
	if h.Video == nil && h.Audio == nil {
		return nil
	}
	return h
}

// Marshal is the catalog as JSON.
func (h *Hang) Marshal() []byte { return marshal(h) }

// ParseHang reads a catalog object. Unknown fields are ignored.
func ParseHang(data []byte) (*Hang, error) {
	h := &Hang{}
	if err := unmarshal("hang", data, h); err != nil {
		return nil, err
	}
	n := 0
	for _, s := range []*HangMedia{h.Video, h.Audio} {
		if s != nil {
			n += len(s.Renditions)
		}
	}
	if n > maxTracks {
		return nil, fmt.Errorf("hang catalog: %d tracks, more than %d (%w)", n, maxTracks, media.ErrMalformed)
	}
	return h, nil
}

// Renditions lists the tracks that this module can unpack, and says for each of
// the others why not. They are in order of kind, video first, and name. Track
// ids are the places in this order, from 1.
func (h *Hang) Renditions() (renditions []media.Rendition, skipped []error) {
	id := uint32(0)
	for _, s := range []struct {
		kind media.Kind
		*HangMedia
	}{{media.Video, h.Video}, {media.Audio, h.Audio}} {
		if s.HangMedia == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.Renditions)) {
			id++
			r, err := s.Renditions[name].rendition(name, s.kind)
			if err != nil {
				skipped = append(skipped, fmt.Errorf("hang track %q: %w", shorten(name), err))
				continue
			}
			r.Track.ID = id
			renditions = append(renditions, r)
		}
	}
	return renditions, skipped
}

func (e HangRendition) rendition(name string, kind media.Kind) (media.Rendition, error) {
	t := &media.Track{
		Kind: kind, Codec: e.Codec, Bitrate: int(e.Bitrate),
		Width: int(e.CodedWidth), Height: int(e.CodedHeight), Framerate: e.Framerate,
		SampleRate: int(e.SampleRate), Channels: int(e.NumberOfChannels),
	}
	r := media.Rendition{Name: name, Track: t}
	if e.Broadcast != "" {
		return r, fmt.Errorf("it is in another broadcast, %q (%w)", shorten(e.Broadcast), media.ErrUnsupported)
	}
	var err error
	if t.Config, err = hex.DecodeString(e.Description); err != nil {
		return r, fmt.Errorf("field %q: %w (%w)", "description", err, media.ErrMalformed)
	}
	switch e.Container.Kind {
	case "", "legacy":
		r.Packaging = media.Legacy
	case "cmaf":
		r.Packaging = media.CMAF
		init, err := base64.StdEncoding.DecodeString(e.Container.Init)
		if err != nil {
			return r, fmt.Errorf("field %q: %w (%w)", "init", err, media.ErrMalformed)
		}
		if err := useInit(t, init); err != nil {
			return r, err
		}
	default:
		return r, fmt.Errorf("container %q is not handled (%w)", shorten(e.Container.Kind), media.ErrUnsupported)
	}
	setPriority(&r)
	return r, checkTrack(t)
}
