package activities_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A completed investigation has a report. If there is none, the record and the workflow say that it has failed, unless
// people ended it at a question.
func TestNothingWasFoundOut(t *testing.T) {
	t.Parallel()
	for end, want := range map[agent.EndReason]agent.EndReason{
		agent.EndCompleted: agent.EndNoReport, agent.EndPartial: agent.EndNoReport,
		agent.EndMaxLLMCalls: agent.EndMaxLLMCalls, agent.EndDenied: "", agent.EndInterruptExpired: "",
	} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			value, err := b.env.ExecuteActivity(b.act.Finish,
				activities.FinishIn{Investigation: "inv", Status: agent.StatusCompleted, EndReason: end})
			var out activities.FinishOut
			if err != nil || value.Get(&out) != nil || out.Failed != want {
				t.Errorf("got %+v, %v", out, err)
			}
			status := agent.StatusCompleted
			if want != "" {
				status = agent.StatusFailed
			}
			if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Status != status || (r.Error != "") != (want != "") {
				t.Errorf("recorded %+v, %v", r, err)
			}
		})
	}
}

// An executive summary has at most four lines, is in the record and the result, and is not the report.
func TestSummaryIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for execution, text := range map[string]string{"s/A": "the report", ":summary/Sum": "One.\n\n Two.\nThree.\nFour.\nFive.\n"} {
		_, err := b.store.Append(t.Context(), transcript.Step{
			Scope: transcript.Scope{Investigation: "inv", Execution: execution}, Writer: transcript.Writer{RunID: execution, ActivityID: "1"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Text: text}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
		Investigation: "inv", Status: agent.StatusCompleted, EndReason: agent.EndCompleted, Summary: ":summary/Sum",
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
	})
	var out activities.FinishOut
	const want = "One.\nTwo.\nThree.\nFour."
	if err != nil || value.Get(&out) != nil || out.Summary != want || out.Report != "the report" {
		t.Errorf("the result: %+v, %v", out, err)
	}
	if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Envelope.Summary != want || r.Report != "the report" {
		t.Errorf("the record: %+v, %v", r, err)
	}
}

// An investigation's open waits are recorded until it ends. Then the record, the result and the last reading
// before the end have the same numbers.
func TestStatusAndUsageToTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.env.ExecuteActivity(b.act.SaveStatus, activities.SaveStatusIn{Investigation: "inv", Status: agent.StatusWaitingAnswer,
		Seq: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := b.store.Append(t.Context(), transcript.Step{
		Scope: transcript.Scope{Investigation: "inv", Execution: "s/A"}, Writer: transcript.Writer{RunID: "a", ActivityID: "1"},
		Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{
			Text: "done", Calls: make([]transcript.Call, 2),
			Answer: transcript.Answer{Usage: &agent.Usage{ModelCalls: 1, InputTokens: 7, CostUSD: 0.5}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	last, err := b.store.Investigation(t.Context(), "inv")
	want := agent.Usage{ModelCalls: 1, ToolCalls: 2, InputTokens: 7, CostUSD: 0.5}
	if err != nil || last.Status != agent.StatusWaitingAnswer || last.Usage != want {
		t.Fatalf("while it waits: %+v, %v", last, err)
	}
	in := activities.FinishIn{
		Investigation: "inv", Status: agent.StatusCompleted, EndReason: agent.EndCompleted, Usage: agent.Usage{ModelCalls: 9},
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
	}
	value, err := b.env.ExecuteActivity(b.act.Finish, in)
	var out activities.FinishOut
	if err != nil || value.Get(&out) != nil || out.Usage != want {
		t.Errorf("the result: %+v, %v", out, err)
	}
	if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Status != agent.StatusCompleted || r.Usage != want {
		t.Errorf("the record: %+v, %v", r, err)
	}
}

// TestExecutionTimesAreTheWorkflows checks that an execution starts with its workflow, not with its first model call, and that the
// start stays the same when it ends.
func TestExecutionTimesAreTheWorkflows(t *testing.T) {
	t.Parallel()
	stage := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	ended := stage.Add(30 * time.Minute)
	for name, tt := range map[string]struct {
		started, ended, wantStart, wantEnd time.Time
	}{
		"known":              {stage.Add(time.Minute), stage.Add(11 * time.Minute), stage.Add(time.Minute), stage.Add(11 * time.Minute)},
		"of an older worker": {wantEnd: ended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.ref.Started = tt.started
			if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
				t.Fatal(err)
			}
			running, err := b.store.Executions(t.Context(), "inv")
			if err != nil || len(running) != 1 || !tt.wantStart.IsZero() && !running[0].StartedAt.Equal(tt.wantStart) {
				t.Fatalf("while it runs: %+v, %v", running, err)
			}
			tt.wantStart = running[0].StartedAt
			in := activities.SaveStageIn{Plan: b.ref.Plan, Stage: record.Stage{
				Investigation: "inv", Name: "s", Status: agent.StatusCompleted, StartedAt: stage, EndedAt: &ended,
			}, Executions: []activities.ExecutionSummary{{
				Ref: b.ref, Status: agent.StatusCompleted, Iterations: 1, Started: tt.started, Ended: tt.ended,
			}}}
			if _, err := b.env.ExecuteActivity(b.act.SaveStage, in); err != nil {
				t.Fatal(err)
			}
			all, err := b.store.Executions(t.Context(), "inv")
			if err != nil || len(all) != 1 || !all[0].StartedAt.Equal(tt.wantStart) || all[0].EndedAt == nil || !all[0].EndedAt.Equal(tt.wantEnd) {
				t.Errorf("recorded %+v, %v; want %s to %s", all, err, tt.wantStart, tt.wantEnd)
			}
		})
	}
}

// A report that violates its agent's contract is the text as written, with a note.
func TestReportOutsideItsContract(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Type = "llm" })
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "The pool is too small.", Finish: llm.FinishStop}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil || out.Invalid == "" || !out.Stands {
		t.Fatalf("%+v, %v", out, err)
	}
	value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
		Investigation: "inv", Plan: b.ref.Plan, Status: agent.StatusCompleted, EndReason: agent.EndPartial,
		Results: []activities.Source{{Stage: "s", Execution: "s/A"}}, Outside: map[string]string{"s/A": out.Invalid},
	})
	var finished activities.FinishOut
	const want = "**The agent's output does not meet its contract: " +
		"no valid JSON object found in response. It is shown unchanged.**\n\n" +
		"The pool is too small."
	if err != nil || value.Get(&finished) != nil || finished.Report != want || finished.Failed != "" {
		t.Errorf("%+v, %v", finished, err)
	}
}

// TestRestsOnNoToolResult checks when a report is marked as resting on no tool's result.
func TestRestsOnNoToolResult(t *testing.T) {
	t.Parallel()
	result := func(name string, change func(*transcript.Body)) transcript.Row {
		row := transcript.Row{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult}
		row.Body = transcript.Body{Text: "found", Status: "success", Call: &transcript.Call{Name: name}}
		if change != nil {
			change(&row.Body)
		}
		return row
	}
	fails := func(b *transcript.Body) { b.ErrorType = "Timeout" }
	for name, tt := range map[string]struct {
		row    []transcript.Row
		report string
		change func(*plan.Agent)
		hooks  plan.Hooks
		want   bool
	}{
		"a result":           {row: []transcript.Row{result("k8s.pods", nil)}, report: "r"},
		"a command":          {row: []transcript.Row{result("shell", nil)}, report: "r"},
		"nothing":            {report: "r", want: true},
		"no report":          {},
		"a failed call":      {row: []transcript.Row{result("k8s.pods", fails)}, report: "r", want: true},
		"an earlier result":  {row: []transcript.Row{result("read_result", nil)}, report: "r", want: true},
		"memory":             {row: []transcript.Row{result("m", func(b *transcript.Body) { b.Call.Own = true })}, report: "r", want: true},
		"a function instead": {report: "r", change: func(a *plan.Agent) { a.Mock = "f" }},
		"a search by Google": {report: "r", change: func(a *plan.Agent) { a.Providers[0].NativeTools.GoogleSearch = true }},
		"a hook before":      {report: "r", hooks: plan.Hooks{PreProcess: "h"}},
		"a hook after":       {report: "r", hooks: plan.Hooks{PostProcess: "h"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.change != nil {
				b.plan(tt.change)
			}
			b.hooks(tt.hooks)
			reply := transcript.Row{Key: transcript.Key{Iteration: 2}, Kind: transcript.KindReply, Body: transcript.Body{Text: tt.report}}
			for n, rows := range [][]transcript.Row{tt.row, {reply}} {
				if len(rows) == 0 {
					continue
				}
				_, err := b.store.Append(t.Context(), transcript.Step{
					Scope: transcript.Scope{Investigation: "inv", Execution: "s/A"}, Rows: rows,
					Writer: transcript.Writer{RunID: "r", ActivityID: fmt.Sprint(n)},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
				Investigation: "inv", Plan: b.ref.Plan, Status: agent.StatusCompleted, EndReason: agent.EndCompleted,
				Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
			})
			var out activities.FinishOut
			if err != nil || value.Get(&out) != nil || out.NoToolResult != tt.want {
				t.Errorf("got %+v, %v", out, err)
			}
			if r, err := b.store.Investigation(t.Context(), "inv"); err != nil || r.Envelope.NoToolResult != tt.want {
				t.Errorf("recorded %+v, %v", r.Envelope, err)
			}
		})
	}
}

// hooks gives the plan's stage its hooks.
func (b *bench) hooks(hooks plan.Hooks) {
	b.t.Helper()
	body, err := b.store.Blob(b.t.Context(), b.ref.Plan)
	if err != nil {
		b.t.Fatal(err)
	}
	var p plan.Plan
	if err := json.Unmarshal(body, &p); err != nil {
		b.t.Fatal(err)
	}
	p.Stages[0].Hooks = hooks
	if body, err = json.Marshal(p); err != nil {
		b.t.Fatal(err)
	}
	b.ref.Plan = b.put(string(body))
}

// TestReportSaysWhatWasNotChecked checks the first line of a report, which is left out where it would break a JSON object.
func TestReportSaysWhatWasNotChecked(t *testing.T) {
	t.Parallel()
	missing := []record.NotChecked{{Server: "k8s", Agents: []string{"A"}, Why: "it cannot be started"}}
	for text, want := range map[string]string{
		"# Found":            "**Not checked:** k8s (it cannot be started) · agent A\n\n# Found",
		`{"cause":"a pool"}`: `{"cause":"a pool"}`,
	} {
		b := newBench(t)
		_, err := b.store.Append(t.Context(), transcript.Step{
			Scope: transcript.Scope{Investigation: "inv", Execution: "s/A"}, Writer: transcript.Writer{RunID: "r", ActivityID: "1"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Text: text}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
			Investigation: "inv", Status: agent.StatusCompleted, EndReason: agent.EndPartial,
			Envelope: record.Envelope{NotChecked: missing}, Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
		})
		var out activities.FinishOut
		if err != nil || value.Get(&out) != nil || out.Report != want {
			t.Errorf("got %q, want %q; %v", out.Report, want, err)
		}
	}
}

// TestServersWithoutTools checks what ListTools returns at once for a server that need not be asked again, and which error
// has the workflow ask again.
func TestServersWithoutTools(t *testing.T) {
	t.Parallel()
	failed := func(e tool.ServerError) func() ([]tool.Spec, error) {
		e.Err = errors.New("start MCP server lab: what it says")
		return func() ([]tool.Spec, error) { return nil, &e }
	}
	for name, tt := range map[string]struct {
		offers func() ([]tool.Spec, error)
		last   bool
		want   activities.ListToolsOut
		again  activities.ServerAway // of the error; it is the result that is wanted if this is zero
	}{
		"no tools": {
			offers: func() ([]tool.Spec, error) { return nil, nil }, want: activities.ListToolsOut{Error: "it lists no tools"},
		},
		"cannot be started": {
			offers: failed(tool.ServerError{Why: "w", NotStarted: true, Away: "w"}),
			want:   activities.ListToolsOut{Error: "w", Detail: "what it says"},
		},
		"starting": {
			offers: failed(tool.ServerError{Why: "w", Pending: time.Minute, Running: true, Output: "npm\tfetch"}),
			again:  activities.ServerAway{Pending: plan.Duration(time.Minute), Running: true, Output: "npm fetch"},
		},
		"starting, last": {
			offers: failed(tool.ServerError{Why: "w", Pending: time.Minute}), last: true,
			want: activities.ListToolsOut{Error: "w", Detail: "what it says"},
		},
		"refused": {
			offers: failed(tool.ServerError{Why: "w", Away: "connection refused"}), again: activities.ServerAway{Why: "connection refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.offers = tt.offers
			value, err := b.env.ExecuteActivity(b.act.ListTools, activities.ListToolsIn{
				Ref: b.ref, Server: "lab", Last: tt.last, Within: plan.Duration(time.Minute),
			})
			var got activities.ListToolsOut
			var again activities.ServerAway
			if unavailable, ok := errors.AsType[*temporal.ApplicationError](err); ok && unavailable.Type() == activities.ErrorServerUnavailable {
				err = unavailable.Details(&again)
			} else if err == nil {
				err = value.Get(&got)
			}
			if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.again, again); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAServerThatListsAPart checks that the tools of an incomplete list are offered, that people read why it is incomplete, and that
// the missing tools are not said to be removed.
func TestAServerThatListsAPart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Servers[0].Masking = &plan.Masking{Patterns: []string{"github_token"}} })
	list := func() activities.ListToolsOut {
		value, err := b.env.ExecuteActivity(b.act.ListTools, activities.ListToolsIn{Ref: b.ref, Server: "lab"})
		var out activities.ListToolsOut
		if err != nil || value.Get(&out) != nil {
			t.Fatalf("list: %v", err)
		}
		return out
	}
	list()
	b.offers = func() ([]tool.Spec, error) {
		const words = "list tools of MCP server lab: bad cursor ghp_Zx81kLq0Zx81kLq0Zx81kLq0Zx81kLq0Zx81"
		return slices.Clone(labTools[:1]), &tool.ServerError{Why: "it returned an error", Err: errors.New(words), Partial: true}
	}
	if diff := cmp.Diff(activities.ListToolsOut{Tools: 1}, list()); diff != "" {
		t.Error(diff)
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		t.Fatal(err)
	}
	if offered := b.requests[0].Tools; len(offered) != 1 || offered[0].Name != tool.WireName(labTools[0].Name) {
		t.Errorf("the model is offered %+v", offered)
	}
	entries, _ := b.store.Entries(t.Context(), b.scope())
	notice := noticeOf(entries)
	const want = "Server lab may have more tools than it lists: it returned an error. Its message: list tools of MCP server lab: bad cursor "
	if !strings.HasPrefix(notice, want) || strings.Contains(notice, "ghp_Zx") || strings.Contains(notice, "removed") {
		t.Errorf("people are told %q", notice)
	}
}
