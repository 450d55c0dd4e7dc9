package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// TestStatusAfterAReset: the status leaves out stages undone by a reset, although the store still has them.
func TestStatusAfterAReset(t *testing.T) {
	t.Parallel()
	run := func(name string, order, minute int) record.Stage {
		started := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
		return record.Stage{Name: name, Status: agent.StatusCompleted, StartedAt: started, EndedAt: &started,
			Envelope: record.StageEnvelope{Version: 1, Order: order}}
	}
	r := record.Investigation{Status: agent.StatusCompleted,
		Envelope: record.Envelope{Version: 1, Hops: 2, Final: true, Pending: []string{"tell"}}}
	got := StatusOf(r, []record.Stage{run("dig", 1, 0), run("weigh", 2, 1), run("tell", 3, 2), run("judge", 2, 5)})
	var names []string
	for _, s := range got.Stages {
		names = append(names, s.Name+" "+string(s.Status))
	}
	if list := strings.Join(names, ", "); list != "dig completed, judge completed, tell skipped" || len(got.History) != 2 {
		t.Errorf("%s; history %+v", list, got.History)
	}
}
