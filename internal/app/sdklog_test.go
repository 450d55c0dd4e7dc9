package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	sdklog "go.temporal.io/sdk/log"
)

// The warning about a late local activity is for people who debug; other warnings are for everybody.
func TestSDKLogger(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]string{slog.LevelWarn: "WARN other", slog.LevelDebug: "DEBUG late WARN other"} {
		var out bytes.Buffer
		log := sdkLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
		log = sdklog.With(log, "TaskQueue", "q")
		log.Warn(lateLocalActivity, "LocalActivityID", "1")
		log.Warn("other")
		var got []string
		for line := range strings.Lines(strings.ReplaceAll(out.String(), `"`+lateLocalActivity+`"`, "late")) {
			if fields := strings.Fields(line); len(fields) > 2 && strings.Contains(line, "TaskQueue=q") {
				got = append(got, strings.TrimPrefix(fields[1], "level="), strings.TrimPrefix(fields[2], "msg="))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %s it logs %q, want %q", level, got, want)
		}
	}
}
