package client

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// needStore returns the workers' store, or system.ErrNoStore if it is not available.
func (c *connection) needStore(ctx context.Context) (*store.Store, error) {
	st, err := c.Store(ctx)
	if err == nil && st == nil {
		err = system.ErrNoStore
	}
	return st, err
}

// Acts calls fn with the audit log rows that pass a filter, in order of time. The filter's Investigation may be a workflow ID.
// Everything about the audit log returns system.ErrNoStore without a store.
func (c *reader) Acts(ctx context.Context, f record.ActFilter, fn func(audit.Act) error) error {
	st, err := c.needStore(ctx)
	if err != nil {
		return err
	}
	if f.Investigation != "" {
		r, err := st.FindInvestigation(ctx, f.Investigation)
		switch {
		case err == nil:
			f.Investigation = r.ID
		case !errors.Is(err, record.ErrNotFound): // otherwise it is a conversation's
			return err
		}
	}
	return st.Acts(ctx, f, fn)
}

// AuditHead anchors the audit log and returns the anchor. A copy of its hash, kept elsewhere, allows verifying the log later.
func (c *reader) AuditHead(ctx context.Context) (audit.Anchor, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return audit.Anchor{}, err
	}
	return st.Anchor(ctx)
}

// VerifyAudit looks for the first inconsistent row of the audit log. head is the hash of an anchor that must exist; an empty string
// means none.
func (c *reader) VerifyAudit(ctx context.Context, head string) (audit.Verdict, error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return audit.Verdict{}, err
	}
	return st.VerifyAudit(ctx, head)
}

// CancelAs cancels on behalf of a person. Temporal does not tell a workflow who cancels it, so the client records the request in the
// audit log if the store is available.
func (c *Client) CancelAs(ctx context.Context, id string, who Identity) (system.Handle, error) {
	h, err := c.findRunning(ctx, id)
	if err != nil {
		return h.Handle, err
	}
	if st, err := c.needStore(ctx); err == nil {
		act := audit.Act{Investigation: h.ID(), What: audit.Cancelled, Who: who.Name, Channel: who.Channel}
		if err := st.Audit(ctx, act); err != nil {
			return h.Handle, err
		}
	}
	return c.Cancel(ctx, id)
}
