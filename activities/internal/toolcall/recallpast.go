package toolcall

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/tool"
)

// recalls reports whether recallPast runs a tool.
func recalls(name string) bool { return slices.Contains(agent.RecallTools(), name) }

// recallPast runs a tool that looks up earlier investigations of the agent's project.
func (c *toolCall) recallPast(ctx context.Context, call tool.Call) (tool.Result, error) {
	if c.Learnings == nil || c.Plan.Memory == nil {
		return tool.Failure(tool.ErrorUnavailable, "Earlier investigations are currently unavailable."), nil
	}
	if c.Plan.Memory.Trial {
		return tool.Failure(tool.ErrorPermissionDenied, "Earlier investigations cannot be looked up: this investigation is a trial."), nil
	}
	now := c.Now(ctx)
	if call.Name == agent.ToolSearchSessions {
		in, err := learning.ParseSessions(call.Arguments)
		if err != nil {
			return tool.Failure(tool.ErrorInvalidArguments, "The arguments do not match the schema: "+err.Error()), nil
		}
		found, err := c.Learnings.PastInvestigations(ctx, learning.PastQuery{
			Project: c.Plan.Project, Text: in.Query, AlertType: in.AlertType, Since: now.Add(-time.Duration(in.DaysBack) * 24 * time.Hour),
			Except: c.Ref.Investigation, Limit: in.Limit,
		})
		if err != nil {
			return tool.Result{}, fmt.Errorf("search earlier investigations: %w", err)
		}
		return tool.Success(learning.SessionsText(found, now)), nil
	}
	in, err := learning.ParseRecall(call.Arguments)
	if err != nil {
		return tool.Failure(tool.ErrorInvalidArguments, "The arguments do not match the schema: "+err.Error()), nil
	}
	query := learning.Query{Text: in.Query, Limit: in.Limit, Except: c.Plan.Fork.LeftLearnings()}
	for _, l := range c.Learned() {
		query.Except = append(query.Except, l.ID)
	}
	found, problem, err := c.FindLearnings(ctx, c.Plan, query)
	if err != nil {
		return tool.Result{}, err
	}
	var ids []int64
	for _, s := range found {
		ids = append(ids, s.ID)
	}
	if err := c.NoteReads(ctx, c.Plan.Project, c.Ref.Investigation, learning.Recalled, ids); err != nil {
		return tool.Result{}, err
	}
	return tool.Success(learning.RecalledText(found, problem, now)), nil
}
