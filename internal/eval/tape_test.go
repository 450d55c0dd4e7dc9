package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// entry returns a row of the agent look/A.
func entry(seq int64, kind transcript.Kind, key transcript.Key, body transcript.Body) transcript.Entry {
	if kind == transcript.KindReply {
		body.Provider = "p"
	}
	return transcript.Entry{
		Scope: transcript.Scope{Investigation: "i", Execution: "look/A"}, Key: key, Seq: seq, Kind: kind, Body: body,
	}
}

func call(name, arguments string) *transcript.Call {
	return &transcript.Call{ID: "c", Name: name, Arguments: arguments}
}

func result(text string, of *transcript.Call) transcript.Body {
	return transcript.Body{Text: text, Call: of, Status: "success"}
}

// recorded is an investigation with one agent: it makes the same call twice, another one, and reports.
func recorded() []transcript.Entry {
	same, other := call("k8s.pods", `{"b": 2, "a": 1.0}`), call("k8s.logs", `not JSON`)
	long := result("beginning", other)
	long.Blob = "whole"
	again := result("second", same)
	undone := entry(10, transcript.KindReply, transcript.Key{Iteration: 3}, transcript.Body{Text: "undone by a reset"})
	undone.Superseded = true
	again.Artifacts = []string{"artifact"}
	return []transcript.Entry{
		entry(1, transcript.KindSystem, transcript.Key{Iteration: 1}, transcript.Body{Text: "prompt"}),
		entry(2, transcript.KindReply, transcript.Key{Iteration: 1, Position: 2}, transcript.Body{Calls: []transcript.Call{*same, *other}}),
		entry(3, transcript.KindResult, transcript.ResultKey(1, 1), long),
		entry(4, transcript.KindResult, transcript.ResultKey(1, 0), result("first", same)),
		entry(5, transcript.KindSummary, transcript.SummaryKey(1, 1), transcript.Body{Text: "in short", Call: other}),
		entry(6, transcript.KindReply, transcript.Key{Iteration: 2}, transcript.Body{Text: "again", Calls: []transcript.Call{*same}}),
		undone,
		entry(7, transcript.KindResult, transcript.ResultKey(2, 0), again),
		entry(8, transcript.KindReply, transcript.Key{Iteration: 3},
			transcript.Body{Text: "the report\n\nSources: a page", Reply: transcript.Reply{Own: 10}}),
		{Kind: transcript.KindReply, Body: transcript.Body{Text: "written by code"}},
	}
}

// blobs is a store of blobs, by name.
type blobs map[string]string

func (b blobs) Blob(_ context.Context, name string) ([]byte, error) {
	if text, ok := b[name]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("gone")
}

func tape(t *testing.T, entries []transcript.Entry) eval.Tape {
	t.Helper()
	blobs := blobs{"whole": "beginning and end", "artifact": `{"mime_type":"text/csv","data":"YSxi"}`}
	out, err := eval.Record(t.Context(), entries, []tool.Catalogue{
		{Server: "k8s", Error: "not started yet"},
		{Server: "grafana", Tools: []tool.Spec{{Name: "grafana.query", Risk: agent.RiskReadOnly}}, Changed: []string{"of that time"}},
		{Server: "k8s", Tools: []tool.Spec{{Name: "k8s.pods", Risk: agent.RiskReadOnly}}},
	}, blobs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTape: a tape holds what agents got, in order, and survives its file.
func TestTape(t *testing.T) {
	t.Parallel()
	recorded := tape(t, recorded())
	text, err := recorded.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tape":{"version":1}}
{"server":{"server":"grafana","tools":[{"name":"grafana.query","risk":"read_only"}]}}
{"server":{"server":"k8s","tools":[{"name":"k8s.pods","risk":"read_only"}]}}
{"reply":{"agent":"look/A","iteration":1,"calls":[{"tool":"k8s.pods","arguments":{"a":1.0,"b":2}},` +
		`{"tool":"k8s.logs","arguments":"not JSON"}]}}
{"result":{"agent":"look/A","iteration":1,"n":0,"tool":"k8s.pods","arguments":{"a":1.0,"b":2},"status":"success","text":"first"}}
{"result":{"agent":"look/A","iteration":1,"n":1,"tool":"k8s.logs","arguments":"not JSON","status":"success","text":"beginning and end",` +
		`"summary":"in short"}}
{"reply":{"agent":"look/A","iteration":2,"text":"again","calls":[{"tool":"k8s.pods","arguments":{"a":1.0,"b":2}}]}}
{"result":{"agent":"look/A","iteration":2,"n":0,"tool":"k8s.pods","arguments":{"a":1.0,"b":2},"status":"success","text":"second",` +
		`"artifacts":[{"mime_type":"text/csv","data":"YSxi"}]}}
{"reply":{"agent":"look/A","iteration":3,"text":"the report"}}
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	read, err := eval.DecodeTape(text)
	if diff := cmp.Diff(recorded, read, cmpopts.IgnoreUnexported(eval.Reply{}, eval.Result{})); diff != "" || err != nil {
		t.Errorf("read back: %v (-want +got):\n%s", err, diff)
	}
	if d := eval.Diverged(read, recorded); d != nil {
		t.Errorf("a tape differs from itself: %s", d)
	}
	lines := []string{`{"reply":{}}`, "", "{}", "nonsense", `{"other":1}`, `{"reply":{},"result":{}}`, `{"reply":{}} {}`}
	_, err = eval.DecodeTape([]byte(strings.Join(lines, "\n")))
	for _, part := range []string{
		`line 3: expected one of "tape", "server", "reply" and "result"`, "line 4: ", `line 5: json: unknown field "other"`,
		"line 6: expected one of", "line 7: expected one of",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	if _, err := eval.DecodeTape([]byte(`{"tape":{"version":2}}`)); err == nil || !strings.Contains(err.Error(), "use a newer release") {
		t.Errorf("a newer tape: %v", err)
	}
	broken := []transcript.Entry{entry(9, transcript.KindResult, transcript.ResultKey(1, 0), result("", call("a.b", "{}")))}
	broken[0].Blob = "lost"
	if _, err := eval.Record(t.Context(), broken, nil, blobs{}); err == nil || err.Error() != "the result of a.b in row 9: gone" {
		t.Errorf("a lost blob: %v", err)
	}
}

// live is a real tool that counts its calls.
type live struct{ calls int }

func (l *live) List(context.Context, plan.Server, string) ([]tool.Spec, error) {
	return []tool.Spec{{Name: "other.tool"}}, nil
}

func (l *live) Call(context.Context, tool.Call) (tool.Result, error) {
	l.calls++
	return tool.Success("live"), nil
}

// TestPlayer: the same call gets its results in turn, and nothing else is made, except live calls that only read.
func TestPlayer(t *testing.T) {
	t.Parallel()
	p := eval.NewPlayer(tape(t, recorded()))
	say := func(c tool.Call) string {
		t.Helper()
		r, err := p.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Status) + " " + r.ErrorType + " " + r.Content
	}
	same := tool.Call{Name: "k8s.pods", Arguments: []byte(`{"a":1.0,"b":2}`), Class: tool.Safe}
	capped := tool.Call{Name: "k8s.pods", Arguments: []byte(`{"a":1,"b":1}`), Written: `{ "b":2, "a":1.0 }`}
	const missing = "error not_recorded This call of k8s.pods was not made: the tools of this investigation are replayed from a recording, " +
		"which has no result for these arguments."
	for n, step := range []struct {
		call tool.Call
		want string
	}{
		{same, "success  first"}, {capped, "success  second"}, {same, "success  second"},
		{tool.Call{Name: "k8s.pods", Arguments: []byte(`{"a":2,"b":2}`), Class: tool.Safe}, missing},
		{tool.Call{Name: "k8s.logs", Arguments: []byte(`{}`), Written: "not JSON"}, strings.ReplaceAll(missing, "k8s.pods", "k8s.logs")},
	} {
		if got := say(step.call); got != step.want {
			t.Errorf("call %d: %q, want %q", n, got, step.want)
		}
	}
	real := &live{}
	p.Live = real
	for _, step := range []struct {
		call tool.Call
		want string
	}{
		{same, "success  second"},
		{tool.Call{Name: "k8s.pods", Arguments: []byte(`{"a":2}`), Class: tool.Safe}, "success  live"},
		{tool.Call{Name: "k8s.pods", Arguments: []byte(`{"a":2}`), Class: tool.Idempotent}, missing},
		{tool.Call{Name: "k8s.pods", Arguments: []byte(`{"a":2}`), Class: tool.Safe, Waived: true}, missing},
		{tool.Call{Name: "shell", Arguments: []byte(`{"a":2}`), Class: tool.Safe}, strings.ReplaceAll(missing, "k8s.pods", "shell")},
	} {
		if got := say(step.call); got != step.want {
			t.Errorf("%s %s: %q, want %q", step.call.Name, step.call.Arguments, got, step.want)
		}
	}
	if want := (agent.Coverage{Hits: 4, Misses: 5, Live: 1}); p.Coverage() != want || real.calls != 1 {
		t.Errorf("coverage %+v with %d live calls, want %+v", p.Coverage(), real.calls, want)
	}
	if got := p.Coverage().String(); got != "4/10, 1 live" {
		t.Errorf("coverage is shown as %s", got)
	}
	listed := func(server string) string {
		specs, err := p.List(t.Context(), plan.Server{Name: server}, "")
		if err != nil {
			return err.Error()
		}
		return specs[0].Name
	}
	if got := listed("k8s"); got != "other.tool" {
		t.Errorf("with live calls, a recorded list was used: %s", got)
	}
	p.Live = nil
	if got := listed("k8s"); got != "k8s.pods" {
		t.Errorf("lists %v", got)
	}
	if got := listed("other"); got != "the recording has no tools of this server" {
		t.Errorf("a server that is not on the tape: %s", got)
	}
}

// TestPlaces: parallel agents with the same call get their own results, a retry gets the same one, and what the policy refused then is not
// a result.
func TestPlaces(t *testing.T) {
	t.Parallel()
	result := func(agent string, iteration, n int, text, errorType string) eval.Result {
		return eval.Result{
			At: eval.At{Agent: agent, Iteration: iteration}, N: n, Call: eval.Call{Tool: "a.b", Arguments: []byte(`{}`)}, Text: text,
			ErrorType: errorType,
		}
	}
	p := eval.NewPlayer(eval.Tape{Results: []eval.Result{
		result("x/A", 1, 0, "refused", tool.ErrorPermissionDenied), result("x/A", 2, 0, "A2", ""), result("x/A", 3, 0, "A3", ""),
		result("x/B", 1, 0, "B1", tool.ErrorUnavailable), result("x/B", 2, 0, "B2", ""),
	}})
	for _, step := range []struct {
		key, agent string
		iteration  int
		want       string
	}{
		{"1", "x/B", 1, "B1"}, {"1", "x/B", 1, "B1"}, {"2", "x/A", 3, "A3"}, {"3", "x/A", 1, "A2"}, {"4", "x/C", 1, "A2"}, {"5", "x/C", 2, "A3"},
		{"6", "x/B", 1, "B2"}, {"7", "x/B", 1, "A2"},
		{"2", "x/A", 3, "A3"},
	} {
		got, err := p.Call(t.Context(), tool.Call{
			Name: "a.b", Arguments: []byte(`{}`), Key: step.key, Execution: step.agent, Iteration: step.iteration,
		})
		if err != nil || got.Content != step.want {
			t.Errorf("call %s of %s in iteration %d: %q, %v, want %s", step.key, step.agent, step.iteration, got.Content, err, step.want)
		}
	}
	if want := (agent.Coverage{Hits: 7}); p.Coverage() != want {
		t.Errorf("coverage %+v", p.Coverage())
	}
}

// TestRisks: the configuration decides the risk of recorded tools, as for those of a server.
func TestRisks(t *testing.T) {
	t.Parallel()
	recorded := func(name string, risk agent.Risk, from tool.Source) tool.Spec {
		return tool.Spec{Name: "s." + name, Risk: risk, RiskFrom: from, Idempotent: true}
	}
	p := eval.NewPlayer(eval.Tape{Servers: []tool.Catalogue{{Server: "s", Tools: []tool.Spec{
		recorded("configured", agent.RiskReadOnly, tool.SourceConfiguration), recorded("hinted", agent.RiskReadOnly, tool.SourceAnnotation),
		recorded("untrusted", agent.RiskWrite, tool.SourceUntrusted), recorded("destroys", agent.RiskDestructive, tool.SourceAnnotation),
		recorded("unknown", agent.RiskWrite, tool.SourceDefault),
	}}}})
	for name, test := range map[string]struct {
		server plan.Server
		want   string
	}{
		"not trusted": {plan.Server{}, "configured write default, hinted write default, annotation not trusted, " +
			"untrusted write default, annotation not trusted, " +
			"destroys destructive annotation, unknown write default"},
		"trusted": {plan.Server{TrustAnnotations: true}, "configured write default idempotent, hinted read_only annotation idempotent, " +
			"untrusted read_only annotation idempotent, destroys destructive annotation idempotent, unknown write default idempotent"},
		"configured": {
			plan.Server{
				Risk:       map[string]agent.Risk{"hinted": agent.RiskDestructive, "unknown": agent.RiskReadOnly},
				Idempotent: []string{"hinted"},
			},
			"configured write default, hinted destructive configuration idempotent, untrusted write default, annotation not trusted, " +
				"destroys destructive annotation, unknown read_only configuration",
		},
	} {
		test.server.Name = "s"
		specs, err := p.List(t.Context(), test.server, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, spec := range specs {
			text := strings.TrimPrefix(spec.Name, "s.") + " " + string(spec.Risk) + " " + string(spec.RiskFrom)
			if spec.Idempotent {
				text += " idempotent"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRecordedModel: each model call gets the next reply, a repeated attempt the same one, and a summary that of its result.
func TestRecordedModel(t *testing.T) {
	t.Parallel()
	id := ""
	m := eval.NewPlayer(tape(t, recorded())).Model(func(context.Context) (string, string) { return "look/A", id })
	ask := func(call string) llm.Response {
		t.Helper()
		id = call
		out, err := m.Generate(t.Context(), llm.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := ask("1")
	want := []agent.ToolCall{
		{ID: "r1_0", Name: "k8s__pods", Arguments: `{"a":1.0,"b":2}`}, {ID: "r1_1", Name: "k8s__logs", Arguments: "not JSON"},
	}
	if diff := cmp.Diff(want, first.ToolCalls); diff != "" || first.Finish != llm.FinishToolCalls {
		t.Errorf("first reply (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, ask("1")); diff != "" {
		t.Errorf("a repeated attempt (-first +second):\n%s", diff)
	}
	if got := ask("2").Content + "; " + ask("3").Content; got != "again; the report" {
		t.Errorf("later replies: %s", got)
	}
	id = "4"
	if _, err := m.Generate(t.Context(), llm.Request{}, nil); !errors.Is(err, llm.ErrInvalidRequest) ||
		!strings.Contains(err.Error(), "the tape has 3 replies of look/A") {
		t.Errorf("a call that is not on the tape: %v", err)
	}
	system, user, err := prompt.Summary(prompt.SummaryData{Tool: "k8s.logs", Result: "beginning and end", Bytes: 17, MaxTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Generate(t.Context(), llm.Request{Messages: []agent.Message{
		{Role: agent.System, Content: system}, {Role: agent.User, Content: user},
	}}, nil)
	if err != nil || out.Content != "in short" {
		t.Errorf("summary: %q, %v", out.Content, err)
	}
}

// TestCallsWithoutModel: the results of calls that no model asked for, such as those of a tool plan, stay on the tape.
func TestCallsWithoutModel(t *testing.T) {
	t.Parallel()
	var rows []transcript.Entry
	for n, execution := range []string{"a/Plan", "b/Model", "c/Plan"} {
		reply := transcript.Body{Calls: []transcript.Call{*call("k8s.pods", `{}`)}}
		if execution == "b/Model" {
			reply.Provider = "p"
		}
		for k, e := range []transcript.Entry{
			{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: reply},
			{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: result(execution, call("k8s.pods", `{}`))},
		} {
			e.Execution, e.Seq = execution, int64(2*n+k+1)
			rows = append(rows, e)
		}
	}
	recorded, err := eval.Record(t.Context(), rows, nil, blobs{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := recorded.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := eval.DecodeTape(text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range read.Results {
		got = append(got, r.Text)
	}
	if want := []string{"a/Plan", "b/Model", "c/Plan"}; !cmp.Equal(want, got) || len(read.Replies) != 1 {
		t.Errorf("results %v, want %v; replies: %d", got, want, len(read.Replies))
	}
}
