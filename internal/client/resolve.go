package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	maxAmbiguous = 5  // ids that are listed where the beginning of one is that of many
	recentIDs    = 50 // among which one is looked for that was mistyped
)

// Resolve returns the id that is meant: the one of that name, or else the only one that begins
// so. One that nobody knows stays as it is.
func (c *Client) Resolve(ctx context.Context, id string) (string, error) {
	st, err := c.Store(ctx)
	if err != nil {
		return id, err
	}
	var names []string
	if st != nil {
		if _, err := st.FindInvestigation(ctx, id); !errors.Is(err, record.ErrNotFound) {
			return id, err
		}
		names, err = st.Matching(ctx, id, maxAmbiguous+1)
	} else {
		names, err = c.beginning(ctx, id)
	}
	switch {
	case err != nil || len(names) == 0:
		return id, err
	case len(names) == 1:
		return names[0], nil
	}
	more := ""
	if len(names) > maxAmbiguous {
		names, more = names[:maxAmbiguous], " …"
	}
	return id, &InputError{fmt.Errorf("%q is the beginning of several ids: %s%s", id, strings.Join(names, ", "), more)}
}

// beginning asks Temporal for the workflow ids that begin with a text, unless one is the text.
func (c *Client) beginning(ctx context.Context, text string) (names []string, err error) {
	conn, err := c.temporal(ctx)
	if err != nil || strings.ContainsAny(text, `'"\`) {
		return nil, err
	}
	for info, err := range Executions(ctx, conn, "WorkflowType = '"+workflows.TypeInvestigation+"' AND WorkflowId STARTS_WITH '"+text+"'", 0) {
		if err != nil {
			return nil, nil // an older server cannot say
		}
		switch id := info.GetExecution().GetWorkflowId(); {
		case id == text:
			return nil, nil
		case strings.HasPrefix(id, text) && (len(names) == 0 || names[len(names)-1] != id):
			names = append(names, id)
		}
		if len(names) > maxAmbiguous {
			break
		}
	}
	return names, nil
}

// meant adds to the error about an id that nobody knows the one that is spelled almost so.
func (c *Client) meant(ctx context.Context, id string, unknown error) error {
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
