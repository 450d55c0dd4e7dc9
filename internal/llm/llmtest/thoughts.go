package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// thoughtsMissing returns the error of providers that require the thinking of calls in later requests: Google's
// endpoint for this protocol (https://github.com/nearai/ironclaw/issues/1510) in the current turn, and DeepSeek
// (https://github.com/AstrBotDevs/AstrBot/issues/4174) everywhere.
func thoughtsMissing(model string, body []byte) error {
	var in struct {
		Messages []struct {
			Role      string
			Reasoning *string           `json:"reasoning_content"`
			Details   []json.RawMessage `json:"reasoning_details"`
			Calls     []struct {
				Extra    json.RawMessage `json:"extra_content"`
				Provider json.RawMessage `json:"provider_specific_fields"`
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	turn := 0
	for i, m := range in.Messages {
		if m.Role == "user" {
			turn = i
		}
	}
	for i, m := range in.Messages {
		for n, detail := range m.Details {
			if err := goodDetail(detail); err != nil {
				return fmt.Errorf("messages[%d].reasoning_details[%d]: %w", i, n, err)
			}
		}
		for n, call := range m.Calls {
			signed, err := chatSignature(call.Extra)
			switch {
			case err != nil:
				return fmt.Errorf("messages[%d].tool_calls[%d].extra_content: %w", i, n, err)
			case !objectOrNothing(call.Provider):
				return fmt.Errorf("messages[%d].tool_calls[%d].provider_specific_fields: Input should be a valid dictionary", i, n)
			case strings.HasPrefix(model, "gemini-3") && i > turn && n == 0 && !signed:
				return errors.New("Function call is missing a thought_signature in functionCall parts.")
			}
		}
		if strings.HasPrefix(model, "deepseek-reasoner") && m.Reasoning == nil && len(m.Calls) > 0 {
			return fmt.Errorf("Missing `reasoning_content` field in the assistant message at message index %d.", i)
		}
	}
	return nil
}

func objectOrNothing(value json.RawMessage) bool {
	var object map[string]json.RawMessage
	return len(value) == 0 || json.Unmarshal(value, &object) == nil
}

// chatSignature checks the extra data of a call, which is an object with an object for each provider, and reports whether it has
// a signature. https://ai.google.dev/gemini-api/docs/thought-signatures#openai
func chatSignature(extra json.RawMessage) (signed bool, err error) {
	if len(extra) == 0 {
		return false, nil
	}
	var providers map[string]json.RawMessage
	if err := json.Unmarshal(extra, &providers); err != nil || providers == nil {
		return false, errors.New("Value is not a struct")
	}
	for provider, raw := range providers {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
			return false, fmt.Errorf("%s: Value is not a struct", provider)
		}
		var signature string
		if raw, ok := fields["thought_signature"]; ok {
			if json.Unmarshal(raw, &signature) != nil || !isBase64(signature) {
				return false, fmt.Errorf("Thought signature is not valid: %s", raw)
			}
			signed = true
		}
	}
	return signed, nil
}

// goodDetail checks a detail of OpenRouter about thinking: each type has its text.
// https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#reasoning-detail-types
func goodDetail(raw json.RawMessage) error {
	var detail struct {
		Type                               string
		Text, Summary, Data, ID, Signature *string
		Format                             *string
		Index                              *float64
	}
	if err := json.Unmarshal(raw, &detail); err != nil {
		return err
	}
	texts := map[string]*string{"reasoning.text": detail.Text, "reasoning.summary": detail.Summary, "reasoning.encrypted": detail.Data}
	if text, known := texts[detail.Type]; !known || text == nil {
		return fmt.Errorf("Invalid input: %s", raw)
	}
	return nil
}

// goodReasoning checks an item of thinking in the input of the Responses API.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-input
func goodReasoning(at int, raw json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for name := range fields {
		if !slices.Contains([]string{"type", "id", "summary", "content", "encrypted_content", "status"}, name) {
			return fmt.Errorf("Unknown parameter: 'input[%d].%s'.", at, name)
		}
	}
	var id, encrypted *string
	_ = json.Unmarshal(fields["encrypted_content"], &encrypted)
	_ = json.Unmarshal(fields["id"], &id)
	switch {
	case encrypted == nil || *encrypted == "":
		return errors.New("Item 'rs_llmtest' of type 'reasoning' was not found: items are not persisted when store is false")
	case id == nil:
		return fmt.Errorf("Missing required parameter: 'input[%d].id'.", at)
	case !strings.HasPrefix(*id, "rs_"):
		return fmt.Errorf("Invalid 'input[%d].id': '%s'. Expected an ID that begins with 'rs'.", at, *id)
	case len(*id) > 64:
		return fmt.Errorf("Invalid 'input[%d].id': string too long. Expected a string with maximum length 64.", at)
	case fields["summary"] == nil:
		return fmt.Errorf("Missing required parameter: 'input[%d].summary'.", at)
	}
	for name, kind := range map[string]string{"summary": "summary_text", "content": "reasoning_text"} {
		value, there := fields[name]
		var parts []map[string]json.RawMessage
		if name == "content" && (!there || string(value) == "null") {
			continue
		}
		if json.Unmarshal(value, &parts) != nil || parts == nil {
			return fmt.Errorf("Invalid type for 'input[%d].%s': expected an array of objects.", at, name)
		}
		for n, part := range parts {
			var text *string
			if _ = json.Unmarshal(part["text"], &text); string(part["type"]) != `"`+kind+`"` || text == nil || len(part) != 2 {
				return fmt.Errorf("Invalid value: 'input[%d].%s[%d]'. Supported values are: '%s'.", at, name, n, kind)
			}
		}
	}
	if status, there := fields["status"]; there && string(status) != "null" {
		if !slices.Contains([]string{`"in_progress"`, `"completed"`, `"incomplete"`}, string(status)) {
			return fmt.Errorf("Invalid value for 'input[%d].status': %s.", at, status)
		}
	}
	return nil
}
