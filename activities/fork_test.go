package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
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
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// forkable records that the bench's investigation has ended.
func (b *bench) forkable() {
	b.t.Helper()
	end := time.Now()
	r := record.Investigation{
		ID: "inv", WorkflowID: "w", Chain: "lab", PlanHash: b.ref.Plan, DataHash: b.put("the data"), Status: agent.StatusRunning, StartedAt: end,
		Labels: agent.Labels{Project: "shop", Metadata: map[string]string{"team": "x", agent.TraceParent: "t"}},
	}
	err := b.store.StartInvestigation(b.t.Context(), r)
	r.Status, r.EndedAt = agent.StatusFailed, &end
	if err := errors.Join(err, b.store.FinishInvestigation(b.t.Context(), r)); err != nil {
		b.t.Fatal(err)
	}
	b.requests, b.calls, b.listed = nil, nil, nil
}

// stricter is a configuration in which a person must approve writes.
type stricter struct{ counter }

func (s stricter) Plan(ctx context.Context, req agent.Request, data string) (plan.Plan, error) {
	p, err := s.counter.Plan(ctx, req, data)
	p.Stages[0].Agents[0].Tools.Permissions = map[string]plan.Permission{"lab.write": {RequiresApproval: true}}
	p.Timeout = plan.Duration(7 * time.Hour)
	p.Stages[0].Agents[0].Servers[0].Masking = &plan.Masking{Custom: []plan.MaskPattern{{Pattern: "4711", Replacement: "[MASKED]"}}}
	b := p.Stages[0].Agents[0]
	b.Name = "B"
	p.Stages = append(p.Stages, plan.Stage{Name: "s2", Agents: []plan.Agent{b}})
	return p, err
}

func (b *bench) fork(id, input string) (out activities.ResolveOut, err error) {
	b.act.Requests, b.act.Planner = inbox(input), stricter{}
	value, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: id, RunID: "run"})
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// TestForkSharesReplies: neither a model nor a tool nor a person is asked about what is shared, and the first own request has it.
func TestForkSharesReplies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "a", Name: "lab__write", Arguments: `{}`})
	if _, err := b.callTool(1, 0); err != nil || len(b.calls) != 1 {
		t.Fatal(err, b.calls)
	}
	b.change(func(p *plan.Plan) { p.AlertMasking = &plan.Masking{Patterns: []string{"password"}} })
	b.forkable()
	out, err := b.fork("fork", `{"fork":{"of":"inv","guide":"Look at the proxy."},"project":"shop","by":"Ada",
		"metadata":{"team":"y","password":"hunter2hunter2"}}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.store.Investigation(t.Context(), "fork")
	if err != nil {
		t.Fatal(err)
	}
	labels := agent.Labels{Project: "shop", Metadata: map[string]string{"team": "y", "forked_from": "inv", "password": "[MASKED_PASSWORD]"}}
	if diff := cmp.Diff(labels, r.Labels); diff != "" || r.Chain != "lab" || r.Envelope.By != "Ada" || out.Skeleton.Version != 8 {
		t.Errorf("%+v%s", r, diff)
	}
	if diff := cmp.Diff(&record.Fork{Of: "inv", Rows: 5}, r.Envelope.Fork); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(r.Envelope.Fork, out.Fork); diff != "" {
		t.Errorf("for the workflow: %s", diff)
	}
	p, err := b.act.Blobs.Blob(t.Context(), out.Plan)
	if err != nil || !strings.Contains(string(p), `"requires_approval":true`) || !strings.Contains(string(p), `"timeout":"7h0m0s"`) {
		t.Errorf("permissions and limits are not the current ones: %v, %s", err, p)
	}
	if old, err := b.act.Blobs.Blob(t.Context(), b.ref.Plan); err != nil || strings.Contains(string(old), "requires_approval") {
		t.Errorf("the plan of the other investigation: %v, %s", err, old)
	}
	acts := b.acts(audit.Forked)
	if len(acts) != 1 || acts[0].Investigation != "inv" || acts[0].Who != "Ada" || !strings.Contains(string(acts[0].Detail), `"fork"`) {
		t.Errorf("acts: %+v", acts)
	}

	b.ref = activities.Ref{Investigation: "fork", Execution: "s/A", Plan: out.Plan, Data: out.Data}
	first, err := b.generate(activities.GenerateIn{Iteration: 1})
	want := []activities.Call{{Name: "lab.write", Own: true, Quick: true}}
	if diff := cmp.Diff(want, first.Calls); err != nil || diff != "" || first.Usage != (agent.Usage{ModelCalls: 1}) || first.Quick {
		t.Fatalf("the shared reply: %v, %+v%s", err, first, diff)
	}
	if _, err := b.env.ExecuteActivity(b.act.CallOwnTools, activities.CallOwnToolsIn{Ref: b.ref, Iteration: 1, Calls: []int{0}}); err != nil {
		t.Fatal(err)
	}
	if len(b.requests)+len(b.calls) > 0 {
		t.Fatalf("%d models and %d tools were called", len(b.requests), len(b.calls))
	}
	b.reply = newBench(t).reply
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range b.requests[0].Messages {
		told = append(told, string(m.Role))
	}
	last := b.requests[0].Messages[len(told)-1].Content
	guided := strings.Contains(last, "Look at the proxy.") && strings.Contains(last, "Ada")
	if got := strings.Join(told, " "); got != "system user assistant tool user" || !guided {
		t.Errorf("the first own request: %s; %s", got, last)
	}
	again, err := b.fork("fork", `{"fork":{"of":"inv"},"project":"shop"}`)
	if err != nil || again.Plan != out.Plan || len(b.acts(audit.Forked)) != 1 {
		t.Errorf("the second attempt: %v, %+v", err, again)
	}
}

// forkOfTwoStages forks an investigation whose first stage has read something, and whose second has not begun.
func (b *bench) forkOfTwoStages(asked agent.Fork) activities.ResolveOut {
	b.t.Helper()
	b.asks(agent.ToolCall{ID: "a", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.callTool(1, 0); err != nil {
		b.t.Fatal(err)
	}
	b.change(func(p *plan.Plan) {
		p.AlertMasking = &plan.Masking{Patterns: []string{"password"}}
		next := p.Stages[0].Agents[0]
		next.Name, next.Instructions = "B", "Be thorough."
		p.Stages = append(p.Stages, plan.Stage{Name: "s2", Agents: []plan.Agent{next}})
	})
	b.forkable()
	b.reply = newBench(b.t).reply
	asked.Of = "inv"
	input, err := json.Marshal(map[string]any{"project": "shop", "by": "Ada", "fork": asked})
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := b.fork("fork", string(input))
	if err != nil {
		b.t.Fatal(err)
	}
	b.ref = activities.Ref{Investigation: "fork", Execution: "s/A", Plan: out.Plan, Data: out.Data}
	return out
}

// TestForkWithAnotherResult: the agent reads the result that a person gave, masked like results of the tool, and it is known who gave it.
func TestForkWithAnotherResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	large := strings.Repeat("other line\n", 30_000)
	out := b.forkOfTwoStages(agent.Fork{Results: map[string]string{"s/A/c1_0": "customer 4711 password: hunter2hunter2\n" + large}})
	want := &record.Fork{
		Of: "inv", Rows: 5, Changes: []string{"result of row 5 (lab.read of s/A), given by Ada"},
		Given: []record.NotChecked{{Server: "lab.read", Agents: []string{"A"}, Why: "Ada gave the result of row 5"}},
	}
	if diff := cmp.Diff(want, out.Fork); diff != "" || out.Skeleton.Version != 9 {
		t.Errorf("version %d%s", out.Skeleton.Version, diff)
	}
	rows, err := b.store.After(t.Context(), "fork", 0, 0)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	whole, err := rows[4].Whole(t.Context(), b.store.Blob)
	if given := "customer [MASKED] password: [MASKED_PASSWORD]\n" + large; err != nil || whole != given {
		t.Errorf("%v, %d bytes: %.100s", err, len(whole), whole)
	}
	said := transcript.Body{
		Text: rows[4].Text, Call: rows[4].Call, Status: "success", Untrusted: rows[4].Untrusted, Shared: 5,
		Result: transcript.Result{Size: len(whole), Blob: rows[4].Blob, Given: "Ada"},
	}
	if diff := cmp.Diff(said, rows[4].Body); diff != "" || !slices.Contains(rows[4].Untrusted, "a result that Ada gave") {
		t.Errorf("%q%s", rows[4].Untrusted, diff)
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	last := b.requests[0].Messages[len(b.requests[0].Messages)-1].Content
	if !strings.Contains(last, "customer [MASKED] password: [MASKED_PASSWORD]\nother line") {
		t.Errorf("the agent reads: %.100s", last)
	}
	again, err := b.fork("fork", `{"fork":{"of":"inv"},"project":"shop"}`)
	if err != nil || again.Plan != out.Plan {
		t.Errorf("the second attempt: %v, %+v", err, again)
	}
}

// TestForkWithAnotherPrompt: an agent that has not begun gets the prompt of the request instead of its instructions.
func TestForkWithAnotherPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out := b.forkOfTwoStages(agent.Fork{Prompts: map[string]string{"B": "Be brief. password: hunter2hunter2"}})
	if diff := cmp.Diff(&record.Fork{Of: "inv", Rows: 5, Changes: []string{"prompt of s2/B"}}, out.Fork); diff != "" {
		t.Error(diff)
	}
	b.ref.Execution, b.ref.Stage = "s2/B", 1
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		t.Fatal(err)
	}
	prompt := b.requests[0].Messages[0].Content
	if strings.Contains(prompt, "thorough") || !strings.Contains(prompt, "Be brief. password: [MASKED_PASSWORD]") {
		t.Errorf("the prompt: %s", prompt)
	}
}

// asksIn has a model ask for calls of lab tools in an iteration, and returns what the workflow is told about them. Then it has the calls
// made that touch only our own store.
func (b *bench) asksIn(iteration int, calls ...agent.ToolCall) (told []activities.Call) {
	b.t.Helper()
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{ToolCalls: calls, Finish: llm.FinishToolCalls}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: iteration})
	if err != nil {
		b.t.Fatal(err)
	}
	own := activities.CallOwnToolsIn{Ref: b.ref, Iteration: iteration}
	for n, call := range out.Calls {
		if call.Own {
			own.Calls = append(own.Calls, n)
		}
	}
	for range 2 { // the worker may die after the first attempt
		if _, err := b.env.ExecuteActivity(b.act.CallOwnTools, own); err != nil {
			b.t.Fatal(err)
		}
	}
	return out.Calls
}

// recordedFork forks an investigation with two different results of the same call, and a write that would need approval now.
func (b *bench) recordedFork(tools string) {
	b.t.Helper()
	b.asks(agent.ToolCall{ID: "a", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.callTool(1, 0); err != nil {
		b.t.Fatal(err)
	}
	b.asksIn(2, agent.ToolCall{ID: "b", Name: "lab__write", Arguments: `{}`}, agent.ToolCall{ID: "c", Name: "lab__read", Arguments: `{"n":1}`})
	for n := range 2 {
		if _, err := b.callTool(2, n); err != nil {
			b.t.Fatal(err)
		}
	}
	b.forkable()
	out, err := b.fork("fork", `{"fork":{"of":"inv","at":"A/2","tools":"`+tools+`"},"project":"shop"}`)
	if err != nil || out.Skeleton.Version != 10 || out.Fork.Tools != tools {
		b.t.Fatalf("%v, version %d, %+v", err, out.Skeleton.Version, out.Fork)
	}
	b.ref = activities.Ref{Investigation: "fork", Execution: "s/A", Plan: out.Plan, Data: out.Data}
}

// TestForkWithATape: the calls of a fork are answered from the results of the other investigation, in their order. Nobody approves them,
// and no tool is called.
func TestForkWithATape(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.recordedFork(agent.ForkTape)
	b.listsWithoutServer()
	told := b.asksIn(2,
		agent.ToolCall{ID: "a", Name: "lab__read", Arguments: `{ "n": 1 }`}, agent.ToolCall{ID: "b", Name: "lab__write", Arguments: ``},
		agent.ToolCall{ID: "c", Name: "lab__read", Arguments: `{"n":2}`}, agent.ToolCall{ID: "d", Name: "lab__read", Arguments: `{"n":1}`})
	own := func(name string) activities.Call { return activities.Call{Name: name, Own: true, Quick: true} }
	if diff := cmp.Diff([]activities.Call{own("lab.read"), own("lab.write"), own("lab.read"), own("lab.read")}, told); diff != "" {
		t.Error(diff)
	}
	rows := b.rows("fork")
	var got []string
	texts := map[int64]string{}
	for _, e := range b.rows("inv") {
		texts[e.Seq] = e.Text
	}
	for _, e := range rows {
		if e.Kind != transcript.KindResult || e.Shared > 0 {
			continue
		}
		got = append(got, e.Recorded+e.ErrorType)
		if row, err := strconv.ParseInt(strings.TrimPrefix(e.Recorded, "inv/"), 10, 64); err == nil && texts[row] != e.Text || e.Decision != "" {
			t.Errorf("%s is %q, decided by %q", e.Recorded, e.Text, e.Decision)
		}
	}
	want := []string{"inv/10", "inv/8", "not_recorded", "inv/10"}
	if diff := cmp.Diff(want, got); diff != "" || len(b.calls) > 0 {
		t.Errorf("%d tools were called%s", len(b.calls), diff)
	}
	if last, err := b.store.LastOffer(t.Context(), "lab"); err != nil || last.Recorded {
		t.Errorf("%v, what another investigation got counts as the server's last list: %+v", err, last)
	}
	b.finishes("fork", &agent.Coverage{Hits: 3, Misses: 1}, record.NotChecked{
		Server: "lab.read", Agents: []string{"A"}, Why: "inv has no result of this call",
	})
}

// TestForkWithTapeAndTools: calls without a recorded result are made as usual.
func TestForkWithTapeAndTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.recordedFork(agent.ForkLive)
	read := func(id, arguments string) agent.ToolCall {
		return agent.ToolCall{ID: id, Name: "lab__read", Arguments: arguments}
	}
	told := b.asksIn(2, read("a", `{"n":1}`), read("b", `{"n":2}`))
	if len(told) != 2 || !told[0].Own || told[1].Own || len(b.calls) > 0 {
		t.Fatalf("%+v, %d calls", told, len(b.calls))
	}
	if _, err := b.callTool(2, 1); err != nil || len(b.calls) != 1 {
		t.Fatal(err, b.calls)
	}
	told = b.asksIn(3, agent.ToolCall{ID: "a", Name: "lab__write", Arguments: `{"other":1}`}, agent.ToolCall{ID: "b", Name: "lab__drop"})
	if told[0].Approve == nil || told[0].Own || told[1].Own {
		t.Errorf("a write that is not recorded, and an unknown call: %+v", told)
	}
	b.finishes("fork", &agent.Coverage{Hits: 1, Live: 1})
}

// TestRecordedResultsAreWhole: a recorded result keeps its whole text, its summary, its files and what a person changed in the call, but
// not the decision. Its source is untrusted if it is now.
func TestRecordedResultsAreWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "a", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	b.asksIn(2, agent.ToolCall{ID: "b", Name: "lab__read", Arguments: `{"n":2}`})
	made := transcript.Call{ID: "c2_0", Name: "lab.read", Arguments: `{"n":9}`, Edited: "Bo edited the arguments."}
	result := transcript.Body{Text: "the beginning", Call: &made, Status: "success", Result: transcript.Result{
		Blob: b.put("the beginning and the end"), Size: 25, Artifacts: []string{b.put(`{"mime_type":"text/csv"}`)},
		Kept: []transcript.Kept{{MIMEType: "text/csv"}}, Decision: "approved by Bo", Digest: "d", Pause: 5,
	}}
	result.ElapsedMS = 7
	answer := transcript.Answer{Provider: "p", Model: "m", Usage: &agent.Usage{ModelCalls: 1}}
	for _, row := range []transcript.Row{
		{Key: transcript.ResultKey(2, 0), Kind: transcript.KindResult, Body: result},
		{Key: transcript.SummaryKey(2, 0), Kind: transcript.KindSummary, Body: transcript.Body{Text: "in short", Call: &made, Answer: answer}},
	} {
		step := transcript.Step{Scope: b.scope(), Writer: transcript.Writer{RunID: "default-test-run-id", ActivityID: "x"}}
		step.Rows = []transcript.Row{row}
		if _, err := b.store.Append(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	b.forkable()
	out, err := b.fork("fork", `{"fork":{"of":"inv","at":"A/2","tools":"tape"},"project":"shop"}`)
	if err != nil {
		t.Fatal(err)
	}
	b.ref = activities.Ref{Investigation: "fork", Execution: "s/A", Plan: out.Plan, Data: out.Data}
	b.asksIn(2, agent.ToolCall{ID: "b", Name: "lab__read", Arguments: `{"n":"2"}`})
	rows := b.rows("fork")
	got, summary := rows[len(rows)-2], rows[len(rows)-1]
	want := result
	want.Call, want.Untrusted, want.Recorded, want.ElapsedMS = got.Call, got.Untrusted, got.Recorded, 0
	want.Decision, want.Digest, want.Pause = "", "", 0
	if diff := cmp.Diff(want, got.Body); diff != "" || !slices.Contains(got.Untrusted, "lab.read") {
		t.Errorf("%q%s", got.Untrusted, diff)
	}
	if got.Call.Arguments != `{"n":9}` || got.Call.Edited == "" || summary.Text != "in short" || summary.Usage != nil || summary.Model != "" {
		t.Errorf("%+v, %+v", got.Call, summary)
	}
	b.reply = newBench(t).reply
	if _, err := b.generate(activities.GenerateIn{Iteration: 3}); err != nil {
		t.Fatal(err)
	}
	messages := b.requests[len(b.requests)-1].Messages
	if last := messages[len(messages)-1].Content; !strings.HasPrefix(last, "Bo edited the arguments.\nin short\n") {
		t.Errorf("the agent reads: %s", last)
	}
}

func (b *bench) rows(id string) []transcript.Entry {
	b.t.Helper()
	rows, err := b.store.After(b.t.Context(), id, 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// finishes ends a fork, and checks what its record says about its calls.
func (b *bench) finishes(id string, covered *agent.Coverage, missed ...record.NotChecked) {
	b.t.Helper()
	r, err := b.store.Investigation(b.t.Context(), id)
	if err == nil {
		in := activities.FinishIn{Investigation: id, Plan: b.ref.Plan, Status: agent.StatusFailed, Error: "x", Envelope: r.Envelope}
		_, err = b.env.ExecuteActivity(b.act.Finish, in)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if r, err = b.store.Investigation(b.t.Context(), id); err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(covered, r.Envelope.Fork.Coverage) + cmp.Diff(missed, r.Envelope.NotChecked); diff != "" {
		b.t.Error(diff)
	}
}

// listsWithoutServer checks that an agent gets the list of tools, and that the server is not asked for it.
func (b *bench) listsWithoutServer() {
	b.t.Helper()
	value, err := b.env.ExecuteActivity(b.act.ListTools, activities.ListToolsIn{Ref: b.ref, Server: "lab"})
	var listed activities.ListToolsOut
	if err == nil {
		err = value.Get(&listed)
	}
	if err != nil || listed.Tools != len(labTools) || listed.Error != "" || len(b.listed) > 0 {
		b.t.Errorf("%+v, %v; the server was asked by %q", listed, err, b.listed)
	}
}

// TestForkOfTools: no server is asked for the tools of an execution that is shared as a whole.
func TestForkOfTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change(func(p *plan.Plan) {
		p.Fork = &plan.Fork{Of: "other", Parts: map[string]plan.ForkPart{"s/A": {Iterations: 1, Ended: true}}}
	})
	b.listsWithoutServer()
}

// Whatever is wrong with a fork, it is refused before anything is copied.
func TestForksThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ input, says string }{
		"of nothing":      {`{"fork":{}}`, `"fork" has no "of"`},
		"unknown":         {`{"fork":{"of":"other"},"project":"shop"}`, `no investigation with ID "other" in the workers' store`},
		"another project": {`{"fork":{"of":"inv"}}`, "inv does not belong to project default"},
		"a wrong place":   {`{"fork":{"of":"inv","at":"99"},"project":"shop"}`, "fork inv: there is no row 99: the transcript has rows 1 to 5"},
		"other data":      {`{"fork":{"of":"inv"},"project":"shop","data":"x","chain":"lab"}`, `"data" cannot be set in the request of a fork`},
		"a provider for an unknown agent": {
			`{"fork":{"of":"inv"},"project":"shop","provider":"x"}`,
			"fork inv: the current configuration has no such agents: s/A",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.asks(agent.ToolCall{ID: "a", Name: "lab__read", Arguments: `{"n":1}`})
			if _, err := b.callTool(1, 0); err != nil {
				t.Fatal(err)
			}
			b.forkable()
			_, err := b.fork("fork", tt.input)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if rows, err := b.store.After(t.Context(), "fork", 0, 0); len(rows) > 0 || err != nil {
				t.Errorf("it has %d rows, %v", len(rows), err)
			}
		})
	}
}

// TestWhatAForkLeavesOut: a write that the other investigation has made after the place counts as made before.
func TestWhatAForkLeavesOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{ID: "a", Name: "lab__read", Arguments: `{"n":1}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{ToolCalls: []agent.ToolCall{{ID: "b", Name: "lab__write", Arguments: `{}`}}, Finish: llm.FinishToolCalls}, nil
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.callTool(2, 0); err != nil {
		t.Fatal(err)
	}
	b.forkable()
	out, err := b.fork("fork", `{"fork":{"of":"inv","at":"A/2"},"project":"shop"}`)
	if err != nil || len(out.Fork.Left) != 1 || out.Fork.Left[0] != "s/A: lab.write {} (success)" {
		t.Fatalf("%v, %+v", err, out.Fork)
	}
	b.ref = activities.Ref{Investigation: "fork", Execution: "s/A", Plan: out.Plan}
	if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
		t.Fatal(err)
	}
	all, err := b.store.Entries(t.Context(), transcript.Scope{Investigation: "fork", Execution: "s/A"})
	if err != nil {
		t.Fatal(err)
	}
	if repeat := all[len(all)-1].Calls[0].Repeat; repeat == nil || repeat.Times != 1 || repeat.Unknown || repeat.At.IsZero() {
		t.Errorf("the same write: %+v", repeat)
	}
}

// TestSharedRowsThatAreMissing: nothing is done in place of a shared step that the store has lost.
func TestSharedRowsThatAreMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.change(func(p *plan.Plan) {
		p.Fork = &plan.Fork{Of: "other", Parts: map[string]plan.ForkPart{"s/A": {Iterations: 2}, "s/B": {Stopped: true}}}
	})
	for execution, want := range map[string]string{"s/A": activities.ErrorStoreBehind, "s/B": activities.ErrorFailedBefore} {
		b.ref.Execution = execution
		_, err := b.generate(activities.GenerateIn{Iteration: 1})
		if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Type() != want || !failed.NonRetryable() {
			t.Errorf("%s: %v", execution, err)
		}
	}
	if len(b.requests) > 0 {
		t.Errorf("%d models were called", len(b.requests))
	}
}
