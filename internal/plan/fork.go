package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fork says what an investigation shares with the one that it was forked from.
type Fork struct {
	// Of is the ID of the other investigation, and At the requested place in it. An empty place means its end.
	Of string `json:"of"`
	At string `json:"at,omitempty"`
	// Parts are the shared parts of executions, by name. They have Rows entries, and none after the entry Until of the other
	// investigation.
	Parts map[string]ForkPart `json:"parts"`
	Rows  int                 `json:"rows"`
	Until int64               `json:"until"`
	// Left are the calls of the other investigation that are not shared and must not be repeated without a second thought.
	Left []LeftCall `json:"left,omitempty"`
	// Guide is what the executions in Guided are told before their first model call of their own, by By. An empty text means nothing.
	Guide  string   `json:"guide,omitempty"`
	By     string   `json:"by,omitempty"`
	Guided []string `json:"guided,omitempty"`
	// Given are the shared results that a person gave instead of a tool, for this fork or for an earlier one. Results are the blobs with
	// the texts of those for this fork, by their numbers in the other investigation, and Without the entries that are not shared for
	// that reason.
	Given   []ForkGiven      `json:"given,omitempty"`
	Results map[int64]string `json:"results,omitempty"`
	Without []int64          `json:"without,omitempty"`
	// LeftOut is what no agent of the fork gets.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	// Prompts replace the prompts of agents, by place (see Plan.AgentsByPlace).
	Prompts map[string]string `json:"prompts,omitempty"`
	// Tools says what answers tool calls: see agent.Fork. Tape is the blob with the recorded results, a fork.Tape.
	Tools string `json:"tools,omitempty"`
	Tape  string `json:"tape,omitempty"`
}

// ForkGiven is a shared result that a person gave instead of a tool.
type ForkGiven struct {
	Row       int64  `json:"row"` // its number in the other investigation
	Execution string `json:"execution"`
	Tool      string `json:"tool"`
	By        string `json:"by,omitempty"` // empty means Fork.By
}

// LeftOut is one of: the results of equal calls of the other investigation (of one tool, with the same arguments), an agent, or a learning
// in prompts.
type LeftOut struct {
	Tool     string  `json:"tool,omitempty"`
	Rows     []int64 `json:"rows,omitempty"`     // the numbers of the results in the other investigation
	Agent    string  `json:"agent,omitempty"`    // its place: "<stage>/<agent>"
	Learning int64   `json:"learning,omitempty"` // its ID
	Earlier  bool    `json:"earlier,omitempty"`  // an agent or learning that the other investigation, a fork itself, leaves out
}

// String describes it in a line.
func (l LeftOut) String() string {
	switch {
	case l.Agent != "":
		return "agent " + l.Agent
	case l.Learning != 0:
		return fmt.Sprintf("learning L%d", l.Learning)
	}
	return fmt.Sprintf("results of %s (rows %s)", l.Tool, RowList(l.Rows))
}

// LeavesOut reports whether agents do not get a result, by its number in the other investigation.
func (f *Fork) LeavesOut(row int64) bool {
	return slices.ContainsFunc(f.LeftOut, func(l LeftOut) bool { return slices.Contains(l.Rows, row) })
}

// LeftLearnings returns the IDs of the learnings that agents do not get. It works for nil.
func (f *Fork) LeftLearnings() (ids []int64) {
	if f == nil {
		return nil
	}
	for _, l := range f.LeftOut {
		if l.Learning != 0 {
			ids = append(ids, l.Learning)
		}
	}
	return ids
}

// NoteBy is the author of the note in place of a result that is left out.
const NoteBy = "Inquest"

// RowList lists rows: "3, 12".
func RowList(rows []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(rows), "[]"), " ", ", ")
}

// Author returns the name of the person who gave a result, or NoteBy.
func (f *Fork) Author(g ForkGiven) string { return cmp.Or(g.By, f.By, "a person") }

// Changes describes what the fork has instead of what tools and the other investigation's configuration had said. It works for nil.
func (f *Fork) Changes() (lines []string) {
	if f == nil {
		return nil
	}
	for _, l := range f.LeftOut {
		lines = append(lines, "no "+l.String())
	}
	for _, g := range f.Given {
		switch {
		case f.LeavesOut(g.Row): // said above
		case g.By == NoteBy:
			lines = append(lines, fmt.Sprintf("no result of %s (row %d)", g.Tool, g.Row))
		default:
			lines = append(lines, fmt.Sprintf("result of row %d (%s of %s), given by %s", g.Row, g.Tool, g.Execution, f.Author(g)))
		}
	}
	for _, place := range slices.Sorted(maps.Keys(f.Prompts)) {
		lines = append(lines, "prompt of "+place)
	}
	return lines
}

// AgentOf returns the agent of a stage that works in an execution, or nil.
func (p *Plan) AgentOf(execution string) *Agent {
	run, name, _ := strings.Cut(execution, "/")
	stage, _ := p.StageOf(run)
	for place, a := range p.AgentsByPlace() {
		if place == stage.Name+"/"+name {
			return a
		}
	}
	return nil
}

// ForkPart is the shared part of an execution.
type ForkPart struct {
	Iterations int `json:"iterations"` // the first ones
	// Ended means that the execution had ended with them. Stopped means that it had failed after them, or was stopped, so that it makes no
	// calls in the fork.
	Ended   bool `json:"ended,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
}

// Closed reports whether the execution makes no calls of its own in the fork.
func (p ForkPart) Closed() bool { return p.Ended || p.Stopped }

// LeftCall is a call that changed something, or may have.
type LeftCall struct {
	Execution string    `json:"execution"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	At        time.Time `json:"at"`
	Unknown   bool      `json:"unknown,omitempty"` // whether it took effect
}

// String describes the call in one line.
func (c LeftCall) String() string {
	outcome := "success"
	if c.Unknown {
		outcome = "outcome unknown"
	}
	return fmt.Sprintf("%s: %s %s (%s)", c.Execution, c.Tool, c.Arguments, outcome)
}

// Part returns the shared part of an execution. The zero part means that nothing is shared. It works for nil.
func (f *Fork) Part(execution string) ForkPart {
	if f == nil {
		return ForkPart{}
	}
	return f.Parts[execution]
}

// LeftCalls returns the calls that are not shared. It works for nil.
func (f *Fork) LeftCalls() []LeftCall {
	if f == nil {
		return nil
	}
	return f.Left
}

// AnsweredBy returns Tools. It works for nil.
func (f *Fork) AnsweredBy() string {
	if f == nil {
		return ""
	}
	return f.Tools
}

// Guides reports whether a model call is the first own one of an execution that the fork guides. It works for nil.
func (f *Fork) Guides(execution string, iteration int) bool {
	return f != nil && f.Guide != "" && slices.Contains(f.Guided, execution) && iteration == f.Parts[execution].Iterations+1
}
