// Package chaindraw draws chains: their stages, the routes between them, and what agents may do unattended.
package chaindraw

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

// Drawing is a chain with its boxes and lines.
type Drawing struct {
	configuration.Graph
	boxes []box
	lines []line
	free  []Unattended
}

// box is a stage, a question to people, or an end of the chain.
type box struct {
	id, name string
	kind     boxKind
	about    []string // lines of text below the name
	subs     []sub
}

// sub is an agent that another agent may dispatch. It is placed below a box or another sub.
type sub struct {
	id, below string
	by, name  string // the parent's name and its own
	path      string // path of the parent
}

// dispatches describes in words which agents may dispatch others, one line per parent.
func (b box) dispatches() (lines []string) {
	at := map[string]int{}
	for _, s := range b.subs {
		n, known := at[s.path]
		if !known {
			at[s.path] = len(lines)
			lines = append(lines, fmt.Sprintf("%s may dispatch %s", s.by, s.name))
			continue
		}
		lines[n] += ", " + s.name
	}
	return lines
}

type boxKind int

const (
	boxEnd boxKind = iota
	boxStage
	boxQuestion
)

// line connects two boxes by their IDs.
type line struct {
	from, to string
	label    string
	failure  bool // taken when something has failed
}

// New draws a chain; free lists what its agents may do unattended.
func New(g configuration.Graph, free []Unattended) Drawing {
	d := Drawing{Graph: g, free: free, boxes: []box{{id: "start", name: "start"}}}
	ids := map[string]string{route.Start: "start", plan.TargetEnd: "finish"}
	for i, s := range g.Stages {
		ids[s.Name] = "s" + strconv.Itoa(i+1)
		d.boxes = append(d.boxes, box{ids[s.Name], s.Name, boxStage, d.aboutStage(s), subsOf(s, ids[s.Name])})
	}
	for _, e := range g.Edges { // questions, in the order in which they are answered
		if _, known := ids[e.From]; !known {
			ids[e.From] = e.From
			d.boxes = append(d.boxes, box{id: e.From, name: e.From, kind: boxQuestion, about: []string{"asks people"}})
		}
	}
	d.boxes = append(d.boxes, box{id: "finish", name: "end"})
	for _, e := range g.Edges {
		d.lines = append(d.lines, line{ids[e.From], ids[e.To], d.label(e), e.Kind == route.EdgeError})
	}
	return d
}

// subsOf returns the agents that a stage's agents may dispatch, each after its parent.
func subsOf(s configuration.GraphStage, stage string) (all []sub) {
	ids := map[string]string{}
	for n, path := range s.SubAgents {
		slash := strings.LastIndexByte(path, '/')
		by := path[:slash]
		ids[path] = fmt.Sprintf("%sa%d", stage, n+1)
		all = append(all, sub{ids[path], cmp.Or(ids[by], stage), by[strings.LastIndexByte(by, '/')+1:], path[slash+1:], by})
	}
	return all
}

func (d Drawing) aboutStage(s configuration.GraphStage) []string {
	var names []string
	times := map[string]int{}
	for _, name := range s.Agents {
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if times[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, times[name])
		}
	}
	about := []string{strings.Join(names, ", ")}
	if s.Synthesis != "" {
		about = append(about, "joined by "+s.Synthesis)
	}
	if s.Review != "" {
		about = append(about, "reviewed by "+s.Review)
	}
	if s.JoinAny {
		about = append(about, "starts when any required stage has succeeded")
	}
	for _, u := range d.free {
		who := slices.DeleteFunc(slices.Clone(u.Agents), func(name string) bool { return !slices.Contains(s.Agents, name) })
		switch {
		case len(who) == len(names):
			about = append(about, fmt.Sprintf("may %s without approval", u.Risks()))
		case len(who) > 0:
			about = append(about, fmt.Sprintf("%s may %s without approval", strings.Join(who, ", "), u.Risks()))
		}
	}
	return about
}

// plainLabels are the labels of edges whose kind alone determines them.
var plainLabels = map[route.EdgeKind]string{
	route.EdgeLoop: "another pass", route.EdgeError: "failed", route.EdgeRequires: "succeeded", route.EdgeAfter: "ended",
	route.EdgeApproved: "approved", route.EdgeDenied: "not approved", route.EdgeSentBack: "sent back",
}

// label says when an edge is taken, and how often at most. An empty string means always.
func (d Drawing) label(e route.Edge) string {
	label := plainLabels[e.Kind]
	switch e.Kind {
	case route.EdgeRule:
		label = terminal.CleanLine(e.Rule.Condition) + " = " + shortJSON(e.Rule.Value)
	case route.EdgeNext, route.EdgeDefault:
		if d.decides(e.From) {
			label = "otherwise"
		}
	case route.EdgeAnswer:
		label = d.answered(e.From)
	case route.EdgeExpired:
		label = d.unanswered(e.From)
	}
	if e.Max > 0 {
		label = strings.TrimPrefix(fmt.Sprintf("%s, at most %d×", label, e.Max), ", ")
	}
	return label
}

// maxValue limits a rule's value in the drawing, in characters.
const maxValue = 40

func shortJSON(value json.RawMessage) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	var parsed any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if decoder.Decode(&parsed) != nil || encoder.Encode(parsed) != nil {
		return "?" // the configuration was validated before
	}
	return clip.Line(terminal.CleanLine(out.String()), maxValue)
}

// decides reports whether rules or another pass may lead from a stage to somewhere else.
func (d Drawing) decides(stage string) bool {
	return slices.ContainsFunc(d.Edges, func(e route.Edge) bool {
		return e.From == stage && (e.Kind == route.EdgeRule || e.Kind == route.EdgeLoop || e.Kind == route.EdgeSentBack)
	})
}

// answered says which answers to a question let the chain continue.
func (d Drawing) answered(question string) string {
	label := "answered"
	if question == plan.TargetConfirmation {
		label = "approved"
	}
	if d.Interrupts.Of(question).Continue {
		label += ", or " + d.unanswered(question)
	}
	return label
}

func (d Drawing) unanswered(question string) string {
	return "no answer within " + d.Interrupts.Of(question).Expires.String()
}
