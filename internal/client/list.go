package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// List lists the investigations in the store or, without a store, in Temporal.
func (c *reader) List(ctx context.Context, filter record.Filter) (l system.Listing, err error) {
	st, err := c.Store(ctx)
	switch {
	case err != nil:
		return l, err
	case st == nil:
		if filter.Review != "" || filter.Assignee != "" {
			return l, system.ErrNoStore
		}
		l.Remote = true
		l.All, err = c.visible(ctx, filter)
		return l, err
	}
	// Terminated investigations could not record their end, and the workers correct their records only now and then.
	wide, lost := filter, filter.Status == agent.StatusTerminated || filter.Status == agent.StatusTimedOut
	if lost || filter.NeedsMe || slices.Contains(agent.Open(), filter.Status) {
		wide.Limit = 0
	}
	l.All, err = st.Investigations(ctx, wide)
	if err == nil && lost {
		running := wide
		running.Status, running.Open = "", true
		var open []record.Investigation
		open, err = st.Investigations(ctx, running)
		l.All = append(l.All, open...)
	}
	if err != nil {
		return l, err
	}
	l.Stale = c.correct(ctx, l.All)
	filter.Search = "" // the store has already searched, and it searches more than the records
	l.All = slices.DeleteFunc(l.All, func(r record.Investigation) bool { return !filter.Selects(r) })
	slices.SortStableFunc(l.All, func(a, b record.Investigation) int { return b.StartedAt.Compare(a.StartedAt) })
	if filter.Limit > 0 {
		l.All = l.All[:min(filter.Limit, len(l.All))]
	}
	var ids []string
	for _, r := range l.All {
		ids = append(ids, r.ID)
	}
	if l.Scores, err = st.LastScores(ctx, ids); err != nil {
		return l, err
	}
	if l.Reviews, err = st.Reviews(ctx, l.All); err != nil {
		return l, err
	}
	l.About, err = aboutAll(ctx, st, l.All)
	return l, err
}

// Executions lists the workflows that match a query of Temporal's visibility, page by page.
func Executions(ctx context.Context, conn sdk.Client, query string, pageSize int32) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	page := func(token []byte) (*workflowservice.ListWorkflowExecutionsResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return conn.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: pageSize, NextPageToken: token})
	}
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		for token := []byte(nil); ; {
			found, err := page(token)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, info := range found.GetExecutions() {
				if !yield(info, nil) {
					return
				}
			}
			if token = found.GetNextPageToken(); len(token) == 0 {
				return
			}
		}
	}
}

// RunningOf returns the query for the running workflows of some types.
func RunningOf(types ...string) string {
	return "WorkflowType IN ('" + strings.Join(types, "', '") + "') AND ExecutionStatus = 'Running'"
}

// running lists the running investigations.
func (c *reader) running(ctx context.Context) (all []handle, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	for info, err := range Executions(ctx, conn, RunningOf(workflows.TypeInvestigation), 0) {
		if err != nil {
			return nil, fmt.Errorf("list running investigations: %w", err)
		}
		all = append(all, handleOf(conn, info))
	}
	return all, nil
}

// visible lists the investigations in Temporal. It filters them itself, because a query must not name search attributes that may not
// be registered.
func (c *reader) visible(ctx context.Context, filter record.Filter) (all []record.Investigation, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	for info, err := range Executions(ctx, conn, "WorkflowType = '"+workflows.TypeInvestigation+"'", 0) {
		if err != nil {
			return nil, fmt.Errorf("list the investigations in Temporal: %w", err)
		}
		r := visibleRecord(info)
		if !filter.Selects(r) || info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			continue
		}
		if all = append(all, r); len(all) == filter.Limit {
			break
		}
	}
	return all, nil
}

func visibleRecord(info *workflowpb.WorkflowExecutionInfo) record.Investigation {
	h := handleOf(nil, info)
	attributes := info.GetSearchAttributes().GetIndexedFields()
	r := record.Investigation{
		ID: h.ID(), WorkflowID: h.Workflow, RunID: h.First, Status: statusOf(h.status),
		Chain: keyword(attributes[activities.AttributeChain]), AlertType: keyword(attributes[activities.AttributeAlertType]),
		StartedAt: info.GetStartTime().AsTime(),
	}
	// Temporal cannot distinguish failed from timed out and knows no pending items. Workflows ended by force could not report it.
	if said := agent.Status(keyword(attributes[activities.AttributeStatus])); said != "" && said.Closed() == r.Status.Closed() {
		r.Status = said
	}
	if info.GetCloseTime() != nil {
		end := info.GetCloseTime().AsTime()
		r.EndedAt = &end
	}
	return r
}

func keyword(payload *commonpb.Payload) (text string) {
	if payload != nil && converter.GetDefaultDataConverter().FromPayload(payload, &text) != nil {
		return ""
	}
	return text
}

// correctTimeout limits the connection to Temporal. After that, the list comes from the store alone.
const correctTimeout = 2 * time.Second

// correct corrects records of open investigations that Temporal knows to have ended. Temporal lists the last run of a workflow first.
// correct asks about many of them in one query.
func (c *reader) correct(ctx context.Context, all []record.Investigation) error {
	const askedAtOnce = 250
	open := slices.DeleteFunc(slices.Clone(all), func(r record.Investigation) bool { return r.EndedAt != nil })
	if len(open) == 0 {
		return nil
	}
	dialing, cancel := context.WithTimeout(ctx, correctTimeout)
	defer cancel()
	conn, err := c.temporal(dialing)
	if err != nil {
		return err
	}
	last := map[string]*workflowpb.WorkflowExecutionInfo{} // by workflow ID
	for some := range slices.Chunk(open, askedAtOnce) {
		var ids []string
		for _, r := range some {
			ids = append(ids, strconv.Quote(r.WorkflowID))
		}
		query := fmt.Sprintf("WorkflowType = '%s' AND WorkflowId IN (%s)", workflows.TypeInvestigation, strings.Join(ids, ", "))
		for info, err := range Executions(ctx, conn, query, 0) {
			if err != nil {
				return fmt.Errorf("ask Temporal for the status of investigations: %w", err)
			}
			if id := info.GetExecution().GetWorkflowId(); last[id] == nil {
				last[id] = info
			}
		}
	}
	for n := range all {
		correctOne(&all[n], last[all[n].WorkflowID])
	}
	return nil
}

// correctOne records how a workflow was ended by force. It skips a workflow that ended by itself, which is about to record that, and
// one that ended before the record began, which is another one.
func correctOne(r *record.Investigation, last *workflowpb.WorkflowExecutionInfo) {
	status := statusOf(last.GetStatus())
	if last == nil || r.EndedAt != nil || status != agent.StatusTerminated && status != agent.StatusTimedOut {
		return
	}
	if end := last.GetCloseTime().AsTime(); end.After(r.StartedAt) {
		r.Status, r.EndReason, r.EndedAt = status, agent.EndReason(status), &end
	}
}
