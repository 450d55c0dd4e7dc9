package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/remember"
	"github.com/inquest-dev/inquest/workflows"
)

// gate holds the decisions of people about a run's calls, minute by minute, and their outcome.
type gate struct {
	*run
	approved map[string]map[string]string // by call, then digest: the arguments that were approved
	last     map[string]string            // by call: the digest of the last approval
	tally    map[string]int
}

var people = []*agent.Identity{
	{Name: "ada", Groups: []string{"sre"}, Channel: agent.ChannelCLI},
	{Name: "bob", Groups: []string{"sre", "lead"}, Channel: agent.ChannelCLI},
	{Name: "eve", Groups: []string{"dev"}, Channel: agent.ChannelCLI},
	nil,
}

// TestApprovals plays calls that need approval under every kind of fault, while people approve, edit, deny,
// ask, hand on, come late or do not come, and the server changes the descriptions of its tools. A rule allows
// some calls. No other call runs that was not approved in exactly this form, no non-repeatable call runs twice,
// and no approved call is lost.
func TestApprovals(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	tally := map[string]int{}
	for seed := range 8 * len(profiles) {
		g := gate{newRun(s, fmt.Sprintf("gate-%d", seed), uint64(seed), profiles[seed%len(profiles)]), map[string]map[string]string{},
			map[string]string{}, tally}
		kind := []string{"an agent", "a sub-agent", "a plan", "a conversation"}[seed/len(profiles)%4]
		g.cast(kind)
		g.lab.version = func() int { return pick(2, g.seed, "version", int(g.env.Now().Sub(g.start)/(20*time.Minute))) }
		g.lab.changes = seed%3 == 0
		defer g.wake(func(*straggler) bool { return true })
		act := g.prepare()
		for minute := 1; minute < 600; minute += 3 {
			g.env.RegisterDelayedCallback(func() { g.say(minute) }, time.Duration(minute)*time.Minute)
		}
		if g.talking {
			g.ask()
		} else {
			g.env.ExecuteWorkflow(workflows.TypeInvestigation, map[string]string{"chain": "c"})
		}
		g.wake(func(*straggler) bool { return true })
		activities.Drain(act, time.Minute)
		g.checkApproved(t)
		for _, problem := range g.problems {
			t.Errorf("seed %d, %s, %s: %s", seed, kind, g.profile.name, g.normal(problem))
		}
	}
	t.Log(tally)
	for _, what := range []string{"approved", "edited", "denied", "asked", "handed on", "refused", "made", "expired", "let through"} {
		if tally[what] == 0 {
			t.Errorf("nothing was %s in any seed", what)
		}
	}
}

// theRule is the only rule. It covers a tool as its server first defines it.
type theRule struct{}

func (theRule) Rules(_ context.Context, name string, _ bool) ([]remember.Rule, error) {
	if name != "lab.set" {
		return nil, nil
	}
	return []remember.Rule{{
		ID: "r-1", Tool: name, Definition: (*lab)(nil).spec(name, 0).Definition(), By: "ada",
		Arguments: map[string]remember.Pattern{"n": {Equals: []byte("1")}},
	}}, nil
}

// lets reports whether the rule allows a call, given the tool's definition when it was made.
func (g *gate) lets(made madeCall) bool {
	return g.rules != nil && made.Name == "lab.set" && made.version == 0 && string(made.Arguments) == `{"n":1}`
}

// ask sends a message to a conversation, which is closed when no decisions remain.
func (g *gate) ask() {
	g.env.RegisterDelayedCallback(func() {
		g.env.UpdateWorkflow(workflows.UpdateSend, "turn", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { g.problem("the turn is refused: %v", err) }, OnComplete: func(any, error) {},
		}, workflows.Message{Text: "look into it", Author: "Ada"})
	}, 0)
	g.env.RegisterDelayedCallback(func() { g.env.SignalWorkflow(workflows.SignalClose, nil) }, 10*time.Hour)
	g.env.ExecuteWorkflow(workflows.TypeConversation, map[string]string{"agent": "A"})
}

// cast makes an agent request calls that need approval: directly, through a sub-agent, in a plan, or in a
// conversation.
func (g *gate) cast(kind string) {
	row := map[string]string{"a plan": "tool_plan"}[kind]
	if row == "" {
		row = "default"
	}
	gated := func(name string) worker {
		i := slices.IndexFunc(agent.Types(), func(t agent.Type) bool { return t.Name == row })
		w := newWorker(agent.Types()[i], name, g.id)
		rules := plan.Approvers{Who: []string{"sre"}, EscalateTo: []string{"lead", "dev"}[:pick(3, g.seed, "escalate")]}
		rules.Needed = 2 * pick(2, g.seed, "two")
		if pick(3, g.seed, "everybody") == 0 {
			rules, g.rules = plan.Approvers{}, theRule{}
		}
		w.plan.Tools.Approvers, w.plan.Tools.ApprovalTimeout = rules, plan.Duration(25*time.Minute)
		w.plan.Tools.Permissions = map[string]plan.Permission{}
		for _, spec := range labTools {
			w.plan.Tools.Permissions[spec.Name] = plan.Permission{RequiresApproval: true, Remember: new(true)}
		}
		return w
	}
	var calls []agent.ToolCall
	for n, name := range []string{"lab.once", "lab.set", "lab.read", "lab.once"} {
		calls = append(calls, agent.ToolCall{ID: "same", Name: name, Arguments: fmt.Sprintf(`{"n":%d}`, n)})
	}
	work := llm.Response{Finish: llm.FinishToolCalls, ToolCalls: calls}
	first := "work/A"
	g.talking = kind == "a conversation"
	lead := gated("A")
	if kind == "a sub-agent" {
		first = "work/A/L-1"
		sub := gated("L")
		lead.plan.Orchestrator = &plan.Orchestrator{OrchestratorLimits: plan.OrchestratorLimits{MaxConcurrent: 2}, Agents: []plan.Agent{sub.plan}}
		g.agents[first] = sub
	}
	g.employ(lead)
	g.steps = calls
	g.says = func(at place) llm.Response {
		switch {
		case at.execution == "work/A" && first != "work/A" && at.iteration == 1:
			return llm.Response{Finish: llm.FinishToolCalls,
				ToolCalls: []agent.ToolCall{{ID: "same", Name: "dispatch_agent", Arguments: `{"name":"L","task":"dig"}`}}}
		case at.iteration <= 2 && (at.execution == first || g.talking):
			return work
		}
		return llm.Response{Content: "said " + mark(at, 0), Finish: llm.FinishStop}
	}
}

// say makes people respond to each waiting call as the seed chooses.
func (g *gate) say(minute int) {
	for _, a := range g.waits() {
		hash := func(what string, n int) int { return pick(n, g.seed, what, minute, a.Name(), a.Digest) }
		d := workflows.Decide{CallID: a.CallID, Digest: a.Digest, Identity: people[hash("who", len(people))]}
		what := []string{"", "approved", "approved", "edited", "denied", "asked", "handed on", "of another", ""}[hash("what", 9)]
		arguments := a.Arguments
		switch what {
		case "":
			continue
		case "approved":
			d.Approved = new(true)
		case "edited":
			arguments = fmt.Sprintf(`{"n":%d}`, 100+hash("n", 1000))
			d.Approved, d.Arguments = new(true), json.RawMessage(arguments)
		case "denied":
			d.Approved = new(false)
		case "asked":
			d.Ask = "why?"
		case "handed on":
			d.HandTo = []string{"@bob", "lead", "sre"}[hash("to", 3)]
		case "of another":
			d.Approved, d.Digest = new(true), strings.Repeat("0", 64)
		}
		err := g.env.UpdateWorkflowByID(a.WorkflowID, workflows.UpdateDecide, fmt.Sprint(minute, a.Name()), &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(error) { g.tally["refused"]++ },
			OnComplete: func(result any, err error) {
				out, ok := result.(activities.Decision)
				if err != nil || !ok {
					return // the policy refused the arguments, or the call was decided meanwhile
				}
				g.tally[what]++
				if what == "of another" {
					g.problem("a decision about another call than waits was taken: %+v", out)
				}
				if out.Approved && out.Pending == "" {
					if g.approved[a.Name()] == nil {
						g.approved[a.Name()] = map[string]string{}
					}
					g.approved[a.Name()][out.Digest], g.last[a.Name()] = arguments, out.Digest
				}
			},
		}, d)
		if err != nil {
			g.problem("decide: %v", err)
		}
	}
}

func (g *gate) waits() []workflows.Approval {
	value, err := g.env.QueryWorkflow(workflows.QueryStatus)
	if err != nil {
		return nil // it has not started, or has ended
	}
	if g.talking {
		var s workflows.ConversationStatus
		_ = value.Get(&s)
		return s.Waiting
	}
	var s workflows.Status
	_ = value.Get(&s)
	return s.Waiting
}

// checkApproved compares the calls that the server received with the approvals.
func (g *gate) checkApproved(t *testing.T) {
	results := map[string]transcript.Entry{}
	entries, err := g.store.After(t.Context(), g.investigation(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Kind == transcript.KindResult {
			results[e.Execution+"/"+e.Call.ID] = e
		}
	}
	times := map[string]int{}
	for _, made := range g.lab.made {
		var iteration, n int
		where := strings.TrimPrefix(path.Dir(made.Key), g.investigation()+"/")
		fmt.Sscanf(path.Base(path.Dir(where))+" "+path.Base(where), "%d %d", &iteration, &n)
		name := fmt.Sprintf("%s/c%d_%d", path.Dir(path.Dir(where)), iteration, n)
		digest := tool.Decision{Spec: g.lab.spec(made.Name, made.version), Arguments: made.Arguments}.Digest()
		arguments, ok := g.approved[name][digest]
		if !ok && g.lets(made) {
			g.tally["let through"]++
		} else if !ok || arguments != string(made.Arguments) {
			g.problem("%s %s was made as %s (%.8s), and approved were %v", name, made.Name, made.Arguments, digest, g.approved[name])
		}
		if times[name]++; made.Name == "lab.once" && times[name] > 1 {
			g.problem("%s was made %d times", name, times[name])
		}
		g.tally["made"]++
	}
	for _, name := range slices.Sorted(maps.Keys(g.last)) {
		r, ok := results[name]
		lost := !ok || r.ErrorType == tool.ErrorNotRun || r.ErrorType == tool.ErrorPermissionDenied
		if reapproval := strings.Contains(r.Text, "the approval timed out") || strings.Contains(r.Text, "denied by") ||
			strings.Contains(r.Text, "Question from ") ||
			strings.Contains(r.Text, "approved it, but"); lost && !(reapproval && g.lab.changes) {
			g.problem("%s was approved, and its result is %s: %s", name, r.ErrorType, r.Text)
		}
	}
	for _, r := range results {
		if strings.Contains(r.Text, "the approval timed out") {
			g.tally["expired"]++
		}
	}
}
