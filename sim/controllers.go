package sim

import (
	"github.com/moq-c4/moq-c4/c4"
	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/cc/bbr"
	"github.com/moq-c4/moq-c4/cc/cubic"
	"github.com/moq-c4/moq-c4/cc/reno"
	"github.com/moq-c4/moq-c4/cc/vegas"
)

// controllers are the congestion controllers by name. Adding one is a line here.
var controllers = []struct {
	name string
	make func(cc.Config) cc.Controller
}{
	{"c4", func(c cc.Config) cc.Controller { return c4.New(c, c4.Default()) }},
	{"c4-draft04", func(c cc.Config) cc.Controller { return c4.New(c, c4.Draft04()) }},
	{"c4-draft05", func(c cc.Config) cc.Controller { return c4.New(c, c4.Draft05()) }},
	{"cubic", func(c cc.Config) cc.Controller { return cubic.New(c) }},
	{"cubic-rfc9438", func(c cc.Config) cc.Controller { return cubic.NewRFC9438(c) }},
	{"bbr", func(c cc.Config) cc.Controller { return bbr.New(c) }},
	{"reno", func(c cc.Config) cc.Controller { return reno.New(c) }},
	{"vegas", func(c cc.Config) cc.Controller { return vegas.New(c) }},
}

// Controller returns the constructor of a controller, nil if there is none of
// that name. Variants of C4 have names, too, see c4.Named.
func Controller(name string) func(cc.Config) cc.Controller {
	for _, c := range controllers {
		if c.name == name {
			return c.make
		}
	}
	if cfg, err := c4.Named(name); err == nil {
		return func(c cc.Config) cc.Controller { return c4.New(c, cfg) }
	}
	return nil
}

// Controllers returns the names of the controllers.
func Controllers() []string {
	names := make([]string, len(controllers))
	for i, c := range controllers {
		names[i] = c.name
	}
	return names
}
