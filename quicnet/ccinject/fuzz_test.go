package ccinject

import (
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/bbr"
	"github.com/moq-c4/moq-c4/cc/cubic"
)

// FuzzSender makes calls of quic-go from bytes, also in orders that do not occur: whatever
// comes, nothing may panic, and a sender with nothing in flight is allowed to send in the end.
func FuzzSender(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 5, 6, 0, 7, 1, 3, 2, 4, 0, 8, 2, 0, 9, 1})
	f.Add([]byte{2, 0, 0, 0, 10, 200, 12, 2, 0, 0, 4, 1, 4, 2, 11, 13, 0, 14, 9, 9})
	f.Add([]byte{1, 15, 0, 0, 3, 1, 3, 1, 5, 1, 8, 0, 0, 7, 2, 12, 255, 2, 0})
	factories := []Factory{
		func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) },
		func(c cc.Config) cc.Controller { return bbr.New(c) },
		func(c cc.Config) cc.Controller { return cubic.New(c) },
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		var (
			algorithm sendAlgorithm
			ecn       ecnHandler = &fakeECN{}
			pto       uint32
			inFlight  int64
			confirmed bool
			number    int64
			now       = instant(-time.Hour)
			open      []int64
		)
		s := &sender{
			in:         New(Config{Controller: factories[int(b[0])%len(factories)]}),
			initialMTU: 1280,
			slots: slots{
				congestion: &algorithm, ecn: &ecn, rtt: new(rttStats), stats: new(connStats),
				ptoCount: &pto, inFlight: &inFlight, confirmed: &confirmed,
			},
		}
		s.reset()
		s.install()
		for i := 1; i < len(b); i++ {
			arg := int64(1)
			if i+1 < len(b) {
				arg = int64(b[i+1])
			}
			take := func() (n int64, ok bool) {
				if len(open) == 0 {
					return arg, false
				}
				k := int(arg) % len(open)
				n = open[k]
				open = append(open[:k], open[k+1:]...)
				inFlight -= 1200
				return n, true
			}
			switch b[i] % 16 {
			case 0, 1:
				if algorithm.CanSend(inFlight) && algorithm.HasPacingBudget(now) {
					inFlight += 1200
					algorithm.OnPacketSent(now, inFlight, number, 1200, true)
					open = append(open, number)
					number += 1 + arg%3
				} else if algorithm.TimeUntilSend(inFlight) == 0 {
					t.Fatal("the connection would spin")
				}
			case 2:
				now += instant(arg) * 1e6
			case 3, 4:
				n, ok := take()
				if ok {
					inFlight += 1200
				}
				algorithm.OnPacketAcked(n, 1200, inFlight, now-instant(arg%3)*1e6)
				if ok {
					inFlight -= 1200
				}
			case 5:
				n, _ := take()
				algorithm.OnCongestionEvent(n, 1200, inFlight)
			case 6:
				s.rtt.hasMeasurement = true
				s.rtt.latestRTT.Store(arg * 1e6)
				s.rtt.smoothedRTT.Store(arg * 1e6)
				algorithm.MaybeExitSlowStart()
			case 7:
				take() // without a word
			case 8:
				pto++
				algorithm.OnPacketSent(now, inFlight, number, 40, false)
				number++
			case 9:
				algorithm.OnSpuriousLoss(arg)
			case 10:
				algorithm.SetMaxDatagramSize(arg * 10)
			case 11:
				confirmed = true
			case 12:
				pto = 0
				algorithm.HasPacingBudget(now)
			case 13:
				ecn.HandleNewlyAcked([]ackedPacket{{PacketNumber: arg}}, arg, arg/2, arg/3)
			case 14:
				algorithm.InSlowStart()
				algorithm.GetCongestionWindow()
			case 15:
				if arg%4 == 0 {
					algorithm = nil // quic-go has moved to another path
					ecn.Mode()
					open, inFlight = nil, 0
				}
			}
			if s.log.open < 0 || s.log.low > s.log.next {
				t.Fatalf("open %d bytes, packets %d to %d", s.log.open, s.log.low, s.log.next)
			}
		}
		if !algorithm.CanSend(0) {
			t.Fatal("nothing in flight, and no packet is allowed")
		}
		if !algorithm.HasPacingBudget(now) {
			if wake := algorithm.TimeUntilSend(0); wake-now > instant(time.Hour) || !algorithm.HasPacingBudget(max(wake, now)) {
				t.Fatalf("no packet may go, and waiting until %d does not help at %d", wake, now)
			}
		}
	})
}
