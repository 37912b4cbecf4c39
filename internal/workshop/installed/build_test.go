package installed

import (
	"runtime/debug"
	"testing"
)

func TestABuildKnowsItsVersion(t *testing.T) {
	t.Parallel()
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "f5d6dca4bfe7a97e31c17cea"}, {Key: "vcs.time", Value: "2026-11-18T00:17:02Z"}, {Key: "vcs.modified", Value: "true"}}
	info := func(version, sum string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.5", Main: debug.Module{Version: version, Sum: sum}, Settings: settings}
	}
	for _, tt := range []struct {
		name                  string
		version, commit, date string
		info                  *debug.BuildInfo
		want                  Build
		channel               Channel
	}{
		{"a release", "1.2.3", "f5d6dca4", "2026-11-18T00:17:02Z", info("(devel)", "", vcs...),
			Build{Version: "1.2.3", Commit: "f5d6dca4", Date: "2026-11-18T00:17:02Z"}, Download},
		{"go install", "dev", "", "", info("v1.2.3", "h1:abc="), Build{Version: "1.2.3"}, Go},
		{"a clone", "dev", "", "", info("v0.0.0-20261118001702-f5d6dca4bfe7+dirty", "", vcs...),
			Build{Version: "0.0.0-20261118001702-f5d6dca4bfe7+dirty", Commit: "f5d6dca4bfe7a97e31c17cea", Date: "2026-11-18T00:17:02Z", Modified: true}, Clone},
		{"a clone whose version Go does not know", "dev", "", "", info("(devel)", "", vcs...),
			Build{Version: "0.0.0-20261118001702-f5d6dca4bfe7+dirty", Commit: "f5d6dca4bfe7a97e31c17cea", Date: "2026-11-18T00:17:02Z", Modified: true}, Clone},
		{"a build without git", "dev", "", "", info("(devel)", ""), Build{Version: "dev"}, Clone},
	} {
		got := BuildOf(tt.version, tt.commit, tt.date, tt.info)
		channel := got.channel()
		got.stamped, got.module = false, false
		if tt.want.Go = "go1.26.5"; got != tt.want || channel != tt.channel {
			t.Errorf("%s: %+v, %s; want %+v, %s", tt.name, got, channel, tt.want, tt.channel)
		}
	}
}
