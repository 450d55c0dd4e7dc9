package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

func goodNames(req Request) error {
	seen := map[string]bool{}
	for n, t := range req.Tools {
		if name := t.Function.Name; !toolName.MatchString(name) || seen[name] {
			return fmt.Errorf("tools[%d].name: %q is invalid, or not unique", n, name)
		}
		seen[t.Function.Name] = true
	}
	return eachCall(req, func(at string, c ToolCall) error {
		if !toolName.MatchString(c.Function.Name) {
			return fmt.Errorf("%s.function.name: %q is invalid", at, c.Function.Name)
		}
		return nil
	})
}

func goodArguments(req Request) error {
	return eachCall(req, func(at string, c ToolCall) error {
		var object map[string]any
		arguments := c.Function.Arguments
		if req.Wire == Gemini || req.Wire == GeminiArray { // these omit an empty object
			arguments = strings.TrimSpace(arguments)
			if arguments == "" {
				return nil
			}
		}
		if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
			return fmt.Errorf("%s.function.arguments must be a JSON object: %q", at, arguments)
		}
		return nil
	})
}

func eachCall(req Request, check func(at string, c ToolCall) error) error {
	for i, m := range req.Messages {
		for n, c := range m.ToolCalls {
			if err := check(fmt.Sprintf("messages[%d].tool_calls[%d]", i, n), c); err != nil {
				return err
			}
		}
	}
	return nil
}

func nothingEmpty(req Request) error {
	for i, m := range req.Messages {
		if m.Role == "assistant" && strings.TrimSpace(m.Text()) == "" && len(m.ToolCalls) == 0 && !m.image {
			return fmt.Errorf("messages[%d]: Assistant message must have either content or tool_calls, but not none.", i)
		}
	}
	return nil
}

func noBlanks(req Request) error {
	for i, m := range req.Messages {
		if strings.TrimSpace(m.Text()) == "" && len(m.ToolCalls) == 0 {
			return fmt.Errorf("The text field in the ContentBlock object at messages.%d is blank.", i)
		}
	}
	return nil
}

// paired checks that the results of calls follow directly, each once, and that there are no other results. Gemini's
// older form has no ids.
func paired(req Request) error {
	open := map[string]int{}
	left := 0
	for i, m := range req.Messages {
		if m.Role == "tool" {
			if open[m.ToolCallID] == 0 {
				return fmt.Errorf("messages[%d]: a tool message must follow the call that it answers: %q", i, m.ToolCallID)
			}
			open[m.ToolCallID]--
			left--
			continue
		}
		if left > 0 {
			return fmt.Errorf("messages[%d]: tool_calls must be followed by tool messages responding to each tool_call_id: %v", i, open)
		}
		clear(open)
		for _, c := range m.ToolCalls {
			id, named := c.ID, true
			if id == "" && req.Wire == GeminiArray {
				id, named = c.Function.Name, false
			}
			if open[id]++; open[id] > 1 && named {
				return fmt.Errorf("messages[%d]: duplicate tool call id %q", i, id)
			}
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("tool_calls must be followed by tool messages responding to each tool_call_id: %v", open)
	}
	return nil
}

// uniqueIDs checks that no two calls of the request have the same id. Gemini's older form has none.
func uniqueIDs(req Request) error {
	seen := map[string]bool{}
	return eachCall(req, func(at string, c ToolCall) error {
		if c.ID != "" && seen[c.ID] {
			return fmt.Errorf("%s: `tool_use` ids must be unique: %q", at, c.ID)
		}
		seen[c.ID] = true
		return nil
	})
}

func declared(req Request) error {
	calls := false
	for _, m := range req.Messages {
		calls = calls || len(m.ToolCalls) > 0
	}
	if google := req.Wire == Gemini || req.Wire == GeminiArray; calls && len(req.Tools) == 0 && !google {
		return errors.New("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
	return nil
}

// eachSchema visits the schemas of all tools. top is set for the schema of the whole arguments.
func eachSchema(req Request, check func(schema map[string]any, top bool) error) error {
	for _, t := range req.Tools {
		if len(t.Function.Parameters) == 0 || string(t.Function.Parameters) == "null" {
			continue // Google's form of a tool without arguments
		}
		var schema map[string]any
		if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil {
			return fmt.Errorf("Invalid schema for function '%s': %w", t.Function.Name, err)
		}
		if err := walkSchema(schema, true, check); err != nil {
			return fmt.Errorf("Invalid schema for function '%s': %w", t.Function.Name, err)
		}
	}
	return nil
}

func walkSchema(schema map[string]any, top bool, check func(schema map[string]any, top bool) error) error {
	if err := check(schema, top); err != nil {
		return err
	}
	var parts []any
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		parts = append(parts, property)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		parts = append(parts, schema[key])
	}
	options, _ := schema["anyOf"].([]any)
	for _, value := range append(parts, options...) {
		if part, ok := value.(map[string]any); ok {
			if err := walkSchema(part, false, check); err != nil {
				return err
			}
		}
	}
	return nil
}

func completeSchemas(req Request) error {
	if req.Wire == GeminiArray {
		return nil // googleSchemas checks its numeric types
	}
	return eachSchema(req, func(s map[string]any, top bool) error {
		_, several := s["type"].([]any)
		switch {
		case s["type"] == "object" && s["properties"] == nil:
			return errors.New("object schema missing properties")
		case s["type"] == "array" && s["items"] == nil:
			return errors.New("array schema missing items")
		case several:
			return errors.New("type: Proto field is not repeating, cannot start list")
		case top && s["type"] != "object":
			return errors.New("schema must be a JSON Schema of 'type: \"object\"'")
		}
		return nil
	})
}

func plainTop(req Request) error {
	return eachSchema(req, func(s map[string]any, top bool) error {
		for _, word := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
			if s[word] != nil && top {
				return fmt.Errorf("input_schema does not support %s at the top level", word)
			}
		}
		return nil
	})
}

func validSchemas(draft *jsonschema.Draft) func(Request) error {
	return func(req Request) error {
		for _, t := range req.Tools {
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.Function.Parameters))
			if err != nil {
				return err
			}
			compiler := jsonschema.NewCompiler()
			compiler.DefaultDraft(draft)
			if err := compiler.AddResource("tool.json", document); err != nil {
				return err
			}
			if _, err := compiler.Compile("tool.json"); err != nil {
				return fmt.Errorf("tools.custom.input_schema: JSON schema is invalid: %w", err)
			}
		}
		return nil
	}
}

func openAILimits(req Request) error {
	if len(req.Tools) > 128 {
		return errors.New("Invalid 'tools': array too long. Expected an array with maximum length 128")
	}
	for n, t := range req.Tools {
		if len([]rune(t.Function.Description)) > 1024 {
			return fmt.Errorf("Invalid 'tools[%d].function.description': string too long. Expected a string with maximum length 1024", n)
		}
	}
	return nil
}

func ids(pattern string) func(Request) error {
	good := regexp.MustCompile(pattern)
	return func(req Request) error {
		return eachCall(req, func(at string, c ToolCall) error {
			if !good.MatchString(c.ID) {
				return fmt.Errorf("%s: Tool call id was %q but must match %s", at, c.ID, pattern)
			}
			return nil
		})
	}
}

func keysMatch(pattern string) func(Request) error {
	good := regexp.MustCompile(pattern)
	return func(req Request) error {
		return eachSchema(req, func(s map[string]any, top bool) error {
			properties, _ := s["properties"].(map[string]any)
			for name := range properties {
				if top && !good.MatchString(name) {
					return fmt.Errorf("Property keys should match pattern '%s': %q", pattern, name)
				}
			}
			return nil
		})
	}
}

func noReferences(req Request) error {
	return eachSchema(req, func(s map[string]any, _ bool) error {
		if s["$ref"] != nil || s["$defs"] != nil {
			return errors.New("references are not supported")
		}
		return nil
	})
}

func novaTop(req Request) error {
	return eachSchema(req, func(s map[string]any, top bool) error {
		for word := range s {
			if top && !slices.Contains([]string{"type", "properties", "required"}, word) {
				return fmt.Errorf("toolSpec.inputSchema.json: extraneous key [%s] is not permitted", word)
			}
		}
		return nil
	})
}

func noChoiceNone(req Request) error {
	var body struct {
		Choice any `json:"tool_choice"`
	}
	_ = json.Unmarshal(req.Body, &body) // cannot fail: it was parsed before
	if body.Choice == "none" {
		return errors.New("litellm.UnsupportedParamsError: Bedrock doesn't support tool_choice=none. To drop it from the call, set drop_params")
	}
	return nil
}

// spoken returns the messages except the system's.
func spoken(req Request) (out []Message) {
	for _, m := range req.Messages {
		if m.Role != "system" {
			out = append(out, m)
		}
	}
	return out
}

func startsWithUser(req Request) error {
	if all := spoken(req); len(all) == 0 || all[0].Role != "user" {
		return errors.New("A conversation must start with a user message.")
	}
	return nil
}

func mistralOrder(req Request) error {
	follow := map[string][]string{
		"system": {"user", "assistant", "system"}, "user": {"assistant", "user", "system"}, "assistant": {"assistant", "user", "tool"},
		"tool": {"assistant", "tool"},
	}
	for i, m := range req.Messages {
		if i > 0 && !slices.Contains(follow[req.Messages[i-1].Role], m.Role) {
			return fmt.Errorf("Unexpected role '%s' after role '%s'", m.Role, req.Messages[i-1].Role)
		}
	}
	if last := req.Last().Role; last != "user" && last != "tool" {
		return fmt.Errorf("Expected last role User or Tool (or Assistant with prefix True) for serving but got %s", last)
	}
	return nil
}

func templateOrder(req Request) error {
	n := 0
	for i, m := range req.Messages {
		switch {
		case m.Role == "system" && i > 0:
			return errors.New("System message must be at the beginning.")
		case m.Role == "system", m.Role == "tool", m.Role == "assistant" && len(m.ToolCalls) > 0:
		case (m.Role == "user") != (n%2 == 0):
			return errors.New("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...")
		default:
			n++
		}
	}
	return nil
}

// googleSchemas checks the documented keywords in parametersJsonSchema, and the message Schema in parameters, whose
// types are numbers in the older SDK: 1 is STRING, 5 ARRAY, 6 OBJECT.
func googleSchemas(req Request) error {
	known := []string{"type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum",
		"anyOf", "properties", "additionalProperties", "required", "nullable"}
	return eachSchema(req, func(s map[string]any, _ bool) error {
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for word := range s {
			if !slices.Contains(known, word) {
				return fmt.Errorf("Unknown name %q: Cannot find field.", word)
			}
		}
		for _, name := range required {
			if properties[name.(string)] == nil {
				return fmt.Errorf("required: property is not defined: %v", name)
			}
		}
		if req.Wire != GeminiArray {
			return nil
		}
		switch {
		case s["type"] == nil:
			return errors.New("schema didn't specify the schema type field")
		case s["type"] == 6.0 && len(properties) == 0:
			return errors.New("properties: should be non-empty for OBJECT type")
		case s["type"] == 5.0 && s["items"] == nil:
			return errors.New("items: missing field.")
		case s["type"] != 1.0 && s["enum"] != nil:
			return errors.New("enum: only allowed for STRING type")
		}
		return nil
	})
}
