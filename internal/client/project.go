package client

import (
	"cmp"
	"context"
	"errors"

	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// memoProject is the memo with the project of an investigation or a conversation. For an investigation it exists before the record, and
// for a conversation there is no other source.
const memoProject = "inquest_project"

// Over returns a client on existing connections. Closing the client does not close them.
func Over(conn sdk.Client, keys payload.Keys, st *store.Store, taskQueue, namespace string) *Client {
	c := New(Options{TaskQueue: taskQueue})
	c.conn, c.keys, c.store, c.namespace, c.borrowed = conn, keys, st, namespace, true
	return c
}

// Owned is something with an ID that belongs to a project.
type Owned struct {
	ID      string // complete ID of the investigation or conversation
	Project string
	// Record is the investigation's record; nil means that there is none yet.
	Record *record.Investigation
}

// Owner returns the project of an investigation. It returns record.ErrNotFound if the project is unknown.
func (c *finder) Owner(ctx context.Context, id string) (Owned, error) {
	st, err := c.Store(ctx)
	if err != nil {
		return Owned{}, err
	}
	if st != nil {
		r, err := st.FindInvestigation(ctx, id)
		if !errors.Is(err, record.ErrNotFound) {
			return Owned{r.ID, cmp.Or(r.Project, agent.DefaultProject), &r}, err
		}
	}
	return c.owned(ctx, id, workflows.TypeInvestigation, "")
}

// ThreadOwner returns the project of a conversation. Temporal forgets closed ones after its retention period; the store does not.
func (c *finder) ThreadOwner(ctx context.Context, thread string) (Owned, error) {
	o, err := c.owned(ctx, thread, workflows.TypeConversation, agent.DefaultProject)
	if !errors.Is(err, record.ErrNotFound) {
		return o, err
	}
	st, failed := c.Store(ctx)
	if failed != nil || st == nil {
		return o, cmp.Or(failed, err)
	}
	t, err := st.Thread(ctx, thread)
	return Owned{ID: t.ID, Project: cmp.Or(t.Project, agent.DefaultProject)}, err
}

// owned asks Temporal which project a workflow was started with; otherwise is the result if it was started without one.
func (c *finder) owned(ctx context.Context, id, workflowType, otherwise string) (Owned, error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return Owned{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	workflowID := id
	if name, isID := workflows.WorkflowOf(id); isID {
		workflowID = name
	}
	info, err := describe(ctx, conn, workflowID, workflowType)
	if errors.As(err, new(*system.InputError)) {
		err = record.ErrNotFound
	}
	if err != nil {
		return Owned{}, err
	}
	o := Owned{ID: handleOf(conn, info).ID(), Project: cmp.Or(c.memo(info, memoProject), otherwise)}
	if o.Project == "" || workflowID != id && o.ID != id {
		return Owned{}, record.ErrNotFound
	}
	return o, nil
}

// memo returns a text memo of a workflow. An empty string means that it has none.
func (c *finder) memo(info *workflowpb.WorkflowExecutionInfo, name string) (text string) {
	if memo := info.GetMemo().GetFields()[name]; memo != nil {
		_ = c.keys.Converter(nil).FromPayload(memo, &text)
	}
	return text
}
