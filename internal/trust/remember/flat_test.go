package remember

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzFlat: the fast parser returns the same as encoding/json.
func FuzzFlat(f *testing.F) {
	for _, text := range []string{
		`{}`, `{ }`, `{"a":1}`, `{"a": "x", "b" : true , "c":null}`, `{"a":"x","a":"y"}`, `{"a":01}`, `{"a":-1}`, `{"a":1.5}`,
		`{"a":1}{}`, `{"a":1,}`,
		`{,"a":1}`, `{"a"}`, `{"a":"\u0041"}`, `{"a":{"b":1}}`, `{"a":[1]}`, `{"a":tru}`, `{"a":"` + "\t" + `"}`, `{"é":1}`, `{"a":1 2}`,
		`{"a":"x"`, `{"a":`, ` {"a":1}`,
		`{"a":1} `, `{"a":"b""c":1}`, `{"a":1,"b":2 }`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := flat(text)
		if !ok {
			return
		}
		var want map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil || decoder.More() || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %v; encoding/json: %v, %v", text, got, want, err)
		}
	})
}

func TestFlatIsTaken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"a":1}`, `{"a": "x", "b" : true , "c":null}`} {
		if _, ok := flat(text); !ok {
			t.Errorf("%s is read slowly", text)
		}
	}
}
