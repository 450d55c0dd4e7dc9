package actor

import (
	"fmt"
	"strings"
)

// The facts that one stage hands to the next, as lines that both people and the
// script read.
const (
	suspectFact    = "Suspect service"
	onsetFact      = "Onset"
	symptomFact    = "Symptom"
	causeFact      = "Root cause"
	settingFact    = "Setting"
	objectFact     = "Object"
	valueFact      = "Value now"
	beforeFact     = "Value before"
	confidenceFact = "Confidence"
)

// The headings of a report's lists.
const (
	evidenceList  = "Evidence"
	otherList     = "Seen, but not explained by this"
	uncheckedList = "Not checked"
)

// report is a conclusion. Empty parts are left out.
type report struct {
	opening   string
	facts     []labelled
	evidence  []string
	other     []string
	unchecked []string
	closing   string
}

type labelled struct{ label, value string }

// String writes the report as Markdown.
func (r report) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", r.opening)
	first := true
	for _, f := range r.facts {
		if f.value == "" {
			continue
		}
		if first {
			out.WriteString("\n")
		}
		first = false
		fmt.Fprintf(&out, "**%s:** %s\n", f.label, f.value)
	}
	writeList(&out, evidenceList, r.evidence)
	writeList(&out, otherList, r.other)
	writeList(&out, uncheckedList, r.unchecked)
	if r.closing != "" {
		fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(r.closing))
	}
	return out.String()
}

func writeList(out *strings.Builder, heading string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(out, "\n### %s\n", heading)
	for _, item := range items {
		fmt.Fprintf(out, "- %s\n", item)
	}
}
