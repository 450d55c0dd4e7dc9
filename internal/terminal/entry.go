package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// How much of a call and of its result is printed unless all is asked for.
const (
	shownArguments = 200 // characters
	shownLines     = 4
	shownLine      = 160 // characters
)

// entry prints one entry of the transcript.
func (v *view) entry(e transcript.Entry) {
	if v.hold(e) {
		return
	}
	v.enter(e.Execution)
	l := v.lane(e.Execution)
	if e.Superseded {
		v.p.print(l, noticeBlock, fmt.Sprintf("superseded (Temporal was reset): %s of iteration %d", e.Kind, e.Iteration))
	}
	switch e.Kind {
	case transcript.KindSystem:
		v.tasks[e.Execution] = true
		v.prompt(l, "system prompt", e.Text)
	case transcript.KindUser:
		v.user(l, e)
	case transcript.KindReply:
		v.reply(l, e)
	case transcript.KindCall:
		v.calls[key(e)] = e.At
	case transcript.KindResult:
		v.result(l, e)
	default: // fallbacks, notices, and what is not known yet
		v.p.print(l, noticeBlock, Clean(e.Text))
	}
}

// user prints what was said to an agent; the task, which is long, is a prompt.
func (v *view) user(l *lane, e transcript.Entry) {
	if v.tasks[e.Execution] {
		delete(v.tasks, e.Execution)
		v.prompt(l, "task", e.Text)
		return
	}
	v.p.print(l, userBlock, Clean(e.Text))
}

func (v *view) prompt(l *lane, what, text string) {
	if !v.verbose {
		return
	}
	v.p.print(l, footBlock, fmt.Sprintf("%s (%s)", what, size(len(text))))
	v.p.print(l, promptBlock, Clean(text))
}

// call prints what an agent asks for.
func (v *view) call(l *lane, c transcript.Call) {
	arguments := compact(c.Arguments)
	if !v.verbose {
		arguments = clip(arguments, shownArguments)
	}
	v.p.print(l, callBlock, CleanLine(c.Name)+" "+arguments)
}

// compact writes arguments on one line: without JSON's white space, if they are JSON.
func compact(arguments string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(arguments)) == nil {
		return Clean(out.String())
	}
	return CleanLine(arguments)
}

// result prints what came of a call.
func (v *view) result(l *lane, e transcript.Entry) {
	b, words := successBlock, []string{"result"}
	if e.Call != nil {
		words[0] = CleanLine(e.Call.Name)
	}
	if e.ErrorType != "" || e.Status == "error" {
		b = failureBlock
		words = append(words, CleanLine(e.ErrorType))
	}
	words = append(words, size(max(e.Size, len(e.Text))))
	if begun, ok := v.calls[key(e)]; ok {
		words = append(words, duration(e.At.Sub(begun)))
		delete(v.calls, key(e))
	}
	if n := len(e.Artifacts); n > 0 {
		words = append(words, count(n, "artifact"))
	}
	v.p.print(l, b, strings.Join(words, " · "))
	v.p.print(l, contentBlock, v.content(Clean(e.Text)))
}

// content is a result's text, or its first lines.
func (v *view) content(text string) string {
	text = strings.Trim(text, "\n")
	if v.verbose || text == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	left := len(lines) - shownLines
	lines = lines[:min(len(lines), shownLines)]
	for i := range lines {
		lines[i] = clip(lines[i], shownLine)
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("… %s more", count(left, "line")))
	}
	return strings.Join(lines, "\n")
}

// clip cuts a text to n characters.
func clip(text string, n int) string {
	if end := fitting(text, n); end >= 0 {
		return text[:end] + "…"
	}
	return text
}
