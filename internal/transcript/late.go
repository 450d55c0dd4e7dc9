package transcript

import (
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// The parts of a late notice around the answer's status and text.
const (
	lateStatus = " after it was called ("
	lateText   = "). The agent has not seen the response: "
)

// LateNotice is the text of the notice at LateKey: a tool responded to a call that was abandoned. The status and the text are the
// response's.
func LateNotice(tool string, took time.Duration, status, text string) string {
	return fmt.Sprintf("The call to %s was abandoned; its response came %s%s%s%s%s", tool, took, lateStatus, status, lateText, text)
}

// Late is the answer of a tool to a call that was abandoned.
type Late struct {
	Status string `json:"status" doc:"success or error"`
	// Text is the answer on one line, cut after 300 characters.
	Text string `json:"text,omitempty"`
}

// readLate reads a LateNotice. It returns nil if the text is something else.
func readLate(notice string) *Late {
	_, rest, _ := strings.Cut(notice, lateStatus)
	status, text, ok := strings.Cut(rest, lateText)
	if !ok {
		return nil
	}
	return &Late{status, clip.Line(oneLine(text), maxArguments)}
}
