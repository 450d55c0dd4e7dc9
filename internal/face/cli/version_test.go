package cli

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"no module": {nil, "inquest built without module information"},
		"a test":    {&debug.BuildInfo{GoVersion: "go1.26.8"}, "inquest (devel), go1.26.8"},
		"a release": {&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "b47020c"}, {Key: "vcs.time", Value: "2026-11-22T16:41:02Z"}, {Key: "vcs.modified", Value: "false"},
		}}, "inquest v1.2.3 (commit b47020c, 2026-11-22T16:41:02Z), go1.26.8"},
		"a change": {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
			{Key: "vcs.modified", Value: "true"},
		}}, "inquest v1.2.3, modified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := buildOf(tc.info).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
