package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxSubName limits the name that a model gives for an agent, in bytes, because it goes into history.
const maxSubName = 300

// subCall summarises a call that the workflow carries out itself; nil if an activity makes the call.
func subCall(d tool.Decision) *SubCall {
	if !slices.Contains(agent.OrchestrationTools(), d.Spec.Name) {
		return nil
	}
	var out SubCall
	_ = json.Unmarshal(d.Arguments, &out) // the schema has been checked
	out.Name, out.Execution = clip.Text(out.Name, maxSubName), clip.Text(out.Execution, maxSubName)
	return &out
}

// task returns the agent's first message. For a dispatched agent, that is its task.
func (g *generation) task(ctx context.Context, data prompt.Data) (string, error) {
	if g.in.Task == nil {
		name := g.row.Prompt
		if g.ref.Agent == plan.ReviewIndex {
			name, data.Review = prompt.Review, g.stage().Routing.Review.Question
		}
		text, err := prompt.Task(name, data)
		if err != nil {
			return "", final(ErrorConfiguration, err)
		}
		return text, nil
	}
	scope := transcript.Scope{Investigation: g.ref.Investigation, Execution: g.in.Task.Execution}
	reply, err := g.Transcripts.Reply(ctx, scope, g.in.Task.Iteration)
	if err != nil {
		return "", fmt.Errorf("read the task of %s: %w", g.ref.Execution, err)
	}
	call, err := g.nth(reply, g.in.Task.Iteration, g.in.Task.Call)
	if err != nil {
		return "", err
	}
	var arguments struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
		return "", final(ErrorNotFound, fmt.Errorf("the task of %s: %w", g.ref.Execution, err))
	}
	return prompt.SubTask(arguments.Task), nil
}

// subResult returns the text that tells an agent how an agent it dispatched has ended.
func (g *generation) subResult(ctx context.Context, sub SubEnded) (string, error) {
	text := ""
	if sub.Status == agent.StatusCompleted {
		var err error
		if text, err = g.resultText(ctx, g.ref.Investigation, sub.Execution); err != nil {
			return "", err
		}
		if text, err = g.withEvidence(ctx, sub.Execution, text); err != nil {
			return "", err
		}
	}
	return prompt.SubResult(sub.Name, sub.Execution, string(sub.Status), sub.Error, text), nil
}

// SaveExecutionIn records how a dispatched execution ended.
type SaveExecutionIn struct {
	Execution ExecutionSummary `json:"execution"`
	Started   time.Time        `json:"started"`
	Ended     time.Time        `json:"ended"`
}

// SaveExecution records how a dispatched execution ended.
func (a *Activities) SaveExecution(ctx context.Context, in SaveExecutionIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	execution, err := a.execution(ctx, in.Execution, record.Stage{StartedAt: in.Started, EndedAt: &in.Ended})
	if err == nil {
		err = a.Records.SaveExecution(ctx, execution)
	}
	if err == nil && a.Sessions != nil {
		a.Sessions.End(in.Execution.Ref.session())
	}
	return storeFailure(ended(ctx, err))
}
