package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/bundle"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// FromBundle makes a case of an exported investigation, and a first case.yaml.
func FromBundle(ctx context.Context, b bundle.Bundle) (c eval.Case, draft []byte, err error) {
	dir, err := os.MkdirTemp("", "inquest-eval")
	if err != nil {
		return c, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := b.CheckSchema(store.KnownSchema()); err != nil {
		return c, nil, err
	}
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "inquest.db")})
	if err != nil {
		return c, nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.Add(ctx, b.Investigation, b.Rows, maps.Values(b.Blobs)); err != nil {
		return c, nil, err
	}
	r, err := st.FindInvestigation(ctx, b.Investigation)
	if err != nil {
		return c, nil, err
	}
	if c.Request, err = requestOf(r, b.Blobs); err != nil {
		return c, nil, err
	}
	catalogues, err := cataloguesOf(b)
	if err != nil {
		return c, nil, err
	}
	entries, err := st.After(ctx, r.ID, 0, 0)
	if err != nil {
		return c, nil, err
	}
	c.Tape, err = eval.Record(ctx, slices.DeleteFunc(entries, judges), catalogues, st)
	c.Tape.StartedAt = r.StartedAt.UTC().Truncate(time.Second)
	about := fmt.Sprintf("Recorded from %s on %s.", r.WorkflowID, r.StartedAt.UTC().Format("2006-01-02"))
	return c, eval.Draft(about, string(r.Status), report.BriefOf(r, nil).Cause, c.Tape), err
}

func judges(e transcript.Entry) bool { return plan.Judges(e.Execution) }

// requestOf returns the request of a recorded investigation as far as it does not belong to that run alone.
func requestOf(r record.Investigation, blobs map[string][]byte) (agent.Request, error) {
	out := agent.Request{
		Chain: r.Chain, AlertType: r.AlertType, Overrides: r.Overrides,
		Labels: agent.Labels{Project: r.Project, Metadata: r.Metadata},
	}
	data := blobs[r.DataHash]
	if out.Data = data; !json.Valid(data) {
		out.Data, _ = json.Marshal(string(data)) // a string can always be written
	}
	out.AllowEmpty = len(data) == 0
	var p plan.Plan
	if text, ok := blobs[r.PlanHash]; ok {
		if err := json.Unmarshal(text, &p); err != nil {
			return out, fmt.Errorf("the plan of %s: %w", r.ID, err)
		}
	}
	if p.RunbookOrigin.Untrusted() != "" { // a run fetches none
		out.Runbook = p.Runbook
	}
	return out, nil
}

// cataloguesOf returns the lists of tools in a bundle.
func cataloguesOf(b bundle.Bundle) (all []tool.Catalogue, err error) {
	for _, row := range b.Rows {
		if row.Table != "catalogues" {
			continue
		}
		hash, _ := row.Values["hash"].(string)
		var c tool.Catalogue
		if err := json.Unmarshal(b.Blobs[hash], &c); err != nil {
			return nil, fmt.Errorf("the tools of %v: %w", row.Values["server"], err)
		}
		all = append(all, c)
	}
	return all, nil
}
