package chaindraw

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// Mermaid returns the drawing as a Mermaid flowchart.
func (d Drawing) Mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart TD\n")
	// Escapes for characters that are special in Mermaid even within quotes.
	quote := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;",
		"`", "#96;", `\`, "#92;", "$", "#36;", "%", "#37;")
	for _, b := range d.boxes {
		text := quote.Replace(b.name)
		for _, line := range b.about {
			text += "<br/>" + quote.Replace(line)
		}
		shape := map[boxKind]string{boxEnd: `%s(["%s"])`, boxStage: `%s["%s"]`, boxQuestion: `%s{{"%s"}}`}[b.kind]
		fmt.Fprintf(&out, "  "+shape+"\n", b.id, text)
		for _, s := range b.subs {
			fmt.Fprintf(&out, "  %s[\"%s\"]\n  style %s stroke-dasharray: 4\n", s.id, quote.Replace(s.name), s.id)
		}
	}
	for _, l := range d.lines {
		arrow, label := "-->", ""
		if l.failure {
			arrow = "-.->"
		}
		if l.label != "" {
			label = `|"` + quote.Replace(l.label) + `"|`
		}
		fmt.Fprintf(&out, "  %s %s%s %s\n", l.from, arrow, label, l.to)
	}
	for _, b := range d.boxes {
		for _, s := range b.subs {
			fmt.Fprintf(&out, "  %s -.->|\"%s may dispatch\"| %s\n", s.below, quote.Replace(s.by), s.id)
		}
	}
	return out.String()
}

// Dot returns the drawing in the Graphviz language.
func (d Drawing) Dot() string {
	var out strings.Builder
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
	}
	fmt.Fprintf(&out, "digraph %s {\n  node [shape=box]\n", quote(d.Chain))
	for _, b := range d.boxes {
		shape := map[boxKind]string{boxEnd: " shape=oval", boxQuestion: " shape=hexagon"}[b.kind]
		fmt.Fprintf(&out, "  %s [label=%s%s]\n", b.id, quote(strings.Join(append([]string{b.name}, b.about...), "\n")), shape)
		for _, s := range b.subs {
			fmt.Fprintf(&out, "  %s [label=%s style=dashed]\n", s.id, quote(s.name))
			fmt.Fprintf(&out, "  %s -> %s [label=%s style=dashed]\n", s.below, s.id, quote(s.by+" may dispatch"))
		}
	}
	for _, l := range d.lines {
		var attributes []string
		if l.label != "" {
			attributes = append(attributes, "label="+quote(l.label))
		}
		if l.failure {
			attributes = append(attributes, "style=dashed")
		}
		fmt.Fprintf(&out, "  %s -> %s", l.from, l.to)
		if len(attributes) > 0 {
			fmt.Fprintf(&out, " [%s]", strings.Join(attributes, " "))
		}
		out.WriteString("\n")
	}
	return out.String() + "}\n"
}

// Text returns the drawing as a list of boxes, each with the edges that leave it.
func (d Drawing) Text() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.TrimSuffix(d.Chain+": "+terminal.CleanLine(d.Description), ": ")+"\n")
	names := map[string]string{}
	for _, b := range d.boxes {
		names[b.id] = b.name
	}
	for _, b := range d.boxes[:len(d.boxes)-1] { // the last one is the end
		head := b.name
		if len(b.about) > 0 {
			head += "  [" + strings.Join(b.about, "; ") + "]"
		}
		fmt.Fprintln(w, head)
		for _, line := range b.dispatches() {
			fmt.Fprintln(w, "  ┄ "+line)
		}
		for _, l := range d.lines {
			arrow := "→"
			if l.failure {
				arrow = "⇢"
			}
			if l.from == b.id {
				fmt.Fprintf(w, "  %s %s\t%s\n", arrow, names[l.to], l.label)
			}
		}
	}
	fmt.Fprintf(w, "\nbounds: %s\n", cmp.Or(strings.Join(d.limits(), ", "), "none"))
	_ = w.Flush() // writes to memory
	return padding.ReplaceAllString(out.String(), "")
}

// padding matches the spaces that empty columns leave at the end of a line.
var padding = regexp.MustCompile(`(?m) +$`)

// limits lists the limits of the whole chain.
func (d Drawing) limits() (all []string) {
	for _, bound := range []struct {
		n    int
		what string
	}{
		{d.Bounds.MaxPasses, "passes"}, {d.Bounds.MaxHops, "stages"}, {d.Bounds.MaxLLMCalls, "model calls"}, {d.Bounds.MaxTokens, "tokens"},
	} {
		if bound.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", bound.n, bound.what))
		}
	}
	if cost := d.Bounds.MaxCost; cost > 0 {
		all = append(all, strconv.FormatFloat(cost, 'f', -1, 64)+" US dollars")
	}
	if d.Timeout > 0 {
		all = append(all, d.Timeout.String())
	}
	return all
}
