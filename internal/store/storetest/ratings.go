package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
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
	reads := make([]learning.Read, 0, learning.MaxReads+5)
	for n := range cap(reads) {
		at := time.UnixMicro(int64(n) * 1e6).UTC()
		reads = append(reads, learning.Read{Learning: 1, Investigation: fmt.Sprint(n), How: learning.Shown, At: at})
	}
	ok(t, s.NoteReads(ctx, "", reads))
	same(t, "newest reads", must(s.LearningReads(ctx, "", "", 1))(t), reads[5:])
}
