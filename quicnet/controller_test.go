package quicnet

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/moqt"
)

// countingC4 counts what a C4 controller is told.
type countingC4 struct {
	*c4.Controller
	acked *atomic.Int64
}

func (c countingC4) OnAck(now time.Duration, a *cc.Ack) {
	if !a.Handshake {
		c.acked.Add(int64(len(a.Packets)))
	}
	c.Controller.OnAck(now, a)
}

// TestController has each end send a megabyte under a controller of its own.
func TestController(t *testing.T) {
	const size = 1_000_000
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		var acked [2]atomic.Int64
		var monitors [2]ControllerMonitor
		config := func(end int) TransportConfig {
			return TransportConfig{socket: n.socket, Monitor: &monitors[end], Controller: func(c cc.Config) cc.Controller {
				return countingC4{c4.New(c, c4.Default()), &acked[end]}
			}}
		}
		s := startServer(t, ListenConfig{TransportConfig: config(0)})
		client, server := s.connect(tr, DialConfig{TransportConfig: config(1)})
		for _, ends := range [][2]moqt.Conn{{server, client}, {client, server}} {
			out, in := uniPair(t, ends[0], ends[1])
			go func() {
				out.Write(make([]byte, size))
				out.Close()
			}()
			if got, err := io.Copy(io.Discard, in); err != nil || got != size {
				t.Fatalf("got %d bytes, %v", got, err)
			}
		}
		time.Sleep(100 * time.Millisecond) // for the last acknowledgements
		for end := range acked {
			if got := acked[end].Load(); got < size/1452 {
				t.Errorf("end %d: %d packets acknowledged", end, got)
			}
		}
		for end := range monitors {
			got := monitors[end].Stats()
			if tr == moqt.TransportWebTransport {
				got.QUIC, got.WebTransport = got.WebTransport, got.QUIC
			}
			if got.QUIC.Live != 1 || got.QUIC.PacketsAcked < size/1452 || got.WebTransport.Installed != 0 {
				t.Errorf("end %d: %+v", end, got)
			}
		}
		if s.Controllers().QUIC.Installed+s.Controllers().WebTransport.Installed != 1 {
			t.Errorf("the listener says %+v", s.Controllers())
		}
		stats := s.Stats()
		if stats.ControllersInstalled != 1 || stats.ControllersRefused != 0 || stats.ControllersReinstalled != 0 {
			t.Errorf("got %+v", stats)
		}
	})
}
