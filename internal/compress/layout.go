package compress

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// layout builds a view without the messages before cut: system messages and an investigation's task, a summary of the omitted part,
// the question that the rest answers, and the rest. It also returns the name of the strategy, which is Truncate if there was
// nothing to summarize.
func (c *conversation) layout(cut int, summary bool) ([]part, string) {
	question := c.question(cut)
	var out, left []part
	for i, p := range c.parts[:cut] {
		switch {
		case !isText(p) || i == c.task:
			out = append(out, p)
		case i != question:
			left = append(left, p)
		}
	}
	if text := c.note(left); text != "" && summary {
		out = append(out, c.part(agent.Message{Role: agent.User, Content: text}))
	}
	if question >= 0 && question != c.task {
		out = append(out, c.parts[question])
	}
	strategy := c.Strategy
	if strategy == "" {
		strategy = Window
	}
	if len(left) == 0 {
		strategy = Truncate
	}
	return append(out, c.parts[cut:]...), strategy
}

// note returns a view's text about the omitted messages; empty means none.
func (c *conversation) note(left []part) string {
	if len(left) == 0 {
		return ""
	}
	var lines []string
	if c.Strategy != Truncate {
		lines = append(lines, "Previous conversation summary: "+summary(left))
	}
	if c.ShortenResultsFirst {
		lines = append(lines, leftOut(left))
	}
	return strings.Join(lines, "\n")
}

// The format of a summary (spec: conversation, "Compression").
const (
	summaryQuestions = 3
	questionLength   = 100 // characters
)

// summary names the last questions of the omitted part.
func summary(left []part) string {
	var questions []string
	for _, p := range left {
		if isUser(p) {
			questions = append(questions, p.Content)
		}
	}
	if len(questions) == 0 {
		return "Earlier conversation context available."
	}
	questions = questions[max(0, len(questions)-summaryQuestions):]
	for i, q := range questions {
		questions[i] = fmt.Sprintf("Q%d: %s...", i+1, clip.Runes(q, questionLength))
	}
	return strings.Join(questions, " | ")
}

// maxRefs is the maximum number of omitted results that are listed one by one.
const maxRefs = 20

// leftOut names the omitted messages and the place of the evidence.
func leftOut(left []part) string {
	var refs []string
	for _, p := range left {
		if p.Ref != "" {
			refs = append(refs, p.Ref)
		}
	}
	text := fmt.Sprintf("[left out: %d messages", len(left))
	switch n := len(refs); {
	case n > maxRefs:
		text += fmt.Sprintf("; their %d results are kept in the transcript, %s … %s", n,
			strings.Join(refs[:maxRefs/2], ", "), strings.Join(refs[n-maxRefs/2:], ", "))
	case n > 0:
		text += "; their results are kept in the transcript as " + strings.Join(refs, ", ")
	}
	return text + "]"
}
