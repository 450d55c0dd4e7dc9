package client

import (
	"context"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/system"
)

// Artifacts lists the artifacts that the tools of an investigation returned. It returns system.ErrNoStore without a store, and
// record.ErrNotFound if the store does not know the investigation.
func (c *reader) Artifacts(ctx context.Context, id string) ([]artifact.Artifact, error) {
	st, err := c.Store(ctx)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, system.ErrNoStore
	}
	r, err := st.FindInvestigation(ctx, id)
	if err != nil {
		return nil, err
	}
	entries, err := st.WithArtifacts(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return artifact.List(ctx, entries, st)
}

// Artifact reads an artifact by its reference.
func (c *reader) Artifact(ctx context.Context, ref string) ([]byte, error) {
	return artifact.Read(ctx, c, ref)
}
