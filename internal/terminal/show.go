package terminal

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Show prints all that there is of an investigation, agent by agent: prompts and
// results whole, and what was superseded by a reset, marked as such.
func Show(r record.Investigation, stages []record.Stage, executions []record.Execution, entries []transcript.Entry, opts Options) error {
	opts.Verbose = true
	v := newView(opts)
	v.record, v.stages, v.executions = r, stages, executions
	v.known(v.executions)
	begun := map[string]int{} // how many executions had begun when this one did
	for _, e := range entries {
		if _, known := begun[e.Execution]; !known {
			begun[e.Execution] = len(begun)
		}
	}
	entries = slices.SortedStableFunc(slices.Values(entries), func(a, b transcript.Entry) int { return begun[a.Execution] - begun[b.Execution] })
	for _, e := range entries {
		v.entry(e)
	}
	v.settle()
	v.end()
	return v.p.err
}

// End prints how an investigation ended: its report, and a line of numbers.
func End(r record.Investigation, opts Options) error {
	v := newView(opts)
	v.record = r
	v.end()
	return v.p.err
}
