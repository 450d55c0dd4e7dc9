package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Client returns every provider's client: a model whose replies are hashes of the seed, the agent and the
// number of earlier requests. If it is asked for a lost reply again, it gives a different one, as real models
// do.
func (r *run) Client(p plan.Provider, _ plan.Timeouts) (llm.Client, error) {
	return provider{r, p}, nil
}

type provider struct {
	*run
	plan.Provider
}

func (p provider) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	at := placeOf(ctx)
	if err := p.strike(ctx, modelFails, p.Name, transcript.Key{}); err != nil {
		kind := p.failure(at)
		if errors.Is(err, record.ErrUnavailable) {
			kind = llm.ErrUnavailable
		}
		return llm.Response{}, &llm.Error{Kind: kind, Provider: p.Name, Message: err.Error()}
	}
	if p.onRequest != nil {
		p.onRequest(at, req)
	}
	if _, late := stragglerOf(ctx); late { // its request is based on an outdated state
		p.pay(at)
	} else {
		if p.moment != nil {
			p.moment(at, "", &req)
		}
		if len(p.agents) > 0 {
			p.asked(ctx, at, req)
		}
	}
	reply := p.reply(at, req)
	if p.says != nil {
		reply = p.says(at)
	}
	onDelta(llm.Delta{Content: reply.Content})
	return reply, nil
}

// failure is a kind of error: the last one is permanent, and the next provider takes over.
func (p provider) failure(at place) error {
	kinds := []error{llm.ErrUnavailable, llm.ErrRateLimited, llm.ErrTruncated, llm.ErrStalled, llm.ErrAuth}
	return kinds[pick(len(kinds), p.seed, "kind", at)]
}

// mark names the author and the time of a text: no two texts share one.
func mark(at place, n int) string {
	return fmt.Sprintf("<%s/%d.%d.%d>", at.execution, at.iteration, at.attempt, n)
}

// reply calls tools in the first iterations and then gives the final answer.
func (p provider) reply(at place, req llm.Request) llm.Response {
	hash := func(what string, n int) int { return pick(n, p.seed, what, at) }
	reply := llm.Response{Model: req.Model, Finish: llm.FinishStop, Usage: agent.Usage{InputTokens: 1, OutputTokens: 1}}
	if len(req.Tools) == 0 || at.iteration > 1+pick(4, p.seed, "length", at.execution) {
		switch hash("silence", 12) {
		case 0: // an empty reply
		case 1:
			reply.Thinking = "thought " + mark(at, 0)
		default:
			reply.Content = "text " + mark(at, 0)
		}
		if req.JSON && reply.Content != "" && (at.iteration > 1 || hash("prose", 3) > 0) { // prose has to be repaired
			reply.Content = fmt.Sprintf(`{"said":%q}`, reply.Content)
		}
		return reply
	}
	reply.Finish = llm.FinishToolCalls
	for n := range 1 + hash("calls", p.maxCalls()) {
		reply.ToolCalls = append(reply.ToolCalls, p.call(at, n, req.Tools))
	}
	return reply
}

func (p provider) maxCalls() int { return []int{1, 3, 6, 12}[pick(4, p.seed, "width")] }

// wayward are calls that no agent may make, or not in this form.
var wayward = []agent.ToolCall{
	{Name: "lab__erase", Arguments: `{}`},
	{Name: "", Arguments: `{}`},
	{Name: agent.ToolPauseHeartbeats, Arguments: `{"minutes":"x"}`},
	{Name: agent.ToolArchivalMemoryInsert, Arguments: `{"content":"forbidden, or not"}`},
	{Name: agent.ToolCoreMemoryAppend, Arguments: `{"label":"facts"}`},
	{Name: agent.ToolShell, Arguments: `{"command":"echo forbidden, or not"}`},
	{Name: "lab__read", Arguments: `{"n":`},
}

func (p provider) call(at place, n int, offered []llm.Tool) agent.ToolCall {
	hash := func(what string, of int) int { return pick(of, p.seed, what, at, n) }
	call := agent.ToolCall{ID: "same", Name: offered[hash("tool", len(offered))].Name}
	if hash("wayward", 6) == 0 {
		call = wayward[hash("which", len(wayward))]
		call.ID = "same"
		return call
	}
	label := []string{"facts", "scratch", "human", "persona"}[hash("label", 4)]
	args := map[string]any{"query": "note pool forbidden", "page": hash("page", 2)}
	switch call.Name {
	case agent.ToolCoreMemoryAppend:
		args = map[string]any{"label": label, "content": "note " + mark(at, n)}
	case agent.ToolCoreMemoryReplace:
		args = map[string]any{"label": label, "old_content": "note", "new_content": "fact " + mark(at, n)}
	case agent.ToolArchivalMemoryInsert:
		args = map[string]any{"content": "note " + mark(at, n)}
	case agent.ToolPauseHeartbeats:
		args = map[string]any{"minutes": 1 + hash("minutes", 5)}
	case agent.ToolShell:
		args = map[string]any{"command": "echo '" + mark(at, n) + "'"}
	case agent.ToolReadResult:
		args = map[string]any{"ref": "1/0"}
	case "lab__read":
		args = map[string]any{"n": n}
	case "lab__set", "lab__once":
		args = map[string]any{}
	}
	body, _ := json.Marshal(args)
	call.Arguments = string(body)
	return call
}

// asked checks a request when it is made: the tools that it offers, that every call is followed by exactly one
// result, and that the memory is up to date.
func (r *run) asked(ctx context.Context, at place, req llm.Request) {
	a, known := r.agents[at.execution]
	if !known || !a.row.Pattern.Model() {
		r.problem("%s asks a model", at.execution)
	}
	r.pay(at)
	var offered []string
	for _, t := range req.Tools {
		offered = append(offered, t.Name)
	}
	want := a.effective()
	if !r.listed(ctx, at) {
		want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, "lab.") })
	}
	if len(offered) > 0 && !slices.Equal(offered, wireNames(want)) || len(offered) == 0 && len(want) > 0 && !a.concluding(req) {
		r.problem("%s is offered %v, want %v", at.execution, offered, want)
	}
	for i, m := range req.Messages {
		for n, call := range m.ToolCalls {
			next := i + 1 + n
			if next >= len(req.Messages) || req.Messages[next].ToolCallID != call.ID {
				r.problem("%s, iteration %d: call %s has no result behind it", at.execution, at.iteration, call.ID)
			}
		}
	}
	entries, err := r.store.Entries(ctx, r.scope(at.execution))
	if err != nil {
		r.problem("read entries: %v", err)
	}
	r.checkTold(at, req, entries)
	if a.row.Remembers() && r.fork == nil {
		shown := lastShown(req)
		for label, value := range remembered(a, entries).blocks {
			if block := "<value>" + value + "</value></" + label + ">"; !strings.Contains(shown, block) {
				r.problem("%s, iteration %d: the prompt has not %s", at.execution, at.iteration, block)
			}
		}
	}
}

// lastShown returns the core memory as the model last saw it: initially in the system prompt.
func lastShown(req llm.Request) (text string) {
	for _, m := range req.Messages {
		if m.Role != agent.ToolRole && m.Role != agent.Assistant && strings.Contains(m.Content, "<memory_blocks>") {
			text = m.Content
		}
	}
	return text
}

// checkTold checks that the model received the results of its calls. They are compared with the tool server's
// own log at the end.
func (r *run) checkTold(at place, req llm.Request, entries []transcript.Entry) {
	var received []string
	for _, m := range req.Messages {
		if m.Role == agent.ToolRole {
			received = append(received, m.Content)
		}
	}
	for _, e := range entries {
		if e.Kind != transcript.KindResult {
			continue
		}
		if len(received) == 0 || !strings.Contains(received[0], e.Text) {
			r.problem("%s, iteration %d: the model is told %.1q of %s, whose result is %q", at.execution, at.iteration, received, e.Call.ID, e.Text)
			return
		}
		received = received[1:]
	}
	if len(received) > 0 {
		r.problem("%s, iteration %d: the model is told of calls that have no result: %q", at.execution, at.iteration, received)
	}
}

func (r *run) pay(at place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paid[[2]any{at.execution, at.iteration}]++
	r.times = append(r.times, r.env.Now())
}

// listed reports whether the agent's server was able to list its tools, by the catalogues that the request's attempt read. Others may
// have replaced them since.
func (r *run) listed(ctx context.Context, at place) bool {
	read, known := r.offered.Load(at)
	if !known {
		r.problem("%s asks a model before it has read its log", at.execution)
		return false
	}
	hashes, _ := read.([]string)
	return slices.ContainsFunc(hashes, func(hash string) bool {
		var catalogue tool.Catalogue
		body, err := r.store.Blob(ctx, hash)
		if err = errors.Join(err, json.Unmarshal(body, &catalogue)); err != nil {
			r.problem("read catalogue %s: %v", hash, err)
		}
		return catalogue.Error == ""
	})
}

func wireNames(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		out[i] = tool.WireName(name)
	}
	return out
}
