package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

const (
	mostListed    = 200  // investigations in one response
	mostRead      = 1000 // entries or acts
	maxBeginnings = 5    // IDs to list for an ambiguous prefix
	pollEvery     = time.Second
)

// Find implements system.Starter. The methods below implement the other interfaces of package system, too.
func (r *Client) Find(ctx context.Context, id string) (system.Handle, error) {
	w, err := do(ctx, r, system.GetInvestigation, system.ByID{ID: id})
	if err != nil {
		return system.Handle{}, err
	}
	return system.HandleOf(w.Investigation.ID, !w.Investigation.Status.Closed()), nil
}

func (r *Client) Resolve(ctx context.Context, id string) (string, error) {
	if _, err := r.Find(ctx, id); !errors.Is(err, record.ErrNotFound) {
		return id, err
	}
	names, err := beginning(ctx, r, id)
	switch {
	case err != nil || len(names) == 0:
		return id, err
	case len(names) > 1:
		return id, &system.InputError{Err: fmt.Errorf("%q is the beginning of several IDs: %s", id, strings.Join(names, ", "))}
	}
	return names[0], nil
}

// beginning returns the IDs with a prefix, or workflow IDs if the prefix matches those.
func beginning(ctx context.Context, r *Client, text string) (names []string, err error) {
	asked := system.ListIn{Search: text, Limit: mostListed}
	if n := strings.LastIndexByte(text, ':'); n > 0 { // workflow IDs are compared below
		asked.Search = text[:n]
	}
	found, err := do(ctx, r, system.ListInvestigations, asked)
	for _, one := range found.Items {
		name := one.WorkflowID
		if !strings.HasPrefix(name, text) {
			name = one.ID
		}
		if strings.HasPrefix(name, text) && !slices.Contains(names, name) && len(names) < maxBeginnings {
			names = append(names, name)
		}
	}
	return names, err
}

func (r *Client) Meant(ctx context.Context, id string, unknown error) error {
	if names, err := beginning(ctx, r, id); err == nil && len(names) > 0 {
		return fmt.Errorf("%w. IDs that start with it: %s. Give a full ID", unknown, strings.Join(names, ", "))
	}
	return unknown
}

var errProjects = &system.InputError{Err: errors.New("the API takes one project: give --project once, or omit it")}

func (r *Client) List(ctx context.Context, f record.Filter) (l system.Listing, err error) {
	if len(f.Projects) > 1 {
		return l, errProjects
	}
	asked := system.ListIn{
		Status: string(f.Status), Chain: f.Chain, AlertType: f.AlertType, Tenant: f.Tenant, Session: f.Session,
		Project: strings.Join(f.Projects, ""), Since: f.Since, NeedsMe: f.NeedsMe, Search: f.Search, NamesOnly: f.NamesOnly,
		Review: string(f.Review), Assignee: f.Assignee,
	}
	for key, value := range f.Metadata {
		asked.Meta = append(asked.Meta, key+"="+value)
	}
	l.About, l.Scores, l.Reviews = map[string]string{}, map[string]int{}, map[string]*record.Review{}
	for {
		asked.Limit = mostListed
		if f.Limit > 0 {
			asked.Limit = min(asked.Limit, f.Limit-len(l.All))
		}
		found, err := do(ctx, r, system.ListInvestigations, asked)
		if err != nil {
			return l, err
		}
		for _, one := range found.Items {
			l.All = append(l.All, one.Investigation)
			if l.About[one.ID] = one.About; one.Score != nil {
				l.Scores[one.ID] = *one.Score
			}
			l.Reviews[one.ID] = one.Review
		}
		if found.Next == "" || f.Limit > 0 && len(l.All) >= f.Limit {
			return l, nil
		}
		asked.Cursor = found.Next
	}
}

func (r *Client) Status(ctx context.Context, id string) (system.Status, error) {
	s, err := do(ctx, r, system.GetStatus, system.ByID{ID: id})
	return system.Status{Status: s.Status, Agents: s.Agents}, err
}

func (r *Client) Outcome(ctx context.Context, id string) (system.Record, error) {
	w, err := do(ctx, r, system.GetInvestigation, system.ByID{ID: id})
	return system.Record{
		Investigation: w.Investigation, Stages: w.Stages, Executions: w.Executions, Scores: w.Scores, Ratings: w.Ratings,
		Review: w.Review, Status: w.Status, Forks: w.Forks, UnknownCalls: w.UnknownCalls,
	}, err
}

func (r *Client) Whole(ctx context.Context, id string) (w system.Record, err error) {
	if w, err = r.Outcome(ctx, id); err != nil {
		return w, err
	}
	w.Entries, err = entriesOf(func(after int64) (system.Entries, error) {
		return do(ctx, r, system.GetTranscript, system.TranscriptIn{
			ByID: system.ByID{ID: w.Investigation.ID}, PartIn: system.PartIn{After: after, Limit: mostRead},
		})
	}, 0)
	if err != nil || w.Status != nil {
		return w, err
	}
	waiting, err := r.Waiting(ctx, w.Investigation.ID)
	for _, one := range waiting {
		w.Questions = append(w.Questions, one.Questions...)
	}
	return w, err
}

// entriesOf reads all pages of a transcript after one of its entries.
func entriesOf(page func(after int64) (system.Entries, error), after int64) (all []transcript.Entry, err error) {
	for {
		part, err := page(after)
		if all, after = append(all, part.Entries...), part.Next; err != nil || after == 0 {
			return all, err
		}
	}
}

func (r *Client) Plan(ctx context.Context, w system.Record) (plan.Plan, error) {
	return do(ctx, r, system.GetPlan, system.ByID{ID: w.Investigation.ID})
}

func (r *Client) Evidence(ctx context.Context, w system.Record) (evidence.Evidence, error) {
	return do(ctx, r, system.GetEvidence, system.ByID{ID: w.Investigation.ID})
}

// Artifacts lists the artifacts. Their Refs are paths in the API.
func (r *Client) Artifacts(ctx context.Context, id string) ([]artifact.Artifact, error) {
	found, err := do(ctx, r, system.ListArtifacts, system.ByID{ID: id})
	for n := range found.Items {
		found.Items[n].Ref = requestOf(system.GetArtifact.Operation, system.ArtifactIn{ByID: system.ByID{ID: id}, N: found.Items[n].N}).path
	}
	return found.Items, err
}

func (r *Client) Artifact(ctx context.Context, ref string) (content []byte, err error) {
	to := request{method: system.GetArtifact.Method, path: ref, header: http.Header{"Accept": {"application/octet-stream"}}}
	err = r.exchange(ctx, timeout, to, &content)
	return content, err
}

// Text reads all arguments of a pending call. Other texts that the API truncates cannot be read in full.
func (r *Client) Text(ctx context.Context, text *string, ref string) error {
	id, call, waits := strings.Cut(ref, "#")
	switch {
	case ref == "":
		return nil
	case !waits:
		return errNoMore
	}
	id, err := url.QueryUnescape(id)
	if err != nil {
		return errNoMore
	}
	found, err := r.things(ctx, system.InboxIn{ID: id, Whole: true})
	for _, t := range found {
		if a := t.Approval; a != nil && a.Name()+" "+a.Digest == call && a.ArgumentsRef == "" {
			*text = a.Arguments
			return nil
		}
	}
	return cmp.Or(err, errNoMore)
}

var errNoMore = errors.New("the API returns only the beginning of this text")

// Acts returns the acts of one investigation. The API serves no others.
func (r *Client) Acts(ctx context.Context, f record.ActFilter, fn func(audit.Act) error) error {
	if f.Investigation == "" {
		return &system.InputError{Err: errors.New("with the API, the audit trail needs the ID of an investigation")}
	}
	if f.Project != "" {
		if w, err := r.Outcome(ctx, f.Investigation); err != nil || w.Investigation.Project != f.Project {
			return err
		}
	}
	for in := (system.ActsIn{ByID: system.ByID{ID: f.Investigation}, Limit: mostRead}); ; {
		part, err := do(ctx, r, system.ListActs, in)
		if err != nil {
			return err
		}
		for _, act := range part.Items {
			if act.At.Before(f.Since) || f.Who != "" && f.Who != act.Who || f.Tool != "" && f.Tool != act.Tool {
				continue
			}
			if err := fn(act); err != nil {
				return err
			}
		}
		if in.After = part.Next; in.After == 0 {
			return nil
		}
	}
}

// Waiting returns only the beginning of large arguments. Text reads all of them by their Refs.
func (r *Client) Waiting(ctx context.Context, id string) (all []record.Waiting, err error) {
	found, err := r.things(ctx, system.InboxIn{ID: id})
	if errors.Is(err, record.ErrNotFound) {
		err = fmt.Errorf("%s: %w, or this token may not see it", id, record.ErrNotFound)
	}
	of := map[string]int{}
	for _, t := range found {
		n, known := of[t.Investigation]
		if !known {
			n = len(all)
			of[t.Investigation] = n
			all = append(all, record.Waiting{Investigation: t.Investigation, WorkflowID: t.WorkflowID, Project: t.Project})
		}
		if t.Approval != nil {
			addressArguments(t.Investigation, t.Approval)
			all[n].Approvals = append(all[n].Approvals, *t.Approval)
		} else if t.Question != nil {
			all[n].Questions = append(all[n].Questions, *t.Question)
		}
	}
	return all, err
}

// things reads all pages of pending items.
func (r *Client) things(ctx context.Context, in system.InboxIn) (all []system.Thing, err error) {
	for {
		found, err := do(ctx, r, system.ListInbox, in)
		if all, in.Cursor = append(all, found.Items...), found.Next; err != nil || in.Cursor == "" {
			return all, err
		}
	}
}

// addressArguments sets the Ref of truncated arguments to one from which Text reads all of them.
func addressArguments(id string, a *record.Approval) {
	if a.ArgumentsRef != "" {
		a.ArgumentsRef = url.QueryEscape(id) + "#" + a.Name() + " " + a.Digest
	}
}

func (r *Client) Fate(ctx context.Context, id, name string) string {
	w, err := r.Whole(ctx, id)
	if err != nil {
		return ""
	}
	return w.Fate(name)
}

func (r *Client) Await(ctx context.Context, h system.Handle) (system.Result, error) {
	for {
		w, err := persist(ctx, r, passing, func() (system.Record, error) { return r.Outcome(ctx, h.ID()) })
		if err != nil || w.Investigation.Status.Closed() {
			out := system.ResultOf(w.Investigation)
			if w.Status != nil {
				out.Stages, out.Summary, out.SummaryError = w.Status.Stages, w.Status.Summary, w.Status.SummaryError
			}
			return out, err
		}
		pause(ctx, pollEvery)
	}
}
