package c4

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/cc"
)

// reference is one call of the reference implementation's C4, with what it was
// told, what it could see, and what it decided. See testdata/reference/README.md.
type reference struct {
	kind, now, space, ready              int64
	rtt, acked, delivered, lost          int64
	smoothed, sample, rate, peak         int64
	inFlight, mtu, ackedSent, limited    int64
	lowest, next, ect1, ce               int64
	window, pacing, bucket, state        int64
	nominalRate, maxRTT, alpha, ecnAlpha int64
	level                                int64
}

// Kinds of calls in the reference.
const (
	refAck = iota
	refLoss
	refTimeout
	refSpurious
	refRTT
	refECN
	refBlocked
	refSeed
)

const refApplication = 0 // packet number space

func us(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// TestReplay tells the draft-04 profile what the reference implementation was
// told in runs of the drafts' scenarios, and expects exactly its decisions.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/reference/*.gz")
	if dir := os.Getenv("C4_REPLAY"); dir != "" { // plain files, for a wider look
		files, err = filepath.Glob(filepath.Join(dir, "*"))
	}
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".gz"), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var r io.Reader = f
			if strings.HasSuffix(file, ".gz") {
				if r, err = gzip.NewReader(f); err != nil {
					t.Fatal(err)
				}
			}
			replay(t, r)
		})
	}
}

func replay(t *testing.T, r io.Reader) {
	var (
		c        *Controller
		was      reference
		compared int
		pending  bool
	)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		e, err := parseReference(lines.Text())
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		if c == nil {
			c = New(cc.Config{MTU: e.mtu}, Draft04())
		}
		now := us(e.now)
		c.OnPacketSent(now, cc.Packet{Number: e.next - 1, InFlight: e.inFlight})
		if e.mtu != was.mtu && n > 1 {
			c.mtu = e.mtu // takes effect with the next decision
		}
		if e.limited != was.limited {
			c.lastLimited = us(e.limited)
		}
		if e.kind != refECN && e.ect1 != was.ect1 {
			c.OnECN(now, cc.ECN{ECT1: e.ect1, CE: was.ce})
		}
		initial := c.state == Initial
		switch e.kind {
		case refAck:
			a := cc.Ack{
				Bytes:     e.acked,
				Newest:    cc.Acked{SentAt: us(e.ackedSent)},
				InFlight:  e.inFlight,
				Handshake: e.space != refApplication,
				Sample:    cc.Sample{Rate: cc.Rate(e.rate), Fresh: true, Peak: cc.Rate(e.peak), DeliveredSince: e.delivered},
			}
			if e.ready != 0 {
				a.LowestUnsettled = e.lowest
			}
			c.OnAck(now, &a)
		case refLoss:
			c.OnLoss(now, cc.Loss{Number: e.lost, Handshake: e.space != refApplication})
		case refTimeout:
			c.OnLoss(now, cc.Loss{Number: e.lost, Reason: cc.LossPTO})
		case refSpurious:
			c.OnSpuriousLoss(now, cc.Loss{Number: e.lost})
		case refRTT:
			c.OnRTT(now, cc.RTT{Latest: us(e.rtt), Smoothed: us(e.smoothed), Handshake: e.space != refApplication})
		case refECN:
			c.OnECN(now, cc.ECN{ECT1: e.ect1, CE: e.ce})
		case refSeed:
			c.OnSeed(now, cc.Seed{Window: e.acked, RTT: us(e.smoothed)})
		}
		was = e
		// The reference leaves initial by a loss without setting pacing and
		// window; the acknowledgement follows at once.
		if initial && c.state != Initial && (e.kind == refLoss || e.kind == refECN) {
			pending = true
		}
		if pending = pending && e.kind != refAck; pending {
			continue
		}
		if err := e.compare(c); err != nil {
			t.Fatalf("line %d, call %d at %v: %v", n, e.kind, now, err)
		}
		compared++
	}
	if compared < 100 {
		t.Errorf("only %d calls", compared)
	}
}

// compare returns the first difference between the reference's decision and c's.
func (e *reference) compare(c *Controller) error {
	if got, want := c.state, State(e.state); got != want {
		return fmt.Errorf("state %v, the reference is in %v", got, want)
	}
	out := c.Control()
	for _, x := range []struct {
		name      string
		got, want int64
	}{
		{"alpha", int64(c.alpha), e.alpha},
		{"probe level", int64(c.recovery.level), e.level},
		{"ECN alpha", int64(c.ecn.alpha), e.ecnAlpha},
		{"nominal rate", int64(c.nominalRate), e.nominalRate},
		{"nominal max RTT", c.rtt.nominalMax.Microseconds(), e.maxRTT},
		{"pacing rate", int64(out.PacingRate), e.pacing},
	} {
		if x.got != x.want {
			return fmt.Errorf("%s %d, the reference has %d", x.name, x.got, x.want)
		}
	}
	// The reference's window has no lower bound; ours is two packets.
	if out.Window != e.window && out.Window > 2*packetSize {
		return fmt.Errorf("window %d, the reference has %d", out.Window, e.window)
	}
	// It shows the quantum as the time that it takes, to the nanosecond.
	if e.kind == refAck && out.PacingRate > 0 {
		bucket := int64(out.PacingRate.TimeFor(out.Quantum))
		if diff := bucket - e.bucket; diff < -1 || diff > 1 {
			return fmt.Errorf("pacing bucket %d ns, the reference has %d", bucket, e.bucket)
		}
	}
	return nil
}

func parseReference(line string) (reference, error) {
	var e reference
	fields := []*int64{
		&e.kind, &e.now, &e.space, &e.ready,
		&e.rtt, &e.acked, &e.delivered, &e.lost,
		&e.smoothed, &e.sample, &e.rate, &e.peak, &e.inFlight, &e.mtu,
		&e.ackedSent, &e.limited, &e.lowest, &e.next, &e.ect1, &e.ce,
		&e.window, &e.pacing, &e.bucket, &e.state,
		&e.nominalRate, &e.maxRTT, &e.alpha, &e.ecnAlpha, &e.level,
	}
	words := strings.Fields(line)
	if len(words) != len(fields) {
		return e, fmt.Errorf("%d columns, want %d", len(words), len(fields))
	}
	for i, w := range words {
		var err error
		if *fields[i], err = strconv.ParseInt(w, 10, 64); err != nil {
			return e, err
		}
	}
	return e, nil
}
