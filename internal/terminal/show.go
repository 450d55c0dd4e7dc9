package terminal

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Records is what Show reads; a store is one.
type Records interface {
	Investigation(ctx context.Context, id string) (record.Investigation, error)
	Stages(ctx context.Context, investigation string) ([]record.Stage, error)
	Executions(ctx context.Context, investigation string) ([]record.Execution, error)
	After(ctx context.Context, investigation string, seq int64, limit int) ([]transcript.Entry, error)
}

// Show prints all that there is of an investigation, agent by agent: prompts and
// results whole, and what was superseded by a reset, marked as such.
func Show(ctx context.Context, src Records, investigation string, opts Options) error {
	opts.Verbose = true
	v := newView(opts)
	var errs [4]error
	var entries []transcript.Entry
	v.record, errs[0] = src.Investigation(ctx, investigation)
	v.stages, errs[1] = src.Stages(ctx, investigation)
	v.executions, errs[2] = src.Executions(ctx, investigation)
	entries, errs[3] = src.After(ctx, investigation, 0, 0)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	v.known(v.executions)
	for _, execution := range byExecution(entries) {
		for _, e := range execution {
			v.entry(e)
		}
	}
	v.settle()
	v.end()
	return v.p.err
}

// byExecution groups entries by their execution, in the order in which those began.
func byExecution(entries []transcript.Entry) [][]transcript.Entry {
	var groups [][]transcript.Entry
	index := map[string]int{}
	for _, e := range entries {
		i, known := index[e.Execution]
		if !known {
			i = len(groups)
			index[e.Execution] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// End prints how an investigation ended: its report, and a line of numbers.
func End(r record.Investigation, opts Options) error {
	v := newView(opts)
	v.record = r
	v.end()
	return v.p.err
}
