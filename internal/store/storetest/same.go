package storetest

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// A record is found by the fingerprint of a later one with the same tenant and chain.
func testSame(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	of := func(id, workflow string, minute int) record.Investigation {
		r := investigation(id, workflow, minute)
		r.Tenant, r.Fingerprint = "acme", "disk"
		return r
	}
	runs, lost, done, failed := of("runs", "w1", 1), of("lost", "w9", 2), of("done", "w9", 3), of("failed", "w9", 4)
	later, foreign, plain := of("later", "w2", 8), of("foreign", "w3", 1), of("plain", "w4", 1)
	foreign.Tenant, plain.Fingerprint = "other", ""
	for _, r := range []record.Investigation{runs, lost, done, failed, later, foreign, plain} {
		ok(t, s.StartInvestigation(ctx, r))
	}
	done, failed = finished(done, agent.StatusCompleted), finished(failed, agent.StatusFailed)
	ok(t, s.FinishInvestigation(ctx, done))
	ok(t, s.FinishInvestigation(ctx, failed))
	mine := of("mine", "w9", 5)
	same(t, "running elsewhere, and completed", must(s.Same(ctx, mine, done.StartedAt))(t), []record.Investigation{runs, done})
	same(t, "too long ago", must(s.Same(ctx, mine, at(5)))(t), []record.Investigation{runs})
	same(t, "the first of them", must(s.Same(ctx, runs, done.StartedAt))(t), []record.Investigation(nil))
	same(t, "of none", must(s.Same(ctx, plain, time.Time{}))(t), []record.Investigation(nil))
}
