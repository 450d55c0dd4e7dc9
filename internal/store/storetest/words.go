package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// testWords: words of the alert, the error, the report and the summary find an investigation, in addition to its names.
func testWords(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	begin := func(id, data string, minute int, project string) record.Investigation {
		r := investigation(id+"/1", id, minute)
		r.Chain, r.AlertType, r.Project, r.Metadata = "lab", "probe", project, map[string]string{"team": "Billing"}
		if data != "" {
			r.DataHash = must(s.PutBlob(ctx, []byte(data)))(t)
		}
		ok(t, s.StartInvestigation(ctx, r))
		return r
	}
	begin("one", `{"cluster": "Alpha", "pods": [{"name": "checkout-7f9c", "port": 18446744073709551615}], "log": "line\nOOMKilled"}`, 1, "")
	begin("two", "checkout-5d6e restarts: Größe überschritten, 支付失败", 2, "payments")
	ok(t, s.StartInvestigation(ctx, record.Investigation{ID: "-", StartedAt: at(0), Status: agent.StatusRunning})) // without a word
	ended := finished(begin("three", `{"n": 1.50}`, 3, ""), agent.StatusFailed)
	ended.Report, ended.Error, ended.Envelope.Summary = "# Cause\nThe connection pool was cut.", "a budget ran out", "Alphabetical order"
	ok(t, s.FinishInvestigation(ctx, ended))

	ok(t, s.StartInvestigation(ctx, record.Investigation{ID: "bare", Status: agent.StatusRunning, StartedAt: ended.StartedAt})) // no words

	for text, want := range map[string][]string{
		"Alpha": {"three", "one"}, "alpha ": {"three", "one"}, "alphab": {"three"}, "lpha": nil, "cluster alpha": {"one"},
		"checkout-7f9c": {"one"}, "7f9c": {"one"}, "CHECKOUT": {"two", "one"}, "checkout-5d6": {"two"}, "checkout-7f9c-x": nil,
		"OOMKilled": {"one"}, "killed": {"one"}, "oomk": {"one"}, "18446744073709551615": {"one"}, "1.50": {"three"},
		"größe": {"two"}, "支付": {"two"}, "pool cut": {"three"}, "cause": {"three"}, "budget": {"three"}, "two restarts": {"two"},
		"billing": {"three", "two", "one"}, `"alpha" OR`: nil, "alpha*": {"three", "one"}, "'": nil, "of": nil, "nOOMKilled": nil,
		"obe": {"three", "two", "one"}, "a:b & (": nil,
	} {
		found := must(s.Investigations(ctx, store.Filter{Search: text}))(t)
		if got := workflowIDs(found); !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", text, got, want)
		}
	}

	for name, test := range map[string]struct {
		filter store.Filter
		want   []string
	}{
		"one project":     {store.Filter{Search: "checkout", Projects: []string{"payments"}}, []string{"two"}},
		"another project": {store.Filter{Search: "restarts", Projects: []string{"default"}}, nil},
		"no project":      {store.Filter{Search: "checkout", Projects: []string{}}, nil},
		"a limit":         {store.Filter{Search: "billing", Limit: 2}, []string{"three", "two"}},
		"since":           {store.Filter{Search: "checkout", Since: at(2)}, []string{"two"}},
		"open":            {store.Filter{Search: "billing", Open: true}, []string{"two", "one"}},
		"a status":        {store.Filter{Search: "billing", Status: agent.StatusFailed}, []string{"three"}},
		"the next page":   {store.Filter{Search: "billing", Before: store.Place{StartedAt: at(2), ID: "two/1"}}, []string{"one"}},
	} {
		if got := workflowIDs(must(s.Investigations(ctx, test.filter))(t)); !slices.Equal(got, test.want) {
			t.Errorf("%s: found %v, want %v", name, got, test.want)
		}
	}
}

// testSearchAfterReset: a rewritten record is found only by its new words.
func testSearchAfterReset(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	first := investigation("inv/run", "inv", 1)
	first.Writer, first.DataHash = "r1", must(s.PutBlob(ctx, []byte("old words")))(t)
	ok(t, s.StartInvestigation(ctx, first))
	other := investigation("other/run", "other", 2)
	other.DataHash = must(s.PutBlob(ctx, []byte("new words")))(t)
	ok(t, s.StartInvestigation(ctx, other))
	second := first
	second.Writer, second.DataHash, second.StartedAt = "r2", other.DataHash, at(9)
	ok(t, s.StartInvestigation(ctx, second))
	if got := workflowIDs(must(s.Investigations(ctx, store.Filter{Search: "old"}))(t)); got != nil {
		t.Errorf("its old words find %v", got)
	}
	want := []string{"other", "inv"} // a record keeps the time of its first start
	if got := workflowIDs(must(s.Investigations(ctx, store.Filter{Search: "new"}))(t)); !slices.Equal(got, want) {
		t.Errorf("its new words find %v, want %v", got, want)
	}
}

// testSearchPages: the pages of a search contain each match once, in list order, even if many began at the same time.
func testSearchPages(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	data := must(s.PutBlob(ctx, []byte("needle")))(t)
	const all = 40
	for n := range all {
		r := investigation(string(rune('A'+n%26))+string(rune('a'+n/26)), "w", n/30)
		r.DataHash = data
		ok(t, s.StartInvestigation(ctx, r))
	}
	want := must(s.Investigations(ctx, store.Filter{}))(t)
	var got []record.Investigation
	for place := (store.Place{}); ; {
		page := must(s.Investigations(ctx, store.Filter{Search: "needle", Limit: 7, Before: place}))(t)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		place = store.Place{StartedAt: page[len(page)-1].StartedAt, ID: page[len(page)-1].ID}
	}
	same(t, "the pages", got, want)
}

func workflowIDs(all []record.Investigation) (ids []string) {
	for _, r := range all {
		ids = append(ids, r.WorkflowID)
	}
	return ids
}

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
