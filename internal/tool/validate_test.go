package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/tool"
)

const podSchema = `{"type":"object","properties":{"pod":{"type":"string","pattern":"^[a-z-]+$"},"lines":{"type":"integer","minimum":1},
	"labels":{"type":"array","uniqueItems":true,"items":{"type":"string"}}},"required":["pod"],"additionalProperties":false}`

func TestValidateArguments(t *testing.T) {
	t.Parallel()
	validator := tool.NewValidator()
	for name, tc := range map[string]struct{ schema, args, want, err string }{
		"valid":             {podSchema, ` {"pod":"web","lines":5} `, `{"pod":"web","lines":5}`, ""},
		"whole as a float":  {podSchema, `{"pod":"web","lines":5.0}`, `{"pod":"web","lines":5.0}`, ""},
		"none":              {`{"type":"object"}`, ``, `{}`, ""},
		"no schema":         {``, `{"a":1}`, `{"a":1}`, ""},
		"missing":           {podSchema, ``, ``, "missing property 'pod'"},
		"wrong type":        {podSchema, `{"pod":7}`, ``, "at '/pod': got number, want string"},
		"several":           {podSchema, `{"pod":"WEB","lines":0}`, ``, "; at '/"},
		"unknown property":  {podSchema, `{"pod":"web","container":"x"}`, ``, "additional properties 'container' not allowed"},
		"deep":              {podSchema, `{"pod":"web","labels":["a",1]}`, ``, "at '/labels/1': got number, want string"},
		"array":             {podSchema, `[1]`, ``, "arguments must be a JSON object, not an array"},
		"null":              {podSchema, `null`, ``, "missing property 'pod'"},
		"a list, encoded":   {podSchema, `"[1]"`, ``, "not a string"},
		"text":              {podSchema, `"web"`, ``, "not a string"},
		"broken":            {podSchema, `{"pod":"web",}`, ``, "at byte 14, after"},
		"cut short":         {podSchema, `{"pod":"we`, ``, "unexpected EOF (10 bytes)"},
		"two of them":       {podSchema, `{"pod":"web"}{}`, ``, "arguments are not valid JSON"},
		"enormous number":   {podSchema, `{"pod":"web","lines":1e999999999}`, ``, "the number at '/lines' is out of range"},
		"infinitesimal":     {podSchema, `{"pod":"web","labels":[1e-999999999]}`, ``, "the number at '/labels/0' is out of range"},
		"invalid utf8":      {`{}`, "{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}", ""},
		"broken schema":     {`{"type":12}`, `{"a":1}`, `{"a":1}`, ""},
		"schema not JSON":   {`{`, `{"a":1}`, `{"a":1}`, ""},
		"pattern not of Go": {`{"properties":{"a":{"pattern":"(?=x)"}}}`, `{"a":"y"}`, `{"a":"y"}`, ""},
		"remote schema":     {`{"$ref":"http://127.0.0.1:1/s.json"}`, `{"a":1}`, `{"a":1}`, ""},
		"schema in a file":  {`{"$ref":"file:///etc/passwd"}`, `{"a":1}`, `{"a":1}`, ""},
		"remote metaschema": {`{"$schema":"http://127.0.0.1:1/m.json"}`, `{"a":1}`, `{"a":1}`, ""},
		"local reference": {`{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":1}`, ``,
			"at '/a': got number, want string"},
		"draft 7": {`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"type":"string"}},` +
			`"properties":{"a":{"$ref":"#/definitions/s"}}}`, `{"a":1}`, ``, "at '/a'"},
		"exclusive or":       {`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, ``, "missing property 'a'"},
		"a key twice":        {`{}`, `{"ns":"dev","ns":"prod"}`, ``, `the key "ns" twice in one object`},
		"twice, spelt apart": {`{}`, `{"a":[{"ns":1,"n\u0073":2}]}`, ``, `the key "ns" twice in one object`},
		"in two objects":     {`{}`, `{"a":{"ns":1},"b":{"ns":2},"ns":3}`, `{"a":{"ns":1},"b":{"ns":2},"ns":3}`, ""},
		"too deep":           {`{}`, `{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, ``, "nested deeper than 64 levels"},
		"too long":           {`{}`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, ``, "longer than 1024 KB"},
		"brackets in a text": {`{}`, `{"a":"\"` + strings.Repeat("[", 100) + `"}`, `{"a":"\"` + strings.Repeat("[", 100) + `"}`, ""},
		"refers to itself":   {`{"properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{}}}`, `{"a":{"a":{}}}`, ""},
		"nothing but itself": {`{"$ref":"#"}`, `{"a":1}`, `{"a":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := validator.ValidateArguments(json.RawMessage(tc.schema), tc.args)
			if string(got) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// TestMeantArguments checks that calls are made although models write null, empty text, or an object that is encoded
// twice.
func TestMeantArguments(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		``: `{}`, ` null `: `{}`, `""`: `{}`, `"null"`: `{}`, `"{\"pod\":\"web\"}"`: `{"pod":"web"}`, `"{}"`: `{}`,
		`"\"{\\\"n\\\":9007199254740993}\""`: `{"n":9007199254740993}`,
	} {
		if got, err := tool.Canonical(written); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", written, got, err, want)
		}
	}
}

func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	args := `{"pod":"` + strings.Repeat("X", 100_000) + `","labels":[1` + strings.Repeat(",1", 1000) + `]}`
	_, err := tool.NewValidator().ValidateArguments(json.RawMessage(podSchema), args)
	if err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), " more") {
		t.Errorf("got %.300v", err)
	}
}

func TestValidatorIsShared(t *testing.T) {
	t.Parallel()
	validator := tool.NewValidator()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := validator.ValidateArguments(json.RawMessage(podSchema), `{"pod":"web"}`); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestEffortIsBounded checks that a small, valid schema that would take forever is refused at once.
func TestEffortIsBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 60) + "{}" + strings.Repeat("}", 60)
	for name, tc := range map[string]struct{ schema, args string }{
		"twice at every level": {`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep},
		"by a name":            {`{"$defs":{"x":{"$anchor":"x","properties":{"a":{"anyOf":[{"$ref":"#x"},{"$ref":"#x"}]}}}},"$ref":"#x"}`, deep},
		"as properties":        {`{"properties":{"a":{"$ref":"#"}},"patternProperties":{".":{"$ref":"#"}}}`, deep},
		"as dependencies, failing": {`{"$schema":"http://json-schema.org/draft-07/schema#","not":{"$ref":"#/definitions/d"},
			"definitions":{"d":{"dependencies":{"a":{"properties":{"a":{"$ref":"#/definitions/d"}}},
			"A":{"properties":{"a":{"$ref":"#/definitions/d"}}}},"properties":{"a":{"$ref":"#/definitions/d"}},"required":["z"]}}}`, deep},
		"a large pattern":  {`{"properties":{"a":{"pattern":"(x?){900}y"}}}`, `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`},
		"many long names":  {`{"patternProperties":{"(a|b){900}$":true,"(c|d){900}$":true}}`, `{"` + strings.Repeat("x", 500_000) + `":1}`},
		"circles together": {`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := tool.NewValidator().ValidateArguments(json.RawMessage(tc.schema), tc.args)
			if err == nil || !strings.Contains(err.Error(), "too much work") || time.Since(began) > 2*time.Minute {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
		})
	}
}

// TestEffortIsToldSoon checks that estimating the effort is fast, whatever the result.
func TestEffortIsToldSoon(t *testing.T) {
	t.Parallel()
	refs := strings.Repeat(`{"$ref":"#x"},`, 1900)
	others, keys := "", ""
	for n := range 1500 {
		others += fmt.Sprintf(`{"$ref":"#y%d"},{"$anchor":"y%d"},`, n, n)
	}
	for n := range 6000 {
		keys += fmt.Sprintf(`"k%d":1,`, n)
	}
	ones := func(n int) string { return `{"l":[1` + strings.Repeat(",1", n-1) + `]}` }
	for name, tc := range map[string]struct{ schema, args string }{
		"a name that two have": {`{"properties":{"l":{"items":{"allOf":[` + refs +
			`{}]}}},"z":[[[{"$anchor":"x"}]]],"$defs":{"z":{"$anchor":"x"}}}`, ones(50)},
		"a name, at the end":   {`{"properties":{"l":{"items":{"allOf":[` + refs + `{"$anchor":"x"}]}}}}`, ones(50)},
		"many anchors":         {`{"properties":{"l":{"items":{"allOf":[` + others + `{}]}}}}`, ones(50)},
		"an item of many keys": {`{"properties":{"l":{"items":{` + keys + `"type":"integer"}}}}`, ones(150_000)},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := tool.NewValidator().ValidateArguments(json.RawMessage(tc.schema), tc.args)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
}

// TestEffortOfRealSchemas checks that the schemas of real tools are checked, however they are composed.
func TestEffortOfRealSchemas(t *testing.T) {
	t.Parallel()
	const tree = `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"filter":{"anyOf":[
		{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/definitions/filter"}}},"required":["and"],
			"additionalProperties":false},
		{"type":"object","properties":{"or":{"type":"array","items":{"$ref":"#/definitions/filter"}}},"required":["or"],
			"additionalProperties":false},
		{"type":"object","properties":{"field":{"type":"string"},"is":{}},"required":["field"],"additionalProperties":false}]}},
		"properties":{"filter":{"$ref":"#/definitions/filter"},"text":{"type":"string"}}}`
	filter := `{"field":1}`
	for range 5 {
		filter = `{"and":[` + filter + `,{"or":[{"field":"b"},{"field":"c"}]}]}`
	}
	_, err := tool.NewValidator().ValidateArguments(json.RawMessage(tree), `{"filter":`+filter+`}`)
	if err == nil || !strings.Contains(err.Error(), "got number, want string") {
		t.Errorf("a filter of ten levels: %v", err)
	}
	long := `{"text":"` + strings.Repeat(`line of a file\n`, 60_000) + `"}`
	if _, err := tool.NewValidator().ValidateArguments(json.RawMessage(tree), long); err != nil {
		t.Errorf("a file of 900 KB: %v", err)
	}
}

// FuzzValidateArguments checks for arbitrary schemas and arguments that nothing panics, and that accepted arguments are
// an object that can be stored.
func FuzzValidateArguments(f *testing.F) {
	for _, args := range []string{"", "{}", `{"pod":"web","lines":1e5}`, `{"pod":`, "[1e999]", `{"labels":[1e-7,1E+400]}`} {
		f.Add(podSchema, args)
	}
	f.Add(`{"$ref":"#"}`, `{"a":1}`)
	f.Add(`{"allOf":[{"multipleOf":0.1}],"$defs":{"a":{"$dynamicRef":"#b"}}}`, `{"a":0.3}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		got, err := tool.NewValidator().ValidateArguments(json.RawMessage(schema), args)
		var object map[string]any
		if err == nil && (!utf8.Valid(got) || json.Unmarshal(got, &object) != nil || object == nil) {
			t.Errorf("%q passed as %q", args, got)
		}
		if err != nil && !utf8.ValidString(err.Error()) {
			t.Errorf("%q: %q", args, err)
		}
	})
}
