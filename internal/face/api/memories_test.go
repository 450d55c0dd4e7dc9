package api

import (
	"net/http"
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// The audit trail has every edit and deletion that people make in a memory.
func TestChangeMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("Memo")
	const of = "/api/v1/memory/Memo"
	for _, tt := range []struct {
		method, path, body string
		want               int
	}{
		{"PUT", of + "/blocks/facts", `{"value":"the pool has ten","limit":20,"read_only":true}`, http.StatusOK},
		{"PUT", of + "/blocks/facts", `{"value":"the pool has twenty connections"}`, http.StatusUnprocessableEntity},
		{"PUT", of + "/blocks/no%20label", `{"value":"x"}`, http.StatusUnprocessableEntity},
		{"PUT", of + "/blocks/goals", `{"value":"x"}`, http.StatusOK},
		{"PUT", "/api/v1/memory/Nobody/blocks/facts", `{"value":"x"}`, http.StatusNotFound},
		{"DELETE", of + "/blocks/goals", "", http.StatusOK},
		{"DELETE", of + "/blocks/goals", "", http.StatusNotFound},
		{"DELETE", of + "/archival/1", "", http.StatusOK},
		{"DELETE", of + "/archival/1", "", http.StatusNotFound},
		{"DELETE", of + "/archival/4294967297", "", http.StatusNotFound},
	} {
		var in any
		if tt.body != "" {
			in = tt.body
		}
		if got := w.call("root", tt.method, tt.path, in); got.status != tt.want {
			t.Errorf("%s %s %s: %d %s", tt.method, tt.path, tt.body, got.status, got.body)
		}
	}
	blocks := read[system.Page[memory.Block]](w, "root", "GET", of+"/blocks", nil).Items
	if want := []memory.Block{{Label: "facts", Value: "the pool has ten", Limit: 20, ReadOnly: true}}; !slices.Equal(blocks, want) {
		t.Errorf("blocks %+v", blocks)
	}
	for _, path := range []string{"/archival", "/archival?q=pool"} {
		if left := read[system.Page[memory.Entry]](w, "root", "GET", of+path, nil).Items; len(left) > 0 {
			t.Errorf("%s: %+v", path, left)
		}
	}
	var acts []string
	err := w.store.Acts(t.Context(), store.ActFilter{Who: "root"}, func(a audit.Act) error {
		acts = append(acts, string(a.What)+" "+a.Call+" "+string(a.Detail))
		return nil
	})
	want := []string{
		`memory-changed Memo {"block":"facts","change":"written"}`, `memory-changed Memo {"block":"goals","change":"written"}`,
		`memory-changed Memo {"block":"goals","change":"deleted"}`, `memory-changed Memo {"change":"deleted","entry":"1"}`,
	}
	if err != nil || !slices.Equal(acts, want) {
		t.Errorf("acts %q, %v", acts, err)
	}
}
