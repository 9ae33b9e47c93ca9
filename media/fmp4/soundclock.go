package fmp4

// soundClock corrects the decode times of a sound track, whose packets follow
// each other without gaps and whose lengths the codec states.
//
// ffmpeg 5.1 with -movflags frag_every_frame writes every 15th fragment or so
// with the decode time of the next one: 12480, 14400, 14400, 15360 where packets
// are 960 long. Taken as they are, the sound would have a hole and an overlap
// there, which can be heard; ffmpeg itself throws the second packet away when it
// reads its own file.
type soundClock struct {
	next   int64 // where the next packet is expected by the length of this one
	stated int64 // where it is expected by what the container says of this one
	off    int   // how many packets in a row were elsewhere
	set    bool
}

// maxOff is how many packets in a row may be off before they are believed.
const maxOff = 3

// fix returns the decode time to use for a packet, given the decode time and
// the duration that the container states and the length by the codec. A gap that
// the duration of the packet before it covers is one, and so is any step of more
// than two packets.
func (c *soundClock) fix(dts, duration, length int64) int64 {
	fixed := dts
	diff := max(dts-c.next, c.next-dts)
	switch {
	case !c.set, length <= 0, dts == c.stated, diff <= length/8, diff > 2*length, c.off >= maxOff:
		c.off = 0
	default:
		c.off++
		fixed = c.next
	}
	c.set = length > 0
	c.next = fixed + length
	c.stated = dts + duration
	return fixed
}
