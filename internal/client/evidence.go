package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Evidence returns the evidence of an investigation: the evidence that its report was checked against or, if no report cites any yet,
// the contents of the journal.
func (c *reader) Evidence(ctx context.Context, w system.Record) (found evidence.Evidence, err error) {
	hash := w.Investigation.Envelope.Evidence
	if hash == "" {
		return evidence.Collect(ctx, w.Entries, c.Blob)
	}
	body, err := c.Blob(ctx, hash)
	if err == nil {
		err = json.Unmarshal(body, &found)
	}
	if found.Items == nil {
		found.Items = []evidence.Item{} // a list in JSON, not null
	}
	for n := range found.Claims {
		found.Claims[n].N = n + 1
	}
	if err != nil {
		err = fmt.Errorf("read the evidence of %s: %w", w.Investigation.ID, err)
	}
	return found, err
}
