package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// testNotifications: what people are told about is written once somebody sends notifications, and each channel gets it in order.
func testNotifications(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	early := investigation("early", "early", 1)
	ok(t, s.StartInvestigation(ctx, early))
	due := func(what string, want ...string) (all []record.Notification) {
		t.Helper()
		all = must(s.DueNotifications(ctx, 10))(t)
		var got []string
		for _, m := range all {
			got = append(got, fmt.Sprintf("%s/%d %s%d", m.Investigation, m.Act, m.Channel, m.Escalation))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		return all
	}
	due("nobody sends notifications")

	if !must(s.Lease(ctx, record.NotificationsLease, "a", time.Minute))(t) {
		t.Fatal("no lease")
	}
	news, stop := s.AnyNews()
	defer stop()
	r := investigation("inv", "flow", 1)
	r.Writer = "r1"
	ok(t, s.StartInvestigation(ctx, r))
	<-news
	ok(t, s.SetWaiting(ctx, waitsOf("inv", "r1", agent.StatusWaitingApproval, 1, "c1")))
	ok(t, s.SetWaiting(ctx, waitsOf("inv", "r1", agent.StatusWaitingApproval, 1, "c1"))) // a repeated activity
	first := due("only the first of an investigation", "inv/1 0")[0]
	if first.At.IsZero() {
		t.Error("a notification without a time")
	}

	a, b, later := first, first, first
	a.Channel, b.Channel, later.Channel, later.Escalation, later.Due = "a", "b", "a", 1, time.Now().Add(time.Hour)
	ok(t, s.ReplaceNotification(ctx, first.N, later, a, b)) // an escalation that is not due delays nothing
	ok(t, s.ReplaceNotification(ctx, first.N, a))
	all := due("routed", "inv/2 0", "inv/1 a0", "inv/1 b0")

	second := all[0]
	second.Channel = "a"
	ok(t, s.ReplaceNotification(ctx, second.N, second))
	all = due("one for each channel", "inv/1 a0", "inv/1 b0")
	ok(t, s.PostponeNotification(ctx, all[0].N, time.Hour))
	due("the next one waits for one that has failed", "inv/1 b0")
	ok(t, s.PostponeNotification(ctx, all[0].N, -time.Second))
	if got := due("tried again", "inv/1 a0", "inv/1 b0"); got[0].Tries != 2 {
		t.Errorf("tries: %d", got[0].Tries)
	}
	ok(t, s.ReplaceNotification(ctx, all[0].N))
	ok(t, s.ReplaceNotification(ctx, all[1].N))
	last := due("sent", "inv/2 a0")
	var many []record.Notification
	for n := range 12 {
		other := last[0]
		if other.Investigation, other.Channel = fmt.Sprintf("other%d", n), "c"; n == 11 {
			other.Channel = "d"
		}
		many = append(many, other)
	}
	ok(t, s.ReplaceNotification(ctx, last[0].N, append(many, last[0])...))
	if all := must(s.DueNotifications(ctx, 10))(t); len(all) != 12 || all[10].Channel != "d" || all[11].Channel != "a" {
		t.Errorf("ten of each channel: %+v", all)
	}
	for _, m := range append(must(s.DueNotifications(ctx, 20))(t), last...) {
		ok(t, s.ReplaceNotification(ctx, m.N))
	}

	if !must(s.Lease(ctx, record.NotificationsLease, "a", 0))(t) {
		t.Error("the lease was not given back")
	}
	ok(t, s.FinishInvestigation(ctx, finished(r, agent.StatusFailed)))
	due("the sender has stopped a moment ago", "inv/3 0")
}

// testScheduleRuns: the cost of a schedule includes judges, agents that learn, and what still runs. Its last verdict is found behind
// investigations without one, and a check that brings no news needs no review.
func testScheduleRuns(t *testing.T, open opener) {
	s, ctx := learnings(open), t.Context()
	of := agent.Schedule{ID: "s-1", Name: "nightly", Every: "1h", Check: true}
	run := func(id, project string, minute int, of agent.Schedule, cost float64, status agent.Status, check *agent.Check) {
		r := investigation(id, id, minute)
		r.Project, r.Session, r.Writer, r.Envelope.Schedule = project, of.Session(), "first", &of
		ok(t, s.StartInvestigation(ctx, r))
		must(s.Append(ctx, transcript.Step{
			Scope: transcript.Scope{Investigation: id, Execution: ":score/Judge"}, Writer: transcript.Writer{RunID: "r", ActivityID: "1"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{
				Answer: transcript.Answer{Usage: &agent.Usage{CostUSD: cost}},
			}}},
		}))(t)
		if r = finished(r, status); status.Closed() {
			r.Envelope.Check = check
			ok(t, s.FinishInvestigation(ctx, r))
		}
	}
	first := agent.Check{Verdict: agent.VerdictProblem, Problems: []agent.Problem{{Name: "b"}, {Name: "a"}}}.After(nil)
	before := agent.EarlierCheck{Investigation: "old", At: at(2).UTC(), Verdict: agent.VerdictProblem, Problems: []string{"a", "b"}}
	unchanged := first.After(&before)
	another := of
	another.ID = "s-2" // created after the first was deleted
	run("old", "", 1, of, 1, agent.StatusCompleted, &first)
	run("same", "", 10, of, 2, agent.StatusCompleted, &unchanged)
	run("reset", "", 15, of, 4, agent.StatusTerminated, &first)
	run("none", "", 20, of, 8, agent.StatusCompleted, nil)
	run("elsewhere", "shop", 30, of, 16, agent.StatusCompleted, &first)
	run("runs", "", 40, of, 32, agent.StatusRunning, nil)
	run("another", "", 50, another, 64, agent.StatusCompleted, &unchanged)

	runs := must(s.ScheduleRuns(ctx, agent.DefaultProject, of, "", at(0)))(t)
	if runs.CostUSD != 1+2+4+8+32+64 || runs.Last.ID != "another" || runs.Check.ID != "same" {
		t.Errorf("all: %+v, %+v, %+v", runs, runs.Last, runs.Check)
	}
	before.Investigation, before.At = "same", at(11).UTC()
	same(t, "the last verdict", runs.Earlier(), &before)
	runs = must(s.ScheduleRuns(ctx, agent.DefaultProject, of, "same", at(5)))(t)
	if runs.CostUSD != 4+8+32+64 || runs.Check.ID != "old" {
		t.Errorf("since then, without one: %+v, %+v", runs, runs.Check)
	}
	if runs = must(s.ScheduleRuns(ctx, agent.DefaultProject, another, "", at(0)))(t); runs.Check.ID != "another" {
		t.Errorf("another schedule of that name: %+v", runs.Check)
	}
	runs = must(s.ScheduleRuns(ctx, agent.DefaultProject, agent.Schedule{Name: "other"}, "", time.Time{}))(t)
	if runs.Last != nil || runs.Earlier() != nil {
		t.Errorf("another schedule: %+v", runs)
	}
	var review []string
	for _, r := range must(s.Investigations(ctx, record.Filter{Review: record.NeedsReview}))(t) {
		review = append(review, r.ID)
	}
	same(t, "to review", review, []string{"elsewhere", "none", "old"})
	if r := must(s.Investigation(ctx, "same"))(t); record.ReviewOf(r, nil).State != record.Reviewed {
		t.Errorf("a check without news: %+v", record.ReviewOf(r, nil))
	}
	if r := must(s.Investigation(ctx, "reset"))(t); r.Unchanged() {
		t.Error("a check that was terminated is no news")
	}
}
