package activities

import (
	"context"
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// toCheck returns the evidence for checking the texts of a finished investigation. It returns nil if the chain asks for
// no evidence and none was recorded: in that case "[3]" is not a citation.
func (a recorder) toCheck(ctx context.Context, in FinishIn) (*evidence.Evidence, error) {
	found, err := a.EvidenceOf(ctx, in.Investigation)
	if err != nil || len(found.Items)+len(found.Pending) > 0 {
		return &found, err
	}
	if asked, err := a.collects(ctx, in); err != nil || !asked {
		return nil, err
	}
	return &found, nil
}

// collects reports whether the chain asks for evidence.
func (a recorder) collects(ctx context.Context, in FinishIn) (bool, error) {
	if in.Plan == "" { // the investigation ended before its chain was resolved
		return false, nil
	}
	p, err := a.ReadPlan(ctx, in.Plan)
	return err == nil && p.CollectsEvidence(), err
}

// marked marks the citations in a short text that code cannot verify.
func (a recorder) marked(ctx context.Context, in FinishIn, text string) (string, error) {
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
func (a recorder) checked(ctx context.Context, in FinishIn, execution, text string) (checkedReport, error) {
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
