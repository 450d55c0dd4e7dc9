package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/evidence"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const (
	ofInvestigations = "investigations"
	mostListed       = 200  // investigations in one response
	mostRead         = 1000 // entries or acts
	maxBeginnings    = 5    // IDs to list for an ambiguous prefix
	pollEvery        = time.Second
)

// Find implements the same operation as client.Client.Find. So do the methods below with names from client.Client.
func (r *Remote) Find(ctx context.Context, id string) (client.Handle, error) {
	w, err := of[whole](ctx, r, http.MethodGet, ofInvestigations, id, "", nil)
	if err != nil {
		return client.Handle{}, err
	}
	return client.HandleOf(w.Investigation.ID, !w.Investigation.Status.Closed()), nil
}

func (r *Remote) Resolve(ctx context.Context, id string) (string, error) {
	if _, err := r.Find(ctx, id); !errors.Is(err, record.ErrNotFound) {
		return id, err
	}
	names, err := r.beginning(ctx, id)
	switch {
	case err != nil || len(names) == 0:
		return id, err
	case len(names) > 1:
		return id, &client.InputError{Err: fmt.Errorf("%q is the beginning of several IDs: %s", id, strings.Join(names, ", "))}
	}
	return names[0], nil
}

// beginning returns the IDs with a prefix, or workflow IDs if the prefix matches those.
func (r *Remote) beginning(ctx context.Context, text string) (names []string, err error) {
	asked := url.Values{"q": {text}, "limit": {strconv.Itoa(mostListed)}}
	if n := strings.LastIndexByte(text, ':'); n > 0 { // workflow IDs are compared below
		asked.Set("q", text[:n])
	}
	found, err := call[page[listed]](ctx, r, http.MethodGet, investigations+"?"+asked.Encode(), nil)
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

func (r *Remote) Meant(ctx context.Context, id string, unknown error) error {
	if names, err := r.beginning(ctx, id); err == nil && len(names) > 0 {
		return fmt.Errorf("%w. IDs that start with it: %s. Give a full ID", unknown, strings.Join(names, ", "))
	}
	return unknown
}

func (r *Remote) List(ctx context.Context, f store.Filter) (l client.Listing, err error) {
	if len(f.Projects) > 1 {
		return l, &client.InputError{Err: errors.New("the API lists one project, or all that the token may see")}
	}
	asked := url.Values{}
	for name, value := range map[string]string{
		"status": string(f.Status), "chain": f.Chain, "alert_type": f.AlertType, "tenant": f.Tenant, "session": f.Session,
		"project": strings.Join(f.Projects, ""), "q": f.Search,
	} {
		if value != "" {
			asked.Set(name, value)
		}
	}
	for key, value := range f.Metadata {
		asked.Add("meta", key+"="+value)
	}
	if !f.Since.IsZero() {
		asked.Set("since", f.Since.Format(time.RFC3339Nano))
	}
	if f.NamesOnly {
		asked.Set("names_only", "true")
	}
	if f.NeedsMe {
		asked.Set("needs_me", "true")
	}
	l.About, l.Scores = map[string]string{}, map[string]int{}
	for {
		left := mostListed
		if f.Limit > 0 {
			left = min(left, f.Limit-len(l.All))
		}
		asked.Set("limit", strconv.Itoa(left))
		found, err := call[page[listed]](ctx, r, http.MethodGet, investigations+"?"+asked.Encode(), nil)
		if err != nil {
			return l, err
		}
		for _, one := range found.Items {
			l.All = append(l.All, one.Investigation)
			if l.About[one.ID] = one.About; one.Score != nil {
				l.Scores[one.ID] = *one.Score
			}
		}
		if found.Next == "" || f.Limit > 0 && len(l.All) >= f.Limit {
			return l, nil
		}
		asked.Set("cursor", found.Next)
	}
}

func (r *Remote) Status(ctx context.Context, id string) (client.Status, error) {
	s, err := of[standing](ctx, r, http.MethodGet, ofInvestigations, id, "/status", nil)
	return client.Status{Status: s.Status, Agents: s.Agents}, err
}

func (r *Remote) Outcome(ctx context.Context, id string) (client.Whole, error) {
	w, err := of[whole](ctx, r, http.MethodGet, ofInvestigations, id, "", nil)
	return client.Whole{
		Investigation: w.Investigation, Stages: w.Stages, Executions: w.Executions, Scores: w.Scores, Status: w.Status,
		UnknownCalls: w.UnknownCalls,
	}, err
}

func (r *Remote) Whole(ctx context.Context, id string) (w client.Whole, err error) {
	if w, err = r.Outcome(ctx, id); err != nil {
		return w, err
	}
	if w.Entries, err = r.entries(ctx, ofInvestigations, w.Investigation.ID, 0); err != nil || w.Status != nil {
		return w, err
	}
	waiting, err := r.Waiting(ctx, w.Investigation.ID)
	for _, one := range waiting {
		w.Questions = append(w.Questions, one.Questions...)
	}
	return w, err
}

// entries returns the entries of a transcript after one of them.
func (r *Remote) entries(ctx context.Context, thing, id string, after int64) (all []transcript.Entry, err error) {
	for {
		path := fmt.Sprintf("/transcript?after=%d&limit=%d", after, mostRead)
		part, err := of[entries](ctx, r, http.MethodGet, thing, id, path, nil)
		if all, after = append(all, part.Entries...), part.Next; err != nil || after == 0 {
			return all, err
		}
	}
}

func (r *Remote) Evidence(ctx context.Context, w client.Whole) (evidence.Evidence, error) {
	return of[evidence.Evidence](ctx, r, http.MethodGet, ofInvestigations, w.Investigation.ID, "/evidence", nil)
}

// Artifacts lists the artifacts. Their Refs are paths in the API.
func (r *Remote) Artifacts(ctx context.Context, id string) ([]artifact.Artifact, error) {
	found, err := of[page[artifact.Artifact]](ctx, r, http.MethodGet, ofInvestigations, id, "/artifacts", nil)
	for n := range found.Items {
		found.Items[n].Ref = fmt.Sprintf("%s/%s/artifacts/%d", investigations, url.PathEscape(id), found.Items[n].N)
	}
	return found.Items, err
}

func (r *Remote) Artifact(ctx context.Context, ref string) ([]byte, error) {
	return call[[]byte](ctx, r, http.MethodGet, ref, nil)
}

// Text reads all arguments of a pending call. For other texts the API serves either the whole or only the beginning.
func (r *Remote) Text(ctx context.Context, text *string, ref string) error {
	path, call, waits := strings.Cut(ref, "#")
	switch {
	case ref == "":
		return nil
	case !waits:
		return errNoMore
	}
	found, err := r.things(ctx, path)
	for _, t := range found {
		if a := t.Approval; a != nil && a.Name()+" "+a.Digest == call && a.ArgumentsRef == "" {
			*text = a.Arguments
			return nil
		}
	}
	return cmp.Or(err, errNoMore)
}

var errNoMore = errors.New("the API has no more of it")

// Acts returns the acts of one investigation. The API serves no others.
func (r *Remote) Acts(ctx context.Context, f store.ActFilter, fn func(audit.Act) error) error {
	if f.Investigation == "" {
		return &client.InputError{Err: errors.New("the API has the audit trail of one investigation: name it")}
	}
	if f.Project != "" {
		if w, err := r.Outcome(ctx, f.Investigation); err != nil || w.Investigation.Project != f.Project {
			return err
		}
	}
	for after := int64(0); ; {
		path := fmt.Sprintf("/acts?after=%d&limit=%d", after, mostRead)
		part, err := of[actsPage](ctx, r, http.MethodGet, ofInvestigations, f.Investigation, path, nil)
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
		if after = part.Next; after == 0 {
			return nil
		}
	}
}

// Waiting returns only the beginning of large arguments. Their Refs are addresses from which Text reads all of them.
func (r *Remote) Waiting(ctx context.Context, id string) (all []record.Waiting, err error) {
	found, err := r.things(ctx, query(base+"/inbox", "id", id))
	if errors.Is(err, record.ErrNotFound) {
		err = fmt.Errorf("%s: %w, or not for this token", id, record.ErrNotFound)
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
func (r *Remote) things(ctx context.Context, path string) (all []thing, err error) {
	address, err := url.Parse(path)
	for err == nil {
		var found page[thing]
		found, err = call[page[thing]](ctx, r, http.MethodGet, address.String(), nil)
		if all = append(all, found.Items...); found.Next == "" {
			break
		}
		asked := address.Query()
		asked.Set("cursor", found.Next)
		address.RawQuery = asked.Encode()
	}
	return all, err
}

// addressArguments sets the Ref of truncated arguments to the address of the full ones.
func addressArguments(id string, a *record.Approval) {
	if a.ArgumentsRef != "" {
		a.ArgumentsRef = query(base+"/inbox", "id", id, "whole", "true") + "#" + a.Name() + " " + a.Digest
	}
}

func (r *Remote) Fate(ctx context.Context, id, name string) string {
	w, err := r.Whole(ctx, id)
	if err != nil {
		return ""
	}
	return w.Fate(name)
}

func (r *Remote) Await(ctx context.Context, h client.Handle) (client.Result, error) {
	for {
		w, err := persist(ctx, r, passing, func() (client.Whole, error) { return r.Outcome(ctx, h.ID()) })
		if err != nil || w.Investigation.Status.Closed() {
			out := client.ResultOf(w.Investigation)
			if w.Status != nil {
				out.Stages, out.Summary, out.SummaryError = w.Status.Stages, w.Status.Summary, w.Status.SummaryError
			}
			return out, err
		}
		pause(ctx, pollEvery)
	}
}
