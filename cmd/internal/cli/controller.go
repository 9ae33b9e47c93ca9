package cli

import (
	"flag"
	"strings"

	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/bbr"
	"github.com/moq-c4/moq-c4/cc/cubic"
	"github.com/moq-c4/moq-c4/cc/reno"
	"github.com/moq-c4/moq-c4/quicnet"
	"github.com/moq-c4/moq-c4/quicnet/ccinject"
)

// stockController names the controller of the QUIC library.
const stockController = "stock"

// controllers are the congestion controllers by name, nil for the library's own.
var controllers = []struct {
	name string
	make func(cc.Config) cc.Controller
}{
	{stockController, nil},
	{"c4", func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) }},
	{"c4-draft04", func(c cc.Config) cc.Controller { return c4.New(c, c4.Draft04()) }},
	{"cubic", func(c cc.Config) cc.Controller { return cubic.New(c) }},
	{"bbr", func(c cc.Config) cc.Controller { return bbr.New(c) }},
	{"reno", func(c cc.Config) cc.Controller { return reno.New(c) }},
}

// defaultController is what is used without --cc.
const defaultController = "c4"

// ControllerFlag is the flags --cc and --cc-resume.
type ControllerFlag struct {
	name   string
	resume bool
	memory ccinject.Memory
}

// AddFlags registers the flags.
func (f *ControllerFlag) AddFlags(fs *flag.FlagSet) {
	names := make([]string, len(controllers))
	for i, c := range controllers {
		names[i] = c.name
	}
	fs.StringVar(&f.name, "cc", defaultController, "congestion `controller` of what is sent: "+strings.Join(names, ", "))
	fs.BoolVar(&f.resume, "cc-resume", true, "let c4 begin with what the last connection to the same address has learned, for 10 minutes")
}

// Configure puts the controller, and what it remembers, into a transport's configuration.
func (f *ControllerFlag) Configure(c *quicnet.TransportConfig) (err error) {
	c.Controller, err = f.Controller()
	if f.resume {
		c.Memory = &f.memory
	}
	return err
}

// Controller returns what makes the controllers, nil for the library's own.
func (f *ControllerFlag) Controller() (func(cc.Config) cc.Controller, error) {
	for _, c := range controllers {
		if c.name == f.name {
			return c.make, nil
		}
	}
	return nil, Usage("--cc %q: no such controller (see --help)", f.name)
}
