package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
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
