package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/terminal"
	"github.com/inquest-dev/inquest/workflows"
)

// openThread is a conversation that is open.
type openThread struct {
	Thread string    `json:"thread"`
	Agent  string    `json:"agent,omitempty"`
	Since  time.Time `json:"since"` // of its present run
	// Usage is what it has used so far; absent = not known.
	Usage agent.Usage `json:"usage,omitzero"`
	id    string      // of the conversation, if it is still in its first run
}

// listChats lists the conversations that are open, newest first, as Temporal knows
// them: nobody is asked, for there may be thousands.
func (c *cli) listChats(ctx context.Context, conn client.Client, f chatFlags) error {
	open, err := openThreads(ctx, conn, c.keys, f)
	if err != nil {
		return err
	}
	if err := c.withUsage(ctx, open); err != nil {
		return err
	}
	if f.json {
		return c.printJSON(append([]openThread{}, open...)) // never null
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "THREAD\tAGENT\tSINCE\t"+usageTitles)
	for _, o := range open {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.CleanLine(o.Thread), terminal.CleanLine(o.Agent), o.Since.Local().Format(time.DateTime),
			usageCells(o.Usage))
	}
	return w.Flush()
}

// withUsage puts in what the store knows of the conversations, in one query.
func (c *cli) withUsage(ctx context.Context, open []openThread) error {
	return c.withStore(ctx, func(st *store.Store) error {
		if st == nil || len(open) == 0 {
			return nil
		}
		var ids []string
		for _, o := range open {
			ids = append(ids, o.id)
		}
		used, err := st.Usages(ctx, ids)
		for n := range open {
			open[n].Usage = used[open[n].id]
		}
		return err
	})
}

func openThreads(ctx context.Context, conn client.Client, keys payload.Keys, f chatFlags) (open []openThread, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: "WorkflowType = '" + workflows.TypeConversation + "' AND ExecutionStatus = 'Running'",
	}
	for {
		page, err := listPage(ctx, conn, request)
		if err != nil {
			return nil, fmt.Errorf("list the conversations: %w", err)
		}
		for _, info := range page.GetExecutions() {
			o := openThread{
				Thread: info.GetExecution().GetWorkflowId(), Agent: agentOf(info, keys), Since: info.GetStartTime().AsTime(), id: targetOf(conn, info).id(),
			}
			if f.agent != "" && o.Agent != f.agent {
				continue
			}
			if open = append(open, o); len(open) == f.limit {
				return open, nil
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return open, nil
		}
	}
}
