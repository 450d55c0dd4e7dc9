package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// prepareFork completes the request of a fork, and checks everything that the workers would refuse, so that nothing is started then.
func (c *Client) prepareFork(ctx context.Context, s *system.Start) error {
	st, err := c.needStore(ctx)
	if err != nil {
		return err
	}
	forked := *s.Request.Fork
	s.Request.Fork = &forked
	of, err := st.FindInvestigation(ctx, forked.Of)
	if err != nil {
		return err
	}
	if forked.Results, err = c.checkFork(ctx, st, of, *s); err != nil {
		return err
	}
	forked.Of = of.ID
	s.Request.Project, s.Request.Tenant = cmp.Or(of.Project, agent.DefaultProject), of.Tenant
	s.Request.Priority = cmp.Or(s.Request.Priority, of.Priority)
	s.Workflow = cmp.Or(s.Workflow, system.RandomID(of.Chain))
	if err := maskRequest(ctx, s); err != nil {
		return err
	}
	return checkSize(s.Request)
}

// checkFork returns an error if the investigation cannot be forked as requested. Otherwise it returns the texts that replace results,
// masked like results of their tools, by row.
func (c *Client) checkFork(ctx context.Context, st *store.Store, of record.Investigation, s system.Start) (map[string]string, error) {
	project := cmp.Or(of.Project, agent.DefaultProject)
	switch asked := s.Request.Project; {
	case s.Data != "":
		return nil, &system.InputError{Err: errors.New(`"data" cannot be set: a fork has the data of the other investigation`)}
	case asked != "" && asked != project:
		return nil, &system.InputError{Err: fmt.Errorf("%s belongs to project %s: a fork must, too", of.ID, project)}
	}
	if err := s.Request.Validate(); err != nil {
		return nil, &system.InputError{Err: err}
	}
	p, err := c.Plan(ctx, system.Record{Investigation: of})
	if errors.Is(err, record.ErrNotFound) {
		return nil, &system.InputError{Err: fmt.Errorf("%s has no plan: run `starter rerun %s` instead", of.ID, of.ID)}
	}
	if err != nil {
		return nil, err
	}
	entries, err := st.After(ctx, of.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	there, err := st.Check(ctx, of.ID)
	if err != nil {
		return nil, err
	}
	if n := len(there.Blobs); n > 0 {
		err := fmt.Errorf("the store has lost %d texts and files of %s: run `starter store check %s`", n, of.ID, of.ID)
		return nil, &system.InputError{Err: err}
	}
	f, texts, err := fork.Cut(p, entries, *s.Request.Fork)
	if err != nil {
		return nil, &system.InputError{Err: fmt.Errorf("fork %s: %w", of.ID, err)}
	}
	if len(s.Request.Fork.LeaveOut) > 0 { // workers have the text in place of these
		return nil, nil
	}
	return maskResults(ctx, p, f, texts)
}

// maskResults masks texts that replace results, and returns them by row.
func maskResults(ctx context.Context, p plan.Plan, f plan.Fork, texts map[int64]string) (map[string]string, error) {
	err := fork.MaskResults(p, f, texts, func(masking *plan.Masking, text string) (string, error) {
		if masking == nil {
			return text, nil
		}
		masker, err := mask.New(*masking)
		if err != nil {
			return "", err
		}
		return masker.Text(ctx, text)
	})
	out := map[string]string{}
	for row, text := range texts { // any order: each row has its own key
		out[fmt.Sprint(row)] = text
	}
	return out, err
}

// forksOf returns the IDs of the investigations that were forked from another one. They are only links: if they cannot be read, there are
// none.
func forksOf(ctx context.Context, st *store.Store, id string) (forks []string) {
	_ = st.Acts(ctx, record.ActFilter{Investigation: id, What: audit.Forked}, func(act audit.Act) error {
		var detail struct {
			Fork string `json:"fork"`
		}
		if json.Unmarshal(act.Detail, &detail) == nil {
			forks = append(forks, detail.Fork)
		}
		return nil
	})
	return forks
}

// Plan returns the plan of an investigation. It returns record.ErrNotFound for one that failed before its plan was stored.
func (c *reader) Plan(ctx context.Context, w system.Record) (p plan.Plan, err error) {
	hash := w.Investigation.PlanHash
	if hash == "" {
		return p, fmt.Errorf("the plan of %s: %w", w.Investigation.ID, record.ErrNotFound)
	}
	body, err := c.Blob(ctx, hash)
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil {
		err = fmt.Errorf("read the plan of %s: %w", w.Investigation.ID, err)
	}
	return p, err
}
