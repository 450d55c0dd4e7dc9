package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// Plan returns the plan of an investigation. It returns record.ErrNotFound for one that failed before its plan was stored.
func (c *reader) Plan(ctx context.Context, w system.Record) (p plan.Plan, err error) {
	hash := w.Investigation.PlanHash
	if hash == "" {
		return p, fmt.Errorf("the plan of %s: %w", w.Investigation.ID, record.ErrNotFound)
	}
	body, err := c.Blob(ctx, hash)
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil {
		err = fmt.Errorf("read the plan of %s: %w", w.Investigation.ID, err)
	}
	return p, err
}
