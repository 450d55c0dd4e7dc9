package job

import (
	"encoding/json"
	"testing"
)

// People's answer is converted to the server's schema, or counts as declined.
func TestElicitedContent(t *testing.T) {
	t.Parallel()
	one := func(kind string) string { return `{"type":"object","properties":{"x":{"type":"` + kind + `"}}}` }
	for name, tc := range map[string]struct {
		answer Elicited
		schema string
		want   string // empty: declined
	}{
		"data":              {Elicited{Answered: true, Data: json.RawMessage(`{"x":1}`)}, one("integer"), `{"x":1}`},
		"data that is none": {Elicited{Answered: true, Data: json.RawMessage(`[1]`)}, one("integer"), ""},
		"text":              {Elicited{Answered: true, Text: "prod"}, one("string"), `{"x":"prod"}`},
		"number":            {Elicited{Answered: true, Text: " 42 "}, one("integer"), `{"x":42}`},
		"no number":         {Elicited{Answered: true, Text: "many"}, one("integer"), ""},
		"yes":               {Elicited{Answered: true, Text: "Yes"}, one("boolean"), `{"x":true}`},
		"no":                {Elicited{Answered: true, Text: "no"}, one("boolean"), `{"x":false}`},
		"perhaps":           {Elicited{Answered: true, Text: "perhaps"}, one("boolean"), ""},
		"JSON":              {Elicited{Answered: true, Text: `{"x":"y"}`}, one("string"), `{"x":"y"}`},
		"confirmation":      {Elicited{Answered: true, Text: "ok"}, `{"type":"object","properties":{}}`, `{}`},
		"several values":    {Elicited{Answered: true, Text: "a"}, `{"type":"object","properties":{"x":{},"y":{}}}`, ""},
		"declined":          {Elicited{Answered: true, Declined: true, Text: "x"}, one("string"), ""},
		"the word":          {Elicited{Answered: true, Text: "Decline"}, one("string"), ""},
		"nobody":            {Elicited{Text: "x"}, one("string"), ""},
	} {
		got, ok := tc.answer.Content(json.RawMessage(tc.schema))
		if ok != (tc.want != "") || ok && string(got) != tc.want {
			t.Errorf("%s: %s, %t", name, got, ok)
		}
	}
}
