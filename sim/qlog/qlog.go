// Package qlog writes what the server of a simulated connection does as a qlog
// file (version draft-02, JSON), which qvis and other viewers open.
//
// [New] gives a [Writer], which is a [sim.Tracer]; call [Writer.Close] after the
// run. Written are packets sent, acknowledgements received, losses, metrics, and
// the changes of state of the congestion controller.
//
// What the packets contain is left out. Acknowledgements are numbered as they
// come, and all count as packets of the same size: viewers need both.
package qlog

import (
	"bufio"
	"io"
	"strconv"
	"time"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/sim"
)

// Writer writes one flow of a run.
type Writer struct {
	out   *bufio.Writer
	flow  int
	first bool
	last  sim.Metrics // as written
	line  []byte

	received int64 // acknowledgements so far
}

// ackBytes is the size of a packet with nothing but an acknowledgement.
const ackBytes = 55

// New begins a file for a flow. The title names the run.
func New(w io.Writer, flow int, title string) *Writer {
	q := &Writer{out: bufio.NewWriter(w), flow: flow, first: true}
	q.out.WriteString(`{"qlog_version":"draft-02","qlog_format":"JSON","title":`)
	q.out.WriteString(strconv.Quote(title))
	q.out.WriteString(`,"traces":[{"vantage_point":{"name":"server","type":"server"},"title":`)
	q.out.WriteString(strconv.Quote(title))
	q.out.WriteString(`,"configuration":{"time_offset":0,"time_units":"ms"},` +
		`"common_fields":{"protocol_type":["QUIC"],"time_format":"absolute","reference_time":0},"events":[`)
	return q
}

// Close ends the file. It reports the first error of writing.
func (q *Writer) Close() error {
	q.out.WriteString("\n]}]}\n")
	return q.out.Flush()
}

// begin starts an event.
func (q *Writer) begin(now time.Duration, name string) {
	b := q.line[:0]
	if !q.first {
		b = append(b, ',')
	}
	q.first = false
	b = append(b, "\n{\"time\":"...)
	b = appendMillis(b, now)
	b = append(b, `,"name":"`...)
	b = append(b, name...)
	b = append(b, `","data":{`...)
	q.line = b
}

func (q *Writer) end() {
	q.line = append(q.line, "}}"...)
	q.out.Write(q.line)
}

func (q *Writer) text(s string) { q.line = append(q.line, s...) }
func (q *Writer) int(v int64)   { q.line = strconv.AppendInt(q.line, v, 10) }

// appendMillis writes milliseconds with three decimals: the clock's resolution.
func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

// PacketSent implements sim.Tracer.
func (q *Writer) PacketSent(now time.Duration, flow int, number, bytes, _ int64) {
	if flow != q.flow {
		return
	}
	q.begin(now, "transport:packet_sent")
	q.text(`"header":{"packet_type":"1RTT","packet_number":`)
	q.int(number)
	q.text(`},"raw":{"length":`)
	q.int(bytes)
	q.text(`}`)
	q.end()
}

// Dropped implements sim.Tracer. The server does not see it.
func (q *Writer) Dropped(time.Duration, int, int64, int64) {}

// PacketLost implements sim.Tracer.
func (q *Writer) PacketLost(now time.Duration, flow int, number, _ int64, why cc.LossReason) {
	if flow != q.flow {
		return
	}
	trigger := "reordering_threshold"
	switch why {
	case cc.LossTime:
		trigger = "time_threshold"
	case cc.LossPTO:
		trigger = "pto_expired"
	}
	q.begin(now, "recovery:packet_lost")
	q.text(`"header":{"packet_type":"1RTT","packet_number":`)
	q.int(number)
	q.text(`},"trigger":"` + trigger + `"`)
	q.end()
}

// Acked implements sim.Tracer. The ranges are of what is newly acknowledged.
func (q *Writer) Acked(now time.Duration, flow int, a *cc.Ack) {
	if flow != q.flow {
		return
	}
	q.begin(now, "transport:packet_received")
	q.text(`"header":{"packet_type":"1RTT","packet_number":`)
	q.int(q.received)
	q.text(`},"raw":{"length":`)
	q.int(ackBytes)
	q.text(`},"frames":[{"frame_type":"ack","acked_ranges":[`)
	q.received++
	for i := 0; i < len(a.Packets); {
		j := i
		for j+1 < len(a.Packets) && a.Packets[j+1].Number == a.Packets[j].Number+1 {
			j++
		}
		if i > 0 {
			q.text(",")
		}
		q.text("[")
		q.int(a.Packets[i].Number)
		q.text(",")
		q.int(a.Packets[j].Number)
		q.text("]")
		i = j + 1
	}
	q.text("]}]")
	q.end()
}

// Metrics implements sim.Tracer. Only what has changed is written.
func (q *Writer) Metrics(now time.Duration, flow int, m sim.Metrics) {
	if flow != q.flow {
		return
	}
	q.begin(now, "recovery:metrics_updated")
	n := 0
	field := func(name string) {
		if n++; n > 1 {
			q.text(",")
		}
		q.text(`"` + name + `":`)
	}
	duration := func(name string, v, old time.Duration) {
		if v != old {
			field(name)
			q.line = appendMillis(q.line, v)
		}
	}
	number := func(name string, v, old int64) {
		if v != old {
			field(name)
			q.int(v)
		}
	}
	duration("latest_rtt", m.Latest, q.last.Latest)
	duration("smoothed_rtt", m.Smoothed, q.last.Smoothed)
	duration("min_rtt", m.Min, q.last.Min)
	duration("rtt_variance", m.Variance, q.last.Variance)
	number("congestion_window", m.Window, q.last.Window)
	number("bytes_in_flight", m.InFlight, q.last.InFlight)
	number("pacing_rate", 8*int64(m.PacingRate), 8*int64(q.last.PacingRate))
	q.last = m
	if n == 0 {
		field("bytes_in_flight")
		q.int(m.InFlight)
	}
	q.end()
}

// Event implements sim.Tracer.
func (q *Writer) Event(flow int, e cc.Event) {
	if flow != q.flow || e.Kind != cc.EventState {
		return
	}
	q.begin(e.At, "recovery:congestion_state_updated")
	q.text(`"old":` + strconv.Quote(e.From) + `,"new":` + strconv.Quote(e.To) + `,"trigger":` + strconv.Quote(e.Cause.String()))
	q.end()
}

// Frame implements sim.Tracer. It is the client's.
func (q *Writer) Frame(time.Duration, int, string, int64, time.Duration) {}
