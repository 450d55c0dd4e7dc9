package doctor

import (
	"errors"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/tool"
)

// The reason why a server lists no tools is said once, and an error of this program is not quoted as the server's words.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	failed := func(why string) tool.ServerError { return tool.ServerError{Why: why, Err: errors.New("secret")} }
	starting, running, partial := failed("late"), failed("late"), failed("its list repeats")
	starting.Pending, starting.Output = 5*time.Second, "secret"
	running.Pending, running.Running, partial.Partial = 5*time.Second, true, true
	for want, f := range map[string]tool.ServerError{
		"is still starting after 5s; last output: masked":                    starting,
		"has not listed its tools after 5s":                                  running,
		"may have more tools than it lists: its list repeats. Error: masked": partial,
		"is not available: it cannot be started. Error: masked":              failed("it cannot be started"),
	} {
		if got := unlisted(f, func(string) string { return "masked" }); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
