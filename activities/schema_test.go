package activities_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestRefusedSchema: if a model refuses the schema, in whatever words, the schema goes into the prompt, and people are
// told. The next requests skip the attempt and begin the same way. A request that is refused without the schema, too,
// stays refused.
func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"cause":{"type":"string"}}}`
	refusal := &llm.Error{Kind: llm.ErrInvalidRequest, Status: 400, Message: "Request contains an invalid argument."}
	for name, tt := range map[string]struct {
		refuses  func(llm.Request) error
		fails    bool
		requests string // "s": with the schema, "w": in words
	}{
		"it":        {func(r llm.Request) error { return when(len(r.Schema) > 0, refusal) }, false, "sww"},
		"all":       {func(llm.Request) error { return refusal }, true, "sw"},
		"the model": {func(llm.Request) error { return &llm.Error{Kind: llm.ErrInvalidRequest, Status: 404} }, true, "s"},
		"and is away": {func(r llm.Request) error {
			return cmp.Or(when(len(r.Schema) > 0, refusal), error(&llm.Error{Kind: llm.ErrUnavailable}))
		}, true, "sw"},
		"nothing, at all": {func(llm.Request) error { return nil }, false, "ss"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.act.Validator = tool.NewValidator()
			b.plan(func(a *plan.Agent) {
				a.Providers, a.Contract = []plan.Provider{{Name: "p", Type: "openai", Model: "gpt-4o"}}, plan.Contract{Schema: json.RawMessage(schema)}
			})
			b.reply = func(req llm.Request) (llm.Response, error) {
				return llm.Response{Content: `{"cause":"disk"}`, Finish: llm.FinishStop}, tt.refuses(req)
			}
			_, err := b.generate(activities.GenerateIn{Iteration: 1})
			if (err != nil) != tt.fails {
				t.Fatal(err)
			}
			if err == nil {
				if _, err := b.generate(activities.GenerateIn{Iteration: 2}); err != nil {
					t.Fatal(err)
				}
			}
			var kinds string
			for _, req := range b.requests {
				words := len(req.Messages) > 1 && strings.Contains(req.Messages[1].Content, "<schema-") && req.Messages[1].Role == agent.User
				if words == (len(req.Schema) > 0) {
					t.Errorf("schema %s, and %+v", req.Schema, req.Messages)
				}
				kinds += map[bool]string{true: "w", false: "s"}[words]
			}
			entries, err := b.store.Entries(t.Context(), b.scope())
			if err != nil {
				t.Fatal(err)
			}
			reported := slices.ContainsFunc(entries, func(e transcript.Entry) bool {
				return strings.HasSuffix(e.Text, "prompt contains it instead: "+refusal.Message)
			})
			if kinds != tt.requests || reported != (tt.requests == "sww") {
				t.Errorf("requests %q, want %q; people are told: %v", kinds, tt.requests, reported)
			}
		})
	}
}

func when(yes bool, failed *llm.Error) error {
	if yes {
		return failed
	}
	return nil
}

// TestSchema: models that enforce a contract's schema get it separately from the prompt, from the first request on. The
// prompt includes it only if one of the agent's providers needs that.
func TestSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"cause":{"type":"string"}}}`
	openAI := func(model string) plan.Provider { return plan.Provider{Name: "p", Type: "openai", Model: model} }
	google := func(model, driver string) plan.Provider {
		return plan.Provider{Name: "g", Type: "google", Model: model, Driver: driver}
	}
	const closed = `{"type":"object","properties":{"cause":{"type":"string"}},"required":["cause"],"additionalProperties":false}`
	claude := func(model string, at plan.Vertex) plan.Provider {
		return plan.Provider{Name: "c", Type: "anthropic", Model: model, Vertex: at}
	}
	here, cloud := plan.Vertex{}, plan.Vertex{Project: "lab"}
	thoughtful := claude("claude-sonnet-4", here)
	thoughtful.Thinking.Mode = agent.ThinkingOn
	searching := google("gemini-2.5-pro", "genai")
	searching.NativeTools.GoogleSearch = true
	for name, tt := range map[string]struct {
		schema       string
		typ          string
		providers    []plan.Provider
		words, apart bool
	}{
		"a model that keeps to it":        {schema, "default", []plan.Provider{openAI("gpt-4o")}, false, true},
		"another company's model":         {schema, "default", []plan.Provider{openAI("deepseek-chat")}, true, false},
		"a fallback that needs words":     {schema, "default", []plan.Provider{openAI("gpt-4o"), openAI("llama3")}, true, true},
		"Gemini 3":                        {schema, "default", []plan.Provider{google("gemini-3-pro", "genai")}, false, true},
		"Gemini 2.5 beside tools":         {schema, "default", []plan.Provider{google("gemini-2.5-pro", "genai")}, true, false},
		"Gemini 2.5 without tools":        {schema, "llm", []plan.Provider{google("gemini-2.5-pro", "genai")}, false, true},
		"Gemini 2.5 beside its own":       {schema, "llm", []plan.Provider{searching}, true, true},
		"the older driver, without tools": {schema, "llm", []plan.Provider{google("gemini-2.5-pro", "generative-ai-go")}, true, true},
		"Claude":                          {closed, "default", []plan.Provider{claude("claude-sonnet-4-5", here)}, false, true},
		"Claude, and an open schema":      {schema, "default", []plan.Provider{claude("claude-sonnet-4-5", here)}, true, false},
		"an older Claude":                 {closed, "default", []plan.Provider{claude("claude-opus-4-1", here)}, true, false},
		"an older Claude, without tools":  {schema, "llm", []plan.Provider{claude("claude-opus-4-1", here)}, false, true},
		"one that thinks, without tools":  {schema, "llm", []plan.Provider{thoughtful}, true, true},
		"Claude in Google's cloud":        {closed, "default", []plan.Provider{claude("claude-sonnet-4-5", cloud)}, true, false},
		"the same, without tools":         {closed, "llm", []plan.Provider{claude("claude-sonnet-4-5", cloud)}, false, true},
		"a schema of no object":           {`{"required":["cause"]}`, "default", []plan.Provider{openAI("gpt-4o")}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.act.Validator = tool.NewValidator()
			b.plan(func(a *plan.Agent) {
				a.Type, a.Providers, a.Contract = tt.typ, tt.providers, plan.Contract{Schema: json.RawMessage(tt.schema)}
			})
			if _, err := b.generate(activities.GenerateIn{Iteration: 1}); err != nil {
				t.Fatal(err)
			}
			req := b.requests[0]
			if words := strings.Contains(req.Messages[0].Content, "<schema-"); words != tt.words {
				t.Errorf("the prompt has the schema: %v", words)
			}
			if apart := req.JSON && string(req.Schema) == tt.schema; apart != tt.apart {
				t.Errorf("the request has it: %v", apart)
			}
		})
	}
}
