package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
)

func TestSchedulesAreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schedule agent.Schedule
		problems int
		says     string
	}{
		"interval":       {agent.Schedule{Name: "a-1", Every: "15m"}, 0, ""},
		"cron":           {agent.Schedule{Name: "a", Cron: []string{"0 8 * * MON-FRI", "@daily"}, Timezone: "Europe/Berlin"}, 0, ""},
		"nothing":        {agent.Schedule{}, 2, `either "every" or "cron"`},
		"both":           {agent.Schedule{Name: "a", Every: "1h", Cron: []string{"0 8 * * *"}}, 1, `either "every" or "cron"`},
		"too often":      {agent.Schedule{Name: "a", Every: "59s"}, 1, "at least 1m"},
		"no duration":    {agent.Schedule{Name: "a", Every: "daily"}, 1, "at least 1m"},
		"seconds":        {agent.Schedule{Name: "a", Cron: []string{"0 0 8 * * *"}}, 1, "five fields"},
		"zone in cron":   {agent.Schedule{Name: "a", Cron: []string{"CRON_TZ=UTC 8 * * *"}}, 1, `use "timezone"`},
		"interval by @":  {agent.Schedule{Name: "a", Cron: []string{"@every 5s"}}, 1, `"every" instead`},
		"many times":     {agent.Schedule{Name: "a", Cron: slicesOf("0 8 * * *", 21)}, 1, "the limit is 20"},
		"zone":           {agent.Schedule{Name: "a", Every: "1h", Timezone: "Mars"}, 1, `"timezone" is "Mars"`},
		"name":           {agent.Schedule{Name: "A/b", Every: "1h"}, 1, `the name of the schedule is "A/b"`},
		"negative limit": {agent.Schedule{Name: "a", Every: "1h", MaxCostPerDay: -1}, 1, "negative"},
		"everything":     {agent.Schedule{Name: "-", Every: "1s", Cron: []string{""}, Timezone: "Local", MaxCostPerDay: -1}, 6, "Local"},
	} {
		errs := tt.schedule.Validate()
		if said := errors.Join(errs...); len(errs) != tt.problems || said != nil && !strings.Contains(said.Error(), tt.says) {
			t.Errorf("%s: %v", name, errs)
		}
	}
	req := agent.Request{Chain: "c", Schedule: &agent.Schedule{Name: "a", Every: "1h"}}
	if err := req.Validate(); err != nil {
		t.Error(err)
	}
	req.Fingerprint = "f"
	if err := req.Validate(); err == nil || !strings.Contains(err.Error(), "session of its own") {
		t.Error(err)
	}
	alone := agent.Request{Chain: "c", Labels: agent.Labels{Session: "schedule/a"}}
	if err := alone.Validate(); err == nil || !strings.Contains(err.Error(), "for what schedules start") {
		t.Error(err)
	}
}

func slicesOf(text string, n int) (all []string) {
	for range n {
		all = append(all, text)
	}
	return all
}

// A check is news if its verdict or the set of its problems has changed, but not if only the details or the spelling have.
func TestChecksAreCompared(t *testing.T) {
	t.Parallel()
	pool, disk := agent.Problem{Name: "Pool of checkout exhausted", Detail: "20 of 20"}, agent.Problem{Name: "disk full"}
	before := func(v agent.Verdict, names ...string) *agent.EarlierCheck {
		return &agent.EarlierCheck{Verdict: v, Problems: names}
	}
	for name, tt := range map[string]struct {
		now     agent.Check
		before  *agent.EarlierCheck
		changed bool
		lines   string
	}{
		"first": {agent.Check{Verdict: agent.VerdictOK}, nil, true, "Verdict: ok (first check)."},
		"first problem": {agent.Check{Verdict: agent.VerdictProblem, Problems: []agent.Problem{disk}}, nil, true,
			"Verdict: problem (first check).\nNew: disk full"},
		"still ok": {agent.Check{Verdict: agent.VerdictOK}, before(agent.VerdictOK), false, "Verdict: ok (unchanged)."},
		"breaks": {agent.Check{Verdict: agent.VerdictProblem, Problems: []agent.Problem{pool}}, before(agent.VerdictOK), true,
			"Verdict: problem (was ok).\nNew: Pool of checkout exhausted"},
		"same problem": {agent.Check{Verdict: agent.VerdictProblem, Problems: []agent.Problem{pool}},
			before(agent.VerdictProblem, "pool of checkout exhausted"), false, "Verdict: problem (unchanged)."},
		"other problem": {agent.Check{Verdict: agent.VerdictProblem, Problems: []agent.Problem{pool, disk}},
			before(agent.VerdictProblem, "dns fails", "disk full"), true,
			"Verdict: problem.\nNew: Pool of checkout exhausted\nGone: dns fails"},
		"recovers": {agent.Check{Verdict: agent.VerdictOK}, before(agent.VerdictProblem, "disk full"), true,
			"Verdict: ok (was problem).\nGone: disk full"},
		"blind": {agent.Check{Verdict: agent.VerdictUnknown, Error: "no tool"}, before(agent.VerdictProblem, "disk full"), true,
			"Verdict: unknown (was problem).\nReason: no tool"},
		"still blind": {agent.Check{Verdict: agent.VerdictUnknown, Error: "another"}, before(agent.VerdictUnknown), false,
			"Verdict: unknown (unchanged).\nReason: another"},
	} {
		got := tt.now.After(tt.before)
		if diff := cmp.Diff(tt.lines, strings.Join(got.Lines(), "\n")); got.Changed != tt.changed || diff != "" {
			t.Errorf("%s: changed %v (-want +got):\n%s", name, got.Changed, diff)
		}
	}
}
