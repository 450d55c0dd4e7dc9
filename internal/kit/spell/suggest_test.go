package spell_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/spell"
)

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	names := []string{"api_key_env", "model", "status"}
	for written, want := range map[string]string{
		"stauts": "status", "Model": "model", "api_key": "api_key_env", "st": "", "nothing": "",
	} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := spell.DidYouMean(written, names); got != want {
			t.Errorf("%s: %q, want %q", written, got, want)
		}
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	many := strings.Split("utsrqponmlkjihgfedcba", "")
	for _, tt := range []struct {
		written    string
		candidates []string
		want       string
	}{
		{"modell", []string{"status", "model"}, `; did you mean "model"?`},
		{"x", []string{"status", "model"}, "; available: model, status"},
		{"something", many, "; available: a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t and 1 more"},
		{"x", nil, ""},
	} {
		if got := spell.Hint(tt.written, tt.candidates); got != tt.want {
			t.Errorf("%q of %v: %q, want %q", tt.written, tt.candidates, got, tt.want)
		}
	}
}
