// Package scenario reads the text files that describe a simulation: the link
// and how it changes, the flows, the media they carry, and what counts as
// passing. [Parse] reads one, [Builtin] finds those that come with the program.
// [ParseLink] and [OpenLink] read what a file says of the link alone.
//
// # Format
//
// One statement per line: a word, then fields. "#" starts a comment. Fields are
// name=value in any order. Durations are as in Go (1.5s, 40ms, 7000us), rates
// are bit/s, kbit/s, Mbit/s or Gbit/s, sizes B, kB, MB or GB (powers of 1000).
//
//	about TEXT
//	    One sentence on what the scenario shows.
//	group WORD
//	    Where it belongs in lists and reports.
//	link [for=DURATION] [rate=RATE] [up=RATE] [down=RATE] [delay=DURATION]
//	     [queue=DURATION|Nbdp] [jitter=DURATION]
//	    The bottleneck: rate of both directions (or of one), one-way delay,
//	    longest queueing delay (0: no bound; 1bdp: twice the line's delay),
//	    average of the Wi-Fi jitter.
//	    rate=0 suspends it. Further link lines are what comes next, after the
//	    "for" of the line before; they change what they name. If the last line
//	    has a "for" too, the first line follows it again.
//	aqm dualq [l4s_max=DURATION]
//	    DualQ coupled AQM in place of the drop-tail queue; above l4s_max
//	    every low-latency packet is marked. queue - delay bounds its bytes.
//	flow NAME size=SIZE | flow NAME media
//	     [cc=NAME] [start=DURATION] [delay=DURATION]
//	     [seed_window=SIZE seed_rtt=DURATION]
//	    One connection whose server sends. The first is the main one: its
//	    controller is the one under test, and the run ends with it. For the
//	    others cc names the controller; without it they use the main one's.
//	    delay is extra one-way delay outside the bottleneck, the seed is what
//	    an earlier connection knew (careful resume).
//	audio NAME rate=N size=SIZE frames=N priority=N
//	    A datagram per frame, N per second. Belongs to the flow before it.
//	video NAME rate=N size=SIZE key=SIZE group=N frames=N priority=N
//	      [cancel=DURATION] [unmeasured]
//	    A stream per group, whose first frame has the key size. The receiver
//	    cancels a group that is late by more than cancel. Lower priority
//	    numbers are served first. The latency of unmeasured sources is not
//	    part of the result.
//	cross up|down rate=RATE [size=SIZE] [burst=N] [start=DURATION]
//	    Traffic at a constant rate that reacts to nothing, N packets at once.
//	measure from=DURATION
//	    Video frames due before this time do not count.
//	stop at=DURATION
//	    End the run at this time even if the main flow has not finished.
//	pass CC[,CC...] METRIC<=VALUE | METRIC>=VALUE
//	    A bound for these controllers under test. Metrics are time_avg,
//	    time_p90, av_latency, max_latency_p90, rtt_mean (durations),
//	    load_share, jain and drops (numbers).
package scenario
