package broadcast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moq-c4/moq-c4/media"
)

// streamSuffix is added to the name of a sound track for the rendition that is
// sent on streams.
const streamSuffix = "-stream"

// Alternate groups: all video renditions show the same, and so do the two
// renditions of each sound track, counted from firstSoundGroup.
const (
	videoAltGroup   = 1
	firstSoundGroup = 2
)

// name makes the renditions of tracks. Video comes first, from small to large:
//
//	video-720p     by its height; by its label if it has no height
//	audio          in datagrams
//	audio-stream   the same objects on streams
//
// Sound in several languages has the language in the name, as in audio-deu. Where
// names would be the same, the second one ends in -2. The smallest video has
// priority 4, the others 6, sound 2.
func name(tracks []*media.Track, form media.Packaging) []media.Rendition {
	var videos, sounds []*media.Track
	for _, t := range tracks {
		if t.Kind == media.Video {
			videos = append(videos, t)
		} else {
			sounds = append(sounds, t)
		}
	}
	slices.SortStableFunc(videos, func(a, b *media.Track) int {
		return cmp.Or(cmp.Compare(a.Width*a.Height, b.Width*b.Height), cmp.Compare(a.Bitrate, b.Bitrate))
	})
	var out []media.Rendition
	taken := map[string]bool{}
	for i, t := range videos {
		r := media.Rendition{
			Name: unique(taken, videoName(t)), Track: t, Packaging: packaging(t, form),
			Priority: media.PriorityVideo,
		}
		if i > 0 {
			r.Priority = media.PriorityBetter
		}
		if len(videos) > 1 {
			r.AltGroup = videoAltGroup
		}
		out = append(out, r)
	}
	for i, t := range sounds {
		base := "audio"
		if len(sounds) > 1 && t.Language != "" {
			base += "-" + t.Language
		}
		r := media.Rendition{
			Name: unique(taken, base), Track: t, Packaging: packaging(t, form),
			Priority: media.PriorityAudio, Datagram: true, AltGroup: firstSoundGroup + i,
		}
		stream := r
		stream.Name, stream.Datagram = unique(taken, r.Name+streamSuffix), false
		out = append(out, r, stream)
	}
	return out
}

func videoName(t *media.Track) string {
	switch {
	case t.Height > 0:
		return fmt.Sprintf("video-%dp", t.Height)
	case t.Label != "":
		return "video-" + t.Label
	}
	return "video"
}

// unique is the name, with a number behind it if it is taken.
func unique(taken map[string]bool, name string) string {
	try := name
	for n := 2; taken[try]; n++ {
		try = fmt.Sprintf("%s-%d", name, n)
	}
	taken[try] = true
	return try
}

// packaging is the form for a track: cmaf needs a header.
func packaging(t *media.Track, form media.Packaging) media.Packaging {
	if len(t.Init) == 0 {
		return media.LOC
	}
	return form
}
