package ops

import (
	"runtime/debug"
	"testing"
)

func TestNewBuild(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0a1b2c"}
	for _, test := range []struct {
		name    string
		version string
		info    *debug.BuildInfo
		want    Build
	}{
		{"nothing known", "", nil, Build{"unknown", "unknown", "unknown"}},
		{
			"linked version", "v1.2.0",
			&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.1.9"}},
			Build{"v1.2.0", "unknown", "go1.26.0"},
		},
		{
			"installed by version", "",
			&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.1.9"}},
			Build{"v1.1.9", "unknown", "go1.26.0"},
		},
		{
			"clean tree", "v1.2.0",
			&debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}},
			Build{"v1.2.0", "0a1b2c", "go1.26.0"},
		},
		{
			"changed tree", "",
			&debug.BuildInfo{
				GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"},
				Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}},
			},
			Build{"unknown", "0a1b2c+dirty", "go1.26.0"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := newBuild(test.version, test.info); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestBuildString(t *testing.T) {
	want := "v1.2.0 (revision 0a1b2c, go1.26.0)"
	if got := (Build{"v1.2.0", "0a1b2c", "go1.26.0"}).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
