package llm_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestBookkeepingIsReadInAnySpelling(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value string
		count llm.Count
		index llm.Index
		word  llm.Word
	}{
		{`3`, 3, llm.Index{N: 3, Known: true}, "3"},
		{`3.0`, 3, llm.Index{N: 3, Known: true}, "3.0"},
		{`"3"`, 3, llm.Index{N: 3, Known: true}, "3"},
		{`" 3 "`, 3, llm.Index{N: 3, Known: true}, " 3 "},
		{`1e3`, 1000, llm.Index{N: 1000, Known: true}, "1e3"},
		{`2.7`, 2, llm.Index{}, "2.7"},
		{`-1`, 0, llm.Index{N: -1, Known: true}, "-1"},
		{`1e400`, 0, llm.Index{}, "1e400"},
		{`99999999999999999999`, 1 << 53, llm.Index{}, "99999999999999999999"},
		{`"NaN"`, 0, llm.Index{}, "NaN"},
		{`"many"`, 0, llm.Index{}, "many"},
		{`""`, 0, llm.Index{}, ""},
		{`true`, 0, llm.Index{}, "true"},
		{`null`, 0, llm.Index{}, ""},
		{`{"total":3}`, 0, llm.Index{}, ""},
		{`[3]`, 0, llm.Index{}, ""},
	}
	for _, tt := range tests {
		var got struct {
			Count llm.Count
			Index llm.Index
			Word  llm.Word
		}
		body := `{"Count":` + tt.value + `,"Index":` + tt.value + `,"Word":` + tt.value + `}`
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Errorf("%s: %v", tt.value, err)
		}
		if got.Count != tt.count || got.Index != tt.index || got.Word != tt.word {
			t.Errorf("%s is read as %+v, want %d, %+v, %q", tt.value, got, tt.count, tt.index, tt.word)
		}
	}
}

func TestLooseKeepsTheFieldsThatFit(t *testing.T) {
	t.Parallel()
	type details struct{ Cached llm.Count }
	type usage struct {
		In      llm.Count
		Details llm.Loose[details]
		Out     llm.Count
	}
	cached := func(n llm.Count) llm.Loose[details] { return llm.Loose[details]{V: details{n}} }
	for body, want := range map[string]usage{
		`{"In":1,"Details":[],"Out":2}`:               {In: 1, Out: 2},
		`{"In":1,"Details":"none","Out":2}`:           {In: 1, Out: 2},
		`{"In":"1","Details":{"Cached":{}},"Out":2}`:  {In: 1, Out: 2},
		`{"In":1.0,"Details":{"Cached":"7"},"Out":2}`: {In: 1, Out: 2, Details: cached(7)},
		`[1,2]`: {}, `7`: {}, `null`: {}, `"many"`: {},
	} {
		var got llm.Loose[usage]
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.V != want {
			t.Errorf("%s is read as %+v, %v; want %+v", body, got.V, err, want)
		}
	}
}

// TestBookkeepingNeverFails checks that no JSON makes the decoders of bookkeeping fail.
func TestBookkeepingNeverFails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value, err := json.Marshal(rapid.OneOf(
			rapid.Float64().AsAny(), rapid.String().AsAny(), rapid.SliceOf(rapid.Int()).AsAny(), rapid.MapOf(rapid.String(), rapid.Bool()).AsAny(),
		).Draw(t, "value"))
		if err != nil {
			t.Skip("not JSON")
		}
		var got struct {
			Count llm.Count
			Index llm.Index
			Word  llm.Word
			Loose llm.Loose[struct{ Total int }]
		}
		body := `{"Count":` + string(value) + `,"Index":` + string(value) + `,"Word":` + string(value) + `,"Loose":` + string(value) + `}`
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Count < 0 {
			t.Fatalf("%s: %+v, %v", value, got, err)
		}
	})
}
