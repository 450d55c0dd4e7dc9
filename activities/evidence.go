package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/evidence"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// evidenceOf returns an investigation's evidence so far.
func (a *Activities) evidenceOf(ctx context.Context, investigation string) (evidence.Evidence, error) {
	entries, err := a.Transcripts.After(ctx, investigation, 0, 0)
	if err != nil {
		return evidence.Evidence{}, fmt.Errorf("read the journal of %s: %w", investigation, err)
	}
	found, err := evidence.Collect(ctx, entries, a.Blobs.Blob)
	if err != nil {
		return found, fmt.Errorf("collect the evidence of %s: %w", investigation, err)
	}
	return found, nil
}

// namesEvidence reports whether the agent's replies must cite evidence. Agents that call no tools produce no evidence,
// and a review comments on others' work.
func (j *job) namesEvidence() bool {
	return j.stage().Evidence && j.row.Pattern == agent.Iterating && j.ref.Agent != plan.ReviewIndex
}

// unproven describes the errors in the evidence of an agent's last reply; "" means nothing. The agent is asked to fix
// it only once. Remaining errors are marked where the text is shown.
func (j *job) unproven(ctx context.Context, reply transcript.Entry) (string, error) {
	if !j.namesEvidence() || strings.TrimSpace(reply.Text) == "" {
		return "", nil
	}
	entries, err := j.Transcripts.Entries(ctx, j.ref.scope())
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	for _, e := range entries {
		if e.Kind == transcript.KindUser && prompt.Repairs(e.Text) {
			return "", nil
		}
	}
	if entries, err = j.Transcripts.After(ctx, j.ref.Investigation, 0, 0); err != nil {
		return "", fmt.Errorf("read the journal of %s: %w", j.ref.Investigation, err)
	}
	problem, err := evidence.Problem(ctx, j.ref.Execution, reply.Text, entries, j.Blobs.Blob)
	if problem == "" || err != nil {
		return "", err
	}
	return clip.Bytes(tool.ValidText(prompt.AboutEvidence+problem), 500), nil
}

// maxEvidence is how much evidence a prompt includes, in bytes.
const maxEvidence = 48_000

// addEvidence shows an agent the evidence so far, and renumbers the citations in others' texts to match. A judge also
// sees the results as checked by code, even if the chain asked for no evidence but tools returned some.
func (g *generation) addEvidence(ctx context.Context, data *prompt.Data) error {
	judges := g.ref.Stage == plan.ScoringStage
	if !g.plan.CollectsEvidence() && !judges {
		return nil
	}
	found, err := g.evidenceOf(ctx, g.ref.Investigation)
	if err != nil || !g.plan.CollectsEvidence() && len(found.Items)+len(found.Pending) == 0 {
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
func (g *generation) withEvidence(ctx context.Context, execution, text string) (string, error) {
	if !g.plan.CollectsEvidence() {
		return text, nil
	}
	found, err := g.evidenceOf(ctx, g.ref.Investigation)
	if own := found.Of(execution).Text(); err == nil && own != "" {
		text = found.Shown(execution, text) + "\n\nIts evidence, with the numbers to cite:\n" + clip.Text(own, maxEvidence)
	}
	return text, err
}

// toCheck returns the evidence for checking the texts of a finished investigation. It returns nil if the chain asks for
// no evidence and none was recorded: in that case "[3]" is not a citation.
func (a *Activities) toCheck(ctx context.Context, in FinishIn) (*evidence.Evidence, error) {
	found, err := a.evidenceOf(ctx, in.Investigation)
	if err != nil || len(found.Items)+len(found.Pending) > 0 {
		return &found, err
	}
	if asked, err := a.collects(ctx, in); err != nil || !asked {
		return nil, err
	}
	return &found, nil
}

// collects reports whether the chain asks for evidence.
func (a *Activities) collects(ctx context.Context, in FinishIn) (bool, error) {
	if in.Plan == "" { // the investigation ended before its chain was resolved
		return false, nil
	}
	p, err := a.plan(ctx, in.Plan)
	return err == nil && p.CollectsEvidence(), err
}

// marked marks the citations in a short text that code cannot verify.
func (a *Activities) marked(ctx context.Context, in FinishIn, text string) (string, error) {
	text = evidence.Unforged(text)
	if !evidence.Cites(text) {
		return text, nil
	}
	found, err := a.toCheck(ctx, in)
	if err != nil || found == nil {
		return text, err
	}
	return found.Check(text), nil
}

// checkedReport is a report in the form shown to people.
type checkedReport struct {
	text     string
	evidence string // the blob of the evidence it was checked against; "" if it was not checked
	failed   string // the citations that code could not verify, in one line
}

// checked verifies a report: sentences with citations against the cited evidence, all others against all evidence.
func (a *Activities) checked(ctx context.Context, in FinishIn, execution, text string) (checkedReport, error) {
	plain := checkedReport{text: evidence.Unforged(text)}
	cites := evidence.Concerns(text)
	if !cites {
		if asked, err := a.collects(ctx, in); err != nil || !asked {
			return plain, err
		}
	}
	all, err := a.toCheck(ctx, in)
	if err != nil || all == nil {
		return plain, err
	}
	out := checkedReport{text: all.Report(execution, text), failed: all.Failed()}
	if !cites && all.Count(evidence.Found) == 0 {
		return plain, nil
	}
	body, err := json.Marshal(all)
	if err == nil {
		out.evidence, err = a.Blobs.PutBlob(ctx, body)
	}
	return out, err
}
