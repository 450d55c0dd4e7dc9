package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	maxAmbiguous   = 5  // ids that are listed where the beginning of one is that of many
	recentIDs      = 50 // among which one is looked for that was mistyped
	resolveTimeout = 2 * time.Second
)

// Resolve returns the id that a person means: the investigation of that name, or else the only one whose id begins so.
// An id that nobody knows stays as it is. What steers or decides takes whole ids only, because a guess could hit
// another investigation than was meant.
func (c *Client) Resolve(ctx context.Context, id string) (string, error) {
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
		return id, &InputError{fmt.Errorf("%q is the beginning of several ids: %s", id, some(names))}
	}
	return names[0], nil
}

// exists: Temporal answers, and knows the id, of which the store may have no record yet.
func (c *Client) exists(ctx context.Context, id string) bool {
	conn, err := c.temporal(ctx)
	if err != nil {
		return false
	}
	_, err = findExactly(ctx, conn, id, workflows.TypeInvestigation)
	return err == nil || errors.As(err, new(*InputError)) // it is of another type
}

// beginning returns ids that begin with a text, as the store knows them, or without one Temporal.
func (c *Client) beginning(ctx context.Context, text string) (names []string, err error) {
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
			return nil, nil // an older server cannot say
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

// some lists ids, but not too many.
func some(names []string) string {
	if len(names) > maxAmbiguous {
		return strings.Join(names[:maxAmbiguous], ", ") + " …"
	}
	return strings.Join(names, ", ")
}

// Meant adds to the error about an id that nobody knows those that begin so, or the one that is
// spelled almost so.
func (c *Client) Meant(ctx context.Context, id string, unknown error) error {
	if names, err := c.beginning(ctx, id); err == nil && len(names) > 0 {
		return fmt.Errorf("%w; so begin: %s (here the whole id is needed)", unknown, some(names))
	}
	st, err := c.Store(ctx)
	if err != nil || st == nil {
		return unknown
	}
	recent, err := st.Investigations(ctx, store.Filter{Limit: recentIDs})
	if err != nil {
		return unknown
	}
	var names []string
	for _, r := range recent {
		names = append(names, r.WorkflowID)
	}
	return fmt.Errorf("%w%s", unknown, spell.DidYouMean(id, names))
}
