package fork

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxListed limits the rows in an error.
const maxListed = 20

// replaced returns the results that texts replace, in their order, and the texts by the numbers of the results.
func replaced(entries []transcript.Entry, texts map[string]string) (results []transcript.Entry, byRow map[int64]string, err error) {
	byRow = map[int64]string{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		e, err := resultOf(name, entries)
		if err != nil {
			return nil, nil, err
		}
		switch _, twice := byRow[e.Seq]; {
		case strings.Count(e.Execution, "/") > 1:
			return nil, nil, fmt.Errorf("row %d is a result of a dispatched agent (%s), and cannot be replaced", e.Seq, e.Execution)
		case twice:
			return nil, nil, fmt.Errorf("the result of row %d is given twice", e.Seq)
		}
		byRow[e.Seq] = texts[name]
		results = append(results, e)
	}
	slices.SortFunc(results, func(a, b transcript.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return results, byRow, nil
}

// resultsOf returns the results of calls.
func resultsOf(entries []transcript.Entry) []transcript.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e transcript.Entry) bool {
		return e.Superseded || e.Kind != transcript.KindResult || e.Call == nil
	})
}

// resultOf returns the result of a tool that a name means: see named.
func resultOf(name string, entries []transcript.Entry) (e transcript.Entry, err error) {
	all := resultsOf(entries)
	found := named(name, entries, all)
	switch {
	case len(found) == 0:
		return e, fmt.Errorf("%w %q. Rows with results: %s", errNoResult, name, rowsOf(all))
	case len(found) > 1:
		return e, fmt.Errorf("several calls have the ID %q: give the row of a result, or STAGE/AGENT/ID: %s", name, rowsOf(found))
	}
	switch e = found[0]; {
	case e.Call.Inward():
		err = fmt.Errorf("row %d is the result of %s, a tool of Inquest itself, and cannot be changed", e.Seq, e.Call.Name)
	case noResult(e):
		err = fmt.Errorf("row %d is no result of %s: the call was refused, or it may not have taken effect", e.Seq, e.Call.Name)
	}
	return e, err
}

var errNoResult = errors.New("no result of a tool has the row or call ID")

// noResult reports whether the row of a result has nothing of the tool.
func noResult(e transcript.Entry) bool { return e.Refused || e.ErrorType == tool.ErrorOutcomeUnknown }

// named returns the results that a name means: a result's row, that of its call, or the call's ID.
func named(name string, entries, results []transcript.Entry) (found []transcript.Entry) {
	means := func(e transcript.Entry) bool { return name == e.Call.ID || name == e.Execution+"/"+e.Call.ID }
	if seq, err := strconv.ParseInt(name, 10, 64); err == nil {
		n := slices.IndexFunc(entries, func(e transcript.Entry) bool {
			return e.Seq == seq && !e.Superseded && (e.Kind == transcript.KindCall || e.Kind == transcript.KindResult)
		})
		if n < 0 {
			return nil
		}
		row, key := entries[n], transcript.ResultKey(entries[n].Iteration, entries[n].CallIndex())
		means = func(e transcript.Entry) bool { return e.Scope == row.Scope && e.Key == key }
	}
	for _, e := range results {
		if means(e) {
			found = append(found, e)
		}
	}
	return found
}

func rowsOf(results []transcript.Entry) string {
	var rows []string
	for _, e := range results[:min(len(results), maxListed)] {
		rows = append(rows, fmt.Sprintf("%d (%s of %s)", e.Seq, e.Call.Name, e.Execution))
	}
	if more := len(results) - maxListed; more > 0 {
		rows = append(rows, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(rows, ", "), "none")
}

// readAt returns the place before the first reply that had read one of the results. An empty string means that no reply had, or that
// there are none.
func (h *history) readAt(results []transcript.Entry) (at string, err error) {
	if len(results) == 0 {
		return "", nil
	}
	name, iteration := results[0].Execution, results[0].Iteration
	for _, e := range results {
		if e.Execution != name {
			return "", fmt.Errorf("results of several agents are replaced (%s, %s): give the row to continue from", name, e.Execution)
		}
		iteration = min(iteration, e.Iteration)
	}
	for _, e := range h.executions {
		if e.name == name && slices.ContainsFunc(e.replies, func(r *reply) bool { return r.iteration > iteration }) {
			return fmt.Sprintf("%s/%d", name, iteration+1), nil
		}
	}
	return "", nil
}

// replace leaves out what had been made of the results. It returns an error unless a reply of the fork reads each of them, and no shared
// one had.
func replace(f *plan.Fork, results, entries []transcript.Entry) error {
	for _, e := range results {
		switch part := f.Parts[e.Execution]; {
		case e.Iteration < part.Iterations, part.Ended:
			return fmt.Errorf("the fork would share replies that had read row %d: fork at %s/%d or earlier", e.Seq, e.Execution, e.Iteration+1)
		case part.Stopped:
			return fmt.Errorf("%s had failed, or was stopped, and does not go on in the fork, so nothing would read another result in row %d",
				e.Execution, e.Seq)
		case e.Iteration > part.Iterations:
			return fmt.Errorf("row %d is not shared, so it cannot be replaced: it comes after the place, or another call of its reply has no result",
				e.Seq)
		}
		f.Without = append(f.Without, summariesOf(e, entries)...)
	}
	return nil
}

// count counts the shared entries, and lists those that a person gave: in texts for this fork, or for an earlier one.
func count(f *plan.Fork, entries []transcript.Entry, texts map[int64]string) {
	by := "" // who asks for the fork
	if len(f.LeftOut) > 0 {
		by = plan.NoteBy
	}
	sharing := Sharing(*f)
	for _, e := range entries {
		if !sharing.Shares(e) {
			continue
		}
		f.Rows++
		given := plan.ForkGiven{Row: e.Seq, Execution: e.Execution, By: e.Given}
		_, replaced := texts[e.Seq]
		if replaced {
			given.By = by
		}
		if replaced || e.Given != "" {
			given.Tool = e.Call.Name
			f.Given = append(f.Given, given)
		}
	}
}

// summariesOf returns the rows with summaries of a result.
func summariesOf(result transcript.Entry, entries []transcript.Entry) (rows []int64) {
	key := transcript.SummaryKey(result.Iteration, result.CallIndex())
	for _, e := range entries {
		if e.Scope == result.Scope && e.Key == key && !e.Superseded {
			rows = append(rows, e.Seq)
		}
	}
	return rows
}

// replacePrompts sets the prompts of agents by place.
func (h *history) replacePrompts(f *plan.Fork, texts map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		place, a, err := h.agentOf(name, f.Guided)
		if err == nil {
			err = h.checkUnread(place, f)
		}
		if err == nil {
			err = checkPrompt(place, *a, texts[name])
		}
		if err != nil {
			return err
		}
		if _, twice := f.Prompts[place]; twice {
			return fmt.Errorf("the prompt of %s is given twice", place)
		}
		if f.Prompts == nil {
			f.Prompts = map[string]string{}
		}
		f.Prompts[place] = texts[name]
	}
	return nil
}

// agentOf returns an agent of a stage and its place in the plan.
func (h *history) agentOf(name string, guided []string) (string, *plan.Agent, error) {
	switch {
	case name == "" && len(guided) == 0:
		return "", nil, fmt.Errorf("no agent of the stage would read the prompt: give the agent's name, or fork at an earlier place")
	case name == "" && len(guided) > 1:
		all := strings.Join(guided, ", ")
		return "", nil, fmt.Errorf("name the agent that gets the prompt: %d agents go on from there (%s)", len(guided), all)
	case name == "":
		run, rest, _ := strings.Cut(guided[0], "/")
		stage, _ := h.plan.StageOf(run)
		name = stage.Name + "/" + rest
	}
	agents := map[string]*plan.Agent{}
	var found []string
	for place, a := range h.plan.AgentsByPlace() {
		if strings.HasPrefix(place, ":") { // of the summary, of a judge
			continue
		}
		if agents[place] = a; a.Name == name || place == name {
			found = append(found, place)
		}
	}
	if agents[name] != nil {
		return name, agents[name], nil
	}
	switch slices.Sort(found); len(found) {
	case 0:
		all := cmp.Or(strings.Join(slices.Sorted(maps.Keys(agents)), ", "), "none")
		return "", nil, fmt.Errorf("no agent %q to give a prompt to. Agents: %s", name, all)
	case 1:
		return found[0], agents[found[0]], nil
	}
	return "", nil, fmt.Errorf("several agents have the name %q: give the prompt of one of %s", name, strings.Join(found, ", "))
}

// checkUnread returns an error if an agent continues after replies to its old prompt, or makes no call in the fork.
func (h *history) checkUnread(place string, f *plan.Fork) error {
	stage, path, _ := strings.Cut(place, "/")
	name, _, isSub := strings.Cut(path, "/") // agents that an open agent dispatches share nothing
	ended := ""
	for _, e := range h.executions {
		if s, _ := h.plan.StageOf(e.run); s.Name != stage || e.name != e.run+"/"+name {
			continue
		}
		switch part := f.Parts[e.name]; {
		case part.Closed():
			ended = e.name
		case part.Iterations > 0 && !isSub:
			return fmt.Errorf("%s continues after replies to its old prompt: fork at %s/1 or earlier, or give guidance", e.name, e.name)
		default:
			return nil
		}
	}
	if ended != "" {
		return fmt.Errorf("%s makes no model call in the fork, so the prompt of %s cannot be replaced: fork at an earlier place", ended, place)
	}
	return nil
}

// checkPrompt returns an error if a text cannot be the prompt of an agent.
func checkPrompt(place string, a plan.Agent, text string) error {
	row, known := agent.LookupType(a.Type)
	switch {
	case a.Mock != "":
		return fmt.Errorf("%s is a mock, which reads no prompt", place)
	case a.PromptFunc != "":
		return fmt.Errorf("the prompt of %s cannot be replaced: the function %s of the workers' program writes it", place, a.PromptFunc)
	case known && !row.Pattern.Model():
		return fmt.Errorf("%s calls no model, and so has no prompt", place)
	case a.Prompt == "":
		return nil
	}
	if err := prompt.Check(text); err != nil {
		return fmt.Errorf("the prompt of %s: %w", place, err)
	}
	return nil
}

// MaskResults masks the texts that replace results, by their numbers, like results of their tools. mask masks a text.
func MaskResults(p plan.Plan, f plan.Fork, texts map[int64]string, mask func(*plan.Masking, string) (string, error)) (err error) {
	for _, g := range f.Given {
		text, given := texts[g.Row]
		a := p.AgentOf(g.Execution)
		if !given || a == nil { // given to an earlier fork
			continue
		}
		if texts[g.Row], err = mask(a.MaskingOf(g.Tool, nil), text); err != nil {
			return fmt.Errorf("mask the result of row %d: %w", g.Row, err)
		}
	}
	return nil
}

// Apply changes the plan of a fork as the fork says: its prompts, and the agents and learnings that are left out.
func Apply(p *plan.Plan) {
	for _, l := range p.Fork.LeftOut {
		if l.Agent != "" {
			removeAgent(p, l.Agent)
		}
	}
	if left := p.Fork.LeftLearnings(); len(left) > 0 && p.Memory != nil {
		p.Memory.Shown = slices.DeleteFunc(p.Memory.Shown, func(l plan.Learning) bool { return slices.Contains(left, l.ID) })
	}
	for place, a := range p.AgentsByPlace() {
		switch text, ok := p.Fork.Prompts[place]; {
		case !ok:
		case a.Prompt != "":
			a.Prompt = text
		default:
			a.Instructions = text
		}
	}
}
