package walk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/kit/walk"
)

func TestReplaced(t *testing.T) {
	t.Parallel()
	in := map[string]any{"{t}": "a {t}", "list": []any{"{t}", json.Number("12345678901234567890"), nil, true}}
	want := map[string]any{"{t}": "a x", "list": []any{"x", json.Number("12345678901234567890"), nil, true}}
	if diff := cmp.Diff(want, walk.Replaced(in, strings.NewReplacer("{t}", "x").Replace)); diff != "" {
		t.Error(diff)
	}
	if in["{t}"] != "a {t}" || in["list"].([]any)[0] != "{t}" {
		t.Errorf("the value was changed: %v", in)
	}
}
