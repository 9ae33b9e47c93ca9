// Package broadcast is the whole way from a source's frames to named, numbered
// packets and the catalogs that list them, and back.
package broadcast

import (
	"fmt"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/media/catalog"
	"github.com/moq-c4/moq-c4/media/cmaf"
	"github.com/moq-c4/moq-c4/media/loc"
)

// Config configures a Broadcast.
type Config struct {
	// Packaging is media.CMAF (default) or media.LOC. Tracks that have no CMAF
	// header, as those of package synthetic, go as LOC either way.
	Packaging media.Packaging

	// Start is the time of the start, from which group ids count. It has to be set.
	Start time.Time
}

// Broadcast packs the frames of one source. It is for one goroutine.
type Broadcast struct {
	cfg        Config
	timeline   *media.Timeline
	grouper    *media.Grouper
	renditions []media.Rendition
	tracks     map[uint32]*trackState // by media.Track.ID
}

// trackState is what a track of the source needs to be packed.
type trackState struct {
	renditions []media.Rendition
	packager   media.Packager
	misaligned bool
	waiting    bool // EventNoKey was reported
}

// New returns a Broadcast of the tracks of a source.
func New(cfg Config, tracks []*media.Track) (*Broadcast, error) {
	if cfg.Packaging == "" {
		cfg.Packaging = media.CMAF
	}
	if cfg.Packaging != media.CMAF && cfg.Packaging != media.LOC {
		return nil, fmt.Errorf("packaging %q: have %q and %q (%w)", cfg.Packaging, media.CMAF, media.LOC, media.ErrUnsupported)
	}
	b := &Broadcast{
		cfg:      cfg,
		timeline: media.NewTimeline(media.TimelineConfig{}),
		grouper:  media.NewGrouper(cfg.Start),
		tracks:   map[uint32]*trackState{},
	}
	_, err := b.Update(tracks)
	return b, err
}

// Renditions are the tracks as they are published; see the names in renditions.go.
func (b *Broadcast) Renditions() []media.Rendition { return b.renditions }

// Update takes the tracks of the source after it has started over and says
// whether the catalogs changed. Groups go on where they were.
func (b *Broadcast) Update(tracks []*media.Track) (changed bool, err error) {
	if len(tracks) == 0 {
		return false, fmt.Errorf("the source has no tracks (%w)", media.ErrUnsupported)
	}
	before := b.listing()
	states := map[uint32]*trackState{}
	for _, t := range tracks {
		st := b.tracks[t.ID]
		if st == nil {
			st = &trackState{packager: b.newPackager(t)}
		}
		st.renditions, st.misaligned = nil, false
		states[t.ID] = st
	}
	b.tracks = states
	b.renditions = name(tracks, b.cfg.Packaging)
	for _, r := range b.renditions {
		st := b.tracks[r.Track.ID]
		st.renditions = append(st.renditions, r)
	}
	return string(before) != string(b.listing()), nil
}

// listing is what subscribers can know of the tracks.
func (b *Broadcast) listing() []byte { return b.MSF(time.Time{}) }

func (b *Broadcast) newPackager(t *media.Track) media.Packager {
	if packaging(t, b.cfg.Packaging) == media.CMAF {
		return &cmaf.Packager{}
	}
	return loc.Packager{}
}

// MSF is the MSF catalog, for a track named catalog.MSFTrackName.
func (b *Broadcast) MSF(now time.Time) []byte {
	return catalog.NewMSF(b.renditions, now).Marshal()
}

// Hang is the hang catalog, for a track named catalog.HangTrackName; nil if no
// rendition fits it, as with packaging loc.
func (b *Broadcast) Hang() []byte {
	h := catalog.NewHang(b.renditions)
	if h == nil {
		return nil
	}
	return h.Marshal()
}

// Package returns the packets of a frame, one for each rendition of its track,
// and what happened on the way. f.Capture has to hold the time of arrival, or
// the time the frame was due. A frame that cannot be sent gives no packets. After
// media.EventMisaligned the catalogs are others and have to be published again.
func (b *Broadcast) Package(f media.Frame) ([]media.Packet, []media.Event, error) {
	st := b.tracks[f.Track.ID]
	if st == nil {
		return nil, nil, fmt.Errorf("a frame of track %d, which the source does not list (%w)", f.Track.ID, media.ErrMalformed)
	}
	f, events := b.timeline.Map(f)
	pos, ok := b.grouper.Place(f)
	if !ok {
		if !st.waiting {
			st.waiting = true
			events = append(events, media.Event{Kind: media.EventNoKey, Track: f.Track})
		}
		return nil, events, nil
	}
	st.waiting = false
	if !st.misaligned && b.grouper.Misaligned(f.Track) {
		b.misalign(st, f.Track.ID)
		events = append(events, media.Event{Kind: media.EventMisaligned, Track: f.Track})
	}
	payload, properties, err := st.packager.Pack(f, pos.Object == 0)
	if err != nil {
		return nil, events, err
	}
	packets := make([]media.Packet, 0, 2)
	for _, r := range st.renditions {
		packets = append(packets, media.Packet{
			Track: r.Name, Group: pos.Group, Object: pos.Object, Key: f.Key,
			EndOfGroup: f.Track.Kind == media.Audio,
			Datagram:   r.Datagram, Priority: r.Priority, Capture: f.Capture,
			Properties: properties, Payload: payload,
		})
	}
	return packets, events, nil
}

// misalign takes the renditions of a track out of their alternate group.
func (b *Broadcast) misalign(st *trackState, id uint32) {
	st.misaligned = true
	for i := range b.renditions {
		if b.renditions[i].Track.ID == id {
			b.renditions[i].AltGroup = 0
		}
	}
}

// NewUnpackager returns the unpackager for a rendition, as listed in a catalog.
func NewUnpackager(r media.Rendition) (media.Unpackager, error) {
	switch r.Packaging {
	case media.CMAF:
		return cmaf.NewUnpackager(r.Track)
	case media.LOC:
		return loc.NewUnpackager(r.Track)
	case media.Legacy:
		return loc.NewLegacyUnpackager(r.Track)
	}
	return nil, fmt.Errorf("track %s: packaging %q is not handled (%w)", r.Name, r.Packaging, media.ErrUnsupported)
}
