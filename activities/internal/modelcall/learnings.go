package modelcall

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// lessons returns learnings in the form for prompts.
func lessons(all []plan.Learning) (out []prompt.Lesson) {
	for _, l := range all {
		out = append(out, prompt.Lesson{Name: learning.Name(l.ID), Kind: l.Kind, Polarity: l.Polarity, Text: l.Text, From: l.From})
	}
	return out
}

// addLearnings shows an agent what earlier investigations taught. The agent that learns also sees how this one was judged.
func (g *briefing) addLearnings(ctx context.Context, data *prompt.Data) error {
	known, err := g.inUse(ctx, g.Learned())
	if err != nil {
		return err
	}
	if g.Ref.Stage != plan.LearningStage {
		data.Lessons = lessons(known)
		return nil
	}
	data.Known = lessons(known)
	scores, err := g.Records.Scores(ctx, g.Ref.Investigation)
	for _, r := range scores {
		if r.Score != nil {
			data.Assessment = fmt.Sprintf("%s\n\nScore: %d of 100", r.Assessment, *r.Score)
		}
	}
	return err
}

// inUse leaves out the learnings that were withdrawn or deleted after the plan was made.
func (g *briefing) inUse(ctx context.Context, all []plan.Learning) ([]plan.Learning, error) {
	if len(all) == 0 || g.Learnings == nil {
		return all, nil
	}
	var ids []int64
	for _, l := range all {
		ids = append(ids, l.ID)
	}
	used, err := g.Learnings.LearningsInUse(ctx, g.Plan.Project, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(l plan.Learning) bool { return !slices.Contains(used, l.ID) }), nil
}
