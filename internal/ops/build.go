package ops

import (
	"fmt"
	"runtime/debug"
)

// version is set by the linker (-X github.com/moq-c4/moq-c4/internal/ops.version=...).
var version string

// A Build says what the running program was made from. Fields that were not
// recorded when it was built are "unknown".
type Build struct {
	Version   string // the release or the description of the commit
	Revision  string // the commit, "+dirty" behind it if files had changed
	GoVersion string // the Go release, such as go1.26.0
}

// ReadBuild returns the build information of the running program.
func ReadBuild() Build {
	info, _ := debug.ReadBuildInfo()
	return newBuild(version, info)
}

func newBuild(version string, info *debug.BuildInfo) Build {
	b := Build{Version: version, Revision: "unknown", GoVersion: "unknown"}
	if info != nil {
		b.GoVersion = info.GoVersion
		// "(devel)" says no more than that nobody installed it by version.
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		dirty := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				b.Revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "+dirty"
			}
		}
		if b.Revision != "unknown" {
			b.Revision += dirty
		}
	}
	if b.Version == "" {
		b.Version = "unknown"
	}
	return b
}

// String is one line for people, such as "v1.2.0 (revision 0a1b2c, go1.26.0)".
func (b Build) String() string {
	return fmt.Sprintf("%s (revision %s, %s)", b.Version, b.Revision, b.GoVersion)
}
