package activities_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// acts returns the investigation's entries in the audit trail.
func (b *bench) acts(of ...audit.What) (acts []audit.Act) {
	b.t.Helper()
	err := b.store.Acts(b.t.Context(), store.ActFilter{Investigation: "inv"}, func(act audit.Act) error {
		for _, what := range of {
			if act.What == what {
				acts = append(acts, act)
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return acts
}

// TestActsOfACallThatWasLost: if a call's activity fails, the audit trail says who decided, in their words, and that the
// call began only if it did. Each appears once.
func TestActsOfACallThatWasLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		approved, begun bool
		want, reason    string
	}{
		"before it began": {true, false, "decided executed", `"reason":"it is safe"`},
		"after it began":  {true, true, "executed", ""},
		"denied":          {false, false, "decided executed", `"reason":"no worker has taken it"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{Name: "lab__write", Arguments: "{}"})
			if tt.begun {
				b.wrote(sameRun, transcript.Row{
					Key: transcript.CallKey(1, 0), Kind: transcript.KindCall,
					Body: transcript.Body{Call: &transcript.Call{ID: "c1_0", Name: "lab.write", Class: string(tool.NonIdempotent)}},
				})
			}
			b.reply = newBench(t).reply
			if _, err := b.generate(activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{{
				Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ResultNotRun, Text: "no worker has taken it",
				Decision: &activities.Decision{Approved: tt.approved, By: "Ada", At: time.Now(), Reason: "it is safe", Digest: "d"},
			}}}); err != nil {
				t.Fatal(err)
			}
			var got []string
			acts := b.acts(audit.Decided, audit.Began, audit.Executed)
			for _, act := range acts {
				got = append(got, string(act.What))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Fatalf("acts (-want +got):\n%s", diff)
			}
			if !strings.Contains(string(acts[0].Detail), tt.reason) {
				t.Errorf("the trail says %s", acts[0].Detail)
			}
		})
	}
}

// TestStatusKeepsTheWorkflowsState: a local activity gets the workflow's own values and must not change them. People's
// comments on a call are masked.
func TestStatusKeepsTheWorkflowsState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change(func(p *plan.Plan) { p.AlertMasking = &plan.Masking{Patterns: mask.Groups()["security"]} })
	const note = "Ada handed it to Bob. password: hunter2-Zq81"
	in := activities.SaveStatusIn{
		Investigation: "inv", Status: agent.StatusRunning, Seq: 1, Plan: b.ref.Plan,
		Acts: []audit.Act{{
			Investigation: "inv", At: time.Now(), What: audit.Guided, Key: "1", Detail: audit.Detail("text", "password: hunter2-Zq81"),
		}},
		Waits: record.Waits{Approvals: []record.Approval{{CallID: "c1_0", Execution: "s/A", Notes: []string{note}}}},
	}
	for range 2 {
		if _, err := b.env.ExecuteLocalActivity(func(ctx context.Context) error { return b.act.SaveStatus(ctx, in) }); err != nil {
			t.Fatal(err)
		}
	}
	if in.Acts[0].Key != "1" || !strings.Contains(string(in.Acts[0].Detail), "hunter2") || in.Waits.Approvals[0].Notes[0] != note {
		t.Errorf("it was changed: %+v", in)
	}
	acts := b.acts(audit.Guided, audit.Asked)
	if len(acts) != 2 {
		t.Errorf("%d acts", len(acts))
	}
	for _, act := range acts {
		if text := string(act.Detail); strings.Contains(text, "hunter2") || !strings.Contains(text, "[MASKED_PASSWORD]") {
			t.Errorf("the trail says %s", text)
		}
	}
}

// TestActsOfDecisions: the audit trail has each decision once, whatever its outcome, with the arguments that were shown.
func TestActsOfDecisions(t *testing.T) {
	t.Parallel()
	changed := slices.Clone(labTools)
	changed[0].Description = "Deletes what it reads."
	long := `{"n":1,"pod":"db-` + strings.Repeat("x", 5000) + `"}`
	for name, tt := range map[string]struct {
		arguments string
		denied    bool
		prepare   func(*bench)
		want      string
	}{
		"approved":       {`{"n":1,"pod":"db-1"}`, false, func(*bench) {}, "decided began executed"},
		"approved, long": {long, false, func(*bench) {}, "decided began executed"},
		"denied":         {`{"n":1,"pod":"db-1"}`, true, func(*bench) {}, "decided executed"},
		"approved, and asked anew": {`{"n":1,"pod":"db-1"}`, false, func(b *bench) {
			b.offers = func() ([]tool.Spec, error) { return slices.Clone(changed), nil }
		}, "decided"},
		"approved, and gone": {`{"n":1,"pod":"db-1"}`, false, func(b *bench) {
			b.offers = func() ([]tool.Spec, error) { return slices.Clone(labTools[1:]), nil }
		}, "decided executed"},
		"approved, and cut off": {`{"n":1,"pod":"db-1"}`, false, func(*bench) {}, "decided executed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, asked := approving(t, tt.arguments)
			tt.prepare(b)
			d := &activities.Decision{Approved: !tt.denied, By: "Ada", Digest: asked.Digest, At: time.Now()}
			switch {
			case strings.HasSuffix(name, "cut off"):
				in := activities.DecidedIn{Ref: b.ref, Results: []activities.Input{{
					Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ErrorCancelled, Text: "The call was not made", Decision: d,
				}}}
				if _, err := b.env.ExecuteActivity(b.act.RecordDecided, in); err != nil {
					t.Fatal(err)
				}
			case tt.denied:
				b.reply = newBench(t).reply
				if _, err := b.generate(activities.GenerateIn{Iteration: 2, Inputs: []activities.Input{{
					Kind: activities.InputResult, Iteration: 1, ErrorType: activities.ResultDenied, Text: "The call was not made", Decision: d,
				}}}); err != nil {
					t.Fatal(err)
				}
			default:
				for range 2 {
					b.decided(0, d)
				}
			}
			var got []string
			acts := b.acts(audit.Decided, audit.Began, audit.Executed)
			for _, act := range acts {
				got = append(got, string(act.What))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Fatalf("acts (-want +got):\n%s", diff)
			}
			var said map[string]string
			if err := json.Unmarshal(acts[0].Detail, &said); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "gone") { // the original call is unknown
				return
			}
			seen := said["seen"]
			if said["seen_ref"] != "" {
				whole, err := b.store.Blob(t.Context(), said["seen_ref"])
				if err != nil {
					t.Fatal(err)
				}
				seen = string(whole)
			}
			reapproval := strings.HasSuffix(name, "anew") // the approval is now for another digest
			if !reapproval && seen != tt.arguments || (said["seen_ref"] != "") != (len(tt.arguments) > 4096) || said["digest"] != asked.Digest {
				t.Errorf("seen %.100q, %s", seen, acts[0].Detail)
			}
		})
	}
}

// TestTell: a message sent directly to an agent is in the trail once, masked.
func TestTell(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change(func(p *plan.Plan) { p.AlertMasking = &plan.Masking{Patterns: mask.Groups()["security"]} })
	in := activities.TellIn{Plan: b.ref.Plan, Acts: []audit.Act{{
		Investigation: "inv", Execution: "s/A", At: time.Now(), What: audit.Paused, Who: "Ada", Key: "1",
		Detail: audit.Detail("agent", "password: hunter2-Zq81"),
	}}}
	for range 2 {
		if _, err := b.env.ExecuteActivity(b.act.Tell, in); err != nil {
			t.Fatal(err)
		}
	}
	acts := b.acts(audit.Paused)
	if len(acts) != 1 || acts[0].Who != "Ada" || acts[0].Execution != "s/A" || strings.Contains(string(acts[0].Detail), "hunter2") {
		t.Errorf("the trail has %+v", acts)
	}
}
