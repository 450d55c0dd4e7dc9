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

// hasty is a chain in which people have two seconds to decide.
const hasty = `
  hasty:
    alert_types: [hasty]
    stages: [{name: dig, agents: [{name: Alpha, tool_config: {approval_timeout: 2s}}]}]
`

// TestLongRandomApprovals has people approve, edit, deny, ask back or come too late, while the worker is killed and the agent is reset
// to random points, in any order. No call is made that was not approved in exactly this form, none is made twice for one approval, and
// no approved call is lost. The tool server's own output shows the calls that it received.
func TestLongRandomApprovals(t *testing.T) {
	takesLong(t)
	t.Parallel()
	playApprovals(t, 6, 32)
}

// TestSoakRandomApprovals does the same with a different seed each time.
func TestSoakRandomApprovals(t *testing.T) {
	soaks(t)
	t.Parallel()
	playApprovals(t, 40, anySeed())
}

// callsOfTurn is the number of calls in each of the agent's turns.
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

// shared holds what the plays have in common.
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

// kill kills the worker and starts another one.
func (s *shared) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker.kill()
	s.worker = s.restart()
	s.did["killed"]++
}

// play is one investigation and the events that disturb it.
type play struct {
	gated
	*shared
	random *rand.Rand
	late   bool // the first call gets no decision in time
}

const (
	moves    = 10
	maxKills = 4
)

// move is a person's response to a call and the event that follows.
type move struct{ what, then string }

// drawn returns the moves of a play. They do not depend on how often the play is polled.
func drawn(random *rand.Rand) (all []move) {
	whats := []string{"approved", "approved", "edited", "denied", "asked", "left"}
	thens := []string{"reset", "reset", "killed", "", ""}
	for range moves {
		all = append(all, move{whats[random.IntN(len(whats))], thens[random.IntN(len(thens))]})
	}
	return all
}

// play responds to waiting calls until none is left.
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
		eventually(p.t, p.name+" is "+what, func() bool { // the status may predate the last reset
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

// next returns one of the waiting calls; false means that the investigation has ended.
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
	eventually(p.t, p.name+" has a task to be reset to", func() bool { // a run that was reset to its first task has none at first
		points = p.tasks()
		return len(points) > 0
	})
	p.resetTo(points[p.random.IntN(len(points))], p.random.Int())
	p.count("reset", 1)
}

// whole checks that each call has a result; an expired call's result says that it expired.
func (p *play) whole() {
	p.t.Helper()
	results := map[string]int{}
	for _, e := range p.callsOf(p.id, "lab.counter") {
		if e.Kind != transcript.KindResult {
			continue
		}
		if strings.Contains(e.Text, "the approval timed out") {
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
