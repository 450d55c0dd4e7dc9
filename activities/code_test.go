package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// shop is a bench with a plan of three stages: "think" hands on a plan, "run" carries it out, and "end" is left to
// hooks.
func shop(t *testing.T, stage int, change func(*plan.Plan)) *bench {
	t.Helper()
	b := newBench(t)
	p := plan.Plan{
		Chain: "c", AlertMasking: &plan.Masking{Patterns: []string{"password"}},
		Stages: []plan.Stage{
			{Name: "think", OutputKey: "plan", Agents: []plan.Agent{{Name: "T", Definition: "T", Type: "llm"}}},
			{Name: "run", Agents: []plan.Agent{{Name: "R", Definition: "R", Type: "tool_plan", Servers: []plan.Server{{Name: "lab"}}}}},
			{Name: "end", Agents: []plan.Agent{{Name: "E", Definition: "E", Type: "service"}}, Hooks: plan.Hooks{PreProcess: "h", PostProcess: "h"}},
		},
	}
	if change != nil {
		change(&p)
	}
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	b.ref = activities.Ref{Investigation: "shop", Stage: stage, Plan: b.put(string(body)), Data: b.put("it is slow")}
	b.ref.Execution = p.Stages[stage].Name + "/" + p.Stages[stage].Agents[0].Name
	inv := record.Investigation{ID: "shop", Status: agent.StatusRunning, StartedAt: time.Now()}
	if err := b.store.StartInvestigation(t.Context(), inv); err != nil {
		t.Fatal(err)
	}
	if err := b.store.SaveCatalogue(t.Context(), b.here(), tool.Catalogue{Server: "lab", Tools: labTools}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) put(text string) string {
	b.t.Helper()
	hash, err := b.store.PutBlob(b.t.Context(), []byte(text))
	if err != nil {
		b.t.Fatal(err)
	}
	return hash
}

func (b *bench) here() transcript.Scope {
	return transcript.Scope{Investigation: b.ref.Investigation, Execution: b.ref.Execution}
}

// handsOn makes an execution end with a text.
func (b *bench) handsOn(execution, text string) activities.Source {
	b.t.Helper()
	_, err := b.store.Append(b.t.Context(), transcript.Step{
		Scope:  transcript.Scope{Investigation: b.ref.Investigation, Execution: execution},
		Writer: transcript.Writer{RunID: "r", ActivityID: "1"},
		Rows:   []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Text: text}}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	stage, _, _ := strings.Cut(execution, "/")
	return activities.Source{Stage: stage, Execution: execution}
}

// final returns an execution's final text.
func (b *bench) final(execution string) string {
	b.t.Helper()
	entries, err := b.store.Entries(b.t.Context(), transcript.Scope{Investigation: b.ref.Investigation, Execution: execution})
	if err != nil {
		b.t.Fatal(err)
	}
	return transcript.Final(entries, false)
}

// twice runs an activity twice: the second run finds the first run's rows.
func twice[Out any](b *bench, activity, in any) (out Out, err error) {
	b.t.Helper()
	var second Out
	for _, o := range []*Out{&out, &second} {
		value, failed := b.env.ExecuteActivity(activity, in)
		if err = failed; err == nil {
			err = value.Get(o)
		}
	}
	if diff := cmp.Diff(out, second); diff != "" {
		b.t.Errorf("the second time (-first +second):\n%s", diff)
	}
	return out, err
}

func TestRunHook(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, point, text string
		hook              func(hook.Input) (map[string]any, error)
		contract          plan.Contract
		want, fails, kind string // the hook's final text, or its error and the error's type
	}{
		{name: "nothing", point: activities.PostProcess, text: `{"a":1}`, hook: func(hook.Input) (map[string]any, error) { return nil, nil }},
		{name: "keys are set", point: activities.PostProcess, text: `It is {"a":1.50,"b":2}.`, want: `{"a":1.50,"b":null,"c":"x"}`,
			hook: func(hook.Input) (map[string]any, error) { return map[string]any{"b": nil, "c": "x"}, nil }},
		{name: "large integers keep their digits", point: activities.PostProcess, want: `{"at":[1915883588174806058,{"id":-9007199254740993}],` +
			`"far":1e400,"id":1915883588174806058,"n":9007199254740991,"seen":"float64 json.Number json.Number"}`,
			text: `{"id":1915883588174806058,"n":9007199254740991,"at":[1915883588174806058,{"id":-9007199254740993}],"far":1e400}`,
			hook: func(in hook.Input) (map[string]any, error) {
				made := maps.Clone(in.Output.JSON)
				made["seen"] = fmt.Sprintf("%T %T %T", made["n"], made["id"], made["far"])
				return made, nil
			}},
		{name: "a text is replaced", point: activities.PostProcess, text: `prose`, want: `{"was":"prose"}`,
			hook: func(in hook.Input) (map[string]any, error) { return map[string]any{"was": in.Output.Text}, nil }},
		{name: "before", point: activities.PreProcess, want: `{"request":"it is slow"}`,
			hook: func(in hook.Input) (map[string]any, error) { return map[string]any{"request": in.Request}, nil }},
		{name: "secrets are masked", point: activities.PreProcess, want: `{"password":"[MASKED_PASSWORD]"}`,
			hook: func(hook.Input) (map[string]any, error) { return map[string]any{"password": "hunter2!"}, nil }},
		{name: "an error", point: activities.PostProcess, text: `{}`, fails: "h: empty plan, password=", kind: activities.ErrorHook,
			hook: func(hook.Input) (map[string]any, error) { return nil, errors.New("empty plan, password=hunter2!") }},
		{name: "a panic", point: activities.PostProcess, text: `{}`, fails: "h: it crashed", kind: activities.ErrorHook,
			hook: func(hook.Input) (map[string]any, error) { panic("hunter2!") }},
		{name: "no JSON", point: activities.PostProcess, text: `{}`, fails: "h: its output is not JSON: json: unsupported type: func()",
			kind: activities.ErrorHook,
			hook: func(hook.Input) (map[string]any, error) { return map[string]any{"f": func() {}}, nil }},
		{name: "too large", point: activities.PreProcess, fails: "h: it returned 300008 bytes; the limit is 262144", kind: activities.ErrorHook,
			hook: func(hook.Input) (map[string]any, error) {
				return map[string]any{"x": strings.Repeat("x", 300_000)}, nil
			}},
		{name: "against the contract", point: activities.PostProcess, text: `{}`, contract: plan.Contract{Required: []string{"a"}},
			fails: "agent 'E' output missing required field: a", kind: activities.ErrorInvalidOutput,
			hook: func(hook.Input) (map[string]any, error) { return map[string]any{"b": 1}, nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := shop(t, 2, func(p *plan.Plan) { p.Stages[2].Agents[0].Contract = tt.contract })
			runs := 0
			b.act.Hooks = map[string]hook.Func{"h": func(_ context.Context, in hook.Input) (hook.Output, error) {
				runs++
				made, err := tt.hook(in)
				return hook.Output{Output: made}, err
			}}
			in := activities.RunHookIn{Ref: b.ref, Point: tt.point}
			in.Ref.Execution = activities.HookExecution("end", tt.point, "h")
			if tt.text != "" {
				in.Result = b.handsOn("end/E", tt.text).Execution
			}
			out, err := twice[activities.RunHookOut](b, b.act.RunHook, in)
			if tt.fails != "" {
				failed, ok := errors.AsType[*temporal.ApplicationError](err)
				if !ok || failed.Type() != tt.kind || !failed.NonRetryable() || !strings.HasPrefix(failed.Message(), tt.fails) ||
					strings.Contains(failed.Message(), "hunter2") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || out.Changed != (tt.want != "") || b.final(in.Ref.Execution) != tt.want || runs != 1 {
				t.Errorf("got %+v, %v, %q after %d runs", out, err, b.final(in.Ref.Execution), runs)
			}
		})
	}
}

// The input of a hook and a mock.
func TestWhatCodeIsTold(t *testing.T) {
	t.Parallel()
	b := shop(t, 2, func(p *plan.Plan) { p.Stages[2].Agents[0].Mock = "m" })
	prior := []activities.Source{
		b.handsOn("think#2/T", `{"steps":[],"n":2}`), b.handsOn("run/R", `{"results":[]}`), b.handsOn("end/pre_process:h", `{"ready":true}`),
	}
	result := b.handsOn("end/E", `{"x":1}`).Execution
	outputs := map[string]hook.StageOutput{
		"plan": {Text: `{"steps":[],"n":2}`, JSON: map[string]any{"steps": []any{}, "n": 2.0}},
		"run":  {Text: `{"results":[]}`, JSON: map[string]any{"results": []any{}}},
	}
	notes := []activities.Note{{Kind: "clarification", Stage: "think", Question: "Which?", Answer: "password=hunter2!", By: "Ada"},
		{Question: "When?", Answer: "now"}}
	answers := []hook.Answer{{Question: "Which?", Answer: "password=[MASKED_PASSWORD]", By: "Ada"}, {Question: "When?", Answer: "now"}}
	prepared := hook.StageOutput{Text: `{"ready":true}`, JSON: map[string]any{"ready": true}}
	var received hook.Input
	var mocked hook.MockInput
	b.act.Hooks = map[string]hook.Func{"h": func(_ context.Context, in hook.Input) (hook.Output, error) {
		received = in
		return hook.Output{}, nil
	}}
	b.act.Mocks = map[string]hook.Mock{"m": func(_ context.Context, in hook.MockInput) (any, error) {
		mocked = in
		return map[string]int{"n": 1}, nil
	}}
	in := activities.RunHookIn{Ref: b.ref, Point: activities.PostProcess, Prior: prior, Notes: notes, Result: result}
	in.Ref.Execution = "end/post_process:h"
	if _, err := twice[activities.RunHookOut](b, b.act.RunHook, in); err != nil {
		t.Fatal(err)
	}
	b.ref.Execution = "end/E#"
	if _, err := twice[activities.GenerateOut](b, b.act.RunMock, activities.RunMockIn{Ref: b.ref, Prior: prior, Notes: notes}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hook.Input{
		Investigation: "shop", Stage: "end", Key: "shop/end/post_process:h", Request: "it is slow", Outputs: outputs, Prepared: prepared,
		Output: hook.StageOutput{Text: `{"x":1}`, JSON: map[string]any{"x": 1.0}}, Answers: answers,
	}, received); diff != "" {
		t.Errorf("the hook (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hook.MockInput{
		Investigation: "shop", Stage: "end", Agent: "E", Key: "shop/end/E#", Request: "it is slow", Outputs: outputs,
		Prepared: prepared, Answers: answers,
	}, mocked); diff != "" {
		t.Errorf("the mock (-want +got):\n%s", diff)
	}
	if got := b.final("end/E#"); got != `{"n":1}` {
		t.Errorf("the mock's text: %s", got)
	}
}

func TestRunMock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		returns       any
		err           error
		text, invalid string
		fails         string
	}{
		"a text":          {returns: `so {"a":1}`, text: `so {"a":1}`},
		"against its own": {returns: "prose", text: "prose", invalid: "no valid JSON object found in response"},
		"nothing":         {returns: "", fails: "m: it returned nothing"},
		"an error":        {err: errors.New("no"), fails: "m: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := shop(t, 0, func(p *plan.Plan) { p.Stages[0].Agents[0].Mock = "m" })
			b.act.Mocks = map[string]hook.Mock{"m": func(context.Context, hook.MockInput) (any, error) { return tt.returns, tt.err }}
			out, err := twice[activities.GenerateOut](b, b.act.RunMock, activities.RunMockIn{Ref: b.ref})
			if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == activities.ErrorMock &&
				failed.Message() == tt.fails {
				return
			}
			if err != nil || tt.fails != "" || out.Invalid != tt.invalid || b.final("think/T") != tt.text || out.Usage.ModelCalls != 0 {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
}

// A worker whose program lacks a function leaves it to another worker.
func TestCodeThatThisWorkerLacks(t *testing.T) {
	t.Parallel()
	b := shop(t, 2, func(p *plan.Plan) { p.Stages[2].Agents[0].Mock = "m" })
	for what, run := range map[string]func() error{
		`hook named "h"`: func() error {
			_, err := b.env.ExecuteActivity(b.act.RunHook, activities.RunHookIn{Ref: b.ref, Point: activities.PreProcess})
			return err
		},
		`mock named "m"`: func() error {
			_, err := b.env.ExecuteActivity(b.act.RunMock, activities.RunMockIn{Ref: b.ref})
			return err
		},
	} {
		failed, ok := errors.AsType[*temporal.ApplicationError](run())
		if !ok || failed.NonRetryable() || failed.Message() != "this worker has no "+what {
			t.Errorf("%s: %v", what, failed)
		}
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook, invalid string
	}{
		"alone":         {"", "agent 'E' output missing required field: a"},
		"before a hook": {"h", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := shop(t, 2, func(p *plan.Plan) {
				p.Stages[2].PostProcess, p.Stages[2].Agents[0].Contract.Required = tt.hook, []string{"a"}
			})
			out, err := twice[activities.GenerateOut](b, b.act.Serve, activities.ServeIn{Ref: b.ref})
			if err != nil || out.Invalid != tt.invalid || b.final("end/E") != "{}" {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
}

// A plan becomes calls that are made like a model's calls, with one result each.
func TestToolPlan(t *testing.T) {
	t.Parallel()
	b := shop(t, 1, func(p *plan.Plan) {
		p.Stages[1].Agents[0].Tools.Permissions = map[string]plan.Permission{"lab.write": {RequiresApproval: true}}
	})
	old := b.handsOn("think/Old", `{"steps":[`+strings.Repeat(`{"tool":"lab.read","parameters":{"n":9},"step_id":"old"},`, 6)+`{}]}`)
	prior := []activities.Source{old, b.handsOn("think/T", `{"steps":[
		{"tool":"lab.read","parameters":{"n":1}}, {"tool":"lab.read","parameters":{"n":"x"},"step_id":"bad"},
		{"tool":"lab.write","step_id":7,"description":"roll\n back","reason":5},
		{"tool":"lab.none","parameters":null}, {"tool":"lab__read","parameters":{"n":2}},
		{"tool":"lab.read","parameters":{"n":3}}]}`)}
	planned, err := twice[activities.GenerateOut](b, b.act.PlanCalls, activities.PlanCallsIn{Ref: b.ref, Prior: prior})
	want := []activities.Call{
		{Name: "lab.read"}, {Name: "lab.read"},
		{Name: "lab.write", Approve: &activities.Approve{ID: "c1_2", Risk: agent.RiskWrite, Arguments: "{}", PlanStep: "7: roll back",
			Digest: tool.Decision{Spec: labTools[1], Arguments: json.RawMessage("{}")}.Digest()}},
		{Name: "lab.none"}, {Name: "lab.read"}, {Name: "lab.read"},
	}
	if diff := cmp.Diff(want, planned.Calls); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	b.run = func(call tool.Call) (tool.Result, error) {
		if string(call.Arguments) == `{"n":2}` {
			return tool.Success("plain <text>"), nil
		}
		return tool.Success(`{"found": [1, 2]}`), nil
	}
	for _, n := range []int{0, 1, 3, 4} { // the third one gets no approval
		if _, err := b.callTool(1, n); err != nil {
			t.Fatal(err)
		}
	}
	begun := transcript.Row{Key: transcript.CallKey(1, 5), Kind: transcript.KindCall}
	begun.Call = &transcript.Call{ID: "c1_5"}
	if _, err := b.store.Append(t.Context(), transcript.Step{ // and was cut
		Scope: b.here(), Writer: transcript.Writer{RunID: sameRun, ActivityID: "9"}, Rows: []transcript.Row{begun},
	}); err != nil {
		t.Fatal(err)
	}
	join := activities.PlanResultIn{Ref: b.ref, Prior: prior, Inputs: []activities.Input{
		{Kind: activities.InputResult, Iteration: 1, Call: 2, ErrorType: activities.ResultDenied, Text: "denied by Ada"},
	}}
	if _, err := twice[activities.GenerateOut](b, b.act.PlanResult, join); err != nil {
		t.Fatal(err)
	}
	type result struct {
		StepID    string          `json:"step_id"`
		Tool      string          `json:"tool"`
		Status    string          `json:"status"`
		Result    json.RawMessage `json:"result"`
		ErrorType string          `json:"error_type"`
		Error     string          `json:"error"`
		Fixable   bool            `json:"recoverable"`
		TimeMS    *int64          `json:"time_ms"`
	}
	var got struct {
		Results      []result `json:"results"`
		TotalTimeMS  *int64   `json:"total_time_ms"`
		AllSucceeded *bool    `json:"all_succeeded"`
	}
	if err := json.Unmarshal([]byte(b.final("run/R")), &got); err != nil || got.TotalTimeMS == nil ||
		got.AllSucceeded == nil || *got.AllSucceeded {
		t.Fatalf("%v: %s", err, b.final("run/R"))
	}
	results := []result{
		{StepID: "step_0", Tool: "lab.read", Status: "success", Result: json.RawMessage(`{"found":[1,2]}`)},
		{StepID: "bad", Tool: "lab.read", Status: "error", ErrorType: tool.ErrorInvalidArguments, Fixable: true},
		{StepID: "7", Tool: "lab.write", Status: "error", ErrorType: tool.ErrorPermissionDenied, Error: "denied by Ada"},
		{StepID: "step_3", Tool: "lab.none", Status: "error", ErrorType: tool.ErrorUnknownTool},
		{StepID: "step_4", Tool: "lab.read", Status: "success", Result: json.RawMessage(`"plain \u003ctext\u003e"`)},
		{StepID: "step_5", Tool: "lab.read", Status: "error", ErrorType: tool.ErrorOutcomeUnknown,
			Error: "This call has no result: it was interrupted and may have taken effect."},
	}
	for n := range got.Results {
		if n < len(results) && results[n].Error == "" {
			got.Results[n].Error = "" // the wording is the policy's
		}
	}
	if diff := cmp.Diff(results, got.Results, cmpopts.IgnoreFields(result{}, "TimeMS")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(b.calls) != 2 || len(b.requests) != 0 {
		t.Errorf("%d calls, %d model calls", len(b.calls), len(b.requests))
	}
}

func TestPlansWithoutSteps(t *testing.T) {
	t.Parallel()
	const empty = `{"results":[],"total_time_ms":0,"all_succeeded":true}`
	for name, tt := range map[string]struct{ plan, want, fails string }{
		"no plan":    {"", empty, ""},
		"a text":     {"do nothing", empty, ""},
		"no steps":   {`{"why":"x"}`, empty, ""},
		"null":       {`{"steps":null}`, empty, ""},
		"no list":    {`{"steps":"lab.read"}`, "", "the steps of the plan must be a list of {tool, parameters, step_id}"},
		"no objects": {`{"steps":["lab.read"]}`, "", "the steps of the plan must be a list of {tool, parameters, step_id}"},
		"too many":   {`{"steps":[{}` + strings.Repeat(",{}", 64) + `]}`, "", "the plan has 65 steps; the limit is 64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := shop(t, 1, nil)
			var prior []activities.Source
			if tt.plan != "" {
				prior = append(prior, b.handsOn("think/T", tt.plan))
			}
			out, err := twice[activities.GenerateOut](b, b.act.PlanCalls, activities.PlanCallsIn{Ref: b.ref, Prior: prior})
			if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == activities.ErrorInvalidPlan &&
				failed.Message() == tt.fails {
				return
			}
			if err != nil || len(out.Calls) > 0 {
				t.Fatalf("%+v, %v", out, err)
			}
			if _, err := twice[activities.GenerateOut](b, b.act.PlanResult, activities.PlanResultIn{Ref: b.ref, Prior: prior}); err != nil ||
				b.final("run/R") != tt.want {
				t.Errorf("%s, %v", b.final("run/R"), err)
			}
		})
	}
}

// A custom prompt includes the outputs of earlier stages. The default prompt includes the agent's description.
func TestPromptsSeeOutputs(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"{{.Agent}} {{.Iteration}} {{.Request}} {{.Outputs.plan}} {{.Outputs.end}}": `(?s)^R 1 <alert-\w+>\nit is slow\n</alert-\w+> ` +
			`<result-\w+>\nlook\n</result-\w+> \(none\)\n`,
		"": `^You are R, .*\nYour role: Carries plans out\.\n`,
	} {
		b := shop(t, 1, func(p *plan.Plan) {
			p.Stages[1].Agents[0] = plan.Agent{
				Name: "R", Definition: "R", Type: "llm", Description: "Carries plans out.", Prompt: prompt, Providers: []plan.Provider{{Name: "p"}},
			}
		})
		prior := []activities.Source{b.handsOn("think/T", "look")}
		if _, err := b.generate(activities.GenerateIn{Iteration: 1, Prior: prior}); err != nil {
			t.Fatal(err)
		}
		if got := b.requests[0].Messages[0].Content; !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("it begins with %.300q", got)
		}
	}
}
