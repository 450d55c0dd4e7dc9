package modelcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// maxFindable is how many names of a server's tools the prompt lists. A search also finds the others.
const maxFindable = 300

// searches reports whether the agent must search for its tools. That is decided when the prompt is written. Later requests read the
// decision from the journal, because a server may list other tools meanwhile.
func (g *briefing) searches() bool { return g.Tools.Searching(g.Agent.ToolSearchAbove) }

// tools returns the tools that the model is told about: all that it may use, or those that it has found. When it concludes, it must
// not call them.
func (g *generation) tools(stored []transcript.Entry, tools *tool.Set) (out []llm.Tool) {
	if g.Row.Pattern == agent.SingleShot {
		return nil
	}
	found := transcript.Found(stored)
	for _, row := range g.rows {
		found.Searches = found.Searches || row.ToolSearch
	}
	shown := tools.Offered()
	if found.Searches {
		shown = tools.Shown(found.Names)
	}
	for _, s := range shown {
		one := llm.Tool{Name: tool.WireName(s.Name), Description: s.Description, Schema: s.Schema}
		if found.Searches && tools.Searched(s.Name) {
			one.Found = found.Latest[s.Name]
		}
		out = append(out, one)
	}
	return out
}

// maxForgotten is how many names of tools that are no longer offered the model is told.
const maxForgotten = 40

// addForgotten tells the model which of the tools that it has found are no longer offered, because its server accepts fewer. Which
// these are depends on the journal and the plan only. The same list is sent once.
func (g *generation) addForgotten(stored []transcript.Entry, tools []llm.Tool) {
	found := map[string]bool{}
	for _, t := range tools {
		found[t.Name] = t.Found > 0
	}
	dialect := g.provider().Dialect()
	_, left := outgoing.Tools(tools, dialect)
	var names []string
	for _, omitted := range left {
		if found[omitted.Tool] && omitted.Limit {
			names = append(names, omitted.Tool)
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - maxForgotten; n > 0 {
		names, more = names[n:], fmt.Sprintf(", and %d that you found earlier", n)
	}
	text := fmt.Sprintf("At most %d tools can be offered to you at once. The tools that you found first are no longer offered: "+
		"%s%s. To use one of them, find it again with %s.", dialect.MaxTools, strings.Join(names, ", "), more, agent.ToolSearchTools)
	noticed := func(e transcript.Entry) bool { return e.Kind == transcript.KindUser && e.Text == text }
	if !slices.ContainsFunc(stored, noticed) {
		g.add(transcript.KindUser, transcript.Body{Text: text})
	}
}

// findable returns the names of the tools that the model must search for, as it will write them, by server.
func findable(tools *tool.Set) (all []prompt.Toolset) {
	at := map[string]int{}
	for _, spec := range tools.Findable() {
		prefix := ""
		if server, _ := tool.Split(spec.Name); server != "" {
			prefix = tool.WireName(server + ".")
		}
		n, known := at[prefix]
		if !known {
			n = len(all)
			at[prefix], all = n, append(all, prompt.Toolset{Prefix: prefix})
		}
		if len(all[n].Names) == maxFindable {
			all[n].More++
			continue
		}
		all[n].Names = append(all[n].Names, strings.TrimPrefix(tool.WireName(spec.Name), prefix))
	}
	return all
}
