package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Fate describes the outcome of a call or question that is no longer pending. An empty string means that the store does not know it.
func (c *Client) Fate(ctx context.Context, id, name string) string {
	w, err := c.Whole(ctx, id)
	if err != nil {
		return ""
	}
	return w.Fate(name)
}

// Fate describes the outcome of a call or question that is no longer pending. An empty string means unknown.
func (w Whole) Fate(name string) string {
	if text := decision(w.Entries, name); text != "" {
		return text
	}
	r := w.Investigation
	if r.Status.Closed() {
		at := ""
		if r.EndedAt != nil {
			at = ", " + record.When(r.EndedAt.Local(), time.Now())
		}
		return fmt.Sprintf("the investigation has ended (%s%s)", r.Status, at)
	}
	return ""
}

// decision describes a person's decision about a call, with its time.
func decision(entries []transcript.Entry, name string) string {
	for _, e := range entries {
		if e.Call == nil || e.Superseded || name != e.Call.ID && name != e.Execution+"/"+e.Call.ID {
			continue
		}
		if said := cmp.Or(e.Decision, e.ErrorType); said != "" { // the error type is "denied" or "expired"
			return fmt.Sprintf("%s, %s", said, record.When(e.At.Local(), time.Now()))
		}
	}
	return ""
}
