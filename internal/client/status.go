package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// Status queries a running investigation. The status of an ended one comes from its record, since there may be no worker left to query,
// or from its result.
func (c *reader) Status(ctx context.Context, id string) (system.Status, error) {
	if _, err := c.temporal(ctx); err != nil {
		saved, known, storeErr := c.savedStatus(ctx, id)
		if known { // this needs no Temporal
			return saved, nil
		}
		return system.Status{}, errors.Join(err, storeErr)
	}
	h, err := c.find(ctx, id, workflows.TypeInvestigation)
	gone := errors.Is(err, record.ErrNotFound)
	switch {
	case err != nil && !gone:
		return system.Status{}, err
	case !gone && h.Open:
		return c.ask(ctx, h)
	case !gone:
		id = h.ID()
	}
	saved, known, storeErr := c.savedStatus(ctx, id)
	switch {
	case known || storeErr != nil:
		return saved, storeErr
	case gone:
		return system.Status{}, err
	}
	out, err := c.Await(ctx, h.Handle)
	return system.Status{Result: &out, Status: workflows.Status{
		ID: out.ID, Status: out.Status, EndReason: out.EndReason, Cut: out.EndReason.Cut(),
		Stages: out.Stages, Usage: out.Usage, Error: out.Error,
		Undelivered: out.Undelivered, Summary: out.Summary, SummaryError: out.SummaryError,
	}}, err
}

// ask assembles the status of a running investigation from its workflow, its pending activities in Temporal, its agents, and its usage
// in the store.
func (c *reader) ask(ctx context.Context, h handle) (s system.Status, err error) {
	if err := c.askTwice(ctx, h, &s.Status); err != nil {
		return s, err
	}
	addTroubles(&s.Status, c.troubles(ctx, h))
	s.Agents = h.agents(ctx, s.Status)
	reading, cancel := context.WithTimeout(ctx, queryTimeout) // the store itself may be the problem
	defer cancel()
	known := false
	if known, s.Stale = c.number(reading, &s.Status); errors.As(s.Stale, new(*system.FolderError)) {
		return s, s.Stale
	}
	for n := range s.Stages {
		for m := range s.Stages[n].Agents {
			a := &s.Stages[n].Agents[m]
			now, asked := s.Agents[a.WorkflowID]
			a.Iterations, a.LastFault = max(a.Iterations, now.Iteration), now.LastFault
			if asked && !known {
				a.Usage, s.Usage = now.Usage, s.Usage.Add(now.Usage)
			}
		}
	}
	return s, nil
}

// agents queries the status of the running agents, by workflow ID.
func (h handle) agents(ctx context.Context, status workflows.Status) map[string]workflows.AgentStatus {
	out := map[string]workflows.AgentStatus{}
	for _, stage := range status.Stages {
		for _, a := range stage.Agents {
			var now workflows.AgentStatus
			if !a.Status.Closed() && a.WorkflowID != "" && query(ctx, queryTimeout, h.conn, a.WorkflowID, "", &now) == nil {
				out[a.WorkflowID] = now
			}
		}
	}
	return out
}

// number fills in the usage from the store.
func (c *reader) number(ctx context.Context, status *workflows.Status) (known bool, err error) {
	st, err := c.Store(ctx)
	if err != nil || st == nil {
		return false, err
	}
	r, err := st.FindInvestigation(ctx, status.ID)
	if errors.Is(err, record.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	executions, err := executionsOf(ctx, st, r.ID)
	status.Usage = r.Usage
	number(status, executions)
	var unread error
	status.Notices, unread = notices(ctx, st, r.ID)
	return true, errors.Join(err, unread)
}

// savedStatus returns the status of an ended investigation from the store.
func (c *reader) savedStatus(ctx context.Context, id string) (s system.Status, known bool, err error) {
	w, err := c.Outcome(ctx, id)
	switch {
	case errors.Is(err, system.ErrNoStore), errors.Is(err, record.ErrNotFound):
		return s, false, nil
	case err != nil || w.Status == nil:
		return s, false, err
	}
	return system.Status{Status: *w.Status}, true, nil
}

// StatusOf assembles the same status that the investigation reported while it was running. Records from before envelopes existed name no
// agents, so StatusOf takes them from the executions.
func StatusOf(r record.Investigation, stages []record.Stage, executions []record.Execution) workflows.Status {
	for n := range stages {
		for _, e := range executions {
			if e.Stage == stages[n].Name && stages[n].Envelope.Version == 0 {
				stages[n].Envelope.Agents = append(stages[n].Envelope.Agents, summaryOf(e))
			}
		}
	}
	out := workflows.StatusOf(r, stages)
	number(&out, executions)
	return out
}

// number fills in each agent's usage from its execution. It adds agents that the status does not list: the synthesis of a running
// stage, a sub-agent that has ended, or an agent beyond the listed ones.
func number(status *workflows.Status, executions []record.Execution) {
	for s := range status.Stages {
		stage := &status.Stages[s]
		for _, e := range executions {
			if e.Stage != stage.Name {
				continue
			}
			named := false
			for n := range stage.Agents {
				if a := &stage.Agents[n]; a.Name == agentName(e) {
					named, a.Model, a.Iterations, a.Usage = true, cmp.Or(e.Model, a.Model), e.Iterations, e.Usage
					a.ActionsExecuted, a.WorkflowID = e.ActionsExecuted, cmp.Or(a.WorkflowID, e.ID)
					if a.Status != agent.StatusCompleted { // only the store knows why a sub-agent failed
						a.Error = cmp.Or(a.Error, e.Error)
					}
				}
			}
			if !named && (!stage.Status.Closed() || strings.Contains(agentName(e), "/")) {
				stage.Agents = append(stage.Agents, summaryOf(e))
			}
		}
		stage.Agents = record.InTree(stage.Agents, func(a workflows.AgentSummary) string { return a.Name })
	}
}

// executionsOf returns the executions of an investigation with their IDs.
func executionsOf(ctx context.Context, st *store.Store, investigation string) ([]record.Execution, error) {
	executions, err := st.Executions(ctx, investigation)
	for n := range executions {
		executions[n].ID = investigation + "/" + executions[n].Name
	}
	return executions, err
}

func summaryOf(e record.Execution) workflows.AgentSummary {
	return workflows.AgentSummary{
		Name: agentName(e), Status: e.Status, StopReason: e.StopReason, Model: e.Model,
		Iterations: e.Iterations, Usage: e.Usage, Error: e.Error, ActionsExecuted: e.ActionsExecuted, WorkflowID: e.ID,
	}
}

// agentName is an agent's name in its stage. Replicas have numbers.
func agentName(e record.Execution) string { return strings.TrimPrefix(e.Name, e.Stage+"/") }

// Outcome is Whole without entries and questions. It asks Temporal too, because the store may not know of a recent termination.
func (c *reader) Outcome(ctx context.Context, id string) (w system.Record, err error) {
	st, err := c.Store(ctx)
	if err != nil {
		return w, err
	}
	if st == nil {
		return w, system.ErrNoStore
	}
	r, err := st.FindInvestigation(ctx, id)
	if err != nil {
		return w, err
	}
	one := []record.Investigation{r}
	w.Stale = c.correct(ctx, one)
	w.Investigation = one[0]
	var failed, unscored, unrated, unread error
	w.Stages, err = st.Stages(ctx, r.ID)
	w.Executions, failed = executionsOf(ctx, st, r.ID)
	w.Scores, unscored = st.Scores(ctx, r.ID)
	w.Ratings, unrated = st.Ratings(ctx, r.ID)
	reviews, unreviewed := st.Reviews(ctx, one)
	w.Review = reviews[r.ID]
	w.UnknownCalls, unread = st.UnknownCalls(ctx, r.ID)
	w.UnknownCalls = slices.DeleteFunc(w.UnknownCalls, func(call transcript.UnknownCall) bool { return runs(w, call) })
	w.Forks = forksOf(ctx, st, r.ID)
	if err = errors.Join(err, failed, unscored, unrated, unreviewed, unread); err == nil && w.Investigation.Status.Closed() {
		status := StatusOf(w.Investigation, w.Stages, w.Executions)
		status.Score, status.Ratings, status.Review = w.Score(), w.Ratings, w.Review
		status.Notices, err = notices(ctx, st, r.ID)
		w.Status = &status
	}
	return w, err
}

// maxNotices limits the notices in a status, and maxNotice the bytes of each.
const (
	maxNotices = 20
	maxNotice  = 1000
)

// notices returns the newest notices of an investigation, each with its execution.
func notices(ctx context.Context, st *store.Store, investigation string) (said []string, err error) {
	entries, err := st.Notices(ctx, investigation, maxNotices)
	for _, e := range entries {
		said = append(said, fmt.Sprintf("%s: %s", e.Execution, clip.Bytes(e.Text, maxNotice)))
	}
	return said, err
}

// runs reports whether a call without a result may still get one.
func runs(w system.Record, call transcript.UnknownCall) bool {
	ended := func(e record.Execution) bool { return e.Name == call.Execution && e.Status.Closed() }
	return call.NoResult && !w.Investigation.Status.Closed() && !slices.ContainsFunc(w.Executions, ended)
}

// Whole reads an investigation from the store. It returns system.ErrNoStore without a store, and record.ErrNotFound if the store does
// not know the investigation.
func (c *reader) Whole(ctx context.Context, id string) (w system.Record, err error) {
	if w, err = c.Outcome(ctx, id); err != nil {
		return w, err
	}
	if w.Entries, err = c.store.After(ctx, w.Investigation.ID, 0, 0); err != nil || w.Status != nil {
		return w, err
	}
	waiting, err := c.store.Waiting(ctx, w.Investigation.ID)
	for _, one := range waiting {
		w.Questions = append(w.Questions, one.Questions...)
	}
	return w, err
}
