package job

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// The steps shared by executions that call no model: hooks, mocks and the calls of a plan. Each is one or two steps of
// the journal, and a stored step is not run again.

// Once is an activity that writes one step. run returns its rows: notices, and a reply. If the step is already stored,
// its entries are returned and run is not called.
func (a *Worker) Once(
	ctx context.Context, ref Ref, iteration int, run func(*Job) ([]transcript.Body, error),
) (*Job, []transcript.Entry, error) {
	ctx, stop := a.Attend(ctx)
	defer stop()
	j, err := a.Job(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	key := transcript.Key{Iteration: iteration}
	entries, err := j.Transcripts.Lookup(ctx, ref.Scope(), key, j.Writer)
	if err == nil && entries == nil {
		err = j.RequireSeen(ctx, nil)
	}
	if err == nil {
		err = j.RequireShared(iteration, entries != nil)
	}
	if err == nil && entries == nil {
		entries, err = j.journal(ctx, key, run)
	}
	if err != nil {
		return nil, nil, StoreFailure(Ended(ctx, err))
	}
	return j, entries, nil
}

func (j *Job) journal(ctx context.Context, key transcript.Key, run func(*Job) ([]transcript.Body, error)) ([]transcript.Entry, error) {
	bodies, err := run(j)
	if err != nil {
		return nil, err
	}
	step := j.Step()
	for n, body := range bodies {
		row := transcript.Row{Key: key, Kind: transcript.KindNotice, Body: body}
		if row.Position = n; n == len(bodies)-1 {
			row.Kind = transcript.KindReply
		}
		step.Rows = append(step.Rows, row)
	}
	if activity.GetInfo(ctx).IsLocalActivity { // nothing would be lost that cannot be obtained again
		return j.Transcripts.Append(ctx, step)
	}
	var entries []transcript.Entry
	err = j.Keep(ctx, func(ctx context.Context) error {
		entries, err = j.Transcripts.Append(ctx, step)
		return err
	})
	return entries, err
}
