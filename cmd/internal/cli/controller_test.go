package cli

import (
	"flag"
	"io"
	"testing"

	"github.com/moq-c4/moq-c4/cc"
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
	if made, err := f.Controller(); made != nil || err != nil {
		t.Errorf("the default is not the library's own, %v", err)
	}
	fs.Parse([]string{"--cc", "vegas9"})
	if _, err := f.Controller(); err == nil {
		t.Error("vegas9 was accepted")
	}
}
