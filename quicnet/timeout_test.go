package quicnet

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/moq-c4/moq-c4/moqt"
)

// A peer that is killed is noticed after the idle timeout.
func TestIdleTimeout(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		client, server := simPair(t, tr, n, nil)
		time.Sleep(time.Minute)
		if err := context.Cause(server.Context()); err != nil {
			t.Fatalf("an idle session ended: %v", err)
		}
		start := time.Now()
		n.kill(server.Info().RemoteAddr)
		err := ended(t, server)
		if ce, ok := errors.AsType[*moqt.ConnError](err); !ok || ce.App || ce.Remote {
			t.Errorf("got %#v", err)
		}
		if _, ok := errors.AsType[*quic.IdleTimeoutError](err); !ok {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d > defaultIdleTimeout+time.Second {
			t.Errorf("noticed after %v", d)
		}
		ended(t, client)
	})
}

// A server that was killed and started again resets the connections that it does not know.
func TestServerKilled(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		cfg := ListenConfig{TransportConfig: TransportConfig{socket: n.socket}, Addr: "127.0.0.1:4443", ResetSecret: []byte("secret")}
		first := startServer(t, cfg)
		synctest.Wait()
		client, _ := first.connect(tr, DialConfig{TransportConfig: cfg.TransportConfig})
		// The socket dies with its process: nothing that the old server still sends arrives.
		n.mu.Lock()
		delete(n.conns, first.Addrs()[0].String())
		n.mu.Unlock()
		startServer(t, cfg)
		synctest.Wait()
		start := time.Now()
		client.SendDatagram(make([]byte, 100))
		err := ended(t, client)
		if _, ok := errors.AsType[*quic.StatelessResetError](err); !ok {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("noticed after %v", d)
		}
	})
}

func TestResetKey(t *testing.T) {
	a, b := resetKey([]byte("x"), ":1"), resetKey([]byte("x"), ":1")
	if *a != *b {
		t.Error("the key changes")
	}
	if *a == *resetKey([]byte("x"), ":2") || *a == *resetKey([]byte("y"), ":1") {
		t.Error("the key does not depend on secret and address")
	}
}

// Sessions that the application does not take are bounded in time.
func TestSetupTimeout(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		tc := TransportConfig{socket: n.socket}
		s := startServer(t, ListenConfig{TransportConfig: tc})
		synctest.Wait()
		client, err := s.dial(tr, DialConfig{TransportConfig: tc})
		if err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.Pending != 1 {
			t.Errorf("got %+v", st)
		}
		start := time.Now()
		ended(t, client)
		if d := time.Since(start); d < 9*time.Second || d > 11*time.Second {
			t.Errorf("ended after %v, want %v", d, defaultSetupTimeout)
		}
		synctest.Wait()
		if st := s.Stats(); st.Pending != 0 || st.SetupTimeout != 1 || st.HandshakesOK != 1 || st.QUICLive+st.WebTransportLive != 0 {
			t.Errorf("got %+v", st)
		}
	})
}

// An HTTP/3 connection that never asks for a session does not stay.
func TestSetupTimeoutWithoutRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(0, time.Millisecond)
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{socket: n.socket}})
		synctest.Wait()
		pc, _ := n.socket("udp4", ":0")
		tr := &quic.Transport{Conn: pc}
		defer tr.Close()
		qc, err := tr.Dial(t.Context(), s.Addrs()[0], &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpnH3}}, &quic.Config{
			EnableDatagrams: true, EnableStreamResetPartialDelivery: true, KeepAlivePeriod: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		<-qc.Context().Done()
		if d := time.Since(start); d > 11*time.Second {
			t.Errorf("ended after %v", d)
		}
		synctest.Wait()
		if st := s.Stats(); st.Pending != 0 || st.SetupTimeout != 1 {
			t.Errorf("got %+v", st)
		}
	})
}

// Beyond MaxPending, connections are refused with an error that tells so; before, addresses are verified.
func TestMaxPending(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		tc := TransportConfig{socket: n.socket}
		s := startServer(t, ListenConfig{TransportConfig: tc, MaxPending: 2})
		synctest.Wait()
		for range 2 {
			if _, err := s.dial(tr, DialConfig{TransportConfig: tc}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.dial(tr, DialConfig{TransportConfig: tc})
		if err == nil || !strings.Contains(err.Error(), "refuses new connections") {
			t.Errorf("got %v", err)
		}
		if st := s.Stats(); st.Refused == 0 || st.Pending != 2 {
			t.Errorf("got %+v", st)
		}
		for range 2 {
			if _, err := s.Accept(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.dial(tr, DialConfig{TransportConfig: tc}); err != nil {
			t.Errorf("after Accept: %v", err)
		}
	})
}

// A client without datagrams cannot speak MOQT.
func TestNoDatagrams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(0, time.Millisecond)
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{socket: n.socket}})
		synctest.Wait()
		pc, _ := n.socket("udp4", ":0")
		tr := &quic.Transport{Conn: pc}
		defer tr.Close()
		qc, err := tr.Dial(t.Context(), s.Addrs()[0], &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"moqt-18"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-qc.Context().Done()
		if ae, ok := errors.AsType[*quic.ApplicationError](context.Cause(qc.Context())); !ok || ae.ErrorCode != codeProtocolViolation {
			t.Errorf("got %v", context.Cause(qc.Context()))
		}
	})
}

// What is not a WebTransport request is answered, and the connection is not kept for it.
func TestPlainHTTP3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(0, time.Millisecond)
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{socket: n.socket}})
		synctest.Wait()
		pc, _ := n.socket("udp4", ":0")
		qt := &quic.Transport{Conn: pc}
		defer qt.Close()
		tr := &http3.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			Dial: func(ctx context.Context, _ string, tc *tls.Config, qc *quic.Config) (*quic.Conn, error) {
				return qt.Dial(ctx, s.Addrs()[0], tc, qc)
			},
		}
		defer tr.Close()
		rsp, err := (&http.Client{Transport: tr}).Get("https://" + s.Addrs()[0].String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		rsp.Body.Close()
		if rsp.StatusCode != http.StatusNotFound {
			t.Errorf("got status %d", rsp.StatusCode)
		}
		tr.Close()
		time.Sleep(time.Second)
		if st := s.Stats(); st.NotMOQT != 1 || st.Pending != 0 {
			t.Errorf("got %+v", st)
		}
	})
}

// Close sends its code before STOP_SENDING: browsers stop looking at that.
func TestCloseCodeComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(0, time.Millisecond)
		s := startServer(t, ListenConfig{TransportConfig: TransportConfig{socket: n.socket}})
		synctest.Wait()
		pc, _ := n.socket("udp4", ":0")
		qt := &quic.Transport{Conn: pc}
		defer qt.Close()
		qc, err := qt.Dial(t.Context(), s.Addrs()[0], &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpnH3}},
			&quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true})
		if err != nil {
			t.Fatal(err)
		}
		defer qc.CloseWithError(0, "")
		cc := (&http3.Transport{EnableDatagrams: true}).NewRawClientConn(qc)
		go func() {
			for {
				in, err := qc.AcceptUniStream(t.Context())
				if err != nil {
					return
				}
				go cc.HandleUnidirectionalStream(in)
			}
		}()
		req, err := cc.OpenRequestStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		u := &url.URL{Scheme: "https", Host: "relay", Path: "/"}
		h := http.Header{headerProtocols: {`"moqt-18"`}}
		if err := req.SendRequestHeader(&http.Request{Method: http.MethodConnect, Proto: "webtransport", Host: "relay", URL: u, Header: h}); err != nil {
			t.Fatal(err)
		}
		rsp, err := req.ReadResponse()
		if err != nil || rsp.StatusCode != http.StatusOK || rsp.Header.Get("WT-Protocol") != `"moqt-18"` {
			t.Fatalf("got %+v, %v", rsp, err)
		}
		c, err := s.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan time.Duration, 1)
		start := time.Now()
		go func() {
			c.Close(0x1234, "bye")
			closed <- time.Since(start)
		}()
		got, err := io.ReadAll(req)
		// WT_CLOSE_SESSION is type 0x2843, length, code of 32 bits, reason.
		if want := "\x68\x43\x07\x00\x00\x12\x34bye"; string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if err := req.Context().Err(); err != nil {
			t.Error("STOP_SENDING came along with it")
		}
		qc.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		if d := <-closed; d > 20*time.Millisecond {
			t.Errorf("Close took %v although the peer had answered", d)
		}
	})
}

func TestNoAnswer(t *testing.T) {
	bubble(t, 0, func(t *testing.T, tr moqt.Transport, n *simNet) {
		start := time.Now()
		_, err := Dial(t.Context(), scheme(tr)+"://127.0.0.1:9/", DialConfig{TransportConfig: TransportConfig{socket: n.socket}})
		const want = "cannot connect to 127.0.0.1:9: no answer: check that a relay runs there and that UDP port 9 is open"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %v", err, want)
		}
		if _, ok := errors.AsType[*quic.IdleTimeoutError](err); !ok {
			t.Errorf("the cause is lost: %v", err)
		}
		if d := time.Since(start); d > defaultDialTimeout {
			t.Errorf("took %v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := Dial(ctx, scheme(tr)+"://127.0.0.1:9/", DialConfig{TransportConfig: TransportConfig{socket: n.socket}}); err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}

// A server that completes the handshake but never answers the request.
func TestNoAnswerToRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(0, time.Millisecond)
		cert, err := NewDevCertificate(DevCertificateConfig{})
		if err != nil {
			t.Fatal(err)
		}
		pc, _ := n.socket("udp4", "127.0.0.1:4443")
		qt := &quic.Transport{Conn: pc}
		defer qt.Close()
		ln, err := qt.Listen(&tls.Config{GetCertificate: cert.GetCertificate, NextProtos: []string{alpnH3}}, (&TransportConfig{KeepAlive: time.Second}).quicConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go ln.Accept(t.Context())
		start := time.Now()
		_, err = Dial(t.Context(), "https://127.0.0.1:4443/", DialConfig{Insecure: true, TransportConfig: TransportConfig{socket: n.socket}})
		if err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d > defaultDialTimeout+time.Second {
			t.Errorf("took %v", d)
		}
	})
}
