package slack_test

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/slack/workspacetest"
	"github.com/inquest-dev/inquest/internal/record"
)

// The report of an investigation that ended while Slack was away is posted once, and what people do then works.
func TestSlackIsAway(t *testing.T) {
	t.Parallel()
	for name, stalls := range map[string]bool{"it closes connections": false, "it stalls": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSlackIsAway(t, stalls)
		})
	}
}

func testSlackIsAway(t *testing.T, stalls bool) {
	w := newWorld(t)
	if stalls {
		w.stop()
		w.opts.RequestTimeout = 2 * time.Second
		w.run()
	}
	thread := w.Say(channel, "", "U1", "<@"+workspacetest.Bot+"> why?")
	id, _ := w.investigation(thread)
	w.Until("a status", func() bool { return len(w.ours(thread, "running")) == 1 })
	w.becomes(id, agent.StatusCompleted, "The cause is the pool.", record.Waits{})
	w.Leave(stalls)()
	w.Until("the end", func() bool { open, err := w.store.ChatThreads(t.Context()); return err == nil && len(open) == 0 })
	if reports, all := w.ours(thread, "is the pool"), w.ours(thread, ""); len(reports) != 1 || len(all) != 2 {
		t.Errorf("%d reports among %d messages: %s", len(reports), len(all), w.Dump())
	}
	w.investigation(w.Say(channel, "", "U1", "<@"+workspacetest.Bot+"> and now?"))
}
