package mask_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// fragments are keywords of the scanners, complete and in pieces.
var fragments = []string{
	"password", "token", "api_key", "Authorization", "name", "value", "kind", "Secret", "data", "stringData", "apiVersion", "v1", "x", "1",
	": ", ":", "=", " = ", "=>", "\"", "\\\"", "'", "\\", "\\n", "\n", "\r\n", "  ", "\t", "- ", "--", "---\n", "|", ">-", "{", "}", "[", "]",
	",", ";", "&", "<", ">", "@", "://",
	"#", "*", "${A}", "Bearer ", "Basic ", "abc1", "S3cr3tS3cr3tS3cr3tS3cr3t", "eyJ", ".", "ghp_", "sk-", "AKIA", "a@b.cc", "-----BEGIN ",
	"PRIVATE KEY", "-----", "-----END ",
	"[MASKED", "_PASSWORD", "[MASKED]", "[MASKED_TOKEN]", "é", "\xff", "-u ", "tcp(", "%3D", "Cookie", "\\u003d",
}

// A second masking changes nothing, whichever patterns are enabled. Lines are withheld only because of configured patterns.
func TestIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		custom := rapid.SliceOfN(rapid.SampledFrom([]plan.MaskPattern{
			{Pattern: `[A-Z]{4,}`}, {Pattern: `\S+@\S+`, Replacement: "***"}, {Pattern: `(x.)\w*`, Replacement: "${1}[MASKED_X]"},
			{Pattern: `: .{4}`, Replacement: ": [MASKED]"}, {Pattern: `(?s)".*?"`, Replacement: `"-"`}, {Pattern: `a`, Replacement: "aa"},
		}), 0, 2).Draw(r, "custom")
		m, err := mask.New(plan.Masking{Patterns: rapid.SliceOf(rapid.SampledFrom(mask.Names())).Draw(r, "patterns"), Custom: custom})
		if err != nil {
			r.Fatal(err)
		}
		in := strings.Join(rapid.SliceOf(rapid.SampledFrom(fragments)).Draw(r, "text"), "")
		got, err := m.Text(t.Context(), in)
		if err != nil || len(custom) == 0 && strings.Contains(got, "[MASKED_LINE]") {
			r.Fatalf("%q: %v", got, err)
		}
		if second, err := m.Text(t.Context(), got); err != nil || second != got {
			r.Fatalf("%v:\n%q, then\n%q", err, got, second)
		}
	})
}

func TestCustom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		patterns []plan.MaskPattern
		in, want string
	}{
		{"default replacement", []plan.MaskPattern{{Pattern: `\d{3}-\d{4}`}}, "call 555-1234 now", "call [MASKED] now"},
		{"group", []plan.MaskPattern{{Pattern: `(employee: )\w+`, Replacement: "${1}[MASKED_EMPLOYEE]"}}, "employee: bob1",
			"employee: [MASKED_EMPLOYEE]"},
		{"matches its own marker", []plan.MaskPattern{{Pattern: `[A-Z_]{6,}`}}, "ID ABCDEFG, [MASKED_TOKEN]", "ID [MASKED], [MASKED_TOKEN]"},
		{"matches the beginning of its marker", []plan.MaskPattern{{Pattern: `id: .{4}`, Replacement: "id: [MASKED]"}},
			"id: abcd", "id: [MASKED]"},
		{"before the built-in ones", []plan.MaskPattern{{Pattern: `S-\w+`, Replacement: "[MASKED_SERIAL]"}}, "password: S-12",
			"password: [MASKED_SERIAL]"},
		{"in JSON, a number", []plan.MaskPattern{{Pattern: `^\d{9}$`}}, `{"n":123456789,"m":5}`, `{"n":"[MASKED]","m":5}`},
		{"in JSON, a key and its value", []plan.MaskPattern{{Pattern: `"ssn": *"\d+"`, Replacement: `"ssn":"[MASKED]"`}}, `{"ssn":"12","m":5}`,
			`{"ssn":"[MASKED]","m":5}`},
		{"several lines", []plan.MaskPattern{{Pattern: `(?s)<<.*?>>`}}, "a <<b\nc>> d", "a [MASKED] d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := mask.New(plan.Masking{Patterns: []string{"password"}, Custom: tt.patterns})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, m, tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// If a pattern matches its own output, only the lines with matches are withheld.
func TestWithheld(t *testing.T) {
	t.Parallel()
	doubles := plan.MaskPattern{Pattern: "b", Replacement: "bb"}
	tests := []struct {
		name, in, want string
		pattern        plan.MaskPattern
	}{
		{"a line", "one\r\nb secret\r\npassword: x\r\n", "one\r\n[MASKED_LINE]\r\npassword: [MASKED_PASSWORD]\r\n", doubles},
		{"the only line", "b secret", "[MASKED_LINE]", doubles},
		{"in JSON, a text", `{"a":"one","x":"one\nb secret\ntwo","n":[1,"b"]}`,
			`{"a":"one","x":"one\n[MASKED_LINE]\ntwo","n":[1,"[MASKED_LINE]"]}`, doubles},
		{"in JSON, a number", `{"a":15}`, `{"a":"[MASKED_LINE]"}`, plan.MaskPattern{Pattern: "5", Replacement: "55"}},
		{"in JSON, its structure", `{"a":1}`, `[MASKED_LINE]`, plan.MaskPattern{Pattern: `\{`, Replacement: "{{"}},
		{"a pattern of line ends", "a\nb\n", "[MASKED_LINE]", plan.MaskPattern{Pattern: `\n`, Replacement: "\n\n"}},
		{"a pattern that explodes", "b\na", "[MASKED_LINE]\na", plan.MaskPattern{Pattern: "b", Replacement: strings.Repeat("b", 1000)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := mask.New(plan.Masking{Patterns: []string{"password"}, Custom: []plan.MaskPattern{tt.pattern}})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, m, tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestFailsClosed(t *testing.T) {
	t.Parallel()
	m := newMasker(t, "password")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := m.Text(gone, "password: x"); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
	for _, raw := range []string{`{"password":"x"`, `{"a":"b"} x`} {
		if got, err := m.JSON(t.Context(), json.RawMessage(raw)); got != nil || !errors.Is(err, mask.ErrNotMasked) {
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	m := newMasker(t, mask.Groups()["security"]...)
	tests := []struct{ name, in, want string }{
		{"nothing", ``, ``},
		{"as it is, byte for byte", ` { "a" : [ 1.50, "\u0041<&>", {} , null ] } `, ` { "a" : [ 1.50, "\u0041<&>", {} , null ] } `},
		{"by name", `{"password":"a\"b","pin":1,"token":7,"apiKey":["a","b"],"secret":{"value":"a"}}`,
			`{"password":"[MASKED_PASSWORD]","pin":1,"token":"[MASKED_TOKEN]","apiKey":["[MASKED_API_KEY]","[MASKED_API_KEY]"],` +
				`"secret":{"value":"[MASKED_SECRET_KEY]"}}`},
		{"nothing there", `{"password":"","token":null,"secret":false}`, `{"password":"","token":null,"secret":false}`},
		{"in a text", `["see password=abc&x=1", "a@b.cc"]`, `["see password=[MASKED_PASSWORD]&x=1", "[MASKED_EMAIL]"]`},
		{"in a key", `{"bob@example.com":1}`, `{"[MASKED_EMAIL]":1}`},
		{"in a document in a text", `{"body":"{\"a\":{\"password\":\"x\"}}"}`, `{"body":"{\"a\":{\"password\":\"[MASKED_PASSWORD]\"}}"}`},
		{"named", `{"env":[{"name":"DB_PASSWORD","value":"x"},{"name":"A","value":"x"}]}`,
			`{"env":[{"name":"DB_PASSWORD","value":"[MASKED_PASSWORD]"},{"name":"A","value":"x"}]}`},
		{"option", `["--token","x","--page","2"]`, `["--token","[MASKED_TOKEN]","--page","2"]`},
		{"a text alone", `"password: x"`, `"password: [MASKED_PASSWORD]"`},
		{"invalid UTF-8", "\"password: \xff\"", `"password: [MASKED_PASSWORD]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := m.JSON(t.Context(), json.RawMessage(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("%v: %s, want %s", err, got, tt.want)
			}
		})
	}
}

// If a pattern breaks the structure, the result is a JSON string.
func TestJSONStaysValid(t *testing.T) {
	t.Parallel()
	m, err := mask.New(plan.Masking{Custom: []plan.MaskPattern{{Pattern: `"a":"b",?`}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.JSON(t.Context(), json.RawMessage(`{"a":"b","c":1}`))
	if want := `"{[MASKED]\"c\":1}"`; err != nil || string(got) != want {
		t.Errorf("%v: %s, want %s", err, got, want)
	}
}
