package prompt

import (
	"fmt"
	"strings"
	"text/template"
)

// SummaryData is what a summary of a tool's result is asked for with.
type SummaryData struct {
	Tool, Arguments string
	// Result is as much of the result as fits; Bytes is the length of the whole,
	// and LeftOut is how much of it is missing, at the mark in the middle.
	Result         string
	Bytes, LeftOut int
	// MaxTokens is how long the summary may be.
	MaxTokens int
}

// argumentsLimit is how much of a call's arguments is shown to who summarises its result, in bytes.
const argumentsLimit = 2000

// Summary renders the two messages that ask for the summary of a result. What a
// tool returned stands between tags that its text cannot close.
func Summary(d SummaryData) (system, user string, err error) {
	d.Arguments = cut(d.Arguments, argumentsLimit)
	t, err := template.New("summary").Funcs(funcs()).ParseFS(files, "templates/summary.tmpl")
	if err != nil {
		return "", "", fmt.Errorf("parse prompt summary: %w", err)
	}
	var out [2]strings.Builder
	for i, name := range [...]string{"system", "user"} {
		if err := t.ExecuteTemplate(&out[i], name, d); err != nil {
			return "", "", fmt.Errorf("render prompt summary: %w", err)
		}
	}
	return strings.TrimSpace(out[0].String()) + "\n", strings.TrimSpace(out[1].String()) + "\n", nil
}
