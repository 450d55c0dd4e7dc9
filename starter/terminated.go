package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// stored lists the investigations that the store knows, as they stand now: somebody may have
// terminated some that could not say so, and the workers see to that only now and then.
func (c *cli) stored(ctx context.Context, st *store.Store, filter store.Filter) ([]record.Investigation, error) {
	wide, lost := filter, filter.Status == agent.StatusTerminated || filter.Status == agent.StatusTimedOut
	if lost || slices.Contains(agent.Open(), filter.Status) {
		wide.Limit = 0
	}
	all, err := st.Investigations(ctx, wide)
	if err == nil && lost {
		var open []record.Investigation
		open, err = st.Running(ctx)
		all = append(all, open...)
	}
	if err != nil {
		return nil, err
	}
	c.correct(ctx, all)
	all = slices.DeleteFunc(all, func(r record.Investigation) bool {
		return filter.Status != "" && r.Status != filter.Status || filter.Chain != "" && r.Chain != filter.Chain
	})
	slices.SortStableFunc(all, func(a, b record.Investigation) int { return b.StartedAt.Compare(a.StartedAt) })
	if filter.Limit > 0 {
		all = all[:min(filter.Limit, len(all))]
	}
	return all, nil
}

// correctTimeout is how long Temporal may take to be found; what the store says is shown without it.
const correctTimeout = 2 * time.Second

// correct asks Temporal about the records that say that an investigation goes on.
func (c *cli) correct(ctx context.Context, all []record.Investigation) {
	if !slices.ContainsFunc(all, goesOn) {
		return
	}
	dialing, cancel := context.WithTimeout(ctx, correctTimeout)
	defer cancel()
	conn, err := c.dial(dialing)
	if err == nil {
		defer conn.Close()
		err = correctBy(ctx, conn, all)
	}
	if err != nil && ctx.Err() == nil {
		c.say("Temporal does not answer: an investigation that somebody has terminated may not say so yet")
	}
}

func goesOn(r record.Investigation) bool { return r.EndedAt == nil }

// correctBy puts records right by what Temporal says of the workflows, whose last runs it
// lists first. It is asked once for many.
func correctBy(ctx context.Context, conn client.Client, all []record.Investigation) error {
	const askedAtOnce = 50
	open := slices.DeleteFunc(slices.Clone(all), func(r record.Investigation) bool { return !goesOn(r) })
	last := map[string]*workflowpb.WorkflowExecutionInfo{} // by workflow id
	for some := range slices.Chunk(open, askedAtOnce) {
		var ids []string
		for _, r := range some {
			ids = append(ids, strconv.Quote(r.WorkflowID))
		}
		request := &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = '%s' AND WorkflowId IN (%s)", investigationType, strings.Join(ids, ", ")),
		}
		for {
			page, err := listPage(ctx, conn, request)
			if err != nil {
				return fmt.Errorf("ask Temporal how investigations stand: %w", err)
			}
			for _, info := range page.GetExecutions() {
				if id := info.GetExecution().GetWorkflowId(); last[id] == nil {
					last[id] = info
				}
			}
			if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
				break
			}
		}
	}
	for n := range all {
		correctOne(&all[n], last[all[n].WorkflowID])
	}
	return nil
}

// correctOne says in a record how its workflow was ended by force. One that has ended by
// itself is about to say so, and one that ended before the record began is another one.
func correctOne(r *record.Investigation, last *workflowpb.WorkflowExecutionInfo) {
	status := statusOf(last.GetStatus())
	if last == nil || !goesOn(*r) || status != agent.StatusTerminated && status != agent.StatusTimedOut {
		return
	}
	if end := last.GetCloseTime().AsTime(); end.After(r.StartedAt) {
		r.Status, r.EndReason, r.EndedAt = status, agent.EndReason(status), &end
	}
}
