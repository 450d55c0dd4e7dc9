package output_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/output"
)

func TestObject(t *testing.T) {
	t.Parallel()
	const none, template = "no valid JSON object found in response", "is a template"
	for text, want := range map[string]string{
		`{"a":1}`:                                `{"a":1}`,
		" \n{\"a\":1}\n":                         `{"a":1}`,
		"Here it is:\n```json\n{\"a\":{}}\n```":  `{"a":{}}`,
		`{no} then {"a":"}"} and {"b":1}`:        `{"b":1}`,
		`a "quoted { brace" {"a":1}`:             `{"a":1}`,
		`{"a":"\"}"}`:                            `{"a":"\"}"}`,
		`{{"a":1}}`:                              `{"a":1}`,
		`[{"a":1}]`:                              `{"a":1}`,
		`{"a":1} and {"b":[{"c":1}],"d":{}} end`: `{"b":[{"c":1}],"d":{}}`,
		`{"unfinished": {"a":1}`:                 `{"a":1}`,
		`{"unfinished: {"a":1}`:                  `{"a":1}`,
		``:                                       none,
		`null`:                                   none,
		`{"a":1`:                                 none,
		`no object`:                              none,

		"```json\n{\"a\":1}\n```\nI asked with {\"q\":\"x\"}.":                  `{"a":1}`,
		"```\n{\"a\":1}\n```\nor rather\n```\n{\"a\":2}\n```\nas for {\"q\":1}": `{"a":2}`,
		"```json {\"a\":1} ``` not {\"b\":1}":                                   `{"a":1}`,
		"```json\n{\"report\":\"run ```ls\"}\n```\n{\"b\":1}":                   "{\"report\":\"run ```ls\"}",
		"{\"a\":1}\n```evidence\n{\"evidence\":[]}\n```":                        `{"a":1}`,

		`{"a":"yes"} in the form {"a":"..."}`:                `{"a":"yes"}`,
		`{"cause":"<cause>","confidence":0.9,"steps":["…"]}`: template,
		`{"a":"string | null","b":{"c":"{{value}}"}}`:        template,
		`{"a":"TODO"} {"b":"string"}`:                        template,
		`{"a":"string","b":"yes"}`:                           `{"a":"string","b":"yes"}`,
		`{"a":1,"b":[],"c":true}`:                            `{"a":1,"b":[],"c":true}`,
		`{}`:                                                 `{}`,
	} {
		object, err := output.Object(text, nil)
		got, _ := json.Marshal(object)
		if want == none || want == template {
			if object != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q: %s, %v", text, got, err)
			}
			continue
		}
		if err != nil || string(got) != want {
			t.Errorf("%.60q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// The first candidate that meets the contract counts. If none does, the error is about the best candidate.
func TestContract(t *testing.T) {
	t.Parallel()
	meets := func(object map[string]json.RawMessage) error { return output.Missing("A", object, []string{"steps"}) }
	const missing = "agent 'A' output missing required field: steps"
	for text, want := range map[string]string{
		`{"steps":[1]} is what {"q":"x"} gave`:                                          `{"steps":[1]}`,
		"```json\n{\"q\":\"x\"}\n```\nResult: {\"steps\":[1]}":                          `{"steps":[1]}`,
		`First {"steps":[1]}, no: {"steps":[2]}`:                                        `{"steps":[2]}`,
		`{"of":{"steps":[1]}}`:                                                          missing,
		`{"steps":["..."]} is the form, {"steps":[]} the result`:                        `{"steps":[]}`,
		`{"steps":["<step>"]} and {"q":"x"}`:                                            missing,
		strings.Repeat(`{"q":"x"} `, 500) + `{"steps":[1]}` + strings.Repeat(`{}`, 400): `{"steps":[1]}`,
	} {
		object, err := output.Object(text, meets)
		got, _ := json.Marshal(object)
		if want == missing && (err == nil || err.Error() != missing) || want != missing && (err != nil || string(got) != want) {
			t.Errorf("%.60q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestHostileTexts reads texts that would take hours if every brace were tried. The limit is far from both durations.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const size = 1_000_000
	deep := strings.Repeat(`{"a":`, 5000)
	for name, text := range map[string]string{
		"braces":             strings.Repeat("{", size),
		"spaced braces":      strings.Repeat("{ ", size/2),
		"unfinished objects": strings.Repeat(`{"a":`, size/5),
		"unfinished texts":   strings.Repeat(`{"a`, size/3),
		"long texts":         strings.Repeat(`{"a":"`+strings.Repeat("x", 1000), size/1000),
		"lists":              strings.Repeat(`{"a":[`, size/6),
		"failing late":       strings.Repeat(deep+"x", size/len(deep)),
		"objects":            strings.Repeat(`{"a":1}`, size/7),
		"fences":             strings.Repeat("```{\"a\":1}", size/10),
	} {
		began := time.Now()
		if _, err := output.Object(text, func(map[string]json.RawMessage) error { return errors.New("no") }); err == nil {
			t.Errorf("%s: an object was found", name)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
	}
	object, err := output.Object(strings.Repeat("{", size)+` {"a":1}`, nil)
	if err != nil || string(object["a"]) != "1" {
		t.Errorf("after the braces: %v, %v", object, err)
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
		object, err := output.Object(text, nil)
		if (err == nil) != (object != nil) {
			t.Errorf("%v, %v", object, err)
		}
	})
}
