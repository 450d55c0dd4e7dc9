package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/workflows"
)

const circuitConfig = `
llm_providers:
  dead: {type: openai, model: dead-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  spare: {type: openai, model: spare-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
agents:
  Solo: {description: looks}
defaults: {llm_provider: dead}
agent_chains:
  alone: {alert_types: [alone], stages: [{name: dig, replicas: 5, agents: [{name: Solo}]}]}
  backed: {alert_types: [backed], fallback_providers: [{provider: spare}], stages: [{name: dig, agents: [{name: Solo}]}]}
`

// graveyard is a model that is down until it is raised. It records the times of the requests in between.
type graveyard struct {
	mu      sync.Mutex
	raised  bool
	asked   []time.Time
	replies int
}

func (g *graveyard) reply(req llmtest.Request) llmtest.Reply {
	g.mu.Lock()
	defer g.mu.Unlock()
	if req.Model == "dead-1" && !g.raised {
		g.asked = append(g.asked, time.Now())
		return llmtest.Status(503, "away")
	}
	g.replies++
	return llmtest.Text("the pool is too small")
}

// TestLongDeadProvider has forty agents on four workers use a dead model. They ask it no more than ten times a minute, agents with a
// fallback continue at once, and when it answers again all complete without losing an iteration.
func TestLongDeadProvider(t *testing.T) {
	takesLong(t)
	t.Parallel()
	var dead graveyard
	w := newWorld(t, dead.reply, circuitConfig)
	w.store = postgrestest.Start(t).Database(t, "circuits")
	w.env = append(w.env, "INQUEST_STORE="+w.store)
	w.dev("--no-worker")
	workers := make([]*process, 4)
	for n := range workers {
		workers[n] = w.worker()
	}
	for n := range 8 {
		w.must("run", "--detach", "--chain", "alone", "--data", "x", "--workflow-id", fmt.Sprint("alone-", n))
	}
	eventually(t, "the status says that the model is not called", func() bool {
		said := w.must("status", "alone-0")
		return strings.Contains(said, "waiting_provider") && strings.Contains(said, "not called since")
	})
	if said, _, _ := w.starter("", "doctor"); !strings.Contains(said, "dead-1") || !strings.Contains(said, "not called since") {
		t.Errorf("doctor:\n%s", said)
	}
	if said := w.must("run", "--chain", "backed", "--data", "x", "--workflow-id", "backed"); !strings.Contains(said, "spare-1 takes over") {
		t.Errorf("with a fallback:\n%s", said)
	}
	workers[0].kill() // perhaps during a probe
	time.Sleep(70 * time.Second)
	dead.mu.Lock()
	dead.raised = true
	for n := 10; n < len(dead.asked); n++ {
		if within := dead.asked[n].Sub(dead.asked[n-10]); within < time.Minute {
			t.Errorf("eleven calls within %s", within)
		}
	}
	t.Logf("asked %d times in 90 s", len(dead.asked))
	if len(dead.asked) < 4 {
		t.Errorf("asked %d times: no probe", len(dead.asked))
	}
	dead.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // an agent tries again within five minutes
	defer cancel()
	for n := range 8 {
		var result workflows.InvestigationResult
		err := w.client().GetWorkflow(ctx, fmt.Sprint("alone-", n), "").Get(ctx, &result)
		if err != nil || result.Status != agent.StatusCompleted {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if dead.replies != 8*6+1 { // five agents and the synthesis
		t.Errorf("%d replies", dead.replies)
	}
}

// TestSickBesideTwenty: a conversation that the provider fails does not delay twenty others of the same model.
// The log has the medians of their durations, without it and beside it. Before circuits counted conversations,
// the second was over 25 s.
func TestSickBesideTwenty(t *testing.T) {
	t.Parallel()
	const healthy = 20
	var poisoned atomic.Int32
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if strings.Contains(string(req.Body), "POISON") {
			poisoned.Add(1)
			return llmtest.Status(500, `{"error":{"message":"cannot parse the arguments"}}`)
		}
		return llmtest.Text("the pool is too small").Chunked(5, 50*time.Millisecond)
	}, strings.Replace(circuitConfig, "replicas: 5, ", "", 1))
	w.dev()
	median := func(name string) time.Duration {
		var all []time.Duration
		for n := range healthy {
			w.beginWith(fmt.Sprint(name, n), agent.Request{Chain: "alone", Data: json.RawMessage(`"x"`)})
		}
		for n := range healthy {
			result := w.ended(fmt.Sprint(name, n))
			if result.Status != agent.StatusCompleted || result.EndedAt == nil {
				t.Fatalf("a healthy investigation is %s: %s", result.Status, result.Error)
			}
			all = append(all, result.EndedAt.Sub(result.StartedAt))
		}
		slices.Sort(all)
		return all[healthy/2]
	}
	median("warm")
	alone := median("alone")
	w.beginWith("sick", agent.Request{Chain: "alone", Data: json.RawMessage(`"POISON"`)})
	eventually(t, "the sick conversation fails twice", func() bool { return poisoned.Load() >= 2 })
	beside := median("beside")
	t.Logf("median of %d investigations: %s alone, %s beside a sick conversation (%+.0f %%)", healthy, alone, beside,
		100*(float64(beside)/float64(alone)-1))
	if beside > 2*alone+2*time.Second { // a busy machine also makes a difference
		t.Errorf("the median is %s, and %s beside a sick conversation", alone, beside)
	}
	if said, _, _ := w.starter("", "doctor"); strings.Contains(said, "not called since") {
		t.Errorf("the circuit is open:\n%s", said)
	}
	median("others") // complete meanwhile
	if result := w.ended("sick"); result.Status != agent.StatusFailed || !strings.Contains(result.Error, "fails on this conversation") {
		t.Errorf("the sick investigation is %s: %s", result.Status, result.Error)
	}
	if n := poisoned.Load(); n > 12 {
		t.Errorf("the sick conversation was tried %d times, want at most 12", n)
	}
}
