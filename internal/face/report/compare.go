package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// Compare reads two investigations and compares them. It reads from sys, and not from the store, so that the command also works through
// the HTTP API.
func Compare(ctx context.Context, sys system.Reader, a, b string) (out system.Comparison, err error) {
	var whole [2]system.Record
	for n, id := range []string{a, b} {
		if whole[n], err = sys.Whole(ctx, id); err != nil {
			return out, err
		}
	}
	if out.A, err = compared(ctx, sys, whole[0]); err != nil {
		return out, err
	}
	if out.B, err = compared(ctx, sys, whole[1]); err != nil {
		return out, err
	}
	changes, problem, err := planChanges(ctx, sys, whole)
	out.Plan, out.PlanProblem = append([]plan.Change{}, changes...), problem
	out.Steps = append([]eval.Step{}, eval.Align(whole[0].Entries, whole[1].Entries)...)
	return out, err
}

func compared(ctx context.Context, sys system.Reader, w system.Record) (system.Compared, error) {
	r := w.Investigation
	var proof *evidence.Evidence
	if r.Envelope.Evidence != "" {
		found, err := sys.Evidence(ctx, w)
		if err != nil {
			return system.Compared{}, err
		}
		proof = &found
	}
	out := system.Compared{
		ID: r.ID, Status: r.Status, EndReason: r.EndReason, Error: r.Error, Chain: r.Chain, Started: r.StartedAt, Ended: r.EndedAt,
		Brief: BriefOf(r, proof), Models: []string{}, Usage: r.Usage, Calls: map[string]int{},
	}
	for _, e := range w.Executions {
		if e.Model != "" && !plan.Judges(e.Name) && !slices.Contains(out.Models, e.Model) {
			out.Models = append(out.Models, e.Model)
		}
	}
	for _, e := range w.Entries {
		if e.Kind == transcript.KindResult && e.Call != nil && !e.Superseded && !plan.Judges(e.Execution) {
			out.Calls[e.Call.Name]++
		}
	}
	return out, nil
}

// planChanges returns how the plans differ, or the problem for which they cannot be compared.
func planChanges(ctx context.Context, sys system.Reader, both [2]system.Record) (changes []plan.Change, problem string, err error) {
	if hash := both[0].Investigation.PlanHash; hash != "" && hash == both[1].Investigation.PlanHash {
		return nil, "", nil
	}
	var plans [2]plan.Plan
	for n, w := range both {
		plans[n], err = sys.Plan(ctx, w)
		switch {
		case errors.Is(err, record.ErrNotFound):
			return nil, w.Investigation.ID + " has no plan", nil
		case errors.Is(err, plan.ErrNewer):
			return nil, fmt.Sprintf("%s: %v", w.Investigation.ID, plan.ErrNewer), nil
		case err != nil:
			return nil, "", err
		}
	}
	changes, err = plan.Changes(plans[0], plans[1])
	return changes, "", err
}
