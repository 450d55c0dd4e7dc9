package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/system"
)

const checkConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY, prices: {input: 0, output: 1000}}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model}
agents:
  Alpha: {description: looks, mcp_servers: [lab]}
agent_chains:
  health: {stages: [{name: look, agents: [{name: Alpha}]}]}
`

// scheduler is an installation with a schedule.
type scheduler struct {
	*world
	schedules func() []system.Schedule
}

func (s scheduler) one(name string) (found system.Schedule) {
	s.t.Helper()
	all := s.schedules()
	n := slices.IndexFunc(all, func(one system.Schedule) bool { return one.Name == name })
	if n >= 0 {
		found = all[n]
	}
	return found
}

// ends waits until the given number of investigations of a schedule have ended, and returns the schedule.
func (s scheduler) ends(name string, runs int) (now system.Schedule) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d investigations of %s have ended", runs, name), func() bool {
		var listed []struct {
			EndedAt *string `json:"ended_at"`
		}
		s.decode(&listed, "list", "--session", "schedule/"+name, "--json")
		now = s.one(name)
		return len(listed) == runs && !slices.ContainsFunc(listed, func(r struct {
			EndedAt *string `json:"ended_at"`
		}) bool {
			return r.EndedAt == nil
		}) && now.Running == ""
	})
	return now
}

// TestSchedules creates, runs, pauses and deletes schedules on a real Temporal, from the CLI with access to Temporal and through the HTTP
// API. It needs processes because Temporal starts the investigations. A check is compared with the one before, also across a kill.
func TestSchedules(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		switch who := prompt.AgentOf(req.System()); {
		case who == "ExecSummaryAgent" && bad.Load():
			return llmtest.Text(`{"verdict":"problem","problems":[{"name":"pool exhausted","detail":"20 of 20"}],"summary":"The pool is full."}`)
		case who == "ExecSummaryAgent":
			return llmtest.Text(`{"verdict":"ok","problems":[],"summary":"All is well."}`)
		case turnOf(req) == 1:
			return llmtest.Calls(llmtest.Call{Name: "lab__add", Args: `{"a":2,"b":3}`})
		}
		return llmtest.Text("Five connections are in use.")
	}, checkConfig)
	dev := w.dev()
	s := scheduler{world: w, schedules: func() (all []system.Schedule) {
		w.decode(&all, "schedule", "list", "--json")
		return all
	}}
	create := func(name, chain string, more ...string) []string {
		return append([]string{"schedule", "create", name, "--chain", chain, "--data", "are the pools well? password: hunter2hunter2"}, more...)
	}
	w.with("INQUEST_CONFIG="+w.config).mustFail(2, `unknown chain "helth"`, create("x", "helth", "--every", "1h")...)
	w.mustFail(2, `either "every" or "cron"`, create("x", "health")...)
	w.mustFail(2, "Temporal has refused the schedule", create("x", "health", "--cron", "61 8 * * *")...)
	w.mustFail(2, "no schedule x in this project", "schedule", "pause", "x")

	w.must(create("pools", "health", "--every", "720h", "--check")...)
	w.mustFail(2, "has a schedule pools already", create("pools", "health", "--every", "1h")...)
	eventually(t, "Temporal lists the schedule", func() bool { return s.one("pools").Next != nil })
	w.must("schedule", "pause", "pools", "--reason", "too early")
	if out := w.must("schedule", "list"); !strings.Contains(out, "paused by ") || !strings.Contains(out, ": too early") {
		t.Errorf("paused:\n%s", out)
	}
	w.must("schedule", "run", "pools") // although it is paused
	now := s.ends("pools", 1)
	if c := now.LastCheck.Check; c.Verdict != agent.VerdictOK || !c.Changed || now.Next != nil {
		t.Errorf("the first check: %+v", now)
	}
	out := w.must("show", now.LastCheck.ID)
	if !strings.Contains(out, "Verdict: ok (first check).\nAll is well.") || strings.Contains(out, "hunter2") {
		t.Errorf("the first check:\n%s", out)
	}
	w.must("schedule", "resume", "pools")
	w.must("schedule", "run", "pools")
	if c := s.ends("pools", 2).LastCheck.Check; c.Verdict != agent.VerdictOK || c.Changed {
		t.Errorf("the same verdict: %+v", c)
	}
	dev.kill()
	w.dev()
	bad.Store(true)
	w.must("schedule", "run", "pools")
	if c := s.ends("pools", 3).LastCheck.Check; c.Verdict != agent.VerdictProblem || !slices.Equal(c.New, []string{"pool exhausted"}) {
		t.Errorf("another verdict: %+v", c)
	}
	if last := w.lastRequestOf("ExecSummaryAgent"); !strings.Contains(last.Last().Text(), "Verdict: ok") {
		t.Errorf("the agent does not know the check before:\n%s", last.Last().Text())
	}
	if out := w.must("list", "--review", "needs_review"); strings.Count(out, "pools-") != 2 {
		t.Errorf("to review:\n%s", out)
	}
	if out := w.must("audit"); strings.Count(out, "schedule-changed") != 6 {
		t.Errorf("the audit trail:\n%s", out)
	}
	w.must("schedule", "delete", "pools")
	eventually(t, "Temporal does not list it", func() bool { return len(s.schedules()) == 0 })
	if out := w.must("list", "--session", "schedule/pools"); strings.Count(out, "pools-") != 3 {
		t.Errorf("its investigations:\n%s", out)
	}
}

// TestSchedulesOfProjects: through the API, a schedule belongs to a project and to the person who created it. Its cost has a limit.
func TestSchedulesOfProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply { return llmtest.Text("Five connections are in use.") }, checkConfig)
	env := func(token string) []string {
		return []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "TEMPORAL_ADDRESS=127.0.0.1:1", "INQUEST_TOKEN=" + token,
			"TEMPORAL_CONFIG_FILE=" + filepath.Join(t.TempDir(), "none.toml"),
		}
	}
	const ada, bob = "a token of thirty-two characters", "another token of 32 characters.."
	w.configure(checkConfig + fmt.Sprintf("system: {timezone: Europe/Berlin, http: {tokens: {\n"+
		"  ada: {sha256: %x, role: operator, projects: [shop]}, bob: {sha256: %x, role: viewer, projects: [bank]}}}}\n",
		sha256.Sum256([]byte(ada)), sha256.Sum256([]byte(bob))))
	w.dev("--no-worker")
	address := freeAddress(t)
	w.worker("--http", address)
	of := func(token string) scheduler {
		laptop := *w
		laptop.env = append(env(token), "INQUEST_SERVER=http://"+address)
		return scheduler{world: &laptop, schedules: func() (all []system.Schedule) {
			laptop.decode(&all, "schedule", "list", "--json")
			return all
		}}
	}
	s, other := of(ada), of(bob)
	s.mustFail(2, `unknown chain "helth"`, "schedule", "create", "x", "--chain", "helth", "--every", "1h", "--data", "x")
	s.must("schedule", "create", "pools", "--chain", "health", "--cron", "0 8 * * MON", "--max-cost-per-day", "0.005", "--data", "well?")
	eventually(t, "Temporal lists the schedule", func() bool { return s.one("pools").Next != nil })
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := s.one("pools")
	if now.Project != "shop" || now.By != "ada" || now.Timezone != berlin.String() || now.Next.In(berlin).Hour() != 8 {
		t.Errorf("%+v", now)
	}
	if all := other.schedules(); len(all) != 0 {
		t.Errorf("another project sees %+v", all)
	}
	other.mustFail(1, "", "schedule", "delete", "pools", "--project", "shop")
	s.must("schedule", "run", "pools")
	if now = s.ends("pools", 1); now.CostUSD < 0.005 || now.Last.Status != agent.StatusCompleted {
		t.Errorf("after the first: %+v", now)
	}
	s.must("schedule", "run", "pools")
	if now = s.ends("pools", 2); now.Last.Status != agent.StatusRefused {
		t.Errorf("beyond the limit: %+v", now)
	}
	var shown struct{ Investigation struct{ Error string } }
	if err := json.Unmarshal([]byte(s.must("show", now.Last.ID, "--json")), &shown); err != nil ||
		!strings.Contains(shown.Investigation.Error, "the schedule pools has reached its limit") {
		t.Errorf("%+v, %v", shown, err)
	}
}
