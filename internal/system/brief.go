package system

import (
	"fmt"
	"regexp"
	"strings"
)

// Brief is the essence of a report. Parts that the report does not have are empty.
type Brief struct {
	// Caveats name the evidence that the report lacks. They belong before the cause and the confidence.
	Caveats    []string `json:"caveats,omitempty" doc:"evidence that the report lacks; show it before the cause and the confidence"`
	Cause      string   `json:"cause,omitempty" doc:"one paragraph of Markdown"`
	Confidence string   `json:"confidence,omitempty" doc:"one paragraph of Markdown"`
	Next       []string `json:"next,omitempty" doc:"what to do, in order, as Markdown; a step may have several lines, with its commands"`
	// Proof says how many claims of the report its evidence supports. It is empty if code has not checked the report.
	Proof string `json:"proof,omitempty"`
}

// Empty reports whether the brief has no parts.
func (b Brief) Empty() bool {
	return len(b.Caveats) == 0 && b.Cause == "" && b.Confidence == "" && b.Proof == "" && len(b.Next) == 0
}

// further matches the beginnings of a text's further lines that are not empty.
var further = regexp.MustCompile(`\n([^\n])`)

// Markdown returns the brief as a list, without its caveats: record.Envelope.CaveatsMarkdown has these.
func (b Brief) Markdown() string {
	var out strings.Builder
	for _, line := range []struct{ name, text string }{{"Cause", b.Cause}, {"Confidence", b.Confidence}, {"Proof", b.Proof}} {
		if line.text != "" {
			fmt.Fprintf(&out, "\n- **%s:** %s", line.name, line.text)
		}
	}
	for n, step := range b.Next {
		if n == 0 {
			out.WriteString("\n- **Next:**")
		}
		fmt.Fprintf(&out, "\n  %d. %s", n+1, further.ReplaceAllString(step, "\n     $1"))
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n" + strings.TrimLeft(out.String(), "\n") + "\n"
}
