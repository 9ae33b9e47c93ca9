package emu

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// Defaults of [Config].
const (
	defaultListen      = "127.0.0.1:5443"
	defaultMaxClients  = 256
	defaultIdleTimeout = 60 * time.Second
)

// Config says what a [Proxy] does.
type Config struct {
	// Listen is the address for clients, UDP and TCP. Port 0 lets the system
	// choose. Default: "127.0.0.1:5443".
	Listen string

	// To is the server's address. Required.
	To string

	// Link is what is between. Required.
	Link Link

	// PerClient gives each client a link of its own, whose timeline begins with
	// the client. Default: all share one link, whose timeline begins with the
	// first packet.
	PerClient bool

	// Seed makes jitter and loss differ from run to run. Default: equal ones.
	Seed uint64

	// MaxClients bounds the clients; the packets of more are dropped. A client
	// is an address and port. Default: 256.
	MaxClients int

	// MaxBytes bounds what each link holds in each direction. Default: 64 MiB.
	MaxBytes int64

	// IdleTimeout is how long a client that neither sends nor gets anything is
	// remembered. Default: 60 s.
	IdleTimeout time.Duration

	// NoTCP leaves the TCP port alone. Default: connections to it are passed on,
	// unshaped.
	NoTCP bool

	// Logger gets changes of the link, clients and errors. Default: nothing is
	// logged.
	Logger *slog.Logger
}

func (c *Config) setDefaults() error {
	if c.Listen == "" {
		c.Listen = defaultListen
	}
	if c.MaxClients <= 0 {
		c.MaxClients = defaultMaxClients
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = defaultIdleTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.To == "" {
		return errors.New("the server's address is missing")
	}
	return c.Link.check()
}

// resolve turns host:port into an address. A missing host is this machine.
func resolve(addr string) (*net.UDPAddr, error) {
	a, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	if a.Port == 0 {
		return nil, fmt.Errorf("address %q: the port is missing", addr)
	}
	if a.IP == nil {
		a.IP = net.IPv4(127, 0, 0, 1)
	}
	return a, nil
}
