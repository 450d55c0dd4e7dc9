package terminal

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Show prints everything about an investigation, agent by agent: full prompts and results, and entries that a reset superseded, marked as
// such.
func Show(r record.Investigation, stages []record.Stage, executions []record.Execution, entries []transcript.Entry, opts Options) error {
	opts.Verbose = true
	v := newView(opts)
	v.rows = true
	v.record, v.stages, v.executions = r, stages, executions
	v.known(v.executions)
	for _, execution := range byExecution(entries) {
		for _, e := range execution {
			v.entry(e)
		}
		v.interrupted(execution)
	}
	v.printEnds()
	v.end()
	return v.p.err
}

// interrupted prints the calls of an ended execution whose outcome is unknown.
func (v *view) interrupted(entries []transcript.Entry) {
	unanswered, name := transcript.Unanswered(entries), entries[0].Execution
	if !v.ended(name) {
		return
	}
	for _, e := range entries {
		if unanswered[e.Key] {
			v.p.print(v.lane(name), failureBlock, v.callName(e, e.CallIndex(), e.Call.Name)+" · "+transcript.Interrupted)
		}
	}
}

// ended reports whether an execution has ended.
func (v *view) ended(name string) bool {
	n := slices.IndexFunc(v.executions, func(e record.Execution) bool { return e.Name == name })
	return v.record.Status.Closed() || n >= 0 && v.executions[n].Status.Closed()
}

// byExecution groups entries by execution, in the order in which the executions began.
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

// Brief prints the brief of an investigation, which is Markdown, on a terminal.
func Brief(text string, opts Options) error {
	v := newView(opts)
	v.heading("brief")
	v.p.full(plain, Markdown(text, min(opts.Width, MaxProse), opts.Color))
	return v.p.err
}

// End prints the end of an investigation: its report and a summary line.
func End(r record.Investigation, opts Options) error {
	v := newView(opts)
	v.record = r
	v.end()
	return v.p.err
}
