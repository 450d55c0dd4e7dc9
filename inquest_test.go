package inquest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/tool"
)

type query struct {
	Customer string   `json:"customer" jsonschema:"who ordered"`
	Limit    int8     `json:"limit,omitempty"`
	States   []string `json:"states,omitempty"`
}

func find(_ context.Context, q query) (any, error) {
	if q.Customer == "nobody" {
		return nil, NotFound("customer", q.Customer)
	}
	if q.Customer == "gone" {
		return nil, fmt.Errorf("look: %w", &ToolError{Type: "Gone", Message: "moved", Recoverable: true})
	}
	if q.Customer == "told" {
		return Result{Status: "error", Error: &ToolError{Type: "Gone", Message: "moved"}}, nil
	}
	return q, nil
}

// run makes one call.
func run(t *testing.T, own Tool, arguments string) tool.Result {
	t.Helper()
	all, wrong := Options{Tools: []Tool{own}}.tools()
	if wrong != nil {
		t.Fatal(wrong)
	}
	return all[0].Run(t.Context(), tool.Call{Name: own.Name, Arguments: json.RawMessage(arguments)})
}

func TestNewTool(t *testing.T) {
	t.Parallel()
	own := NewTool("find", "Finds orders", find, WithRisk(RiskReadOnly), Idempotent())
	const schema = `{"type":"object","properties":{"customer":{"type":"string","description":"who ordered"},` +
		`"limit":{"type":"integer","minimum":-128,"maximum":127},"states":{"type":["null","array"],"items":{"type":"string"}}},` +
		`"required":["customer"],"additionalProperties":false}`
	want := tool.Spec{Name: "find", Description: "Finds orders", Schema: json.RawMessage(schema), Risk: RiskReadOnly, Idempotent: true}
	if diff := cmp.Diff(want, own.spec()); diff != "" {
		t.Error(diff)
	}
	if risk := NewTool("find", "", find).spec().Risk; risk != RiskWrite {
		t.Errorf("a tool that does not say is of the risk %q", risk)
	}
	gone := tool.Final("Gone", `{"status":"error","error":{"error_type":"Gone","message":"look: moved","recoverable":true}}`)
	gone.Recoverable = true
	for arguments, want := range map[string]tool.Result{
		`{"customer":"Ada","limit":3}`: tool.Success(`{"status":"success","data":{"customer":"Ada","limit":3}}`),
		`{"customer":"nobody"}`: tool.Final("NotFoundError",
			`{"status":"error","error":{"error_type":"NotFoundError","message":"customer 'nobody' not found","recoverable":false}}`),
		`{"customer":"gone"}`: gone,
		`{"customer":"told"}`: tool.Final("Gone", `{"status":"error","error":{"error_type":"Gone","message":"moved","recoverable":false}}`),
		`{"customer":7}`: tool.Failure(tool.ErrorInvalidArguments,
			`{"status":"error","error":{"error_type":"InvalidArguments","message":"json: cannot unmarshal number into Go struct field `+
				`query.customer of type string","recoverable":true}}`),
	} {
		if diff := cmp.Diff(want, run(t, own, arguments)); diff != "" {
			t.Errorf("%s: %s", arguments, diff)
		}
	}
}

func TestCallOf(t *testing.T) {
	t.Parallel()
	var got Call
	own := NewTool("find", "", func(ctx context.Context, _ struct{}) (any, error) {
		got, _ = CallOf(ctx)
		return Success(nil, "ok"), nil
	})
	all, _ := Options{Tools: []Tool{own}}.tools()
	all[0].Run(t.Context(), tool.Call{Key: "i/s/a/1/0", Investigation: "i", Execution: "s/a", Arguments: json.RawMessage(`{}`)})
	if diff := cmp.Diff(Call{Key: "i/s/a/1/0", Investigation: "i", Execution: "s/a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestToolsRefused(t *testing.T) {
	t.Parallel()
	type loop struct{ Next *loop }
	object := json.RawMessage(`{"type":"object"}`)
	some := func(context.Context, json.RawMessage) (any, error) { return map[string]any{}, nil }
	for name, tc := range map[string]struct {
		tools []Tool
		want  string
	}{
		"no name":          {[]Tool{{Schema: object, Run: some}}, `tool "": a name can have 1 to 64 characters of`},
		"a server's name":  {[]Tool{{Name: "a.b", Schema: object, Run: some}}, `tool "a.b": a name can have`},
		"as models see it": {[]Tool{{Name: "a__b", Schema: object, Run: some}}, `tool "a__b": a name can have`},
		"built in": {[]Tool{{Name: "core_memory_append", Schema: object, Run: some}},
			`tool "core_memory_append": a built-in tool has this name`},
		"no function":   {[]Tool{NewTool[query]("find", "", nil)}, `tool "find": there is no function to run`},
		"odd risk":      {[]Tool{{Name: "find", Schema: object, Run: some, Risk: "hihg"}}, `tool "find": unknown risk "hihg"`},
		"no schema":     {[]Tool{{Name: "find", Run: some}}, `tool "find": schema: it is missing`},
		"broken schema": {[]Tool{{Name: "find", Run: some, Schema: json.RawMessage(`{"type":`)}}, `tool "find": schema: `},
		"unusable schema": {[]Tool{{Name: "find", Run: some, Schema: json.RawMessage(`{"type":"object","$ref":"#/$defs/x"}`)}},
			`tool "find": schema: `},
		"not an object": {[]Tool{NewTool("find", "", func(context.Context, []string) (any, error) { return nil, nil })},
			`tool "find": schema: a tool's arguments must be an object`},
		"type without end": {[]Tool{NewTool("find", "", func(context.Context, loop) (any, error) { return nil, nil })},
			`tool "find": arguments: `},
		"the same one twice": {[]Tool{NewTool("find", "", find), NewTool("find", "", find)}, `tool "find": two tools have this name`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewWorker(t.Context(), Options{Tools: tc.tools})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestEverythingThatIsWrong checks that all problems with tools, definitions and files are in one error, before
// anything is opened.
func TestEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	yaml := "defaults: {llm_provider: scripted}\nagents: {Clerk: {}, Porter: {tool_ids: [fnd]}}\nagent_chains: {c: {stages: [{name: s, " +
		"agents: [{name: Guard}]}]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := NewWorker(t.Context(), Options{
		Config: dir, Store: filepath.Join(dir, "absent", "store.db"),
		Tools:  []Tool{NewTool("find", "", find), NewTool[query]("lose", "", nil)},
		Hooks:  map[string]Hook{"a/b": nil, "enrich": func(context.Context, HookInput) (HookOutput, error) { return HookOutput{}, nil }},
		Mocks:  map[string]Mock{"verdict": nil},
		Agents: map[string]*Agent{"Clerk": {}, "Guard": {ToolIDs: []string{"find"}, MaxIterations: new(0), Temperature: new(float32(3))}},
		Chains: map[string]*Chain{"orders": {Stages: []*Stage{{Name: "look", Agents: []*StageAgent{nil, {Name: "Clerc"}},
			Flow: Flow{PostProcess: "enrch"}}}}},
	})
	want := `tool "lose": there is no function to run
hook "a/b": a name can have 1 to 64 characters of A-Z a-z 0-9 _ . and -
there is no function to run
mock "verdict": there is no function to run
Go: agent_chains.orders.stages[0].agents[0]: must not be nil
Go: agent_chains.orders.stages[0].agents[1]: unknown agent "Clerc"; did you mean "Clerk"?
Go: agent_chains.orders.stages[0].post_process: unknown hook "enrch"; did you mean "enrich"?; available in this program: a/b, enrich
Go: agents.Guard.max_iterations: max_iterations must be at least 1
Go: agents.Guard.temperature: temperature must be between 0 and 2
a.yaml:2: agents.Clerk: is also defined in Go
a.yaml:2: agents.Porter.tool_ids[0]: unknown tool "fnd"; did you mean "find"?; available in this program: find, lose`
	if diff := cmp.Diff(want, withoutWarnings(err)); diff != "" {
		t.Error(diff)
	}
	if _, ok := errors.AsType[Findings](err); !ok {
		t.Errorf("there are no findings in %T", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "absent")); !os.IsNotExist(err) {
		t.Errorf("the store was opened: %v", err)
	}
}

func withoutWarnings(err error) string {
	var kept []string
	for line := range strings.Lines(err.Error()) {
		if !strings.Contains(line, ": warning: ") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSuffix(strings.Join(kept, ""), "\n")
}

func TestMemoryStoreEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	w := &Worker{}
	if err := w.prepare(Options{Store: MemoryStore}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.opts.Data); err != nil || filepath.Dir(w.opts.Store) != w.opts.Data {
		t.Errorf("store %s, data %s: %v", w.opts.Store, w.opts.Data, err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.opts.Data); !os.IsNotExist(err) {
		t.Errorf("the store is still there: %v", err)
	}
}
