package activities

import (
	"context"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// Unanswered records the prompt of an agent's first call that no model has answered or will answer. It takes no mail,
// because another agent may still read that.
func (a *Activities) Unanswered(ctx context.Context, in UnansweredIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	j, err := a.job(ctx, in.Call.Ref)
	if err != nil {
		return err
	}
	g := generation{job: j, in: in.Call}
	known, err := g.lookUp(ctx)
	if err == nil && known.Step == nil {
		err = g.unanswered(ctx, known, in.Why)
	}
	return storeFailure(ended(ctx, err))
}

func (g *generation) unanswered(ctx context.Context, known transcript.Known, why string) error {
	stored, _, err := g.prepare(ctx, known)
	if err == nil {
		err = g.addInputs(ctx, stored)
	}
	if err == nil {
		g.add(transcript.KindNotice, transcript.Body{Text: "No model has answered this call: " + clipped(why)})
		_, err = g.append(ctx)
	}
	return err
}
