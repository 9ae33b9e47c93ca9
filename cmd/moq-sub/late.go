package main

import (
	"strings"
	"sync"
	"time"

	"github.com/moq-c4/moq-c4/cmd/internal/cli"
	"github.com/moq-c4/moq-c4/media"
	"github.com/moq-c4/moq-c4/priority"
)

// lateFlag is --late: limits by track.
type lateFlag map[string]time.Duration

func (f lateFlag) String() string { return "" }

// Set takes NAME or NAME=TIME.
func (f lateFlag) Set(s string) error {
	name, limit, given := strings.Cut(s, "=")
	d := priority.LateAfter
	if given {
		var err error
		if d, err = time.ParseDuration(limit); err != nil || d <= 0 {
			return cli.Usage("want NAME or NAME=TIME, as in video-720p=250ms")
		}
	}
	f[name] = d
	return nil
}

// punctuality knows which frames are too late to be waited for. It is safe for use by several goroutines.
type punctuality struct {
	limits lateFlag // fixed when something is received

	mu       sync.Mutex
	lateness priority.Lateness
}

// due returns until when an object of a track may arrive. It returns false if there is no limit.
func (p *punctuality) due(track string, packet media.Packet) (time.Time, bool) {
	limit, ok := p.limits[track]
	captured, known := media.CaptureTime(packet.Properties)
	if !ok || !known {
		return time.Time{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lateness.Due(captured, limit)
}

// arrived notes a whole object and reports whether it is too late.
func (p *punctuality) arrived(track string, packet media.Packet, at time.Time) bool {
	captured, known := media.CaptureTime(packet.Properties)
	if !known {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	late := p.lateness.OnFrame(captured, at)
	limit, ok := p.limits[track]
	return ok && late > limit
}
