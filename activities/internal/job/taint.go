package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

// Rules reads the approvals that people have asked to remember.
type Rules interface {
	// Rules returns the rules of a tool that are in force, and past ones if past is set.
	Rules(ctx context.Context, tool string, past bool) ([]remember.Rule, error)
}

// Sources that taint an execution, in words for the approver of its calls (docs/adr/0021).
const (
	fromRequest = "the request"
	fromMemory  = "its memory"
	FromWeb     = "the web"
	// FromSkipped stands for the sources of earlier turns that a long conversation no longer shows.
	FromSkipped = "earlier turns that are no longer shown"
)

// Exposed returns the sources of untrusted text in an execution's initial input: the request's data, a runbook from
// outside the configuration, learnings, the servers' tool descriptions, its memory, and what other executions had read whose
// results it receives.
func (j *Job) Exposed(ctx context.Context, sources []Source, peers []Peer) (from []string, err error) {
	if j.Ref.Data != "" {
		from = append(from, fromRequest)
	}
	if source := j.Plan.RunbookOrigin.Untrusted(); source != "" {
		from = append(from, source)
	}
	if j.Row.Remembers() {
		from = append(from, fromMemory)
	}
	if len(j.Learned()) > 0 {
		from = append(from, fromLearnings)
	}
	from = append(from, j.Described()...)
	var before []string
	for _, s := range sources {
		before = append(before, s.Execution)
	}
	for _, p := range peers {
		before = append(before, p.Execution)
	}
	for _, execution := range before {
		read, err := j.HasRead(ctx, execution)
		if err != nil {
			return nil, err
		}
		from = transcript.Sources(from, read)
	}
	return from, nil
}

// Described returns the untrusted servers that have described their tools to the execution.
func (j *Job) Described() (from []string) {
	for _, c := range j.Listed {
		if len(c.Tools) > 0 && j.untrusted(c.Server+".") {
			from = append(from, "the tool descriptions of "+c.Server)
		}
	}
	return from
}

// HasRead returns the sources of untrusted text that another execution of the investigation has read.
func (j *Job) HasRead(ctx context.Context, execution string) ([]string, error) {
	entries, err := j.Transcripts.Entries(ctx, transcript.Scope{Investigation: j.Ref.Investigation, Execution: execution})
	if err != nil {
		return nil, fmt.Errorf("read transcript of %s: %w", execution, err)
	}
	return transcript.Untrusted(entries), nil
}

// untrusted reports whether a tool's results are untrusted text. That applies to servers not marked as trusted, to
// commands, and to the program's own functions, which may return anything.
func (j *Job) untrusted(name string) bool {
	server, _ := tool.Split(name)
	if server != "" {
		s, _ := j.Server(server)
		return !s.Trusted
	}
	switch {
	case name == agent.ToolReadResult || name == agent.ToolSearchTools || slices.Contains(agent.OrchestrationTools(), name) || j.Tools == nil:
		return false // the text they return was counted where it was first read
	case slices.Contains(agent.SkillTools(), name):
		return false // skills are part of the configuration
	}
	spec, _ := j.Tools.Spec(name)
	return !spec.Own
}

// Source returns where the text of a tool's result comes from, if it is untrusted.
func (j *Job) Source(name string) []string {
	if !j.untrusted(name) {
		return nil
	}
	return []string{name}
}
