package terminal

import (
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
