package outgoing

import (
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// unknownField matches refusals that name a field of the request as unknown, in several notations. Each group is the name of the field
// without its place, or a list of names.
var unknownField = regexp.MustCompile(strings.Join([]string{
	// Fireworks. https://github.com/FlowiseAI/Flowise/issues/2866
	`Extra inputs are not permitted, field: '(?:[\w.\[\]]*\.)?(\w+)'`,
	// vLLM. https://github.com/vllm-project/vllm/pull/10463
	`'type': '(?:extra_forbidden|value_error\.extra)', 'loc': \([^)]*'(\w+)'\)`,
	// FastAPI (see llm.ErrorWords), Anthropic, and Mistral on Azure. https://github.com/arbs-io/github-copilot-llm-gateway/issues/68,
	// https://github.com/microsoft/semantic-kernel/issues/10510
	`\b(\w+): (?i:Extra (?:inputs are|fields) not permitted)`,
	// OpenAI and Azure. https://github.com/Pythagora-io/gpt-pilot/issues/1022, https://github.com/BoltAI/BoltAI/issues/135
	`Unrecognized request arguments? supplied: ([\w, ]+)`,
	`(?:Unknown|Unsupported) parameter: '(?:[\w.\[\]]*\.)?(\w+)'`,
	// Groq. https://github.com/tashfeenahmed/freellmapi/issues/1070
	`property '(\w+)' is unsupported`,
	// Google. https://github.com/leookun/cursor-byok/issues/112
	`Unknown name "(\w+)": Cannot find field`,
	// Servers in Go (encoding/json) and Rust (serde).
	"unknown field [\"`](\\w+)[\"`]",
}, "|"))

// optional are the fields that a request can do without, with the rule that replaces the field. A field without a rule is omitted.
var optional = map[string]func(*agent.Dialect, int){
	"temperature": refusesTemperature,
	"tool_choice": refusesNone,
	"reasoning":   refusesThinking, "reasoning_effort": refusesThinking, "thinking": refusesThinking,
	"stream_options":   nil,
	"prompt_cache_key": nil, "prompt_cache_options": nil,
	"max_tokens": nil, "max_completion_tokens": nil, "max_output_tokens": nil,
	"reasoning_content": nil, "reasoning_details": nil,
	"extra_content": nil, "provider_specific_fields": nil,
	"include": nil, "store": nil, "phase": nil,
}

// otherNames are optional fields that have two names. After a refusal, the driver sends the limit under the other name, so that it still
// applies.
var otherNames = map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

// refusedFields returns the optional fields that a refusal names as unknown.
func refusedFields(words string) (names []string) {
	for _, said := range unknownField.FindAllStringSubmatch(words, -1) {
		for _, name := range strings.FieldsFunc(strings.Join(said[1:], " "), func(r rune) bool { return r == ' ' || r == ',' }) {
			if _, ok := optional[name]; ok {
				names = append(names, name)
			}
		}
	}
	return names
}
