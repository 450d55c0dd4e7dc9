package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Target is a server that refuses the same requests as the real one.
type Target int

// The targets. A server with several versions has the rules of the strictest.
const (
	StrictOpenAI Target = iota // Chat Completions and Responses
	StrictAnthropic
	StrictGemini
	StrictGeminiChat // by OpenAI's protocol: only the rules of all targets, and the signatures of the models
	StrictBedrock    // behind LiteLLM
	StrictMistral
	StrictVLLM // with a template that requires an order of roles
)

// rule is a reason to refuse a request, with its source.
type rule struct {
	source string
	check  func(Request) error
}

// common are the rules of all targets, which the server of every test enforces.
var common = []rule{
	{"https://platform.openai.com/docs/api-reference/chat/create (name), " +
		"https://ai.google.dev/gemini-api/docs/function-calling",
		goodNames},
	{"https://github.com/vllm-project/vllm/issues/43995: vllm/entrypoints/chat_utils.py reads the " +
		"arguments of past calls as JSON",
		goodArguments},
	{"https://github.com/mistralai/mistral-common, validator.py: \"Assistant message must have either " +
		"content or tool_calls, but not none.\"",
		nothingEmpty},
	{"https://platform.openai.com/docs/guides/function-calling: \"tool_calls must be followed by tool " +
		"messages responding to each tool_call_id\"",
		paired},
	{"https://github.com/trycua/cua/issues/524: \"messages.1.content.1: `tool_use` ids must be unique\"", uniqueIDs},
	{"https://github.com/BerriAI/litellm, converse_transformation.py; https://github.com/pydantic/pydantic-ai/issues/1966: " +
		"\"toolConfig must be defined when using toolUse and toolResult content blocks\"", declared},
	{"https://github.com/mark3labs/mcphost/issues/88, /35: \"object schema missing properties\", \"array " +
		"schema missing items\"",
		completeSchemas},
	{"https://github.com/anthropics/claude-code/issues/5319: \"does not support oneOf, allOf, or anyOf at the top level\"", plainTop},
}

// strict are the additional rules of each target.
var strict = map[Target][]rule{
	StrictOpenAI: {
		{"https://github.com/getsentry/sentry-mcp/issues/106 (descriptions), " +
			"https://github.com/0x4m4/hexstrike-ai/issues/29 (tools)",
			openAILimits},
		{"https://github.com/camel-ai/camel/issues/2215: \"string too long. Expected a string with maximum length 40\"",
			ids(`^[\x21-\x7e]{1,40}$`)},
		{"https://github.com/openai/openai-node/pull/1341: \"Invalid 'messages[1].tool_calls': empty array\"", noEmptyLists},
		{"https://github.com/writer/writer-framework/pull/1013: \"'tool_choice' is only allowed when 'tools' are specified\"",
			choosesAmongTools},
	},
	StrictAnthropic: {
		{"https://github.com/anthropics/claude-code/issues/7365: \"JSON schema is invalid. It must match JSON Schema draft 2020-12\"",
			validSchemas(jsonschema.Draft2020)},
		{"https://platform.claude.com/docs/en/api/messages: tool_use.id", ids(`^[a-zA-Z0-9_-]+$`)},
		{"https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709",
			keysMatch(`^[a-zA-Z0-9_.-]{1,64}$`)},
		{"https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes: reference keywords are rejected anywhere",
			noReferences},
	},
	StrictGemini: {
		{"https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration: parameter names",
			keysMatch(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)},
		{"https://ai.google.dev/api/generate-content#generationconfig (responseJsonSchema), " +
			"https://ai.google.dev/api/caching#Schema",
			googleSchemas},
		{"https://github.com/google-gemini/gemini-cli/issues/5923: \"exceeds the maximum allowed nesting depth\"", levelsUpTo(32)},
		{"https://github.com/microsoft/vscode/issues/299295: as many function responses as function calls", paired},
	},
	StrictBedrock: {
		{"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html: toolUseId",
			ids(`^[a-zA-Z0-9_-]{1,64}$`)},
		{"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html: description", described},
		{"https://github.com/BerriAI/litellm, converse_transformation.py, map_tool_choice_values", noChoiceNone},
		{"https://docs.aws.amazon.com/nova/latest/userguide/prompting-tool-troubleshooting.html: type, " +
			"properties, required alone",
			novaTop},
		{"https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html: \"The text " +
			"field in the ContentBlock object is blank\"",
			noBlanks},
		{"https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709",
			keysMatch(`^[a-zA-Z0-9_.-]{1,64}$`)},
		{"https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html: a " +
			"conversation starts with a user",
			startsWithUser},
	},
	StrictMistral: {
		{"https://github.com/mistralai/mistral-common, validator.py: Draft7Validator.check_schema", validSchemas(jsonschema.Draft7)},
		{"https://github.com/mistralai/mistral-common, validator.py: \"must be a-z, A-Z, 0-9, with a length of 9\"",
			ids(`^[a-zA-Z0-9]{9}$`)},
		{"https://github.com/mistralai/mistral-common/issues/169: \"Unexpected role 'user' after role 'tool'\"", mistralOrder},
	},
	StrictVLLM: {
		{"https://github.com/vllm-project/vllm/issues/9019, tool_chat_template_mistral.jinja", ids(`^[a-zA-Z0-9]{9,}$`)},
		{"tool_chat_template_mistral.jinja: \"After the optional system message, conversation roles must alternate\"", templateOrder},
	},
}

// refusedBy returns the error of the first broken rule.
func refusedBy(rules []rule, req Request) error {
	for _, r := range rules {
		if err := r.check(req); err != nil {
			return err
		}
	}
	return nil
}

// Strict returns a script of a server that refuses the same requests as the target.
func Strict(target Target, script Script) Script {
	return func(req Request) Reply {
		if err := refusedBy(strict[target], req); err != nil {
			return Refuse(http.StatusBadRequest, "invalid_request_error", err.Error())
		}
		return script(req)
	}
}

// levelsUpTo refuses schemas with too many nested objects and arrays: a Google message has 100 levels, and uses three
// for each level of JSON.
func levelsUpTo(limit int) func(Request) error {
	return func(req Request) error {
		for _, t := range req.Tools {
			depth := 0
			decoder := json.NewDecoder(bytes.NewReader(t.Function.Parameters))
			for token, err := decoder.Token(); err == nil; token, err = decoder.Token() {
				switch token {
				case json.Delim('{'), json.Delim('['):
					depth++
				case json.Delim('}'), json.Delim(']'):
					depth--
				}
				if depth > limit {
					return fmt.Errorf("FunctionDeclaration '%s' in the request exceeds the maximum allowed nesting depth.", t.Function.Name)
				}
			}
		}
		return nil
	}
}

// described checks that descriptions are not empty.
func described(req Request) error {
	var body struct {
		Tools []struct {
			Function struct{ Description *string }
		}
	}
	_ = json.Unmarshal(req.Body, &body) // cannot fail: it was parsed before
	for n, t := range body.Tools {
		if said := t.Function.Description; said != nil && *said == "" {
			return fmt.Errorf("Invalid length for parameter toolConfig.tools[%d].toolSpec.description, value: 0, valid min length: 1", n)
		}
	}
	return nil
}

// noEmptyLists checks that lists of calls and tools are not empty.
func noEmptyLists(req Request) error {
	var body struct {
		Tools    *[]json.RawMessage
		Messages []struct {
			Calls *[]json.RawMessage `json:"tool_calls"`
		}
	}
	_ = json.Unmarshal(req.Body, &body) // cannot fail: it was parsed before
	if body.Tools != nil && len(*body.Tools) == 0 {
		return errors.New("Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for n, m := range body.Messages {
		if m.Calls != nil && len(*m.Calls) == 0 {
			return fmt.Errorf("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1.", n)
		}
	}
	return nil
}

// choosesAmongTools checks that a request with a tool choice has tools.
func choosesAmongTools(req Request) error {
	var body struct {
		Choice any `json:"tool_choice"`
	}
	_ = json.Unmarshal(req.Body, &body) // cannot fail: it was parsed before
	if body.Choice != nil && len(req.Tools) == 0 {
		return errors.New("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	}
	return nil
}
