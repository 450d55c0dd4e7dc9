package client

import (
	"context"
)

// Fate describes the outcome of a call or question that is no longer pending. An empty string means that the store does not know it.
func (c *reader) Fate(ctx context.Context, id, name string) string {
	w, err := c.Whole(ctx, id)
	if err != nil {
		return ""
	}
	return w.Fate(name)
}
