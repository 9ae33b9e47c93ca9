package frames

import (
	"strings"
	"time"

	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/moqt/wire"
)

// Kind takes the kind of a track's media from its name, as publishers usually choose it.
func Kind(track string) string {
	name := strings.ToLower(strings.TrimLeft(track, ".0123456789-_/"))
	for _, k := range []struct{ prefix, kind string }{
		{"audio", KindAudio}, {"video", KindVideo}, {"catalog", KindData},
	} {
		if strings.HasPrefix(name, k.prefix) {
			return k.kind
		}
	}
	return kindOther
}

// captureTime reads from an object's properties when its frame was taken, without memory of its own. An object that
// says only when it is to be shown counts as taken then.
func captureTime(p wire.Properties) (at time.Time, ok bool) {
	var stamp, scale uint64 = 0, 1_000_000
	var offset int64
	it := p.Iter(wire.Draft18)
	for it.Next() {
		switch q := it.Property(); q.Type {
		case media.PropertyTimestamp:
			stamp, ok = q.Uint, true
		case media.PropertyTimescale:
			scale = q.Uint
		case media.PropertyCaptureOffset:
			offset = int64(q.Uint>>1) ^ -int64(q.Uint&1)
		}
	}
	const maxSeconds = 1 << 33
	if !ok || it.Err() != nil || scale == 0 || scale > media.MaxTimescale || stamp/scale > maxSeconds {
		return time.Time{}, false
	}
	at = time.Unix(int64(stamp/scale), int64(stamp%scale*1_000_000_000/scale))
	return at.Add(time.Duration(offset) * time.Microsecond), true
}
