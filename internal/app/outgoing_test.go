package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// strictTargets are the servers in TestAcceptedEverywhere and TestSentBack, and their providers in a plan. learns is how many refusals
// they may cause, because the server behind a custom address is unknown.
var strictTargets = map[string]struct {
	target   llmtest.Target
	provider plan.Provider
	learns   int
}{
	"OpenAI":    {llmtest.StrictOpenAI, plan.Provider{Type: config.ProviderOpenAI, Model: "gpt-4o", Accepts: limits}, 0},
	"Responses": {llmtest.StrictOpenAI, plan.Provider{Type: config.ProviderOpenAI, Model: "gpt-5.6", Responses: true, Accepts: limits}, 0},
	"Anthropic": {llmtest.StrictAnthropic, plan.Provider{Type: config.ProviderAnthropic, Model: "claude-sonnet-4-5"}, 0},
	"Gemini":    {llmtest.StrictGemini, plan.Provider{Type: config.ProviderGoogle, Model: "gemini-2.5-pro"}, 0},
	"Gemini by the old SDK": {llmtest.StrictGemini,
		plan.Provider{Type: config.ProviderGoogle, Model: "gemini-2.0-flash", Driver: config.DriverGenerativeAI}, 0},
	"Gemini by OpenAI's protocol":    {llmtest.StrictGeminiChat, plan.Provider{Type: config.ProviderOpenAI, Model: "gemini-3-pro"}, 0},
	"Bedrock behind LiteLLM":         {llmtest.StrictBedrock, plan.Provider{Type: config.ProviderOpenAI, Model: "m"}, 1},
	"Mistral":                        {llmtest.StrictMistral, plan.Provider{Type: config.ProviderOpenAI, Model: "mistral-large-latest"}, 0},
	"Mistral under another name":     {llmtest.StrictMistral, plan.Provider{Type: config.ProviderOpenAI, Model: "m"}, 1},
	"vLLM":                           {llmtest.StrictVLLM, plan.Provider{Type: config.ProviderOpenAI, Model: "mistralai/Mistral-7B"}, 0},
	"vLLM, with a name of one's own": {llmtest.StrictVLLM, plan.Provider{Type: config.ProviderOpenAI, Model: "m"}, 1},
}

// limits are those of OpenAI's own service, because the test's address is not OpenAI's.
var limits = plan.Provider{Type: config.ProviderOpenAI}.Dialect()

// TestAcceptedEverywhere: whatever a model has written and an MCP server has listed, the strictest servers accept the next request.
// The fixtures come from real models and servers, and are truncated, wrapped and mixed.
func TestAcceptedEverywhere(t *testing.T) {
	t.Parallel()
	for name, tt := range strictTargets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Strict(tt.target, llmtest.Always(llmtest.Text("Done."))))
			client := clientOf(t, tt.provider, srv)
			asked := 0
			rapid.Check(t, func(t *rapid.T) {
				req := anyRequest().Draw(t, "request")
				req.Model = tt.provider.Model
				asked++
				if _, err := client.Generate(t.Context(), req, nil); err != nil {
					shown, _ := json.MarshalIndent(req, "", " ")
					t.Fatalf("%v\n%s", err, shown)
				}
			})
			if refused := len(srv.Requests()) - asked; refused > tt.learns {
				t.Errorf("%d requests were refused and sent again, want at most %d", refused, tt.learns)
			}
		})
	}
}

// anyRequest draws a request as activities build it, from texts of models and servers.
func anyRequest() *rapid.Generator[llm.Request] {
	return rapid.Custom(func(t *rapid.T) llm.Request {
		req := llm.Request{Messages: []agent.Message{{Role: agent.System, Content: "You investigate."}}}
		for range rapid.IntRange(0, 8).Draw(t, "messages") {
			said := rapid.SampledFrom([]string{"", " \n", "Look.", "bytes \xff\xfe", "</tool_call>", "\x00"}).Draw(t, "text")
			role := rapid.SampledFrom([]agent.Role{agent.User, agent.User, agent.Assistant, agent.Assistant, agent.ToolRole}).Draw(t, "role")
			m := agent.Message{Role: role, Content: said}
			switch role {
			case agent.Assistant:
				if rapid.IntRange(0, 2).Draw(t, "remembered") == 0 {
					m = remembered(t, said)
					break
				}
				for range rapid.IntRange(0, 3).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, agent.ToolCall{
						ID:        rapid.SampledFrom(callIDs).Draw(t, "id"),
						Name:      tool.WireName(rapid.SampledFrom(toolNames).Draw(t, "name")),
						Arguments: anyArguments().Draw(t, "arguments"),
					})
				}
			case agent.ToolRole:
				m.ToolCallID = rapid.SampledFrom(callIDs).Draw(t, "answers")
				if rapid.Bool().Draw(t, "an image") {
					m.Images = []agent.Image{{Ref: "r", Type: "image/png", Data: []byte("PNG")}}
				}
			}
			req.Messages = append(req.Messages, m)
			if role == agent.Assistant && rapid.Bool().Draw(t, "answered") {
				for _, call := range m.ToolCalls {
					req.Messages = append(req.Messages, agent.Message{Role: agent.ToolRole, ToolCallID: call.ID, Content: said})
				}
			}
		}
		var tools []llm.Tool
		many := rapid.SampledFrom([]int{0, 1, 2, 3, 3, 200}).Draw(t, "tools")
		for n := range many {
			if n > 3 { // the same as those before, under names that differ only where they are cut or rewritten
				alias := tools[n%3]
				alias.Name = tool.WireName(fmt.Sprint(rapid.SampledFrom(toolNames[1:]).Draw(t, "name"), n%150))
				tools = append(tools, alias)
				continue
			}
			tools = append(tools, llm.Tool{
				Name:        tool.WireName(rapid.SampledFrom(toolNames[1:]).Draw(t, "name")),
				Description: rapid.SampledFrom([]string{"", "Reads.", strings.Repeat("Long words. ", 200)}).Draw(t, "description"),
				Schema:      anySchema().Draw(t, "schema"),
			})
		}
		switch rapid.IntRange(0, 2).Draw(t, "conclude") {
		case 0:
			req.Withheld = tools
		case 1:
			req.Tools = tools
		default: // a conclusion, for which an agent has no tools
		}
		return req
	})
}

// remembered draws a reply with the state that a driver stored with it: of this model or another, of these calls or others.
func remembered(t *rapid.T, said string) agent.Message {
	m := agent.Message{Role: agent.Assistant, Content: said}
	m.ProviderState = json.RawMessage(rapid.SampledFrom(states).Draw(t, "state"))
	for n := range rapid.IntRange(0, 2).Draw(t, "calls") {
		m.ToolCalls = append(m.ToolCalls, agent.ToolCall{
			ID:        rapid.SampledFrom([]string{fmt.Sprintf("c1_%d", n), "toolu_1"}).Draw(t, "id"),
			Name:      tool.WireName(rapid.SampledFrom([]string{"odd.name", "shell"}).Draw(t, "name")),
			Arguments: anyArguments().Draw(t, "arguments"),
		})
	}
	return m
}

// states are what drivers store for the models of strictTargets: with repeated IDs, rewritten names, thoughts without a following
// part, and invalid state.
var states = []string{
	`{"anthropic":{"model":"claude-sonnet-4-5","blocks":[{"type":"thinking","thinking":"t","signature":"c2ln"},` +
		`{"type":"tool_use","id":"toolu_1","name":"odd.name"},{"type":"tool_use","id":"toolu_1","name":"shell"}]}}`,
	`{"anthropic":{"model":"claude-sonnet-4-5","blocks":[{"type":"text","text":"a"},{"type":"tool_use","id":"c00001x00","name":"shell"},` +
		`{"type":"redacted_thinking","data":"ZGF0YQ=="}]}}`,
	`{"anthropic":{"model":"claude-sonnet-4-5","blocks":[{"type":"thinking","thinking":"t","signature":"c2ln"},null,` +
		`{"type":"text","text":" "},{"type":"tool_use","id":"ünï","name":"odd.name"}]}}`,
	`{"gemini":{"model":"gemini-2.5-pro","parts":[{"text":"t","thought":true,"thoughtSignature":"c2ln"},` +
		`{"functionCall":{"id":"toolu_1","name":"odd.name","args":{}}},{"functionCall":{"id":"toolu_1","name":"shell"}}]}}`,
	`{"gemini":{"model":"gemini-2.5-pro","parts":[{"functionCall":{"id":"c00001x00","name":"shell"},"thoughtSignature":"c2ln"},` +
		`{"text":""},null,{"thoughtSignature":"c2ln"}]}}`,
	`{"at":"127.0.0.1","openai_responses":{"model":"gpt-5.6","parts":[{"reasoning":{"type":"reasoning","encrypted_content":"x"}},` +
		`{"call":true},{"text":"a","phase":"commentary"},{"call":true}]}}`,
	`{"at":"127.0.0.1","openai_responses":{"model":"gpt-5.6","parts":[{"call":true},` +
		`{"reasoning":{"type":"reasoning","encrypted_content":"x"}}]}}`,
	`{"at":"127.0.0.1","openai_chat":{"model":"m","reasoning_content":"t","calls":[{"extra_content":{"google":{}}},{}]}}`,
	`null`, `[]`, `{"anthropic":7,"gemini":"x","openai_chat":[]}`,
}

var (
	callIDs   = []string{"", "c1_0", "c1_1", "c12_63", "call_abc|fc_1", "functions.get:0", strings.Repeat("x", 100), "ünï", "abcdefghi"}
	toolNames = []string{"", "loki.query", "1password.get item", "-x", "größe", strings.Repeat("long.", 30), "shell", "a", "unnamed"}
)

// anyArguments draws arguments as models write them: valid, truncated, followed by more text, encoded, of other types.
func anyArguments() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
		text := rapid.SampledFrom([]string{`{"q":"x"}`, `{}`, ``, `null`, `[1]`, `"ls"`, `7`, `{"q":"\ud800"}`, `{"n":1e999}`,
			`{"a":{"b":[1,{"c":null}]}}`, "```json\n{\"q\":1}\n```", `{"q": 'x'}`, "{\"q\":\"\xff\"}", deep}).Draw(t, "written")
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				text = text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]
			case 1:
				text += rapid.SampledFrom([]string{"</tool_call>", "}", text, " ", "\n\n"}).Draw(t, "more")
			case 2:
				encoded, _ := json.Marshal(text)
				text = string(encoded)
			default:
				text = strings.ReplaceAll(text, `"`, `'`)
			}
		}
		return text
	})
}

// schemas have each been refused by some server.
var schemas = []string{
	``, `{}`, `true`, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":["object","null"],` +
		`"properties":null}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"q":{"type":"string","minLength":1}},` +
		`"additionalProperties":false}`,
	`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/$defs/B"}],` +
		`"$defs":{"B":{"type":"object"}}}`,
	`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"integer","enum":[1,2]},` +
		`"b":{"enum":["x",1,null]}}}`,
	`{"type":"object","properties":{"f":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"kids":{"type":"array",` +
		`"items":{"$ref":"#/$defs/N"}}}}}}`,
	`{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"Account Number":{"type":"string"},"$filter":{}}}`,
	`{"type":"object","properties":{"u":{"anyOf":[{"type":"string"},{"type":"null"}]},"t":{"type":["integer","string","null"]},` +
		`"c":{"const":{"a":1}}}}`,
	`{"type":"object","properties":{"l":{"items":[{"type":"string"},{"type":"number"}]},"p":{"prefixItems":[true,{"not":{}}]}},` +
		`"required":["l","zz"]}`,
	`{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"minLength":2}},"required":["a"]}],` +
		`"not":{"required":["b"]},"if":{},"then":{}}`,
	`{"type":"object","properties":{"n":{"type":"integer","minimum":3,"exclusiveMinimum":true},"e":{"type":"string",` +
		`"pattern":"(?=x)","format":"uri"}}}`,
	`{"type":"object","properties":{"a":{"type":"int"},"b":{"type":"any"},"c":{"type":"file"},"d":{"type":"string","enum":[]},"e":false}}`,
	`{"type":"object","properties":{"a":` + strings.Repeat(`{"anyOf":[{"type":"null"},{"type":"object","properties":{"b":`, 20) +
		`{"type":"string"}` + strings.Repeat(`}}]}`, 20) + `}}`,
	`{"type":"object","properties":{"v":{"$ref":"#/$defs/V"}},"$defs":{"V":{"anyOf":[{"type":"string"},{"type":"array",` +
		`"items":{"$ref":"#/$defs/V"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/V"}}]}}}`,
	`{"type":"object","properties":{"f":{"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]}},"required":["f","f",3],` +
		`"$defs":{"A":{"properties":{"a":{"type":"string"}}},"B":{"properties":{"b":{"default":{"c":[1]}}}}}}`,
}

// anySchema draws one of them, with a part replaced by another part or wrapped.
func anySchema() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		text := rapid.SampledFrom(schemas).Draw(t, "of")
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return json.RawMessage(text)
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			value = changed(t, value, 0)
		}
		out, _ := json.Marshal(value)
		return out
	})
}

var replacements = []string{`null`, `true`, `false`, `7`, `"object"`, `"array"`, `[]`, `{}`, `["string",` +
	`"null"]`, `{"type":"array"}`, `{"type":"object"}`,
	`{"$ref":"#"}`, `{"$ref":"#/$defs/N"}`, `{"enum":[1,2,null,"x",{"a":1}]}`, `{"type":"string","enum":[1]}`, `-1.5`}

// changed descends to a part of a schema and changes it.
func changed(t *rapid.T, value any, depth int) any {
	keys := []string{}
	object, isObject := value.(map[string]any)
	if isObject {
		keys = slices.Sorted(maps.Keys(object))
	}
	if len(keys) > 0 && depth < 5 && rapid.IntRange(0, 3).Draw(t, "down") > 0 {
		out := maps.Clone(object)
		key := rapid.SampledFrom(keys).Draw(t, "key")
		out[key] = changed(t, object[key], depth+1)
		return out
	}
	var other any
	_ = json.Unmarshal([]byte(rapid.SampledFrom(replacements).Draw(t, "replacement")), &other)
	word := rapid.SampledFrom([]string{"anyOf", "oneOf", "allOf", "items", "properties", "not", "prefixItems", "type", "required", "enum",
		"description", "additionalProperties", "patternProperties", "default", "minimum", "maxItems",
		"const", "$defs", "title", "format"}).Draw(t, "word")
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		return other
	case 1:
		return map[string]any{word: []any{value, other}}
	case 2:
		if len(keys) > 0 {
			out := maps.Clone(object)
			delete(out, rapid.SampledFrom(keys).Draw(t, "gone"))
			return out
		}
		return map[string]any{word: value}
	}
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	out[word] = other
	return out
}
