package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestDialect checks that plans without a dialect get the one that their other fields imply, and that other plans keep
// theirs.
func TestDialect(t *testing.T) {
	t.Parallel()
	const format, schema = agent.StructuredResponseFormat, agent.StructuredResponseSchema
	limits := agent.Dialect{MaxTools: 128, MaxDescription: 1024, Structured: format}
	for stored, want := range map[string]agent.Dialect{
		`{"type":"openai","model":"gpt-4o"}`:                                  limits,
		`{"type":"azure","model":"mine"}`:                                     limits,
		`{"type":"openai","model":"grok-4","base_url":"https://api.x.ai/v1"}`: {MaxTools: 200, Structured: format},
		`{"type":"openai","model":"m","base_url":"https://api.groq.com/openai/v1"}`: {
			MaxTools: 128, Structured: format, WrittenCalls: true},
		`{"type":"openai","model":"m","base_url":"http://127.0.0.1:8000/v1"}`:        {Structured: format, WrittenCalls: true},
		`{"type":"openai","model":"mistralai/Devstral","base_url":"http://vllm/v1"}`: {Structured: format, Alternates: true, WrittenCalls: true},
		`{"type":"openai","model":"open-mistral-7b","base_url":"http://vllm/v1"}`:    {Structured: format, Alternates: true, WrittenCalls: true},
		`{"type":"openai","model":"m","base_url":"https://api.mistral.ai/v1"}`:       {Structured: format, Alternates: true, WrittenCalls: true},
		`{"type":"openai","model":"g","base_url":"https://generativelanguage.googleapis.com/v1beta/openai"}`: {
			MaxTools: 512, Structured: format, Schemas: agent.SchemaOpenAPI},
		`{"type":"google","model":"gemini-3-pro","driver":"genai"}`: {MaxTools: 512, Structured: schema, Schemas: agent.SchemaGemini},
		`{"type":"google","model":"gemini-2.0","driver":"generative-ai-go"}`: {
			MaxTools: 512, Structured: agent.StructuredNone, Schemas: agent.SchemaOpenAPI},
		`{"type":"anthropic","model":"claude-sonnet-5"}`:                          {Structured: agent.StructuredOutputFormat},
		`{"type":"anthropic","model":"c","vertex":{"project":"p"}}`:               {Structured: agent.StructuredForm},
		`{"type":"openai","model":"m","base_url":"https://api.openai.com/v1"}`:    limits,
		`{"type":"openai","model":"m","base_url":"https://openai.com.evil"}`:      {Structured: format, WrittenCalls: true},
		`{"type":"azure","model":"m","base_url":"https://gateway.example"}`:       limits,
		`{"type":"anthropic","model":"m","base_url":"https://api.anthropic.com"}`: {Structured: agent.StructuredOutputFormat},
		`{"type":"anthropic","model":"m","base_url":"https://api.minimax.io/anthropic"}`: {
			Structured: agent.StructuredOutputFormat, WrittenCalls: true},
		`{"type":"program","model":"m"}`:                                {},
		`{"type":"openai","model":"m","accepts":{"refuses_none":true}}`: {RefusesNone: true},
	} {
		var p plan.Provider
		if err := json.Unmarshal([]byte(stored), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.Dialect(); got != want {
			t.Errorf("%s: got %+v, want %+v", stored, got, want)
		}
	}
}
