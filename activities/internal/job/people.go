package job

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
)

// People forwards the questions of tool servers to people.
type People interface {
	// AskPeople returns when the question of an investigation is answered or can no longer be answered. A second question
	// with the same id is the same question.
	AskPeople(ctx context.Context, investigation, id string, q Elicitation) (Elicited, error)
}

// Elicitation is a question that a tool's server asks people during a call.
type Elicitation struct {
	Stage    string          `json:"stage"`
	Question string          `json:"question"`
	Data     json.RawMessage `json:"data,omitempty"` // the schema of the answer
	Within   plan.Duration   `json:"within"`
}

// Elicited is the answer to an Elicitation.
type Elicited struct {
	Answered bool            `json:"answered,omitempty"`
	Text     string          `json:"text,omitempty"`
	Declined bool            `json:"declined,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	By       string          `json:"by,omitempty"`
}

// Content returns the answer in the form that the schema requires. ok is false if people declined or did not answer, or
// if the answer does not fit. A text fits if it is a JSON object or if the schema has at most one property.
func (a Elicited) Content(schema json.RawMessage) (content json.RawMessage, ok bool) {
	text := strings.TrimSpace(a.Text)
	object := map[string]any{}
	switch {
	case !a.Answered, a.Declined, strings.EqualFold(text, "decline"):
		return nil, false
	case len(a.Data) > 0:
		return a.Data, json.Unmarshal(a.Data, &object) == nil
	case json.Unmarshal([]byte(text), &object) == nil && object != nil:
		return json.RawMessage(text), true
	}
	var form struct {
		Properties map[string]struct{ Type string }
	}
	if json.Unmarshal(schema, &form) != nil || len(form.Properties) > 1 {
		return nil, false
	}
	object = map[string]any{}
	for name, property := range form.Properties {
		switch property.Type {
		case "boolean":
			yes := strings.EqualFold(text, "yes") || strings.EqualFold(text, "true")
			if !yes && !strings.EqualFold(text, "no") && !strings.EqualFold(text, "false") {
				return nil, false
			}
			object[name] = yes
		case "integer", "number":
			if _, err := strconv.ParseFloat(text, 64); err != nil {
				return nil, false
			}
			object[name] = json.Number(text)
		default:
			object[name] = text
		}
	}
	content, err := json.Marshal(object)
	return content, err == nil
}
