package remote

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// Learnings lists a page of a project's learnings.
func (l *learner) Learnings(ctx context.Context, in system.LearningsIn) (system.Page[system.Learning], error) {
	return do(ctx, l, system.ListLearnings, in)
}

// Learning returns a learning, and who got it.
func (l *learner) Learning(ctx context.Context, in system.GetLearningIn) (system.LearningWhole, error) {
	return do(ctx, l, system.GetLearning, in)
}

// EditLearning changes a learning. The API knows who calls it, here and in the other changes.
func (l *learner) EditLearning(ctx context.Context, in system.EditLearningIn, _ agent.Identity) (system.Learning, error) {
	return do(ctx, l, system.EditLearning, in)
}

// DeleteLearning deletes a learning.
func (l *learner) DeleteLearning(ctx context.Context, in system.LearningIn, _ agent.Identity) error {
	_, err := do(ctx, l, system.DeleteLearning, in)
	return err
}

// Taught returns the learnings from an investigation, and the investigations that received them.
func (l *learner) Taught(ctx context.Context, in system.TaughtIn) (system.Taught, error) {
	return do(ctx, l, system.GetTaught, in)
}

// WithdrawLearnings withdraws the learnings from an investigation.
func (l *learner) WithdrawLearnings(ctx context.Context, in system.WithdrawIn, _ agent.Identity) (system.Taught, error) {
	return do(ctx, l, system.WithdrawLearnings, in)
}
