package workflows

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
)

// TestOwnSummary checks the summary of calls that touch only our own store. Temporal would fail the workflow task if it
// were larger than 400 bytes.
func TestOwnSummary(t *testing.T) {
	t.Parallel()
	var b batch
	b.agentRun = &agentRun{}
	b.state.Iteration = 3
	own := make([]int, 50)
	for n := range own {
		own[n] = n
		b.calls = append(b.calls, activities.Call{Name: "archival_memory_insert", Own: true})
	}
	const want = "archival_memory_insert · call 2 of iteration 3, archival_memory_insert · call 7 of iteration 3"
	if got := b.ownSummary([]int{1, 6}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got := b.ownSummary(own)
	data, err := json.Marshal(got)
	if err != nil || len(data) > 400 || !strings.HasPrefix(got, "archival_memory_insert · call 1 of") || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %s, %v", len(data), got, err)
	}
}
