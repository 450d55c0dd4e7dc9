package openai_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestResponseFormat checks how structured output is requested: strictly if strict mode accepts the schema.
func TestResponseFormat(t *testing.T) {
	t.Parallel()
	const (
		object = `{"type":"json_object"}`
		full   = `{"type":"object","properties":{"n":{"type":["integer","null"]},"l":{"type":"array","items":{"$ref":"#/$defs/d"}}},` +
			`"required":["n","l"],"additionalProperties":false,"$defs":{"d":{"type":"string","enum":["a"]}}}`
		loose  = `{"type":"object","properties":{"n":{"type":"integer"}}}`
		inside = `{"type":"object","properties":{"o":{"type":"object"}},"required":["o"],"additionalProperties":false}`
		either = `{"type":"object","properties":{},"required":[],"additionalProperties":false,"anyOf":[{"type":"object","properties":{},` +
			`"required":[],"additionalProperties":false}]}`
		words = `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`
	)
	part := func(p string) string {
		return `{"type":"object","properties":{"p":` + p + `},"required":["p"],"additionalProperties":false}`
	}
	as := func(schema, strict string) string {
		return `{"type":"json_schema","json_schema":{"name":"output","schema":` + schema + `,"strict":` + strict + `}}`
	}
	for name, tt := range map[string]struct {
		model, schema, want string
	}{
		"no schema":                 {"gpt-4o", "", object},
		"strict":                    {"gpt-4o", full, as(full, "true")},
		"behind a proxy":            {"openai/gpt-5.4-mini", full, as(full, "true")},
		"optional fields":           {"gpt-4.1", loose, as(loose, "false")},
		"an open object in it":      {"o3", inside, as(inside, "false")},
		"words that may be refused": {"gpt-4o-2024-08-06", words, as(words, "false")},
		"one of several": {"gpt-4o", part(`{"anyOf":[{"type":"string"},{"type":"null"}]}`),
			as(part(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), "true")},
		"a root of several":            {"gpt-4o", either, as(either, "false")},
		"a part without a type":        {"gpt-4o", part(`{"enum":["x"]}`), as(part(`{"enum":["x"]}`), "false")},
		"a list of anything":           {"gpt-4o", part(`{"type":"array"}`), as(part(`{"type":"array"}`), "false")},
		"a list of anything, or none":  {"gpt-4o", part(`{"type":["array","null"]}`), as(part(`{"type":["array","null"]}`), "false")},
		"an open object, or none":      {"gpt-4o", part(`{"type":["object","null"]}`), as(part(`{"type":["object","null"]}`), "false")},
		"words beside a reference":     {"gpt-4o", part(`{"$ref":"#","title":"x"}`), as(part(`{"$ref":"#","title":"x"}`), "false")},
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

// TestLargeSchemas checks the documented sizes above which OpenAI refuses a schema in strict mode.
func TestLargeSchemas(t *testing.T) {
	t.Parallel()
	object := func(n int, name func(int) string, of string) string {
		var properties, names []string
		for i := range n {
			properties, names = append(properties, fmt.Sprintf(`%q:%s`, name(i), of)), append(names, fmt.Sprintf("%q", name(i)))
		}
		return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(names, ",") +
			`],"additionalProperties":false}`
	}
	number := func(i int) string { return fmt.Sprint("p", i) }
	long := func(i int) string { return fmt.Sprint(strings.Repeat("p", 996), 1000+i) } // of 1,000 characters
	nested := func(levels int) string {
		out := `{"type":"string"}`
		for range levels {
			out = object(1, number, out)
		}
		return out
	}
	enum := func(n, size int) string {
		values := slices.Repeat([]string{`"` + strings.Repeat("v", size-2) + `"`}, n)
		return object(1, number, `{"type":"string","enum":[`+strings.Join(values, ",")+`]}`)
	}
	const text = `{"type":"string"}`
	for name, tt := range map[string]struct {
		schema string
		strict bool
	}{
		"many properties":          {object(5000, number, text), true},
		"too many":                 {object(5001, number, text), false},
		"deep":                     {nested(10), true},
		"too deep":                 {nested(11), false},
		"long names":               {object(120, long, text), true},
		"too long":                 {object(121, long, text), false},
		"many values":              {enum(1000, 12), true},
		"too many values":          {enum(1001, 12), false},
		"many long values":         {enum(300, 50), true},
		"too long for so many":     {enum(300, 51), false},
		"as long, and not so many": {enum(250, 100), true},
		"a definition counts, too ": {`{"type":"object","properties":{},"required":[],"additionalProperties":false,"$defs":{"d":` +
			object(5001, number, text) + `}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("{}")))
			req := ask("why?")
			req.Model, req.JSON, req.Schema = "gpt-4o", true, json.RawMessage(tt.schema)
			if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(srv.Wait(1).Body), `"strict":true`); got != tt.strict {
				t.Errorf("strict: %v", got)
			}
		})
	}
}

// TestRefusedSchema checks that a provider's refusal is reported and that it is not asked again.
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

// TestImages checks that the images of results follow them in a user message.
func TestImages(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("I see.")))
	req := ask("why?")
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "c1_0", Name: "shot"}, {ID: "c1_1", Name: "shot"}}},
		agent.Message{Role: agent.ToolRole, ToolCallID: "c1_0", Content: "a",
			Images: []agent.Image{{Ref: "r", Type: "image/png", Data: []byte("PNG")}}},
		agent.Message{Role: agent.ToolRole, ToolCallID: "c1_1", Content: "b", Images: []agent.Image{{Ref: "r", Type: "image/png"}}},
		agent.Message{Role: agent.User, Content: "Go on."})
	if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(srv.Wait(1).Body, &body); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range body.Messages[len(body.Messages)-4:] {
		got = append(got, string(m))
	}
	want := []string{
		`{"role":"tool","content":"a","tool_call_id":"c00001x00"}`, `{"role":"tool","content":"b","tool_call_id":"c00001x01"}`,
		`{"role":"user","content":[{"type":"text","text":"Image 1 of the result of call c00001x00:"},` +
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]}`,
		`{"role":"user","content":"Go on."}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
