package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestResponseFormat: structured output is asked for as such, strictly where the
// schema is one that strict mode takes.
func TestResponseFormat(t *testing.T) {
	t.Parallel()
	const (
		object = `{"type":"json_object"}`
		full   = `{"type":"object","properties":{"n":{"type":["integer","null"]},"l":{"type":"array","items":{"$ref":"#/$defs/d"}}},` +
			`"required":["n","l"],"additionalProperties":false,"$defs":{"d":{"enum":["a"]}}}`
		loose  = `{"type":"object","properties":{"n":{"type":"integer"}}}`
		inside = `{"type":"object","properties":{"o":{"type":"object"}},"required":["o"],"additionalProperties":false}`
		words  = `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`
	)
	as := func(schema, strict string) string {
		return `{"type":"json_schema","json_schema":{"name":"output","schema":` + schema + `,"strict":` + strict + `}}`
	}
	for name, tt := range map[string]struct {
		model, schema, want string
	}{
		"no schema":                    {"gpt-4o", "", object},
		"strict":                       {"gpt-4o", full, as(full, "true")},
		"behind a proxy":               {"openai/gpt-5.4-mini", full, as(full, "true")},
		"optional fields":              {"gpt-4.1", loose, as(loose, "false")},
		"an open object in it":         {"o3", inside, as(inside, "false")},
		"words that may be refused":    {"gpt-4o-2024-08-06", words, as(words, "false")},
		"a schema of no object":        {"gpt-4o", `{"type":"array","items":{"type":"string"}}`, object},
		"a model before that":          {"gpt-4o-2024-05-13", full, object},
		"an old model":                 {"gpt-4-turbo", full, object},
		"a model of another's company": {"deepseek-chat", full, object},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("{}")))
			req := ask("why?")
			req.Model, req.JSON, req.Schema = tt.model, true, json.RawMessage(tt.schema)
			if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			var body struct {
				Format json.RawMessage `json:"response_format"`
			}
			if err := json.Unmarshal(srv.Wait(1).Body, &body); err != nil || string(body.Format) != tt.want {
				t.Errorf("got  %s\nwant %s (%v)", body.Format, tt.want, err)
			}
		})
	}
}

// TestRefusedSchema: a provider that refuses it says so, and is not asked again.
func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	const says = "Invalid schema for response_format 'output': In context=('properties', 'n'), 'minimum' is not permitted."
	srv := llmtest.Start(t, llmtest.Always(llmtest.Refuse(400, "invalid_request_error", says)))
	req := ask("why?")
	req.Model, req.JSON, req.Schema = "gpt-4o", true, json.RawMessage(`{"type":"object"}`)
	_, err := open(t, srv.URL).Generate(t.Context(), req, nil)
	if want := "test: " + llm.ErrInvalidRequest.Error() + " (HTTP 400): " + says; err == nil || err.Error() != want {
		t.Errorf("error = %v", err)
	}
}
