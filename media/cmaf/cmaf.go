// Package cmaf packs frames as CMAF chunks, one moof and mdat each, and unpacks them.
package cmaf

import "github.com/moq-c4/moq-c4/media"

// Packager implements media.Packager.
type Packager struct{}

// Pack implements media.Packager.
func (Packager) Pack(f media.Frame, first bool) ([]byte, []media.Property, error) {
	return nil, nil, nil
}

// Unpackager implements media.Unpackager.
type Unpackager struct{ track *media.Track }

// NewUnpackager returns an Unpackager for a track with an Init.
func NewUnpackager(track *media.Track) (*Unpackager, error) { return &Unpackager{track: track}, nil }

// Unpack implements media.Unpackager.
func (u *Unpackager) Unpack(p media.Packet) ([]media.Frame, error) { return nil, nil }
