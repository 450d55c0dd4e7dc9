package system

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// A decided call says by whom and when.
func TestDecision(t *testing.T) {
	t.Parallel()
	entry := func(execution, call, said, errorType string, superseded bool) transcript.Entry {
		e := transcript.Entry{Kind: transcript.KindResult, At: time.Now().Add(-3 * time.Minute), Superseded: superseded}
		e.Execution, e.Call = execution, &transcript.Call{ID: call}
		e.Decision, e.ErrorType = said, errorType
		return e
	}
	entries := []transcript.Entry{
		{Kind: transcript.KindReply}, entry("dig/A", "c1_0", "denied by Eve", "", true), entry("dig/A", "c1_0", "approved by Ada", "", false),
		entry("dig/A", "c1_1", "", "approval_expired", false),
	}
	for name, want := range map[string]string{
		"dig/A/c1_0": "approved by Ada, 3m ago (", "c1_0": "approved by Ada, 3m ago (",
		"dig/A/c1_1": "approval_expired, 3m ago (", "dig/B/c1_0": "",
	} {
		if got := decision(entries, name); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
