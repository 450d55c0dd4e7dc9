package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// labTools are the tools of the server "lab".
var labTools = []tool.Spec{
	{Name: "lab.read", Risk: agent.RiskReadOnly,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
	{Name: "lab.set", Risk: agent.RiskWrite, Idempotent: true},
	{Name: "lab.once", Risk: agent.RiskWrite},
}

// lab is an MCP server that counts all its calls by their place in the execution.
type lab struct {
	*faults
	mu   sync.Mutex
	done map[string]int
	made []madeCall
	// version returns the current version of its tool definitions; nil means they do not change.
	version func() int
	changes bool
}

// madeCall is a call with the tool's definition at that time.
type madeCall struct {
	tool.Call
	version int
}

// spec returns a tool in the given version.
func (l *lab) spec(name string, version int) tool.Spec {
	spec := labTools[slices.IndexFunc(labTools, func(s tool.Spec) bool { return s.Name == name })]
	if version > 0 {
		spec.Description = fmt.Sprint("version ", version)
	}
	return spec
}

// now returns the current version of the tools.
func (l *lab) now() int {
	if !l.changes {
		return 0
	}
	return l.version()
}

func (l *lab) List(ctx context.Context, _ plan.Server, _ string) ([]tool.Spec, error) {
	if err := l.strike(ctx, toolFails, "list", transcript.Key{}); err != nil {
		return nil, err
	}
	var specs []tool.Spec
	for _, spec := range labTools {
		specs = append(specs, l.spec(spec.Name, l.now()))
	}
	return specs, nil
}

// Call fails before or after it has done its work, and reports the failure in one of the ways that servers use.
func (l *lab) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := call.Allowed(ctx); err != nil {
		return tool.Result{}, err
	}
	if err := l.strike(ctx, toolFails, "refused", transcript.Key{}); err != nil {
		return tool.Failure(tool.ErrorTool, err.Error()), nil
	}
	if err := l.strike(ctx, toolFails, "gone before", transcript.Key{}); err != nil {
		return tool.Failure(tool.ErrorUnavailable, err.Error()), nil
	}
	l.mu.Lock()
	l.done[path.Dir(call.Key)]++
	l.made = append(l.made, madeCall{call, l.now()})
	l.mu.Unlock()
	if err := l.strike(ctx, toolFails, "gone after", transcript.Key{}); err != nil {
		result := tool.Failure(tool.ErrorUnavailable, err.Error())
		result.Sent = true
		return result, nil
	}
	if err := l.strike(ctx, toolFails, "broken", transcript.Key{}); err != nil {
		return tool.Result{}, err
	}
	return tool.Success("done: " + call.Name), nil
}

// workerTools are a worker's tools that need no server.
type workerTools struct{ results builtin.Results }

func (w workerTools) tools(p plan.Agent) []builtin.Tool {
	tools := []builtin.Tool{builtin.ReadResult(w.results), builtin.PauseHeartbeats()}
	if p.Shell != nil {
		tools = append(tools, builtin.Shell(*p.Shell))
	}
	return tools
}

func (w workerTools) Specs(p plan.Agent) []tool.Spec {
	specs := memory.Specs()
	for _, t := range w.tools(p) {
		specs = append(specs, t.Spec)
	}
	return append(specs, builtin.Orchestration(p.Orchestrator)...)
}

func (w workerTools) Call(ctx context.Context, p plan.Agent, call tool.Call) (tool.Result, error) {
	for _, t := range w.tools(p) {
		if t.Spec.Name == call.Name {
			return t.Run(ctx, call), ctx.Err()
		}
	}
	return tool.Result{}, errors.New("a call to " + call.Name + ", which is not for this agent, was made")
}
