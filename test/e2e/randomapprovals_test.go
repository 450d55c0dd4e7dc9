package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// hasty is a chain in which people have two seconds.
const hasty = `
  hasty:
    alert_types: [hasty]
    stages: [{name: dig, agents: [{name: Alpha, tool_config: {approval_timeout: 2s}}]}]
`

// TestLongRandomApprovals: people approve, edit, deny, ask back or come too late, the worker is killed, and the agent is reset
// to wherever, in any order. Nothing is made that was not approved in exactly this form, nothing twice for one approval,
// and nothing that was approved is lost. What the tool's server was called with is known by what it has written.
func TestLongRandomApprovals(t *testing.T) {
	takesLong(t)
	t.Parallel()
	playApprovals(t, 6, 32)
}

// TestSoakRandomApprovals is the same with others each time.
func TestSoakRandomApprovals(t *testing.T) {
	soaks(t)
	t.Parallel()
	playApprovals(t, 40, anySeed())
}

// callsOfTurn are how many calls the agent asks for in each of its turns.
var callsOfTurn = []int{1, 2, 1}

func playApprovals(t *testing.T, plays int, seed uint64) {
	t.Logf("seed %d", seed)
	of := regexp.MustCompile(`case-(play\d+)`)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		text, _ := json.Marshal(req.Messages)
		turn, calls := turnOf(req), []llmtest.Call{}
		if turn > len(callsOfTurn) {
			return llmtest.Text("done")
		}
		for n := range callsOfTurn[turn-1] {
			file := fmt.Sprintf(`{"file":"made-case-%s.%d-%d"}`, of.FindSubmatch(text)[1], turn, n)
			calls = append(calls, llmtest.Call{Name: "lab__counter", Args: file})
		}
		return llmtest.Calls(calls...)
	}, gatedConfig+hasty)
	w.dev("--no-worker")
	shared := &shared{did: map[string]int{}, worker: w.worker(), restart: func() *process { return w.worker() }}
	t.Run("plays", func(t *testing.T) {
		for n := range plays {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				chain := "lab"
				if n%3 == 2 {
					chain = "hasty"
				}
				p := play{
					gated:  newGated(w.of(t), fmt.Sprintf("play%d", n), chain),
					shared: shared, random: rand.New(rand.NewPCG(seed, uint64(n))), late: chain == "hasty",
				}
				p.play()
				p.finish(true)
				p.count("made", p.check(false))
				p.whole()
			})
		}
	})
	t.Log(shared.did)
	for _, what := range []string{"approved", "edited", "denied", "asked", "reset", "killed", "made", "expired"} {
		if shared.did[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
}

// shared is what the plays have in common.
type shared struct {
	mu      sync.Mutex
	did     map[string]int
	worker  *process
	restart func() *process
}

func (s *shared) count(what string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did[what] += n
}

// kill has the worker go, and another one come.
func (s *shared) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker.kill()
	s.worker = s.restart()
	s.did["killed"]++
}

// play is one investigation, and what happens to it.
type play struct {
	gated
	*shared
	random *rand.Rand
	late   bool // nobody decides on the first call in time
}

const (
	moves    = 10
	maxKills = 4
)

// move is what people do about a call, and what happens then.
type move struct{ what, then string }

// drawn are the moves of a play: they do not hang on how often it is looked at meanwhile.
func drawn(random *rand.Rand) (all []move) {
	whats := []string{"approved", "approved", "edited", "denied", "asked", "left"}
	thens := []string{"reset", "reset", "killed", "", ""}
	for range moves {
		all = append(all, move{whats[random.IntN(len(whats))], thens[random.IntN(len(thens))]})
	}
	return all
}

// play has people do something about a call that waits, again and again, while any does.
func (p *play) play() {
	for n, move := range drawn(p.random) {
		d, what := workflows.Decide{Approved: new(true)}, move.what
		switch what {
		case "edited":
			d.Arguments = json.RawMessage(fmt.Sprintf(`{"file":"edited-case-%s.%d"}`, p.name, n))
		case "denied":
			d.Approved = new(false)
		case "asked":
			d.Approved, d.Ask = nil, "why?"
		}
		waits := true
		eventually(p.t, p.name+" is "+what, func() bool { // what the status says may be of before the last reset
			var call workflows.Approval
			call, waits = p.next()
			return !waits || what == "left" || p.decide(call, d)
		})
		if !waits {
			return
		}
		p.count(what, 1)
		switch {
		case move.then == "reset":
			p.resetAnywhere()
		case move.then == "killed" && p.mayKill():
			p.kill()
		}
	}
}

func (p *play) mayKill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.did["killed"] < maxKills
}

// next is one of the calls that wait; false = the investigation has ended.
func (p *play) next() (call workflows.Approval, waits bool) {
	p.t.Helper()
	c := p.client()
	eventually(p.t, p.name+" waits or ends", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		var status workflows.Status
		value, err := c.QueryWorkflow(ctx, p.name, "", workflows.QueryStatus)
		if err != nil || value.Get(&status) != nil {
			return false // the worker is not back yet
		}
		open := slices.DeleteFunc(status.Waiting, func(a workflows.Approval) bool { return p.late && a.CallID == "c1_0" })
		if waits = len(open) > 0; waits {
			call = open[p.random.IntN(len(open))]
		}
		return waits || status.Status.Closed()
	})
	return call, waits
}

// resetAnywhere resets the agent to any of its workflow tasks.
func (p *play) resetAnywhere() {
	p.t.Helper()
	var points []int64
	eventually(p.t, p.name+" has a task to be reset to", func() bool { // a run that was reset to its first one has none at once
		points = p.tasks()
		return len(points) > 0
	})
	p.resetTo(points[p.random.IntN(len(points))], p.random.Int())
	p.count("reset", 1)
}

// whole looks for a result of each call: one that expired says so.
func (p *play) whole() {
	p.t.Helper()
	results := map[string]int{}
	for _, e := range p.callsOf(p.id, "lab.counter") {
		if e.Kind != transcript.KindResult {
			continue
		}
		if strings.Contains(e.Text, "nobody decided in time") {
			p.count("expired", 1)
		}
		if !e.Superseded {
			results[e.Call.ID]++
		}
	}
	if events := p.history(p.agent()); events[len(events)-1].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
		p.t.Log("it was reset when it had just ended: nobody waits for its new run")
		return
	}
	for turn, calls := range callsOfTurn {
		for n := range calls {
			if id := fmt.Sprintf("c%d_%d", turn+1, n); results[id] != 1 {
				p.t.Errorf("%s has %d results", id, results[id])
			}
		}
	}
}
