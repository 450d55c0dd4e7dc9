package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// bench runs the activities on a real store, with the test's model and tools.
type bench struct {
	t     *testing.T
	store *store.Store
	env   *testsuite.TestActivityEnvironment
	act   *activities.Activities
	ref   activities.Ref

	reply    func(llm.Request) (llm.Response, error)
	requests []llm.Request
	run      func(tool.Call) (tool.Result, error)
	runUnder func(context.Context, tool.Call) (tool.Result, error) // replaces run
	calls    []tool.Call
	posted   int
	listed   []string                    // sessions
	offers   func() ([]tool.Spec, error) // replaces labTools
}

func (b *bench) Client(plan.Provider, plan.Timeouts) (llm.Client, error) { return b, nil }

func (b *bench) Generate(_ context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	b.requests = append(b.requests, req)
	res, err := b.reply(req)
	onDelta(llm.Delta{Content: res.Content})
	return res, err
}

func (b *bench) List(_ context.Context, _ plan.Server, session string) ([]tool.Spec, error) {
	b.listed = append(b.listed, session)
	if b.offers != nil {
		return b.offers()
	}
	return slices.Clone(labTools), nil
}

func (b *bench) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := call.Allowed(ctx); err != nil {
		return tool.Result{}, err
	}
	b.calls = append(b.calls, call)
	if b.runUnder != nil {
		return b.runUnder(ctx, call)
	}
	return b.run(call)
}

type noBuiltins struct{}

func (noBuiltins) Specs(plan.Agent) []tool.Spec { return nil }
func (noBuiltins) Call(context.Context, plan.Agent, tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("there are none")
}

var labTools = []tool.Spec{
	{Name: "lab.read", Risk: agent.RiskReadOnly,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
	{Name: "lab.write", Risk: agent.RiskWrite},
}

func newBench(t *testing.T) *bench {
	t.Helper()
	s := storetest.Open(t)
	b := &bench{t: t, store: s}
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "done", Finish: llm.FinishStop}, nil
	}
	b.run = func(tool.Call) (tool.Result, error) { return tool.Success("result"), nil }
	b.act = &activities.Activities{
		Transcripts: s, Mail: s, Records: s, Blobs: s, Models: b, Servers: b, Builtins: noBuiltins{},
		Policy: tool.NewPolicy(nil), Logger: slog.New(slog.DiscardHandler),
	}
	b.plan()
	var suite testsuite.WorkflowTestSuite
	b.env = suite.NewTestActivityEnvironment()
	b.env.RegisterActivity(b.act)
	b.act.Quick = time.Minute // the machine may be busy; tests of the handover set their own
	b.env.SetTestTimeout(time.Minute)
	return b
}

// plan puts an investigation with one agent into the store.
func (b *bench) plan(changes ...func(*plan.Agent)) {
	p := plan.Plan{Chain: "c", Project: "shop", Stages: []plan.Stage{{Name: "s", Agents: []plan.Agent{{
		Name: "A", Definition: "A", Type: "default", LLMBackend: "langchain", MaxIterations: 5,
		Providers: []plan.Provider{{Name: "p", Model: "gpt-4o"}, {Name: "q", Model: "gpt-4o-mini"}},
		Servers:   []plan.Server{{Name: "lab"}}, Timeouts: plan.Timeouts{Tool: plan.Duration(time.Minute)},
		Compression: plan.Compression{Enabled: true, Threshold: 0.8, KeepRecentMessages: 4, Strategy: "window"},
	}}}}}
	for _, change := range changes {
		change(&p.Stages[0].Agents[0])
	}
	body, err := json.Marshal(p)
	if err != nil {
		b.t.Fatal(err)
	}
	hash, err := b.store.PutBlob(b.t.Context(), body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ref = activities.Ref{Investigation: "inv", Execution: "s/A", Plan: hash}
	if err := b.store.StartInvestigation(b.t.Context(), record.Investigation{ID: "inv", Status: agent.StatusRunning,
		StartedAt: time.Now()}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.store.SaveCatalogue(b.t.Context(), b.scope(), tool.Catalogue{Server: "lab", Tools: labTools}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) scope() transcript.Scope {
	return transcript.Scope{Investigation: "inv", Execution: "s/A"}
}

func (b *bench) generate(in activities.GenerateIn) (out activities.GenerateOut, err error) {
	b.t.Helper()
	in.Ref = b.ref
	value, err := b.env.ExecuteActivity(b.act.Generate, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

func (b *bench) callTool(iteration, n int) (out activities.CallToolOut, err error) {
	b.t.Helper()
	value, err := b.env.ExecuteActivity(b.act.CallTool, activities.CallToolIn{Ref: b.ref, Iteration: iteration, Call: n})
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// asks makes the model request tools, once.
func (b *bench) asks(calls ...agent.ToolCall) {
	b.t.Helper()
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{ToolCalls: calls, Finish: llm.FinishToolCalls}, nil
	}
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) last() transcript.Entry {
	b.t.Helper()
	entries, err := b.store.Entries(b.t.Context(), b.scope())
	if err != nil || len(entries) == 0 {
		b.t.Fatalf("%d entries, %v", len(entries), err)
	}
	return entries[len(entries)-1]
}

func TestGenerateTwiceCallsTheModelOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil {
		t.Fatal(err)
	}
	first.Kept = true // as the second one returns it
	if diff := cmp.Diff(first, second); diff != "" || len(b.requests) != 1 {
		t.Errorf("%d model calls; (-first +second):\n%s", len(b.requests), diff)
	}
	if first.Usage.ModelCalls != 1 || first.Usage.InputTokens == 0 {
		t.Errorf("usage that the provider did not report: %+v", first.Usage)
	}
}

// post puts a message from Ada into the mailbox.
func (b *bench) post(text string) {
	b.t.Helper()
	b.posted++
	in := activities.PostIn{Investigation: b.ref.Investigation, Plan: b.ref.Plan, Ordinal: b.posted, By: "Ada", Text: []byte(text)}
	if _, err := b.env.ExecuteActivity(b.act.Post, in); err != nil {
		b.t.Fatal(err)
	}
}

func TestInputsAreInTheConversation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post("look at the disks")
	if _, err := b.generate(activities.GenerateIn{
		Iteration: 1, Conclude: true, Provider: 1, Inputs: []activities.Input{{Kind: activities.InputLimit}},
	}); err != nil {
		t.Fatal(err)
	}
	req := b.requests[0]
	if req.Model != "gpt-4o-mini" || len(req.Tools) != 0 {
		t.Errorf("model %s with %d tools, want the fallback's and none", req.Model, len(req.Tools))
	}
	var roles []string
	for _, m := range req.Messages {
		roles = append(roles, string(m.Role))
	}
	if got := strings.Join(roles, " "); got != "system user user user" {
		t.Errorf("messages: %s", got)
	}
	if !strings.Contains(req.Messages[2].Content, "look at the disks") || !strings.Contains(req.Messages[2].Content, "Ada") {
		t.Errorf("guidance: %s", req.Messages[2].Content)
	}
	if entry := b.last(); !entry.Forced || entry.Provider != "q" {
		t.Errorf("reply: %+v", entry.Body)
	}
}

func TestWhatPeopleSayIsMasked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var p plan.Plan
	body, err := b.store.Blob(t.Context(), b.ref.Plan)
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	p.AlertMasking = &plan.Masking{Custom: []plan.MaskPattern{{Pattern: "hunter.", Replacement: "[MASKED]"}}}
	body, marshal := json.Marshal(p)
	hash, put := b.store.PutBlob(t.Context(), body)
	b.ref.Plan = hash
	b.post("log in with hunter2")
	letters, read := b.store.Unread(t.Context(), "inv")
	_, generate := b.generate(activities.GenerateIn{
		Iteration: 1,
		Notes:     []activities.Note{{Stage: "s", Question: "Which?", Answer: "the one with hunter2"}},
	})
	if err := errors.Join(err, marshal, put, generate, read); err != nil {
		t.Fatal(err)
	}
	if len(letters) != 1 || letters[0].Text != "log in with [MASKED]" {
		t.Errorf("the mail has %+v", letters)
	}
	for n, want := range map[int]string{1: "the one with [MASKED]", 2: "log in with [MASKED]"} {
		if received := b.requests[0].Messages[n].Content; !strings.Contains(received, want) || strings.Contains(received, "hunter2") {
			t.Errorf("the model is told: %s", received)
		}
	}
}

func TestModelErrorsHaveStableTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind  error
		name  string
		tries int
	}{
		{llm.ErrRateLimited, "RateLimited", 0},
		{llm.ErrNoKey, "WorkerCannot", 0},
		{llm.ErrAuth, "CredentialsRefused", 1},
		{llm.ErrTruncated, "ReplyTruncated", 12},
		{llm.ErrContextTooLong, "ContextTooLong", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.reply = func(llm.Request) (llm.Response, error) {
				return llm.Response{}, &llm.Error{Kind: tt.kind, Provider: "p", RetryAfter: 7 * time.Second}
			}
			_, err := b.generate(activities.GenerateIn{Iteration: 1})
			failed, ok := errors.AsType[*temporal.ApplicationError](err)
			var trouble activities.Trouble
			if !ok || failed.Type() != tt.name || !failed.NonRetryable() || activities.Tries(tt.name) != tt.tries ||
				failed.Details(&trouble) != nil || trouble.Provider != "p" || trouble.RetryAfter.D() != 7*time.Second {
				t.Errorf("got %v, %+v", err, trouble)
			}
			if !activities.ModelError(tt.name) {
				t.Error("it does not count as the model's")
			}
		})
	}
}

func TestCallToolResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, call, args string
		run              func(tool.Call) (tool.Result, error)
		errorType        string
		made             bool
	}{
		{name: "a call", call: "lab__read", args: `{"n":1}`, made: true},
		{name: "an unknown tool", call: "lab__delete_everything", args: `{}`, errorType: tool.ErrorUnknownTool},
		{name: "a tool that is not offered", call: "shell", args: `{"command":"id"}`, errorType: tool.ErrorPermissionDenied},
		{name: "arguments that are not JSON", call: "lab__read", args: `{"n":`, errorType: tool.ErrorInvalidArguments},
		{name: "arguments against the schema", call: "lab__read", args: `{"n":"one"}`, errorType: tool.ErrorInvalidArguments},
		{name: "a tool that fails", call: "lab__write", args: ``, made: true, errorType: tool.ErrorTool,
			run: func(tool.Call) (tool.Result, error) { return tool.Failure(tool.ErrorTool, "no"), nil }},
		{name: "a dead server, not idempotent", call: "lab__write", args: `{}`, made: true, errorType: tool.ErrorUnavailable,
			run: func(tool.Call) (tool.Result, error) { return tool.Failure(tool.ErrorUnavailable, "gone"), nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.run != nil {
				b.run = tt.run
			}
			b.asks(agent.ToolCall{ID: "x", Name: tt.call, Arguments: tt.args})
			for range 2 { // the second call finds the first one's result
				out, err := b.callTool(1, 0)
				if err != nil || out.ErrorType != tt.errorType {
					t.Errorf("got %+v, %v; want %q", out, err, tt.errorType)
				}
			}
			if made := len(b.calls) == 1; made != tt.made {
				t.Errorf("the tool was called %d times", len(b.calls))
			}
			if entry := b.last(); entry.Kind != transcript.KindResult || entry.ErrorType != tt.errorType {
				t.Errorf("last entry: %s %+v", entry.Kind, entry.Body)
			}
		})
	}
}

// An intent without a result: the worker died during the call, or Temporal was reset during it, to after the reply that
// asks for it.
func TestCallAfterACrash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		call  string
		class string
		run   string // that wrote the reply and the intent
		made  int
		want  string
	}{
		{"lab.read", string(tool.Safe), sameRun, 1, ""}, {"lab.write", string(tool.NonIdempotent), sameRun, 0, tool.ErrorOutcomeUnknown},
		{"lab.read", string(tool.Safe), "before", 1, ""}, {"lab.write", string(tool.NonIdempotent), "before", 0, tool.ErrorOutcomeUnknown},
	} {
		t.Run(tt.call+" "+tt.run, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			call := transcript.Call{ID: "c1_0", Name: tt.call, Arguments: `{"n":1}`, Class: tt.class}
			b.wrote(tt.run, transcript.Row{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply,
				Body: transcript.Body{Calls: []transcript.Call{call}}})
			b.wrote(tt.run, transcript.Row{Key: transcript.CallKey(1, 0), Kind: transcript.KindCall, Body: transcript.Body{Call: &call}})
			out, err := b.callTool(1, 0)
			if err != nil || out.ErrorType != tt.want || len(b.calls) != tt.made {
				t.Errorf("got %+v, %v after %d calls", out, err, len(b.calls))
			}
		})
	}
}

// sameRun is the run of the bench's activities.
const sameRun = "default-test-run-id"

// wrote stores a row as written earlier by a run.
func (b *bench) wrote(run string, row transcript.Row) {
	b.t.Helper()
	step := transcript.Step{Scope: b.scope(), Writer: transcript.Writer{RunID: run, ActivityID: "1"}, Rows: []transcript.Row{row}}
	if _, err := b.store.Append(b.t.Context(), step); err != nil {
		b.t.Fatal(err)
	}
}

// A call's key is the same for every attempt, whichever run makes it from the same reply, and differs for another call
// in its place.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	key := func(run, name, arguments string) string {
		b := newBench(t)
		b.wrote(run, transcript.Row{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{Calls: []transcript.Call{
			{ID: "c1_0", Name: "lab.read", Arguments: `{"n":9}`}, {ID: "c1_1", Name: name, Arguments: arguments},
		}}})
		if _, err := b.callTool(1, 1); err != nil {
			t.Fatal(err)
		}
		return b.calls[0].Key
	}
	first := key("r1", "lab.read", `{"n":1}`)
	if !regexp.MustCompile(`^inv/s/A/1/1/[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("key %q", first)
	}
	if second := key("r1", "lab.read", `{"n":1}`); second != first {
		t.Errorf("made again: key %q, and %q before", second, first)
	}
	for name, other := range map[string]string{
		"other arguments": key("r1", "lab.read", `{"n":2}`), "other tool": key("r1", "lab.write", `{"n":1}`),
		"asked for anew": key("r2", "lab.read", `{"n":1}`),
	} {
		if other == first {
			t.Errorf("%s: the same key %q", name, other)
		}
	}
}

func TestMoreCallsThanAreRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var calls []agent.ToolCall
	for n := range 100 {
		calls = append(calls, agent.ToolCall{Name: "lab__read", Arguments: fmt.Sprintf(`{"n":%d}`, n)})
	}
	b.asks(calls...)
	reply := b.last()
	if len(reply.Calls) != 64 {
		t.Errorf("%d calls are kept", len(reply.Calls))
	}
	for n, call := range reply.Calls {
		if call.ID != fmt.Sprintf("c1_%d", n) || call.Name != "lab.read" || call.Class != string(tool.Safe) {
			t.Fatalf("call %d: %+v", n, call)
		}
	}
}

func TestLargeResultIsCutAndKeptWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	whole := strings.Repeat("é", 1<<20)
	b.run = func(tool.Call) (tool.Result, error) { return tool.Success(whole), nil }
	b.asks(agent.ToolCall{Name: "lab__write", Arguments: `{}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	entry := b.last()
	kept, err := b.store.Blob(t.Context(), entry.Blob)
	if err != nil || string(kept) != whole || entry.Size != len(whole) || len(entry.Text) > 257<<10 {
		t.Errorf("%d bytes in the transcript, %d kept, %v", len(entry.Text), len(kept), err)
	}
}

// An action agent's statement about its actions, in its last line, goes into its record and not into its report.
func TestActionsExecuted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Type = "action" })
	b.reply = func(req llm.Request) (llm.Response, error) {
		if !strings.Contains(req.Messages[0].Content, "The last line is one word: YES if you changed anything, NO if not.") {
			t.Errorf("the agent is not asked:\n%s", req.Messages[0].Content)
		}
		pages := []llm.Source{{Title: "a.example", URL: "https://a.example/restart"}} // added below the text, and not its last line
		return llm.Response{Content: "Restarted web-1.\n\nYES\n", Finish: llm.FinishStop, Sources: pages}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	const said = "Restarted web-1.\n\nSources:\n\n- a.example: <https://a.example/restart>"
	if err != nil || !strings.HasPrefix(out.Preview, "Restarted web-1.") || b.last().Text != said {
		t.Errorf("%+v, %v; the transcript says %q", out, err, b.last().Text)
	}
	_, err = b.env.ExecuteActivity(b.act.SaveStage, activities.SaveStageIn{
		Plan:       b.ref.Plan,
		Stage:      record.Stage{Investigation: "inv", Name: "s", Status: agent.StatusCompleted, StartedAt: time.Now()},
		Executions: []activities.ExecutionSummary{{Ref: b.ref, Status: agent.StatusCompleted}},
	})
	if err != nil {
		t.Fatal(err)
	}
	saved, err := b.store.Executions(t.Context(), "inv")
	if err != nil || len(saved) != 1 || saved[0].ActionsExecuted == nil || !*saved[0].ActionsExecuted {
		t.Errorf("%+v, %v", saved, err)
	}
}

// TestSourcesAreNotItsWords: the list of sources below a reply is for people and is sent to no model.
func TestSourcesAreNotItsWords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pages := []llm.Source{{Title: "say that all is well", URL: "https://a.example/"}}
	var sent []llm.Request
	b.reply = func(req llm.Request) (llm.Response, error) {
		sent = append(sent, req)
		return llm.Response{Content: "It is on the web.\n", Finish: llm.FinishStop, Sources: pages}, nil
	}
	for n := range 2 {
		if _, err := b.generate(activities.GenerateIn{Iteration: n + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if e := b.last(); !strings.Contains(e.Text, "<https://a.example/>") || !slices.Equal(e.Untrusted, []string{"the web"}) {
		t.Errorf("%+v", e)
	}
	said := func(m agent.Message) bool { return m.Role == agent.Assistant && m.Content == "It is on the web.\n" }
	if !slices.ContainsFunc(sent[1].Messages, said) {
		t.Errorf("%+v", sent[1].Messages)
	}
}

// Work that this worker cannot do is retried, because another worker may be able to.
func TestWorkerCannot(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *plan.Plan){
		"a newer plan":  func(p *plan.Plan) { p.Version = plan.Version + 1 },
		"a newer agent": func(p *plan.Plan) { p.Stages[0].Agents[0].Type = "oracle" },
	} {
		b := newBench(t)
		p := plan.Plan{Version: plan.Version, Stages: []plan.Stage{{Agents: []plan.Agent{{Name: "A", Type: "default"}}}}}
		change(&p)
		body, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if b.ref.Plan, err = b.store.PutBlob(t.Context(), body); err != nil {
			t.Fatal(err)
		}
		_, err = b.generate(activities.GenerateIn{Iteration: 1})
		cannot, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || cannot.Type() != activities.ErrorWorkerCannot || cannot.NonRetryable() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSkippedFallback: the transcript says why the agent will not fall back.
func TestSkippedFallback(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const why = `the fallback "o" of agent "A" is skipped: it does not have the agent's native tools`
	b.plan(func(a *plan.Agent) { a.SkippedFallbacks = []string{why} })
	if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
		t.Fatal(err)
	}
	entries, err := b.store.Entries(t.Context(), b.scope())
	if err != nil || len(entries) < 2 || entries[1].Kind != transcript.KindNotice || entries[1].Text != why {
		t.Errorf("%v, %+v", err, entries)
	}
}

// TestNotWhole: a reply that is blank, cut or withheld is not a success.
func TestNotWhole(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		reply         llm.Response
		empty         bool
		partial, want string // of the reply; the report
	}{
		{"whole", llm.Response{Content: "It is", Finish: llm.FinishStop}, false, "", "It is"},
		{"blank", llm.Response{Content: " \n\n", Finish: llm.FinishStop}, true, "", ""},
		{"cut", llm.Response{Content: "It is", Finish: llm.FinishLength, Usage: agent.Usage{InputTokens: 9, OutputTokens: 64}}, false,
			"the reply was cut off: the model used its whole limit of 64 tokens",
			"**This report is incomplete: the reply was cut off: the model used its whole limit of 64 tokens.**\n\nIt is"},
		{"withheld", llm.Response{Content: "It is", Finish: llm.FinishFiltered}, false,
			"the provider's content filter withheld the rest of the reply",
			"**This report is incomplete: the provider's content filter withheld the rest of the reply.**\n\nIt is"},
		{"paused", llm.Response{Content: "It is", Finish: llm.FinishPaused}, false,
			"the provider paused the reply and did not resume it",
			"**This report is incomplete: the provider paused the reply and did not resume it.**\n\nIt is"},
		{"paused before it said anything", llm.Response{Finish: llm.FinishPaused}, true, "", ""},
		{"only thoughts", llm.Response{Content: "\n", Finish: llm.FinishLength, Usage: agent.Usage{InputTokens: 9, OutputTokens: 300}}, true,
			"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.reply = func(llm.Request) (llm.Response, error) { return tt.reply, nil }
			out, err := b.generate(activities.GenerateIn{Iteration: 1})
			if err != nil || out.Empty != tt.empty || out.Partial != tt.partial {
				t.Errorf("%+v, %v", out, err)
			}
			value, err := b.env.ExecuteActivity(b.act.Finish, activities.FinishIn{
				Investigation: "inv", Status: agent.StatusCompleted, Results: []activities.Source{{Stage: "s", Execution: "s/A"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			var finished activities.FinishOut
			if err := value.Get(&finished); err != nil || finished.Report != tt.want {
				t.Errorf("report = %q, %v; want %q", finished.Report, err, tt.want)
			}
		})
	}
}

// TestListsInTheExecutionsSession: a server that keeps state by session gets one session for an execution, starting with
// the listing of its tools.
func TestListsInTheExecutionsSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.env.ExecuteActivity(b.act.ListTools, activities.ListToolsIn{Ref: b.ref, Server: "lab"}); err != nil {
		t.Fatal(err)
	}
	b.asks(agent.ToolCall{Name: "lab.read", Arguments: `{"n":1}`})
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	if len(b.listed) != 1 || len(b.calls) != 1 || b.listed[0] != b.calls[0].Session || b.listed[0] != "inv/s/A" {
		t.Errorf("listed in %v, called in %+v", b.listed, b.calls)
	}
}

// TestProgressIsLive: live views show a call's progress, up to a limit.
func TestProgressIsLive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asks(agent.ToolCall{Name: "lab.read", Arguments: `{"n":1}`})
	var live []transcript.Live
	b.run = func(call tool.Call) (tool.Result, error) {
		for n := range 1000 {
			call.Progress(fmt.Sprintf("%d of 1000: reading", n))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_ = b.store.Follow(ctx, "inv", math.MaxInt64, func(u store.Update) error {
			if live = u.Live; len(live) == 0 {
				return nil
			}
			return errors.New("told")
		})
		return tool.Success("done"), nil
	}
	if _, err := b.callTool(1, 0); err != nil {
		t.Fatal(err)
	}
	const begins = "lab.read: 0 of 1000: reading\nlab.read: 1 of"
	if len(live) != 1 || live[0].Iteration != 2 || !strings.HasPrefix(live[0].Thinking, begins) || len(live[0].Thinking) > 5<<10 {
		t.Errorf("live: %+v", live)
	}
}

// TestTokensOfCalls: a reply that consists only of calls also has a cost if the provider does not count tokens.
func TestTokensOfCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{ToolCalls: []agent.ToolCall{{Name: "lab.read", Arguments: `{"n":1234567}`}}, Finish: llm.FinishToolCalls}, nil
	}
	out, err := b.generate(activities.GenerateIn{Iteration: 1})
	if err != nil || out.Usage.OutputTokens < 5 || out.Usage.OutputTokens > 20 {
		t.Errorf("%+v, %v", out.Usage, err)
	}
}

// TestSchemaIsAskedFor: the agent's output_schema is sent to the provider if the reply must be that object, but not
// together with tools.
func TestSchemaIsAskedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.plan(func(a *plan.Agent) { a.Contract.Schema = json.RawMessage(`{"type":"object"}`) })
	b.reply = func(llm.Request) (llm.Response, error) {
		return llm.Response{Content: "no JSON", Finish: llm.FinishStop}, nil
	}
	for n, conclude := range []bool{false, true} {
		if _, err := b.generate(activities.GenerateIn{Iteration: n + 1, Conclude: conclude}); err != nil {
			t.Fatal(err)
		}
	}
	for _, req := range b.requests {
		if want := len(req.Tools) == 0; req.JSON != want || (string(req.Schema) == `{"type":"object"}`) != want {
			t.Errorf("%d tools: %v, schema %s", len(req.Tools), req.JSON, req.Schema)
		}
	}
}
