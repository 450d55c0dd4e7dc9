package tool

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCoerce checks that arguments in the wrong form are converted if there is exactly one right form.
func TestCoerce(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["n"],"properties":{
		"n":{"type":"integer","maximum":9007199254740993},"x":{"type":"number"},"on":{"type":"boolean"},"id":{"type":"string"},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},"names":{"type":"array","items":{"type":"string"}},
		"sizes":{"type":"array","items":{"type":"integer"}},"level":{"enum":[1,2,"three"]},"maybe":{"type":["integer","null"]},
		"either":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]},"mode":{"const":7}}}`
	for name, tt := range map[string]struct {
		args, want string // an empty want means unchanged and refused
		notes      string
	}{
		"valid":              {`{"n":5,"id":"7","x":1e3}`, `{"id":"7","n":5,"x":1e3}`, "[]"},
		"a number as text":   {`{"n":"5"}`, `{"n":5}`, "[n as a number]"},
		"above 2^53":         {`{"n":"9007199254740993"}`, `{"n":9007199254740993}`, "[n as a number]"},
		"a fraction as text": {`{"n":1,"x":"-0.50"}`, `{"n":1,"x":-0.50}`, "[x as a number]"},
		"booleans as text":   {`{"n":1,"on":"True"}`, `{"n":1,"on":true}`, "[on as a boolean]"},
		"a text as number":   {`{"n":1,"id":12345678901234567890}`, `{"id":"12345678901234567890","n":1}`, "[id as a string]"},
		"labels that are no text": {`{"n":1,"labels":{"a":5,"b":true,"c":"x"}}`,
			`{"labels":{"a":"5","b":"true","c":"x"},"n":1}`, "[labels.a as a string labels.b as a string]"},
		"labels as text": {`{"n":1,"labels":"{\"a\":\"x\"}"}`, `{"labels":{"a":"x"},"n":1}`, "[labels as an object]"},
		"labels as text, with a number": {`{"n":1,"labels":"{\"a\":5}"}`,
			`{"labels":{"a":"5"},"n":1}`, "[labels as an object labels.a as a string]"},
		"a list as text":             {`{"n":1,"sizes":"[1, 2]"}`, `{"n":1,"sizes":[1,2]}`, "[sizes as an array]"},
		"one name":                   {`{"n":1,"names":"default"}`, `{"n":1,"names":["default"]}`, "[names as an array]"},
		"one size as text":           {`{"n":1,"sizes":"5"}`, `{"n":1,"sizes":[5]}`, "[sizes as an array sizes.0 as a number]"},
		"an enum":                    {`{"n":1,"level":"2"}`, `{"level":2,"n":1}`, "[level as a number]"},
		"a const":                    {`{"n":1,"mode":"7"}`, `{"mode":7,"n":1}`, "[mode as a number]"},
		"one of several types":       {`{"n":1,"maybe":"5"}`, `{"maybe":5,"n":1}`, "[maybe as a number]"},
		"one of several schemas":     {`{"n":1,"either":"5"}`, `{"either":5,"n":1}`, "[either as a number]"},
		"not exact: a fraction":      {args: `{"n":"5.5"}`},
		"not exact: 5.0":             {args: `{"n":"5.0"}`},
		"not exact: white space":     {args: `{"n":" 5"}`},
		"not exact: a leading zero":  {args: `{"n":"05"}`},
		"not exact: yes":             {args: `{"n":1,"on":"yes"}`},
		"not exact: a list of names": {args: `{"n":1,"names":"a, b"}`},
		"not exact: a key twice":     {args: `{"n":1,"labels":"{\"a\":\"x\",\"a\":\"y\"}"}`},
		"out of range":               {args: `{"n":1,"x":"1e999"}`},
		"another violation remains":  {args: `{"n":"5","level":"9"}`},
		"too large":                  {args: `{"n":"9007199254740994"}`},
		"null":                       {args: `{"n":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := parseArguments(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			before, _ := canonical(args)
			validator := NewValidator()
			got, notes := validator.coerce(json.RawMessage(schema), args)
			text, _ := canonical(got)
			if tt.want == "" {
				if validator.check(json.RawMessage(schema), got) == nil || string(text) != string(before) || notes != nil {
					t.Errorf("it became %s, %v", text, notes)
				}
				return
			}
			if diff := cmp.Diff(tt.want, string(text)); diff != "" || fmt.Sprint(notes) != tt.notes {
				t.Errorf("notes %v, want %s (-want +got):\n%s", notes, tt.notes, diff)
			}
			if after, _ := canonical(args); string(after) != string(before) {
				t.Errorf("the model's own arguments became %s", after)
			}
		})
	}
}

// TestCoerceProperties checks for arbitrary schemas and arguments that valid arguments are unchanged, and that
// converted arguments are valid and do not change again.
func TestCoerceProperties(t *testing.T) {
	t.Parallel()
	respelled := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"a": anySchema(r, 3), "b": anySchema(r, 3)}})
		text, _ := json.Marshal(map[string]any{"a": anyValue(r, 3), "b": anyValue(r, 3)})
		args, err := parseArguments(string(text))
		if err != nil {
			continue
		}
		before, _ := canonical(args)
		validator := NewValidator()
		valid := validator.check(schema, args) == nil
		got, notes := validator.coerce(schema, args)
		after, _ := canonical(got)
		switch {
		case (valid || len(notes) == 0) && string(before) != string(after):
			t.Fatalf("seed %d: %s became %s without a word, schema %s", seed, before, after, schema)
		case len(notes) > 0:
			respelled++
			if err := validator.check(schema, got); err != nil || valid {
				t.Fatalf("seed %d: %s became %s: %v, schema %s", seed, before, after, err, schema)
			}
			if _, second := validator.coerce(schema, got); len(second) > 0 {
				t.Fatalf("seed %d: %s is respelled once more: %v", seed, after, second)
			}
		}
	}
	if respelled < 100 {
		t.Errorf("only %d arguments were respelled: does this test still test anything?", respelled)
	}
}

func anySchema(r *rand.Rand, depth int) map[string]any {
	types := []string{"integer", "number", "boolean", "string", "null", "array", "object"}
	switch n := r.IntN(10); {
	case n == 0 && depth > 0:
		return map[string]any{"anyOf": []any{anySchema(r, depth-1), anySchema(r, depth-1)}}
	case n == 1:
		return map[string]any{"enum": []any{anyValue(r, 0), anyValue(r, 0)}}
	case n == 2:
		return map[string]any{"type": []any{types[r.IntN(len(types))], types[r.IntN(len(types)-1)] + ""}}
	case n == 3 && depth > 0:
		return map[string]any{"type": "array", "items": anySchema(r, depth-1), "maxItems": 1 + r.IntN(2)}
	case n == 4 && depth > 0:
		return map[string]any{"type": "object", "additionalProperties": anySchema(r, depth-1)}
	case n == 5:
		return map[string]any{"type": "string", "maxLength": 3}
	}
	return map[string]any{"type": types[r.IntN(len(types))]}
}

func anyValue(r *rand.Rand, depth int) any {
	if depth > 0 {
		switch r.IntN(6) {
		case 0:
			return []any{anyValue(r, depth-1), anyValue(r, depth-1)}[:1+r.IntN(2)]
		case 1:
			return map[string]any{"a": anyValue(r, depth-1)}
		case 2:
			text, _ := json.Marshal(anyValue(r, depth-1))
			return string(text)
		}
	}
	values := []any{1, 2, -3, 1.5, true, false, nil, "1", "2", "-3", "1.5", "true", "False", "null", "x", "", "a,b", "[1]", "{}"}
	return values[r.IntN(len(values))]
}
