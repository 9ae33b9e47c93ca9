package cli

import (
	"flag"
	"io"
	"testing"

	"github.com/moq-c4/moq-c4/cc"
	"github.com/moq-c4/moq-c4/quicnet"
)

func TestControllerFlag(t *testing.T) {
	for _, c := range controllers {
		var f ControllerFlag
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		f.AddFlags(fs)
		if err := fs.Parse([]string{"--cc", c.name}); err != nil {
			t.Fatal(err)
		}
		made, err := f.Controller()
		if err != nil || (made == nil) != (c.name == "stock") {
			t.Errorf("%s: %v", c.name, err)
		}
		if made != nil && made(cc.Config{}).Control().Window <= 0 {
			t.Errorf("%s has no window", c.name)
		}
	}

	var f ControllerFlag
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.AddFlags(fs)
	if err := fs.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if made, err := f.Controller(); made == nil || err != nil || made(cc.Config{}).State() != "initial" || f.name != "c4" {
		t.Errorf("the default is %q, %v", f.name, err)
	}
	var c, off quicnet.TransportConfig
	if err := f.Configure(&c); err != nil || c.Controller == nil || c.Memory == nil {
		t.Errorf("%v, got %+v", err, c)
	}
	fs.Parse([]string{"--cc-resume=false", "--cc", "stock"})
	if err := f.Configure(&off); err != nil || off.Controller != nil || off.Memory != nil {
		t.Errorf("%v, got %+v", err, off)
	}
	fs.Parse([]string{"--cc", "vegas9"})
	if _, err := f.Controller(); err == nil {
		t.Error("vegas9 was accepted")
	}
}
