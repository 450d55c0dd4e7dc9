package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
)

const (
	maxHistory = 200 // runs of stages that a status tells of
	maxErrors  = 50
)

// record keeps how a stage ended, for those who ask for the status.
func (r *investigationRun) record(ctx workflow.Context, s *stageChild) {
	result, now := s.result, workflow.Now(ctx)
	ended := StageRun{
		Stage: s.plan.Name, Pass: r.state.Walk.Pass + 1, Started: s.started, Completed: now, DurationMS: now.Sub(s.started).Milliseconds(),
		Status: result.Status, Outcome: result.Outcome, Error: clip(result.Error, 300), LLMCalls: result.Usage.ModelCalls,
	}
	for _, a := range result.Agents {
		ended.Agents = append(ended.Agents, a.Name)
	}
	r.state.History = newest(append(r.state.History, ended), maxHistory)
	if result.Status == agent.StatusCompleted && result.Outcome != agent.OutcomeError {
		return
	}
	failed := StageError{Stage: s.plan.Name, Error: clip(result.why(), 500), ErrorType: result.ErrorType, Timestamp: now}
	r.state.Errors = newest(append(r.state.Errors, failed), maxErrors)
}

// why says why a stage has not succeeded.
func (s StageResult) why() string {
	if s.Status != agent.StatusCompleted {
		return orText(s.Error, string(s.Status))
	}
	return strings.TrimSuffix(fmt.Sprintf("its output has the outcome %q: %s", s.Outcome, textField(s.Fields, "message")), ": ")
}

// newest are the last n.
func newest[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// outputs are what the stages of this pass hand on.
func (r *investigationRun) outputs() map[string]Output {
	out := map[string]Output{}
	for _, result := range r.state.Results {
		if result.Void {
			continue
		}
		stage := r.state.Resolved.Skeleton.Stages[result.Index]
		out[orText(stage.OutputKey, stage.Name)] = Output{
			Stage: result.Stage, Execution: result.Execution, Value: result.Output.Value, Ref: result.Output.Ref,
		}
	}
	return out
}
