// Package output reads the output of a stage for later stages: a JSON object in its
// agent's final text (spec: pipeline, "Pipeline stages").
package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNone means that the text contains no JSON object.
var ErrNone = errors.New("no valid JSON object found in response")

// Object returns the object: the whole text, or else the first {…} in it that parses.
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

// maxTried limits how many opening braces are tried, because a text of nothing but
// braces would take too long.
const maxTried = 1000

// first reads the object at the beginning of a text. With whole, nothing may follow it.
func first(text string, whole bool) (object map[string]json.RawMessage, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&object) != nil || object == nil {
		return nil, false
	}
	return object, !whole || decoder.InputOffset() == int64(len(text))
}

// Missing returns an error that lists the required fields that an agent's output lacks, or nil.
func Missing(agent string, object map[string]json.RawMessage, required []string) error {
	var problems []error
	for _, field := range required {
		if _, ok := object[field]; !ok {
			problems = append(problems, fmt.Errorf("agent '%s' output missing required field: %s", agent, field))
		}
	}
	return errors.Join(problems...)
}
