package output_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/output"
)

func TestObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1}`:                               `{"a":1}`,
		" \n{\"a\":1}\n":                        `{"a":1}`,
		"Here it is:\n```json\n{\"a\":{}}\n```": `{"a":{}}`,
		`{no} then {"a":"}"} and {"b":1}`:       `{"a":"}"}`,
		`a "quoted { brace" {"a":1}`:            `{"a":1}`,
		`{"a":"\"}"}`:                           `{"a":"\"}"}`,
		`{{"a":1}}`:                             `{"a":1}`,
		`[{"a":1}]`:                             `{"a":1}`,
		``:                                      ``,
		`null`:                                  ``,
		`{"a":1`:                                ``,
		`no object`:                             ``,
		strings.Repeat("{", 1_000_000):          ``,
	} {
		object, err := output.Object(text)
		got, _ := json.Marshal(object)
		if want == "" {
			if err == nil || err.Error() != "no valid JSON object found in response" {
				t.Errorf("%.40q: %s, %v", text, got, err)
			}
			continue
		}
		if err != nil || string(got) != want {
			t.Errorf("%.40q: %s, %v", text, got, err)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	object := map[string]json.RawMessage{"a": nil}
	if err := output.Missing("X", object, []string{"a"}); err != nil {
		t.Error(err)
	}
	if err := output.Missing("X", object, []string{"F"}); err == nil || err.Error() != "agent 'X' output missing required field: F" {
		t.Error(err)
	}
}

func FuzzObject(f *testing.F) {
	f.Add(`x {"a":1} y`)
	f.Fuzz(func(t *testing.T, text string) {
		object, err := output.Object(text)
		if (err == nil) != (object != nil) {
			t.Errorf("%v, %v", object, err)
		}
	})
}
