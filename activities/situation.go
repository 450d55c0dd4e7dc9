package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/remember"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Rules reads the approvals that people have asked to remember.
type Rules interface {
	// Rules returns the rules of a tool that are in force, and past ones if past is set.
	Rules(ctx context.Context, tool string, past bool) ([]remember.Rule, error)
}

// situation returns the circumstances of a call for the policy. A call that a person has decided needs no rule.
func (j *job) situation(ctx context.Context, call transcript.Call, decided bool) tool.Situation {
	in := tool.Situation{
		Untrusted: call.Untrusted,
		Place: remember.Where{
			Project: j.plan.Project, Chain: j.plan.Chain, Stage: j.stage().Name, Environment: j.plan.Environment,
		},
	}
	if j.Rules != nil && !decided {
		in.Rules = func(name string) ([]remember.Rule, error) { return j.Rules.Rules(ctx, name, false) }
	}
	return in
}

// Sources that taint an execution, in words for the approver of its calls (docs/adr/0021).
const (
	fromRequest = "the request"
	fromMemory  = "its memory"
	fromWeb     = "the web"
)

// exposed returns the sources of untrusted text in an execution's initial input: the request's data, the servers' tool
// descriptions, its memory, and what other executions had read whose results it receives.
func (j *job) exposed(ctx context.Context, sources []Source, peers []Peer) (from []string, err error) {
	if j.ref.Data != "" {
		from = append(from, fromRequest)
	}
	if j.row.Remembers() {
		from = append(from, fromMemory)
	}
	from = append(from, j.described()...)
	var before []string
	for _, s := range sources {
		before = append(before, s.Execution)
	}
	for _, p := range peers {
		before = append(before, p.Execution)
	}
	for _, execution := range before {
		read, err := j.hasRead(ctx, execution)
		if err != nil {
			return nil, err
		}
		from = transcript.Sources(from, read)
	}
	return from, nil
}

// described returns the untrusted servers that have described their tools to the execution.
func (j *job) described() (from []string) {
	for _, c := range j.listed {
		if len(c.Tools) > 0 && j.untrusted(c.Server+".") {
			from = append(from, "the tool descriptions of "+c.Server)
		}
	}
	return from
}

// hasRead returns the sources of untrusted text that another execution of the investigation has read.
func (j *job) hasRead(ctx context.Context, execution string) ([]string, error) {
	entries, err := j.Transcripts.Entries(ctx, transcript.Scope{Investigation: j.ref.Investigation, Execution: execution})
	if err != nil {
		return nil, fmt.Errorf("read transcript of %s: %w", execution, err)
	}
	return transcript.Untrusted(entries), nil
}

// exposedAtFirst is exposed for an agent that uses a model. A dispatched agent's task comes from an agent that may have
// been tainted.
func (g *generation) exposedAtFirst(ctx context.Context) ([]string, error) {
	from, err := g.exposed(ctx, append(g.in.Prior, g.in.Earlier...), g.in.Peers)
	if err != nil || g.in.Task == nil {
		return from, err
	}
	scope := transcript.Scope{Investigation: g.ref.Investigation, Execution: g.in.Task.Execution}
	reply, err := g.Transcripts.Reply(ctx, scope, g.in.Task.Iteration)
	if err != nil {
		return nil, fmt.Errorf("read the task of %s: %w", g.ref.Execution, err)
	}
	call, err := g.nth(reply, g.in.Task.Iteration, g.in.Task.Call)
	return transcript.Sources(from, call.Untrusted), err
}

// hadRead returns the sources of untrusted text that the execution has read so far: its journal, the rows of this
// iteration, the servers' tool descriptions (which may have been listed since it began), and the web if the model
// searches it.
func (g *generation) hadRead(stored []transcript.Entry) []string {
	from := transcript.Sources(transcript.Untrusted(stored), g.described())
	for _, row := range g.rows {
		from = transcript.Sources(from, row.Untrusted)
	}
	if native := g.provider().NativeTools; native.GoogleSearch || native.URLContext {
		from = transcript.Sources(from, []string{fromWeb})
	}
	return from
}

// untrusted reports whether a tool's results are untrusted text. That applies to servers not marked as trusted, to
// commands, and to the program's own functions, which may return anything.
func (j *job) untrusted(name string) bool {
	server, _ := tool.Split(name)
	if server != "" {
		s, _ := j.server(server)
		return !s.Trusted
	}
	if name == agent.ToolReadResult || slices.Contains(agent.OrchestrationTools(), name) || j.tools == nil {
		return false // the text they return was counted where it was first read
	}
	spec, _ := j.tools.Spec(name)
	return !spec.Own
}

// source returns where the text of a tool's result comes from, if it is untrusted.
func (j *job) source(name string) []string {
	if !j.untrusted(name) {
		return nil
	}
	return []string{name}
}
