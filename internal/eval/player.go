package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Player answers the tool calls and, if asked, the model calls of one run from a tape. It is a tool.Caller.
type Player struct {
	tape Tape
	// Live lists all tools, and makes the calls that are not on the tape, if they only read and nobody would have to approve them. Nil
	// means that the tape has the tools, and that no call is made. Set it before the first call.
	Live tool.Caller

	mu       sync.Mutex
	answers  map[string]int      // numbers of results, by the call's idempotency key, so that a retry gets the same one
	served   map[serving]bool    // what each agent has got
	asked    map[string][]string // the model calls of each agent, in order
	coverage agent.Coverage
}

var _ tool.Caller = (*Player)(nil)

// serving is a result that an agent has got, by its number.
type serving struct {
	agent string
	n     int
}

// NewPlayer returns a player of a tape.
func NewPlayer(tape Tape) *Player {
	return &Player{tape: tape, answers: map[string]int{}, served: map[serving]bool{}, asked: map[string][]string{}}
}

// Coverage returns the counts so far.
func (p *Player) Coverage() agent.Coverage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.coverage
}

// List returns a server's tools as recorded, with the risks of the configuration, or asks the server itself if calls may be made.
func (p *Player) List(ctx context.Context, server plan.Server, session string) ([]tool.Spec, error) {
	if p.Live != nil {
		return p.Live.List(ctx, server, session)
	}
	for _, c := range p.tape.Servers {
		if c.Server != server.Name || c.Error != "" {
			continue
		}
		var out []tool.Spec
		for _, spec := range c.Tools {
			out = append(out, spec.For(server))
		}
		return out, nil
	}
	why := "the recording has no tools of this server"
	return nil, &tool.ServerError{Why: why, Err: errors.New(why)}
}

// Call returns the recorded result of a call with the same arguments: that of the same agent and iteration, or else the agent's next one,
// or one of another agent, or else the last one again. What other agents of the run have got does not matter.
func (p *Player) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if r, ok := p.find(call); ok {
		return r.result(), nil
	}
	if server, _ := tool.Split(call.Name); p.Live != nil && server != "" && call.Class == tool.Safe && !call.Waived {
		p.count(agent.Coverage{Live: 1})
		return p.Live.Call(ctx, call)
	}
	p.count(agent.Coverage{Misses: 1})
	return tool.NotRecorded(call.Name), nil
}

func (p *Player) count(c agent.Coverage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coverage = p.coverage.Add(c)
}

// decidedHere are the error types of results that the workflow or the policy decides. A run decides on these itself.
var decidedHere = []string{
	tool.ErrorUnknownTool, tool.ErrorPermissionDenied, tool.ErrorInvalidArguments, tool.ErrorRateLimited, tool.ErrorNotRun,
	tool.ErrorNotRecorded,
}

// find returns the recorded result of a call.
func (p *Player) find(call tool.Call) (Result, bool) {
	written := Call{call.Name, call.Arguments}.canonical()
	if args, err := tool.Canonical(call.Written); err == nil && call.Written != "" {
		written.Arguments = args
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.answers[call.Key]; ok && call.Key != "" {
		return p.tape.Results[n], true
	}
	var same []int
	var places []fork.Place
	for n, r := range p.tape.Results {
		spelled := r.key() == written.key() || r.Tool == call.Name && string(r.Arguments) == string(call.Arguments)
		if spelled && !slices.Contains(decidedHere, r.ErrorType) {
			same, places = append(same, n), append(places, fork.Place(r.At))
		}
	}
	had := func(n int) bool { return p.served[serving{call.Execution, same[n]}] }
	chosen := fork.Choose(places, fork.Place{Agent: call.Execution, Iteration: call.Iteration}, had)
	if chosen < 0 {
		return Result{}, false
	}
	best := same[chosen]
	p.answers[call.Key], p.served[serving{call.Execution, best}] = best, true
	p.coverage.Hits++
	return p.tape.Results[best], true
}

func (r Result) result() tool.Result {
	return tool.Result{
		Status: tool.Status(r.Status), Content: r.Text, ErrorType: r.ErrorType, Fault: r.Fault, Artifacts: slices.Clone(r.Artifacts),
	}
}

// Recorded is the name of the provider that replays the recorded replies instead of calling a model.
const Recorded = "recorded"

// Model returns a client that replays the recorded replies. caller identifies the call that a context belongs to: the agent, and a name
// that is the same for all attempts.
func (p *Player) Model(caller func(context.Context) (execution, call string)) llm.Client {
	return recorded{p, caller}
}

type recorded struct {
	player *Player
	caller func(context.Context) (execution, call string)
}

// Generate returns the reply of the agent's n-th model call for the n-th call of this run, or the recorded summary of a result.
func (m recorded) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	p := m.player
	if text, ok := p.summary(req); ok {
		return llm.Response{Content: text, Finish: llm.FinishStop, Model: Recorded}, nil
	}
	execution, call := m.caller(ctx)
	n := p.place(execution, call)
	replies := p.tape.repliesOf(execution)
	if n >= len(replies) {
		return llm.Response{}, &llm.Error{
			Kind: llm.ErrInvalidRequest, Provider: Recorded, Message: fmt.Sprintf("the tape has %d replies of %s", len(replies), execution),
		}
	}
	r := replies[n]
	out := llm.Response{Content: r.Text, Thinking: r.Thinking, Finish: llm.FinishStop, Model: Recorded, Usage: agent.Usage{ModelCalls: 1}}
	for k, c := range r.Calls {
		out.Finish = llm.FinishToolCalls
		name := tool.WireName(c.Tool)
		out.ToolCalls = append(out.ToolCalls, agent.ToolCall{ID: fmt.Sprintf("r%d_%d", r.Iteration, k), Name: name, Arguments: c.written()})
	}
	if r.Finish != "" {
		out.Finish = llm.Finish(r.Finish)
	}
	if r.ActionsExecuted != nil {
		out.Content += map[bool]string{true: "\nYES", false: "\nNO"}[*r.ActionsExecuted]
	}
	if onDelta != nil && r.Text != "" {
		onDelta(llm.Delta{Content: r.Text})
	}
	return out, nil
}

// place returns which call of an agent this is, from 0. A repeated attempt has the same place.
func (p *Player) place(execution, call string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := slices.Index(p.asked[execution], call)
	if n < 0 {
		n = len(p.asked[execution])
		p.asked[execution] = append(p.asked[execution], call)
	}
	return n
}

// summary returns the recorded summary of the result that a request quotes.
func (p *Player) summary(req llm.Request) (string, bool) {
	if len(req.Messages) != 2 || prompt.AgentOf(req.Messages[0].Content) != "" { // only an agent's prompt names an agent
		return "", false
	}
	last := req.Messages[1].Content
	for _, r := range p.tape.Results {
		text := strings.TrimSpace(r.Text)
		size := fmt.Sprintf("It returned %d bytes:", len(r.Text)) // see prompt.Summary
		if r.Summary != "" && strings.Contains(last, size) && strings.Contains(last, text[:min(len(text), 500)]) {
			return r.Summary, true
		}
	}
	return "", false
}

// repliesOf returns the replies of one agent.
func (t Tape) repliesOf(name string) (out []Reply) {
	for _, r := range t.Replies {
		if r.Agent == name {
			out = append(out, r)
		}
	}
	return out
}
