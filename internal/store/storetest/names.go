package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// testNames: part of a name finds an investigation, a word of a name does so regardless of case, and former names do not.
func testNames(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	begin := func(id, chain, alert, writer string) {
		ok(t, s.StartInvestigation(ctx, record.Investigation{
			ID: id + ":1", WorkflowID: id, RunID: "r", Chain: chain, AlertType: alert, PlanHash: "p", Writer: writer, StartedAt: time.Now(),
		}))
	}
	begin("shop-1", "Größe", `say "hi" OR 1`, "a")
	begin("shop-2", "lab", "100%_done*", "a")
	begin("other", "lab", "x", "a")
	begin("other", "renamed", "x", "b") // Temporal was reset
	for text, want := range map[string][]string{
		"shop": {"shop-2", "shop-1"},
		"SHOP": {"shop-2", "shop-1"}, "röß": {"shop-1"}, `"hi" OR`: {"shop-1"}, `"`: {"shop-1"}, "%_d": {"shop-2"}, "%": {"shop-2"},
		"2 la": {"shop-2"}, "lab": {"shop-2"}, "renamed": {"other"}, "*": {"shop-2"}, "nothing": nil, "o": {"other", "shop-2", "shop-1"},
	} {
		var got []string
		for _, r := range must(s.Investigations(ctx, store.Filter{Search: text}))(t) {
			got = append(got, r.WorkflowID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", text, got, want)
		}
	}
}
