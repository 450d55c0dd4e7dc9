package spell_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/spell"
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
