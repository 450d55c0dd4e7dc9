package base

import (
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
)

// TestExitCodeOfEnd checks that scripts can tell from the exit code of run and watch how an investigation ended.
func TestExitCodeOfEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status agent.Status
		reason agent.EndReason
		want   int
	}{
		{agent.StatusCompleted, agent.EndCompleted, 0},
		{agent.StatusCompleted, "", 0},
		{agent.StatusCompleted, agent.EndBudget, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxPasses, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxLLMCalls, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxHops, command.ExitCut},
		{agent.StatusCompleted, agent.EndMaxLoop, command.ExitCut},
		{agent.StatusCompleted, agent.EndPartial, command.ExitCut},
		{agent.StatusFailed, agent.EndBudget, command.ExitFailed}, // there is no report
		{agent.StatusTimedOut, agent.EndTimedOut, command.ExitFailed},
		{agent.StatusCancelled, agent.EndCancelled, command.ExitFailed},
		{agent.StatusRefused, "", command.ExitUsage},
	} {
		var said strings.Builder
		c := CLI{Err: &said}
		if got := c.ExitCode(t.Context(), Verdict("lab", tt.status, tt.reason, "")); got != tt.want {
			t.Errorf("%s, %s: exit code %d, want %d", tt.status, tt.reason, got, tt.want)
		}
		cut := strings.Contains(said.String(), "reached a limit") || strings.Contains(said.String(), "is partial")
		if cut != (tt.want == command.ExitCut) {
			t.Errorf("%s, %s: %q", tt.status, tt.reason, said.String())
		}
	}
}

// People read why Temporal did not answer, without the words of gRPC.
func TestErrorsOfTemporal(t *testing.T) {
	t.Parallel()
	lost := serviceerror.NewUnavailable(`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: ` +
		`connection refused"`)
	err := fmt.Errorf("ask investigation x: %w", lost)
	const want = "ask investigation x: connection refused"
	if got := Explain(err).Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var out strings.Builder
	c := &CLI{Err: &out}
	c.Say("starter: %v", err)
	if got := out.String(); got != "starter: "+want+"\n" {
		t.Errorf("got %q", got)
	}
}
