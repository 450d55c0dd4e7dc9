package llm_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/llm"
)

// TestFiniteJSON checks the values that are no JSON, and everything similar that must not change.
func TestFiniteJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"a":NaN,"b":[Infinity, -Infinity ,NaN]}`: `{"a":null,"b":[null, null ,null]}`,
		`NaN`:                                       `null`,
		`{"a":"NaN, -Infinity","NaN":-1e-5}`:        `{"a":"NaN, -Infinity","NaN":-1e-5}`,
		`["a\"NaN\\",NaN,"\\\"",NaN]`:               `["a\"NaN\\",null,"\\\"",null]`,
		`[true,false,null,-0.5E-7]`:                 `[true,false,null,-0.5E-7]`,
		`[NaNs,Infinity2,nan,INFINITY,--Infinity,-`: `[NaNs,null2,nan,INFINITY,--Infinity,-`,
		"<p>NaN</p>":                                "<p>null</p>",
		"":                                          "",
	} {
		for way, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "in bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader,
		} {
			if got, err := io.ReadAll(llm.FiniteJSON(cut(strings.NewReader(body)))); string(got) != want || err != nil {
				t.Errorf("%s, %s: %s, %v; want %s", body, way, got, err, want)
			}
		}
	}
	broken := io.MultiReader(strings.NewReader(`[Na`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := io.ReadAll(llm.FiniteJSON(broken)); string(got) != "[Na" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken body: %s, %v", got, err)
	}
}

// TestFiniteJSONKeepsJSON checks that JSON is unchanged.
func TestFiniteJSONKeepsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"NaN", `"NaN`, `\`, "-Infinity", ",NaN,"})))
		text, err := json.Marshal(map[string]any{"a": texts.Draw(t, "texts"), "b": rapid.Float64().Draw(t, "number"), "c": true})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(llm.FiniteJSON(strings.NewReader(string(text)))); string(got) != string(text) || err != nil {
			t.Fatalf("%s, %v; want %s", got, err, text)
		}
	})
}
