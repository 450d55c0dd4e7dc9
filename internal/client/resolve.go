package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/spell"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	maxAmbiguous   = 5  // IDs to list for an ambiguous prefix
	recentIDs      = 50 // recent IDs to compare with a mistyped one
	resolveTimeout = 2 * time.Second
)

// Resolve completes an ID: an exact match, or else the only investigation whose ID has this prefix. It returns unknown IDs unchanged.
// Steering and deciding require complete IDs, because a guess could hit the wrong investigation.
func (c *finder) Resolve(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	st, err := c.Store(ctx)
	if err != nil {
		return id, err
	}
	if st != nil {
		if _, err := st.FindInvestigation(ctx, id); !errors.Is(err, record.ErrNotFound) {
			return id, err
		}
	}
	names, err := c.beginning(ctx, id)
	if err != nil || len(names) == 0 || c.exists(ctx, id) {
		return id, err
	}
	if len(names) > 1 {
		return id, &system.InputError{Err: fmt.Errorf("%q is the beginning of several IDs: %s", id, some(names))}
	}
	return names[0], nil
}

// exists reports whether Temporal knows the ID. The store may have no record of it yet.
func (c *finder) exists(ctx context.Context, id string) bool {
	conn, err := c.temporal(ctx)
	if err != nil {
		return false
	}
	_, err = findExactly(ctx, conn, id, workflows.TypeInvestigation)
	return err == nil || errors.As(err, new(*system.InputError)) // it exists with another type
}

// beginning returns the IDs with a prefix from the store or, without a store, from Temporal.
func (c *finder) beginning(ctx context.Context, text string) (names []string, err error) {
	st, err := c.Store(ctx)
	if err != nil {
		return nil, err
	}
	if st != nil {
		return st.Matching(ctx, text, maxAmbiguous+1)
	}
	conn, err := c.temporal(ctx)
	if err != nil || strings.ContainsAny(text, `'"\`) {
		return nil, err
	}
	for info, err := range Executions(ctx, conn, "WorkflowType = '"+workflows.TypeInvestigation+"' AND WorkflowId STARTS_WITH '"+text+"'", 0) {
		if err != nil {
			return nil, nil // older servers cannot search by prefix
		}
		if id := info.GetExecution().GetWorkflowId(); strings.HasPrefix(id, text) && !slices.Contains(names, id) {
			names = append(names, id)
		}
		if len(names) > maxAmbiguous {
			break
		}
	}
	return names, nil
}

// some joins IDs and truncates a long list.
func some(names []string) string {
	if len(names) > maxAmbiguous {
		return strings.Join(names[:maxAmbiguous], ", ") + " …"
	}
	return strings.Join(names, ", ")
}

// Meant adds suggestions to the error about an unknown ID: the IDs that begin with it, or one that is spelled almost the same.
func (c *finder) Meant(ctx context.Context, id string, unknown error) error {
	if names, err := c.beginning(ctx, id); err == nil && len(names) > 0 {
		return fmt.Errorf("%w. IDs that start with it: %s. Give a full ID", unknown, some(names))
	}
	st, err := c.Store(ctx)
	if err != nil || st == nil {
		return unknown
	}
	recent, err := st.Investigations(ctx, record.Filter{Limit: recentIDs})
	if err != nil {
		return unknown
	}
	var names []string
	for _, r := range recent {
		names = append(names, r.WorkflowID)
	}
	return fmt.Errorf("%w%s", unknown, spell.DidYouMean(id, names))
}
