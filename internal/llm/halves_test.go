package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
)

// TestHalves checks the text of strings that are sent one after another.
func TestHalves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		chunks []string
		want   string // the strings after their names
	}{
		"one character":                  {[]string{`{"a":"fire \ud83d"}`, `{"a":"\udd25 now"}`}, "a: fire 🔥 now"},
		"upper case":                     {[]string{`{"a":"\uD83D"}`, `{"a":"\uDD25"}`}, "a: 🔥"},
		"two fields":                     {[]string{`{"a":"\ud83d","b":"\ud83c"}`, `{"a":"\udd25","b":"\udf0d"}`}, "a: 🔥, b: 🌍"},
		"a ping between":                 {[]string{`{"a":"\ud83d"}`, `{"type":"ping"}`, `{"a":"\udd25"}`}, "a: 🔥"},
		"both in one chunk":              {[]string{`{"a":"\ud83d\udd25"}`}, "a: 🔥"},
		"one character after another":    {[]string{`{"a":"\ud83d"}`, `{"a":"\udd25\ud83c"}`, `{"a":"\udf0d"}`}, "a: 🔥🌍"},
		"a first half alone":             {[]string{`{"a":"x\ud83d"}`, `{"a":"y"}`}, "a: xy"},
		"a first half before a pair":     {[]string{`{"a":"\ud83c"}`, `{"a":"x\ud83d"}`, `{"a":"\udd25"}`}, "a: x🔥"},
		"a second half alone":            {[]string{`{"a":"\udd25"}`}, "a: \uFFFD"},
		"half in the middle":             {[]string{`{"a":"\ud83d x"}`, `{"a":"x \udd25"}`}, "a: \uFFFD xx \uFFFD"},
		"JSON in a string":               {[]string{`{"a":"{\"q\":\"\\ud83d"}`, `{"a":"\\udd25\"}"}`}, `a: {"q":"\ud83d\udd25"}`},
		"a quote before a second half":   {[]string{`{"a":"\ud83d"}`, `{"a":"\"\udd25"}`}, `a: "` + "\uFFFD"},
		"a backslash before a half":      {[]string{`{"a":"\\\ud83d"}`, `{"a":"\udd25"}`}, `a: \🔥`},
		"half a character of plain text": {[]string{`{"a":"\\\\ud83d"}`, `{"a":"\udd25"}`}, `a: \\ud83d` + "\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var halves llm.Halves
			var a, b strings.Builder
			for _, chunk := range tt.chunks {
				var got struct{ A, B string }
				if err := json.Unmarshal(halves.Join([]byte(chunk)), &got); err != nil {
					t.Fatal(err)
				}
				a.WriteString(got.A)
				b.WriteString(got.B)
			}
			got := "a: " + a.String()
			if b.Len() > 0 {
				got += ", b: " + b.String()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
