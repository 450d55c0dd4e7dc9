package devserver

import (
	"log/slog"
	"strings"
	"testing"
)

// People see the server's warnings, except about schedules that could not run while it was down.
func TestLogger(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l := newLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	l.Warn("cannot find the history service")
	l.started()
	l.Warn("Schedule missed catchup window")
	l.Warn("slow persistence")
	l.stopping()
	l.Error("shut down")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "slow persistence") {
		t.Errorf("got:\n%s", got)
	}
}
