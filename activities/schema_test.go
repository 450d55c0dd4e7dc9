package activities_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// TestSchema: a contract's schema goes beside the prompt to models that keep to one, from the
// first request on; in words only if one of the agent's providers needs them.
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
