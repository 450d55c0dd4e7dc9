package job

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// Reasons why a server offers no tools, for errors without an explanation of their own.
const (
	Unlisted  = "its tools could not be listed"
	notListed = "it has not listed its tools yet" // the request is in progress
)

// NotAvailable is how the notice about a server without tools begins.
func NotAvailable(server string) string { return fmt.Sprintf("Server %s is not available: ", server) }

// MaxNoticed is the maximum number of lines in a notice.
const MaxNoticed = 20

// Notices returns the transcript's notices to people about servers that could not be reached or have changed, and
// tools that are unusable or left out.
func (j *Job) Notices() (texts []string) {
	for _, c := range j.Listed {
		var lines []string
		if c.Error != "" {
			lines = append(lines, fmt.Sprintf("%s%s. Its message: %s", NotAvailable(c.Server), c.Error, cmp.Or(c.Words, "none")))
		}
		if c.Partial != "" {
			lines = append(lines, fmt.Sprintf("Server %s may have more tools than it lists: %s. Its message: %s", c.Server, c.Partial, c.Words))
		}
		for _, line := range c.Changed {
			line = reveal.Text(strings.Join(strings.Fields(line), " "))
			lines = append(lines, fmt.Sprintf("Server %s has changed its tools: %s", c.Server, line))
		}
		for _, spec := range c.Tools {
			if spec.Unusable != "" {
				lines = append(lines, fmt.Sprintf("Tool %s cannot be used: %s", reveal.Name(spec.Name), spec.Unusable))
			}
		}
		if more := len(lines) - MaxNoticed; more > 0 {
			lines = append(lines[:MaxNoticed], fmt.Sprintf("and %d more from server %s", more, c.Server))
		}
		if len(lines) > 0 {
			texts = append(texts, strings.Join(lines, "\n"))
		}
	}
	if j.Tools == nil {
		return texts
	}
	leftOut := j.Tools.LeftOut()
	if more := len(leftOut) - MaxNoticed; more > 0 {
		leftOut = append(leftOut[:MaxNoticed], fmt.Sprintf("Further tools that are omitted because of their names: %d.", more))
	}
	if len(leftOut) > 0 {
		texts = append(texts, strings.Join(leftOut, "\n"))
	}
	return texts
}
