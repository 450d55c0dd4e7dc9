package client

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// needStore is the workers' store. The error is ErrNoStore where it is not here.
func (c *Client) needStore(ctx context.Context) (*store.Store, error) {
	st, err := c.Store(ctx)
	if err == nil && st == nil {
		err = ErrNoStore
	}
	return st, err
}

// Acts tells fn the rows of the audit trail that pass a filter, by time. The filter's Investigation may be a workflow
// id. Without a store the error is ErrNoStore, as it is for everything about the audit trail.
func (c *Client) Acts(ctx context.Context, f store.ActFilter, fn func(audit.Act) error) error {
	st, err := c.needStore(ctx)
	if err != nil {
		return err
	}
	if f.Investigation != "" {
		r, err := st.FindInvestigation(ctx, f.Investigation)
		switch {
		case err == nil:
			f.Investigation = r.ID
		case !errors.Is(err, record.ErrNotFound): // else it is a conversation's
			return err
		}
	}
	return st.Acts(ctx, f, fn)
}

// AuditHead anchors the audit trail and returns the anchor. Whoever keeps its hash elsewhere can verify the trail
// against it later.
func (c *Client) AuditHead(ctx context.Context) (audit.Anchor, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return audit.Anchor{}, err
	}
	return st.Anchor(ctx)
}

// VerifyAudit looks for the first row of the audit trail that does not fit. head is the hash of an anchor that has to
// be there; "" = none has to.
func (c *Client) VerifyAudit(ctx context.Context, head string) (audit.Verdict, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return audit.Verdict{}, err
	}
	return st.VerifyAudit(ctx, head)
}

// CancelAs is Cancel on behalf of somebody. Temporal does not tell a workflow who cancels it, so the audit trail gets
// the request from here, if the store is here.
func (c *Client) CancelAs(ctx context.Context, id string, who Identity) (Handle, error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return h, err
	}
	if st, err := c.needStore(ctx); err == nil {
		act := audit.Act{Investigation: h.ID(), What: audit.Cancelled, Who: who.Name, Channel: who.Channel}
		if err := st.Audit(ctx, act); err != nil {
			return h, err
		}
	}
	return c.Cancel(ctx, id)
}
