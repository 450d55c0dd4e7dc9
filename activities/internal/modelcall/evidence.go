package modelcall

import (
	"context"
	"slices"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxEvidence is how much evidence a prompt includes, in bytes.
const maxEvidence = 48_000

// addEvidence shows an agent the evidence so far, and renumbers the citations in others' texts to match. A judge also
// sees the results as checked by code, even if the chain asked for no evidence but tools returned some.
func (g *briefing) addEvidence(ctx context.Context, data *prompt.Data) error {
	judges := g.Ref.Stage == plan.ScoringStage
	if !g.Plan.CollectsEvidence() && !judges {
		return nil
	}
	found, err := g.EvidenceOf(ctx, g.Ref.Investigation)
	if err != nil || !g.Plan.CollectsEvidence() && len(found.Items)+len(found.Pending) == 0 {
		return err
	}
	data.Evidence = clip.Text(found.Text(), maxEvidence)
	for _, results := range [][]prompt.Result{data.Prior, data.Earlier} {
		for n := range results {
			if judges {
				results[n].Text = found.Judged(results[n].Agent, results[n].Text)
			} else {
				results[n].Text = found.Shown(results[n].Agent, results[n].Text)
			}
		}
	}
	for n := range data.Peers {
		entries := slices.Clone(data.Peers[n].Entries)
		for i, e := range entries {
			if e.Kind == transcript.KindReply && len(e.Calls) == 0 {
				entries[i].Text = found.Shown(e.Execution, e.Text)
			}
		}
		data.Peers[n].Entries = entries
	}
	return nil
}

// withEvidence returns a dispatched agent's final text in the form shown to the waiting agent.
func (g *briefing) withEvidence(ctx context.Context, execution, text string) (string, error) {
	if !g.Plan.CollectsEvidence() {
		return text, nil
	}
	found, err := g.EvidenceOf(ctx, g.Ref.Investigation)
	if own := found.Of(execution).Text(); err == nil && own != "" {
		text = found.Shown(execution, text) + "\n\nIts evidence, with the numbers to cite:\n" + clip.Text(own, maxEvidence)
	}
	return text, err
}
