package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
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
	for _, id := range []string{"b", "c"} {
		ok(t, s.FinishInvestigation(ctx, finished(investigation(id, id, 1), agent.StatusCompleted)))
	}
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
		ok(t, s.Rate(ctx, r, withdraw, audit.Act{Investigation: of, At: now, Who: by, Channel: "test"}))
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
		"ended ": 1, "rated ": 6, "learning-withdrawn L3": 1, "learning-judged L1": 3, "learning-judged L2": 3,
	})
}

// reviewed is a store with investigations that people review.
type reviewed struct {
	*testing.T
	*store.Store
	all []record.Investigation
	now time.Time
}

// reviews makes an investigation for each status.
func reviews(t *testing.T, open opener, all ...agent.Status) *reviewed {
	w := &reviewed{T: t, Store: learnings(open), now: time.Now().UTC().Truncate(time.Second)}
	for n, status := range all {
		r := investigation(fmt.Sprint(n), fmt.Sprint(n), 1)
		r.Writer = "first"
		ok(t, w.StartInvestigation(t.Context(), r))
		if status.Closed() {
			r = finished(r, status)
			ok(t, w.FinishInvestigation(t.Context(), r))
		}
		w.all = append(w.all, r)
	}
	return w
}

// act carries out an action on an investigation, and rate rates it. key is that of the request; empty means none.
func (w *reviewed) act(n int, by string, action record.ReviewAction, key string) error {
	who := audit.Act{Investigation: w.all[n].ID, At: w.now, Who: by, Channel: "test", Key: key}
	_, err := w.ChangeReview(w.Context(), action, w.now, who)
	return err
}

func (w *reviewed) rate(n int, r record.Rating, key string) {
	w.Helper()
	r.Investigation = w.all[n].ID
	ok(w.T, w.Rate(w.Context(), r, nil, audit.Act{Investigation: r.Investigation, At: w.now, Who: r.By, Channel: "test", Key: key}))
}

// states checks the states of the reviews, and that lists select by them.
func (w *reviewed) states(want ...record.ReviewState) {
	w.Helper()
	reviews := must(w.Reviews(w.Context(), w.all))(w.T)
	for n, r := range w.all {
		state := record.ReviewState("")
		if review := reviews[r.ID]; review != nil {
			state = review.State
		}
		same(w.T, "state of "+r.ID, state, want[n])
		for _, state := range record.ReviewStates() {
			listed := must(w.Investigations(w.Context(), store.Filter{Review: state}))(w.T)
			is := slices.ContainsFunc(listed, func(one record.Investigation) bool { return one.ID == r.ID })
			if is != (state == want[n]) {
				w.Errorf("%s is %q; in the list of those that are %q: %t", r.ID, want[n], state, is)
			}
		}
	}
}

// testReviews: people's actions change the state of a review, and lists select by it.
func testReviews(t *testing.T, open opener) {
	w := reviews(t, open, agent.StatusCompleted, agent.StatusFailed, agent.StatusCancelled, agent.StatusRunning)
	const done, failed, stopped, running = 0, 1, 2, 3
	ctx := t.Context()
	w.states(record.NeedsReview, record.NeedsReview, record.Reviewed, "")
	ok(t, w.act(done, "ana", record.ReviewClaim, ""))
	w.states(record.InReview, record.NeedsReview, record.Reviewed, "")
	ok(t, w.act(done, "bob", record.ReviewClaim, "k1")) // takes it over
	ok(t, w.act(done, "ana", record.ReviewClaim, ""))
	ok(t, w.act(done, "bob", record.ReviewClaim, "k1")) // a retry: ana has it meanwhile
	mine := must(w.Investigations(ctx, store.Filter{Assignee: "ana"}))(t)
	if len(mine) != 1 || mine[0].ID != w.all[done].ID || len(must(w.Investigations(ctx, store.Filter{Assignee: "bob"}))(t)) != 0 {
		t.Errorf("claimed by ana: %v", mine)
	}
	ok(t, w.act(done, "bob", record.ReviewRelease, ""))
	w.states(record.NeedsReview, record.NeedsReview, record.Reviewed, "")
	w.rate(done, record.Rating{By: "ana", At: w.now, Rating: record.Partly}, "")
	w.rate(failed, record.Rating{By: "ana", At: w.now, Rating: record.Inaccurate}, "")
	w.states(record.Reviewed, record.Reviewed, record.Reviewed, "")
	same(t, "review", must(w.Reviews(ctx, w.all))(t)[w.all[done].ID], &record.Review{
		Investigation: w.all[done].ID, Run: "first", State: record.Reviewed, Assignee: "ana", AssignedAt: &w.now,
		Reviewer: "ana", ReviewedAt: &w.now,
	})
	unfit := func(n int, action record.ReviewAction) {
		t.Helper()
		if err := w.act(n, "ana", action, ""); !errors.Is(err, record.ErrReviewState) {
			t.Errorf("%s %s: %v", action, w.all[n].ID, err)
		}
	}
	unfit(done, record.ReviewClaim)
	unfit(done, record.ReviewRelease)
	unfit(running, record.ReviewClaim)
	ok(t, w.act(done, "ana", record.ReviewReopen, ""))
	ok(t, w.act(stopped, "ana", record.ReviewReopen, ""))
	w.states(record.NeedsReview, record.Reviewed, record.NeedsReview, "")
	unfit(done, record.ReviewReopen)
	unfit(done, record.ReviewRelease)
	ok(t, w.act(stopped, "", record.ReviewAcknowledge, "")) // without authentication
	w.states(record.NeedsReview, record.Reviewed, record.Reviewed, "")

	// Temporal was reset: another run takes over, and its result needs a review.
	again := w.all[failed]
	again.Writer, again.Status, again.EndedAt = "second", agent.StatusRunning, nil
	ok(t, w.StartInvestigation(ctx, again))
	unfit(failed, record.ReviewAcknowledge)
	w.all[failed].Writer = "second"
	ok(t, w.FinishInvestigation(ctx, w.all[failed]))
	w.states(record.NeedsReview, record.NeedsReview, record.Reviewed, "")
}

// testClaimRatings: a person's rating of claims stays until the person rates claims again. Their texts may be empty, or the same.
func testClaimRatings(t *testing.T, open opener) {
	w := reviews(t, open, agent.StatusCompleted)
	id, ctx := w.all[0].ID, t.Context()
	claims := []record.ClaimRating{
		{Claim: 2, Text: "It restarted.", Rating: record.Accurate}, {Claim: 3, Rating: record.Accurate},
		{Claim: 10, Text: "It restarted.", Rating: record.Inaccurate},
	}
	ana := record.Rating{Investigation: id, By: "ana", At: w.now, Rating: record.Partly, ActionTaken: "restarted it", Claims: claims}
	bob := record.Rating{Investigation: id, By: "bob", At: w.now, Rating: record.Accurate, Claims: claims[1:]}
	w.rate(0, ana, "")
	w.rate(0, bob, "")
	same(t, "ratings", must(w.Ratings(ctx, id))(t), []record.Rating{ana, bob})
	ana.Rating, ana.ActionTaken, ana.Claims = record.Inaccurate, "", nil
	w.rate(0, ana, "k1")
	ana.Claims = claims
	same(t, "rated without claims", must(w.Ratings(ctx, id))(t), []record.Rating{ana, bob})
	ana.Claims = claims[:1]
	w.rate(0, ana, "")
	w.rate(0, record.Rating{By: "ana", At: w.now, Rating: record.Accurate}, "k1") // a retry
	same(t, "rated again", must(w.Ratings(ctx, id))(t), []record.Rating{ana, bob})
	ok(t, w.act(0, "ana", record.ReviewAcknowledge, ""))
	same(t, "acknowledged", must(w.Ratings(ctx, id))(t), []record.Rating{ana, bob})
	var acts []string
	ok(t, w.Acts(ctx, record.ActFilter{Investigation: id}, func(a audit.Act) error {
		if a.What == audit.Rated || a.What == audit.ReviewChanged {
			acts = append(acts, fmt.Sprint(a.What, " ", a.Who, " ", string(a.Detail)))
		}
		return nil
	}))
	same(t, "acts", acts, []string{
		`rated ana {"action_taken":"restarted it","claims":"2 accurate, 3 accurate, 10 inaccurate","rating":"partly"}`,
		`rated bob {"claims":"3 accurate, 10 inaccurate","rating":"accurate"}`, `rated ana {"rating":"inaccurate"}`,
		`rated ana {"claims":"2 accurate","rating":"inaccurate"}`,
		`review-changed ana {"action":"acknowledge","assignee_before":"ana","before":"reviewed","state":"reviewed"}`,
	})
}

// testOutcomes: the latest rating and score of each ended investigation count.
func testOutcomes(t *testing.T, open opener) {
	w := reviews(t, open, agent.StatusCompleted, agent.StatusFailed, agent.StatusCancelled, agent.StatusRunning)
	ctx := t.Context()
	w.rate(0, record.Rating{By: "bob", At: w.now.Add(time.Second), Rating: record.Partly, Claims: []record.ClaimRating{
		{Claim: 1, Text: "a", Rating: record.Inaccurate},
	}}, "")
	w.rate(0, record.Rating{By: "ana", At: w.now, Rating: record.Accurate}, "")
	for n, model := range []string{"m2", "m1", "m2", ""} {
		run := record.Execution{Investigation: w.all[0].ID, Name: fmt.Sprint("s/", n), Stage: "s", Agent: "A", Model: model, StartedAt: w.now}
		ok(t, w.StartExecution(ctx, run, "first"))
		ok(t, w.SetModel(ctx, run))
	}
	for n, points := range []int{40, 60} {
		score := record.Score{Investigation: w.all[0].ID, N: n + 1, StartedAt: w.now, Run: fmt.Sprint(n)}
		score = must(w.BeginScore(ctx, score))(t)
		score.Score, score.EndedAt, score.Status = &points, &w.now, agent.StatusCompleted
		judge := record.Execution{Investigation: w.all[0].ID, Name: "judge", Type: "scoring", Model: "m3", StartedAt: w.now}
		ok(t, w.SaveScore(ctx, score, judge))
	}
	reset := w.all[1]
	w.rate(1, record.Rating{By: "ana", At: w.now, Rating: record.Inaccurate}, "") // of a result that another run replaces
	reset.Writer = "second"
	ok(t, w.StartInvestigation(ctx, reset))
	ok(t, w.FinishInvestigation(ctx, reset))
	all := must(w.Outcomes(ctx, store.Filter{}))(t)
	slices.SortFunc(all, func(a, b record.Outcome) int { return cmp.Compare(a.ID, b.ID) })
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	first := all[0]
	if first.Rating != record.Partly || first.Score == nil || *first.Score != 60 || !slices.Equal(first.Models, []string{"m1", "m2"}) ||
		first.Review != record.Reviewed || first.Status != agent.StatusCompleted || first.EndedAt.Sub(first.StartedAt) != time.Minute {
		t.Errorf("%+v", first)
	}
	if all[1].Rating != "" || all[1].Score != nil || all[1].Review != record.NeedsReview || all[2].Review != record.Reviewed {
		t.Errorf("%+v", all[1:])
	}
	for _, f := range []store.Filter{{Chain: "other"}, {Projects: []string{"other"}}, {Since: w.now.AddDate(1, 0, 0)}} {
		if none := must(w.Outcomes(ctx, f))(t); len(none) != 0 {
			t.Errorf("%+v: %d", f, len(none))
		}
	}
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
