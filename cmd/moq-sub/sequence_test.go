package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/media"
)

// TestSequencer runs small scripts. "3.1" is an object, "3.1e" the last of its group, "/3" the end of group 3's
// stream, "=" the beginning of a subscription, "+100" lets milliseconds pass. After each step what comes out in order is noted.
func TestSequencer(t *testing.T) {
	for _, tt := range []struct {
		name       string
		streams    bool
		in, out    string
		late, lost uint64
	}{
		{"in order", true, "1.0 1.1 1.2 /1 2.0 2.1", "1.0 1.1 1.2 2.0 2.1", 0, 0},
		{"next group overtakes the end", true, "1.0 2.0 2.1 1.1 /1", "1.0 1.1 2.0 2.1", 0, 0},
		{"end of group on the last object", true, "1.0 2.0 1.1e", "1.0 1.1 2.0", 0, 0},
		{"join in mid group", true, "7.5 7.6 /7 8.0", "7.5 7.6 8.0", 0, 0},
		{"ids with gaps on a stream", true, "1.0 1.4 1.9 /1 2.0", "1.0 1.4 1.9 2.0", 0, 0},
		{"a group that never comes", true, "1.0 /1 3.0 +999 3.1 +1", "1.0 3.0 3.1", 0, 1},
		{"a group that stalls", true, "1.0 2.0 +1000 1.1 2.1", "1.0 2.0 2.1", 1, 1},
		{"old group after its turn", true, "5.0 /5 6.0 4.0", "5.0 6.0", 1, 0},
		{"the same object twice", true, "1.0 2.0 2.0 /1", "1.0 2.0", 0, 0},
		{"group ends without an object", true, "1.0 /2 /1 3.0", "1.0 3.0", 0, 0},
		{"groups begin anew", true, "= 100.0 /100 101.0 103.0 = 0.0 0.1 /0 1.0", "100.0 101.0 103.0 0.0 0.1 1.0", 0, 0},
		{"a new subscription at the same group", true, "= 100.0 100.1 /100 = 100.0 100.1 100.2 /100 101.0", "100.0 100.1 101.0", 3, 0},
		{"a new subscription at a later group", true, "= 100.0 = 105.0 +1000", "100.0 105.0", 0, 5},
		{"datagram groups begin anew", false, "= 9.0e 10.0e = 3.0e 4.0e", "9.0 10.0 3.0 4.0", 0, 0},
		{"datagrams out of order", false, "1.0 1.2 1.1 1.3", "1.0 1.1 1.2 1.3", 0, 0},
		{"datagram lost", false, "1.0 1.2 +1000 1.3", "1.0 1.2 1.3", 0, 1},
		{"datagram late", false, "1.0 1.2 +1000 1.1", "1.0 1.2", 1, 1},
		{"datagram groups of one", false, "1.0e 3.0e 2.0e", "1.0 2.0 3.0", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			s := newSequencer(tt.streams, time.Second)
			var out []string
			for step := range strings.FieldsSeq(tt.in) {
				var g, o uint64
				var ms int
				switch {
				case step[0] == '+':
					fmt.Sscanf(step, "+%d", &ms)
					now = now.Add(time.Duration(ms) * time.Millisecond)
				case step == "=":
					s.OnSubscription()
				case step[0] == '/':
					fmt.Sscanf(step, "/%d", &g)
					s.OnEnd(g)
				default:
					fmt.Sscanf(step, "%d.%d", &g, &o)
					s.OnObject(now, media.Packet{Group: g, Object: o, EndOfGroup: strings.HasSuffix(step, "e")})
				}
				for {
					p, ok := s.Poll(now)
					if !ok {
						break
					}
					out = append(out, fmt.Sprintf("%d.%d", p.at.Group, p.at.Object))
				}
			}
			if got := strings.Join(out, " "); got != tt.out {
				t.Errorf("out: %s\nwant: %s", got, tt.out)
			}
			if s.late != tt.late || s.lost != tt.lost {
				t.Errorf("late %d, lost %d; want %d, %d", s.late, s.lost, tt.late, tt.lost)
			}
			if len(s.ended) > 3 {
				t.Errorf("%d ended groups are remembered", len(s.ended))
			}
		})
	}
}

func TestSequencerIsBounded(t *testing.T) {
	s := newSequencer(true, time.Hour)
	now := time.Unix(0, 0)
	s.OnObject(now, media.Packet{Group: 1})
	s.Poll(now)
	for o := range uint64(10 * maxHeldItems) { // group 1 never ends
		s.OnObject(now, media.Packet{Group: 2, Object: o})
		for {
			if _, ok := s.Poll(now); !ok {
				break
			}
		}
	}
	if len(s.held) > maxHeldItems+1 {
		t.Errorf("%d objects are held back", len(s.held))
	}
	for g := range uint64(10 * maxEnded) { // groups without objects
		s.OnEnd(1<<40 + 2*g)
	}
	if len(s.ended) > maxEnded {
		t.Errorf("%d ended groups are remembered", len(s.ended))
	}
}
