package modelcall

import (
	"context"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// RecordUnanswered is the activity Unanswered.
func RecordUnanswered(ctx context.Context, a *job.Worker, in job.UnansweredIn) error {
	ctx, stop := a.Attend(ctx)
	defer stop()
	j, err := a.Job(ctx, in.Call.Ref)
	if err != nil {
		return err
	}
	g := generation{briefing: briefing{Job: j, in: &in.Call}}
	known, err := g.lookUp(ctx)
	if err == nil && known.Step == nil {
		err = g.unanswered(ctx, known, in.Why)
	}
	return job.StoreFailure(job.Ended(ctx, err))
}

func (g *generation) unanswered(ctx context.Context, known transcript.Known, why string) error {
	stored, _, err := g.prepare(ctx, known)
	if err == nil {
		err = g.addInputs(ctx, stored)
	}
	if err == nil {
		g.add(transcript.KindNotice, transcript.Body{Text: "No model has answered this call: " + job.Clipped(why)})
		_, err = g.append(ctx)
	}
	return err
}
