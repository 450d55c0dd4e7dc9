package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// testRatings: the last rating of each person counts. While one rates an investigation inaccurate, it has no influence on others.
func testRatings(t *testing.T, open opener) {
	s, ctx, now := learnings(open), t.Context(), time.Now().UTC().Truncate(time.Second)
	must(s.Learn(ctx, "", learning.Taught{Investigation: "a", At: now, New: learnable("redis evicts keys", "kafka lags")}))(t)
	before := []learning.Learning{must(s.Learning(ctx, "", 1))(t), must(s.Learning(ctx, "", 2))(t)}
	wrong := learning.Taught{
		Investigation: "b", At: now.Add(time.Hour), New: learnable("nginx restarts"), Confirmed: []int64{1}, Contradicted: []int64{2},
	}
	must(s.Learn(ctx, "", wrong))(t)
	judged := []learning.Learning{must(s.Learning(ctx, "", 1))(t), must(s.Learning(ctx, "", 2))(t)}
	if judged[0].Confidence <= before[0].Confidence || judged[1].Confidence >= before[1].Confidence {
		t.Fatalf("judged: %+v", judged)
	}
	find := func(text string) []int64 {
		return idsOf(must(s.FindLearnings(ctx, learning.Query{Text: text, Limit: 5, Now: now}))(t))
	}
	rate := func(of, by string, verdict record.Verdict, withdraw *learning.Withdrawn) {
		t.Helper()
		r := record.Rating{Investigation: of, By: by, At: now, Rating: verdict, Note: "note of " + by}
		ok(t, s.Rate(ctx, "", r, withdraw, audit.Act{Investigation: of, At: now, Who: by, Channel: "test"}))
	}
	expect := func(what string, want []learning.Learning, found []int64, undone bool) {
		t.Helper()
		same(t, what, []learning.Learning{must(s.Learning(ctx, "", 1))(t), must(s.Learning(ctx, "", 2))(t)}, want)
		same(t, what+": found", find("nginx"), found)
		same(t, what+": in use", must(s.LearningsInUse(ctx, "", []int64{3}))(t), found)
		same(t, what+": judgements", must(s.Judgements(ctx, "", "b"))(t), []learning.Judgement{
			{Learning: 1, Investigation: "b", At: wrong.At, Confirms: true, Undone: undone},
			{Learning: 2, Investigation: "b", At: wrong.At, Undone: undone},
		})
	}
	rate("b", "ana", record.Partly, nil)
	expect("partly", judged, []int64{3}, false)
	rate("b", "ana", record.Inaccurate, nil)
	rate("b", "bob", record.Accurate, nil)
	expect("inaccurate", before, nil, true)
	rate("b", "ana", record.Accurate, nil)
	expect("accurate after all", judged, []int64{3}, false)
	same(t, "ratings", must(s.Ratings(ctx, "b"))(t), []record.Rating{
		{Investigation: "b", By: "ana", At: now, Rating: record.Accurate, Note: "note of ana"},
		{Investigation: "b", By: "bob", At: now, Rating: record.Accurate, Note: "note of bob"},
	})
	rate("b", "bob", record.Inaccurate, &learning.Withdrawn{By: "bob", At: now, Why: "wrong"})
	rate("b", "bob", record.Accurate, nil)
	expect("withdrawn", before, nil, true) // for good
	if one := must(s.Learning(ctx, "", 3))(t); one.Withdrawn == nil || one.Withdrawn.Why != "wrong" {
		t.Errorf("not withdrawn: %+v", one)
	}

	rate("c", "ana", record.Inaccurate, nil) // before it has taught anything
	late := learning.Taught{Investigation: "c", At: now, New: learnable("etcd is slow"), Confirmed: []int64{1}}
	same(t, "learned from an inaccurate one", must(s.Learn(ctx, "", late))(t), learning.Outcome{})
	rate("c", "ana", record.Accurate, nil)
	same(t, "learned later", must(s.Learn(ctx, "", late))(t), learning.Outcome{Created: []int64{4}, Confirmed: []int64{1}})

	acts := map[string]int{}
	ok(t, s.Acts(ctx, record.ActFilter{Investigation: "b"}, func(a audit.Act) error {
		acts[fmt.Sprint(a.What, " ", a.Call)]++
		return nil
	}))
	same(t, "acts", acts, map[string]int{
		"rated ": 6, "learning-withdrawn L3": 1, "learning-judged L1": 3, "learning-judged L2": 3,
	})
}

// testLearningsSearch: a search reads all learnings of a large project in batches, and finds the oldest one.
func testLearningsSearch(t *testing.T, open opener) {
	s, ctx := learnings(open), t.Context()
	taught := learning.Taught{Investigation: "a", At: time.Now(), New: learnable("the oldest")}
	for n := range 1100 {
		taught.New = append(taught.New, learnable(fmt.Sprint("number ", n))...)
	}
	must(s.Learn(ctx, "", taught))(t)
	ids := func(f learning.Filter) (all []int64) {
		for _, one := range must(s.Learnings(ctx, f))(t) {
			all = append(all, one.ID)
		}
		return all
	}
	same(t, "oldest", ids(learning.Filter{Search: "oldest", Limit: 5}), []int64{1})
	same(t, "first page", ids(learning.Filter{Search: "number", Limit: 2}), []int64{1101, 1100})
	same(t, "all", len(ids(learning.Filter{Search: "number"})), 1100)
	same(t, "before", ids(learning.Filter{Search: "number", Before: 3}), []int64{2})
}

// testLearningReads: the pages of reads hold every read once, from the newest page to the oldest, also if many reads have one time.
func testLearningReads(t *testing.T, open opener) {
	s, ctx := learnings(open), t.Context()
	must(s.Learn(ctx, "", learning.Taught{Investigation: "a", At: time.Now(), New: learnable("one", "two", "three")}))(t)
	var all, want []learning.Read
	for n := range 2*learning.MaxReads/3 + 200 {
		at := time.UnixMicro(int64(n/400) * 1e6).UTC()
		id := fmt.Sprintf("%04d", n)
		all = append(all,
			learning.Read{Learning: 1, Investigation: id, How: learning.Recalled, At: at},
			learning.Read{Learning: 1, Investigation: id, How: learning.Shown, At: at},
			learning.Read{Learning: 2, Investigation: id, How: learning.Shown, At: at},
			learning.Read{Learning: 3, Investigation: id, How: learning.Shown, At: at}) // not asked for
		want = append(want, all[len(all)-4:len(all)-1]...)
	}
	ok(t, s.NoteReads(ctx, "", all))
	f, sizes, got := learning.ReadFilter{Learnings: []int64{1, 2}}, []int{}, []learning.Read(nil)
	for more := true; more; f.Before = got[0] {
		page, older, err := s.LearningReads(ctx, f)
		if err != nil || len(page) == 0 {
			t.Fatalf("page %d: %d reads, %v", len(sizes)+1, len(page), err)
		}
		sizes, got, more = append(sizes, len(page)), append(page, got...), older
	}
	same(t, "pages", sizes, []int{learning.MaxReads, learning.MaxReads, len(want) - 2*learning.MaxReads})
	same(t, "reads", got, want)
	f = learning.ReadFilter{Investigation: "0007"}
	same(t, "of an investigation", readsOf(t, s, f), all[28:32])
	f.Before = all[29]
	same(t, "before", readsOf(t, s, f), all[28:29])
	f = learning.ReadFilter{Learnings: []int64{1}, Before: learning.Read{Learning: 1, Investigation: "0500", At: all[2000].At}}
	same(t, "reads of a full last page", len(readsOf(t, s, f)), learning.MaxReads)
}

// readsOf returns the reads that a filter selects, which must fit on one page.
func readsOf(t *testing.T, s *store.Store, f learning.ReadFilter) []learning.Read {
	t.Helper()
	page, more, err := s.LearningReads(t.Context(), f)
	if err != nil || more {
		t.Errorf("%d reads, more: %t, %v", len(page), more, err)
	}
	return page
}
