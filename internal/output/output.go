// Package output reads what a stage of a pipeline hands on: a JSON object in the
// text that its agent ended with (spec: pipeline, "Pipeline stages").
package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNone: there is no JSON object in the text.
var ErrNone = errors.New("no valid JSON object found in response")

// Object finds the object: the whole text, else the first balanced {…} in it that parses.
func Object(text string) (map[string]json.RawMessage, error) {
	if object, ok := first(strings.TrimSpace(text), true); ok {
		return object, nil
	}
	for range maxTried {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		if object, ok := first(text[i:], false); ok {
			return object, nil
		}
		text = text[i+1:]
	}
	return nil, ErrNone
}

// maxTried bounds how many braces may be tried, so that a text of nothing but
// braces does not take for ever.
const maxTried = 1000

// first reads the object that a text begins with; whole: nothing follows it.
func first(text string, whole bool) (object map[string]json.RawMessage, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&object) != nil || object == nil {
		return nil, false
	}
	return object, !whole || decoder.InputOffset() == int64(len(text))
}

// Missing says which of the required fields an agent's output has not.
func Missing(agent string, object map[string]json.RawMessage, required []string) error {
	var problems []error
	for _, field := range required {
		if _, ok := object[field]; !ok {
			problems = append(problems, fmt.Errorf("agent '%s' output missing required field: %s", agent, field))
		}
	}
	return errors.Join(problems...)
}
