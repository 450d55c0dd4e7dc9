package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Readers see whether something was changed, not only in the JSON.
func TestActionsExecuted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		said           []*bool
		markdown, html string
	}{
		{"one of two has", []*bool{new(true), new(false)}, "\n**Actions executed:** yes\n", "<strong>Actions executed:</strong> yes"},
		{"none has", []*bool{nil, new(false)}, "\n**Actions executed:** no\n", "<strong>Actions executed:</strong> no"},
		{"nobody has said", []*bool{nil}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stage record.Stage
			for _, said := range test.said {
				stage.Envelope.Agents = append(stage.Envelope.Agents, record.AgentSummary{ActionsExecuted: said})
			}
			r := report.Of(record.Investigation{ID: "i", Report: "# Found"}, []record.Stage{stage}, "i", nil)
			var page strings.Builder
			if err := r.HTML(&page); err != nil {
				t.Fatal(err)
			}
			for text, want := range map[string]string{r.Markdown(): test.markdown, page.String(): test.html} {
				if !strings.Contains(text, want) || want == "" && strings.Contains(text, "Actions") {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
	}
}

// TestPartialStages checks that the report says why a stage is partial, whether or not the stage's text is the report.
func TestPartialStages(t *testing.T) {
	t.Parallel()
	stages := []record.Stage{
		{Name: "dig", Status: agent.StatusCompleted, Envelope: record.StageEnvelope{
			Partial: "the output does not meet the contract: no JSON"}},
		{Name: "write", Index: 1, Status: agent.StatusCompleted},
		{Name: "stopped", Index: 2, Status: agent.StatusCancelled, Error: "cancelled by ann"},
	}
	got := report.Of(record.Investigation{ID: "i", Report: "# Found"}, stages, "i", nil).Markdown()
	const want = "- stage dig is partial: the output does not meet the contract: no JSON\n- stage stopped: cancelled by ann\n"
	if !strings.HasSuffix(got, want) || strings.Contains(got, "stage write") {
		t.Errorf("want %q at the end of\n%s", want, got)
	}
}

// TestUnknownWrites checks that writes with an unknown outcome come before the report's own text.
func TestUnknownWrites(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 7, 40, 1, 0, time.UTC)
	calls := []transcript.UnknownCall{
		{Execution: "one/A", Tool: "fx.append", Arguments: "{\"text\":\"<b>`x`</b>\"}", Risk: agent.RiskDestructive, At: at, NoResult: true},
		{Execution: "one/A", Tool: "fx.read", Risk: agent.RiskReadOnly, At: at, NoResult: true},
	}
	r := report.Of(record.Investigation{ID: "i", Status: agent.StatusCancelled, Report: "# Found"}, nil, "i", nil)
	if text := r.Markdown(); strings.Contains(text, "Outcome unknown") {
		t.Errorf("nothing is unknown:\n%s", text)
	}
	r.UnknownWrites = transcript.Writes(calls)
	text := r.Markdown()
	const want = "- `fx.append` `` {\"text\":\"<b>`x`</b>\"} `` · A, stage one · 2026-11-25 07:40:01 UTC\n"
	if !strings.Contains(text, want) || strings.Contains(text, "fx.read") || strings.Index(text, want) > strings.Index(text, "# Found") {
		t.Errorf("want %q before the report in\n%s", want, text)
	}
	var page strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if html := page.String(); !strings.Contains(html, "<code>fx.append</code>") || strings.Contains(html, "<b>`x`") {
		t.Errorf("in HTML:\n%s", html)
	}
	r.UnknownWrites = slices.Repeat(r.UnknownWrites, 100)
	if text := r.Markdown(); strings.Count(text, "fx.append") != 20 || !strings.Contains(text, "- and 80 more\n") {
		t.Errorf("of 100:\n%s", text)
	}
}

// TestLateAnswers checks that a report says what a tool has answered late, and does not warn of a call that is known to have succeeded.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 7, 40, 1, 0, time.UTC)
	call := transcript.UnknownCall{Execution: "one/A", Tool: "fx.append", Risk: agent.RiskWrite, At: at}
	r := report.Of(record.Investigation{ID: "i", Status: agent.StatusCompleted, Report: "# Found"}, nil, "i", nil)
	for status, want := range map[string]string{
		"": "**Outcome unknown:** these calls were interrupted and may have taken effect. Check before you repeat them.\n\n" +
			"- `fx.append`  · A, stage one · 2026-11-25 07:40:01 UTC\n",
		"error": "**Outcome unknown:** these calls were interrupted and may have taken effect. Check before you repeat them.\n\n" +
			"- `fx.append`  · A, stage one · 2026-11-25 07:40:01 UTC · answered late: error `answer`\n",
		"success": "**Answered late:** these calls were interrupted, but their tools later reported success. " +
			"The agents did not see it.\n\n- `fx.append`  · A, stage one · 2026-11-25 07:40:01 UTC · answered late: success `answer`\n",
	} {
		if status != "" {
			call.Late = &transcript.Late{Status: status, Text: "answer"}
		}
		r.UnknownWrites = []transcript.UnknownCall{call}
		if call.Late = nil; r.UnknownLines() != want {
			t.Errorf("late %q:\n%s\nwant\n%s", status, r.UnknownLines(), want)
		}
	}
}

// TestProblemsAreNamedOnce checks that a report does not repeat a problem that it has named with its stage.
func TestProblemsAreNamedOnce(t *testing.T) {
	t.Parallel()
	stages := []record.Stage{{Name: "one", Status: agent.StatusCancelled, Error: "C cancelled: cancelled"}}
	const advice = "- To repeat it, run `starter rerun i`.\n"
	for err, want := range map[string]string{
		"stage one: C cancelled: cancelled": "- stage one: C cancelled: cancelled\n",
		"C cancelled: cancelled":            "- stage one: C cancelled: cancelled\n",
		"store_behind":                      "- stage one: C cancelled: cancelled\n- store_behind\n",
	} {
		r := report.Of(record.Investigation{ID: "i", Status: agent.StatusCancelled, Error: err}, stages, "i", nil)
		if text := r.Markdown(); !strings.HasSuffix(text, "\n---\n\n"+want+advice) {
			t.Errorf("%s:\n%s\nwant at the end\n%s", err, text, want+advice)
		}
	}
}

// TestCaveatsComeFirst checks that people read what was not checked before the summary, the cause and the confidence, and only once.
func TestCaveatsComeFirst(t *testing.T) {
	t.Parallel()
	r := record.Investigation{ID: "i", Status: agent.StatusCompleted, EndReason: agent.EndPartial, Envelope: record.Envelope{
		Summary: "The pool, probably.", NoToolResult: true,
		NotChecked: []record.NotChecked{{Server: "k8s", Agents: []string{"A"}, Why: "it cannot be started", Detail: "no such file"}},
	}}
	r.Report = r.Envelope.NotCheckedParagraph() + "## Cause\nThe pool.\n\nConfidence: high"
	got := report.Of(r, nil, "i · completed · partial", nil)
	var page strings.Builder
	if err := got.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"Markdown": got.Markdown(), "HTML": page.String()} {
		at := []int{strings.Index(text, "Not checked"), strings.Index(text, "No tool result"), strings.Index(text, "The pool, probably"),
			strings.Index(text, "The pool."), strings.Index(text, "high")}
		if !slices.IsSorted(at) || at[0] < 0 || strings.Count(text, "Not checked") != 1 {
			t.Errorf("%s: places %v in\n%s", form, at, text)
		}
	}
	if want := r.Envelope.Caveats(); !slices.Equal(got.Brief.Caveats, want) || got.Brief.Cause != "The pool." {
		t.Errorf("brief %+v", got.Brief)
	}
}

// TestAdvice checks that a failure comes with what to do about its kind.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status    agent.Status
		reason    agent.EndReason
		errorType string // of the failed stage
		want      string // before the command; empty means no advice
	}{
		{agent.StatusFailed, agent.EndLLMFailed, "CredentialsRefused", "Give the workers a valid key for the provider, and restart them. Then"},
		{agent.StatusFailed, agent.EndLLMFailed, "ContextTooLong", "Use a model with a larger context window"},
		{agent.StatusFailed, agent.EndLLMFailed, "ModelUnavailable", "Check the provider"},
		{agent.StatusFailed, agent.EndLLMFailed, "", "Check the provider"},
		{agent.StatusFailed, agent.EndToolFailed, "ServerUnavailable", "Check the tool server with `starter doctor`."},
		{agent.StatusFailed, agent.EndToolFailed, "Failed", "To repeat it, run"},
		{agent.StatusTimedOut, agent.EndTimedOut, "", "Raise the chain's timeout"},
		{agent.StatusFailed, agent.EndStoreBehind, "CredentialsRefused", "If another store"},
		{agent.StatusCompleted, agent.EndBudget, "", "Raise this limit"},
		{agent.StatusCancelled, agent.EndCancelled, "CredentialsRefused", "To repeat it, run"},
		{agent.StatusTerminated, agent.EndTerminated, "", "To repeat it, run"},
		{agent.StatusCompleted, agent.EndCompleted, "", ""},
		{agent.StatusCompleted, agent.EndPartial, "", ""},
		{agent.StatusRunning, "", "", ""},
		{agent.StatusRefused, "", "", ""},
	} {
		stages := []record.Stage{
			{Name: "skipped", Status: agent.StatusCompleted, Envelope: record.StageEnvelope{ErrorType: "HookFailed"}},
			{Name: "one", Status: agent.StatusFailed, Envelope: record.StageEnvelope{ErrorType: test.errorType}},
		}
		r := record.Investigation{ID: "it burns:0123456789ab", WorkflowID: "it burns", Status: test.status, EndReason: test.reason}
		got := report.Advice(r, stages)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") ||
			got != "" && !strings.HasSuffix(got, " run `starter rerun 'it burns'`.") {
			t.Errorf("%s, %s, %s: %q", test.status, test.reason, test.errorType, got)
		}
	}
}
