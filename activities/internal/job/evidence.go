package job

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// EvidenceOf returns an investigation's evidence so far.
func (a *Worker) EvidenceOf(ctx context.Context, investigation string) (evidence.Evidence, error) {
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

// NamesEvidence reports whether the agent's replies must cite evidence. Agents that call no tools produce no evidence,
// and a review comments on others' work.
func (j *Job) NamesEvidence() bool {
	return j.Stage().Evidence && j.Row.Pattern == agent.Iterating && j.Ref.Agent != plan.ReviewIndex
}
