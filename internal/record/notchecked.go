package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NotChecked is a tool server whose tools an agent never had, so that the agent could not look at the system behind it. In a fork, it is
// also an agent or a tool that the fork leaves out.
type NotChecked struct {
	Server string `json:"server"`
	// Agents are the agents that did not have it. The list of an agent leaves them out.
	Agents []string `json:"agents,omitempty"`
	// Why is the reason in our own words; empty means that the server had not answered when the agent ended. Detail is the
	// reason in the words of the server or the operating system, masked.
	Why    string `json:"why,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// text describes the server for people. quote is applied to the words of others.
func (n NotChecked) text(quote func(string) string) string {
	why := cmp.Or(n.Why, "it has not listed its tools")
	if n.Detail != "" {
		why += ": " + quote(n.Detail)
	}
	text := fmt.Sprintf("%s (%s)", n.Server, why)
	switch len(n.Agents) {
	case 0: // the agent itself
		return text
	case 1:
		return text + " · agent " + n.Agents[0]
	}
	return text + " · agents " + strings.Join(n.Agents, ", ")
}

// NotCheckedIn returns the servers that agents of the stages never had, each once. If a stage ran several times, only its last run
// counts.
func NotCheckedIn(stages []Stage) (all []NotChecked) {
	for n, s := range stages {
		stage, _, _ := strings.Cut(s.Name, "#")
		again := func(other Stage) bool { return other.Name == stage || strings.HasPrefix(other.Name, stage+"#") }
		if slices.ContainsFunc(stages[n+1:], again) {
			continue
		}
		for _, a := range s.Envelope.Agents {
			for _, one := range a.NotChecked {
				at := slices.IndexFunc(all, func(known NotChecked) bool { return known.Server == one.Server })
				if at < 0 {
					at, all = len(all), append(all, one)
				}
				if !slices.Contains(all[at].Agents, a.Name) {
					all[at].Agents = append(slices.Clone(all[at].Agents), a.Name)
				}
			}
		}
	}
	return all
}

const (
	notChecked   = "Not checked"
	noToolResult = "No tool result"
	restsOn      = "no tool call succeeded, so the report is not based on data from any system"
)

// Caveats are the limits of the report, one line each. They precede the cause and the confidence wherever these are shown.
func (e Envelope) Caveats() (lines []string) {
	for _, n := range e.NotChecked {
		lines = append(lines, notChecked+": "+n.text(func(s string) string { return s }))
	}
	if e.NoToolResult {
		lines = append(lines, noToolResult+": "+restsOn)
	}
	return lines
}

// CaveatLine is Caveats in a few words for a line of a list: which servers were missing, or that there is no result of a tool. It is
// empty without caveats.
func (e Envelope) CaveatLine() string {
	var servers []string
	for _, n := range e.NotChecked {
		servers = append(servers, n.Server)
	}
	switch {
	case len(servers) > 0:
		return notChecked + ": " + strings.Join(servers, ", ")
	case e.NoToolResult:
		return noToolResult
	}
	return ""
}

// CaveatsMarkdown returns Caveats as lines of Markdown, each after a prefix.
func (e Envelope) CaveatsMarkdown(prefix string) string {
	var out strings.Builder
	for _, n := range e.NotChecked {
		fmt.Fprintf(&out, "%s**%s:** %s\n", prefix, notChecked, n.text(quoted))
	}
	if e.NoToolResult {
		fmt.Fprintf(&out, "%s**%s:** %s\n", prefix, noToolResult, restsOn)
	}
	return out.String()
}

// NotCheckedParagraph returns the first paragraphs of a report in Markdown: one for each server that was missing.
func (e Envelope) NotCheckedParagraph() string {
	e.NoToolResult = false
	return strings.ReplaceAll(e.CaveatsMarkdown(""), "\n", "\n\n")
}

// quoted makes a text Markdown code, so that nothing in it is markup.
func quoted(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }
