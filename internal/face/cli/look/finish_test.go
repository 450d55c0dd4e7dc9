package look

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// recorded is a system with one ended investigation.
type recorded struct {
	base.Service
	record system.Record
}

func (r recorded) Outcome(context.Context, string) (system.Record, error) { return r.record, nil }

func (r recorded) Evidence(context.Context, system.Record) (evidence.Evidence, error) {
	return evidence.Evidence{Claims: []evidence.Claim{{Text: "X.", Cites: []int{1}, Verdict: evidence.Unverified}}}, nil
}

// TestFinish checks that a terminal gets the brief and the command for the report, and that scripts get the report.
func TestFinish(t *testing.T) {
	t.Parallel()
	ended := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("and so on ", 30)
	completed := record.Investigation{
		ID: "one:0123456789ab", WorkflowID: "one", Status: agent.StatusCompleted, EndReason: agent.EndCompleted, EndedAt: &ended,
		Envelope: record.Envelope{Evidence: "blob"},
		Report: "# Incident report\n\n## Details\nMuch.\n\n## Cause\nThe pool was cut, " + long + "to five.\n\n" +
			"## Next\n1. Roll back:\n   ```\n   kubectl rollout undo deploy/web\n   ```",
	}
	failed := record.Investigation{
		ID: "two:0123456789ab", WorkflowID: "two", Status: agent.StatusFailed, EndReason: agent.EndLLMFailed, EndedAt: &ended,
		Error: "stage dig: lab: credentials refused",
	}
	refused := record.Stage{
		Name: "dig", Status: agent.StatusFailed, Error: "lab: credentials refused",
		Envelope: record.StageEnvelope{ErrorType: "CredentialsRefused"},
	}
	free := completed
	free.Report, free.Envelope.Evidence = "All is well.", ""
	const remedy = "Give the workers a valid key for the provider, and restart them. Then run `starter rerun two`."
	for _, test := range []struct {
		name  string
		r     record.Investigation
		width int
		out   []string // each once, in this order
		never []string
		errs  string // prefix of the messages; empty means none
		err   string
	}{
		{"terminal", completed, 80, []string{"── brief", "Cause:", "to five.", "Proof:", "1. Roll back", "kubectl rollout undo deploy/web\n"},
			[]string{"Incident report", "Much."}, "Whole report: starter report one:0123456789ab\n", ""},
		{"pipe", completed, 0, []string{"── report", "# Incident report", "Much.", "kubectl rollout undo"}, []string{"brief"}, "", ""},
		{"terminal, nothing known", free, 80, []string{"All is well."}, nil, "", ""},
		{"terminal, failed", failed, 120, []string{"credentials refused", remedy}, nil, "", "investigation two:0123456789ab: failed"},
		{"pipe, failed", failed, 0, []string{"two:0123456789ab · failed · llm_failed"}, []string{"credentials refused"}, "",
			"investigation two:0123456789ab: failed: stage dig: lab: credentials refused\n" + remedy},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			stored := recorded{record: system.Record{Investigation: test.r}}
			if test.r.Status == agent.StatusFailed {
				stored.record.Stages = []record.Stage{refused}
			}
			c := &base.CLI{Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Client: func() base.Service { return stored }}
			err := finish(t.Context(), c, test.r, nil, terminal.Options{Out: &out, Width: test.width})
			if message := map[bool]string{true: test.err}[err == nil]; message != "" || err != nil && err.Error() != test.err {
				t.Errorf("error %v, want %q", err, test.err)
			}
			at := 0
			for _, want := range test.out {
				n := strings.Index(out.String(), want)
				if n < at || strings.Count(out.String(), want) != 1 {
					t.Errorf("%q is not there once after the others", want)
				}
				at = n
			}
			for _, text := range test.never {
				if strings.Contains(out.String(), text) {
					t.Errorf("%q is there", text)
				}
			}
			if errs.String() != test.errs {
				t.Errorf("messages %q, want %q", errs.String(), test.errs)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}
