package reveal_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain text, \t\n and more":        "plain text, \t\n and more",
		"Übergröße, naïve, Ελλάδα, Привет": "Übergröße, naïve, Ελλάδα, Привет",
		"日本語：テスト，APIサーバー":                  "日本語：テスト，APIサーバー",
		"זה 10µs 5°C €3":                   "זה 10µs 5°C €3",
		"dev\u200bprod":                    `dev\u200bprod`,
		"\ufeffa\u00adb\u2060c":            `\ufeffa\u00adb\u2060c`,
		"a\u202egnp.exe":                   `a\u202egnp.exe`,
		"a\u2800b\u3164c\u00a0d":           `a\u2800b\u3164c\u00a0d`,
		"tag\U000e0041\U000e0042":          `tag\udb40\udc41\udb40\udc42`,
		"g\u043e\u043egle.com":             `g\u043e\u043egle.com`,
		"\u0440\u0430\u0443.com":           `\u0440\u0430\u0443.com`,
		"ｄev \U0001d41aa":                  `\uff44ev \ud835\udc1aa`,
		"https://a\u2044b":                 `https://a\u2044b`,
		"\x1b[2J\u009b\x7f":                `\u001b[2J\u009b\u007f`,
		"x\ufe0f":                          `x\ufe0f`,
		"\xff":                             "\uFFFD",
	} {
		if got := reveal.Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := reveal.Name("s.r\u0435ad\u200b"); got != `s.r\u0435ad\u200b` {
		t.Errorf("a name is %q", got)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":"x","nаme":["а b","gоogle.com"]}`: `{"a":"x","n\u0430me":["а b","g\u043eogle.com"]}`,
		"{\"a\":\"1\\nпривет\\\\n\\\"\u200b\"}": `{"a":"1\nпривет\\n\"\u200b"}`,
		`{"п": 1}`:        `{"\u043f": 1}`,
		"not JSON \u200b": `not JSON \u200b`,
		`"C:\\\\"`:        `"C:\\\\"`,
		"[1,\r2]":         "[1, 2]",
	} {
		if got := reveal.JSON(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Marked text has no deceptive characters, and JSON stays equivalent.
func FuzzText(f *testing.F) {
	for _, text := range []string{"a", "dev\u200b", "g\u043e\u043egle", "\xff\u202e", "{\"k\u0435y\":\"\u2028\"}", "\U000e0041"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown, name := reveal.Text(text), reveal.Name(text)
		if reveal.Hides(shown) || reveal.Hides(name) || !utf8.ValidString(shown) {
			t.Errorf("%q is %q and as a name %q", text, shown, name)
		}
		for _, r := range name {
			if r > unicode.MaxASCII && r != utf8.RuneError {
				t.Errorf("the name %q has %q", name, r)
			}
		}
		document := reveal.JSON(text)
		var before, after any
		if utf8.ValidString(text) && json.Unmarshal([]byte(text), &before) == nil && !strings.ContainsAny(text, "\u2028\u2029\u00a0\u3000") {
			if err := json.Unmarshal([]byte(document), &after); err != nil || reveal.Hides(document) || !reflect.DeepEqual(before, after) {
				t.Errorf("JSON %q is %q: %v", text, document, err)
			}
		}
	})
}
