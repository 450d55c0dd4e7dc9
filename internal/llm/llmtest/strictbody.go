package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

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
