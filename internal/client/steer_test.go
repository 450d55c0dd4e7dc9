package client

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/workflows"
)

// A paused investigation that waits for people counts as paused, because pause and resume depend on that.
func TestWasBefore(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	for name, tt := range map[string]struct {
		before workflows.Status
		want   agent.Status
	}{
		"running": {workflows.Status{Status: agent.StatusRunning}, agent.StatusRunning},
		"waits": {workflows.Status{Status: agent.StatusWaitingApproval, Waiting: []workflows.Approval{{Expires: later}}},
			agent.StatusWaitingApproval},
		"paused, and waits": {workflows.Status{Status: agent.StatusWaitingApproval, Waiting: []workflows.Approval{{}}}, agent.StatusPaused},
		"paused, and asks":  {workflows.Status{Status: agent.StatusWaitingAnswer, Questions: []workflows.Interrupt{{}}}, agent.StatusPaused},
		"asks for an answer": {workflows.Status{Status: agent.StatusWaitingAnswer, Questions: []workflows.Interrupt{{Expires: later}}},
			agent.StatusWaitingAnswer},
	} {
		if got := wasBefore(tt.before); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A prefix of the digest identifies the pending call if it is long enough not to be a guess.
func TestWholeDigest(t *testing.T) {
	t.Parallel()
	waiting := strings.Repeat("0123456789abcdef", 4)
	for given, want := range map[string]string{
		waiting[:12]: waiting, waiting[:11]: waiting[:11], "fedcba987654": "fedcba987654", "": waiting, waiting: waiting,
	} {
		if got := wholeDigest(given, waiting); got != want {
			t.Errorf("%q is taken for %q", given, got)
		}
	}
}
