package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Limits on the printed parts of a call and its result, unless Verbose is set.
const (
	shownArguments = 200 // characters
	shownLines     = 4
	shownLine      = 160 // characters
)

// entry prints an entry of the transcript.
func (v *view) entry(e transcript.Entry) {
	if v.holdBack(e) {
		return
	}
	if e.Execution == "" { // from the investigation itself
		v.p.lines(yellow, "! "+CleanLine(e.Text))
		return
	}
	if _, known := v.trouble[e.Execution]; known && e.Kind == transcript.KindTry && !v.verbose {
		return // the notice has this and more
	}
	v.enter(e.Execution)
	l := v.lane(e.Execution)
	if e.Kind == transcript.KindReply || e.Kind == transcript.KindFallback { // the prompt comes with the reply
		v.overcome(l, e)
	}
	if shared := e.Shared > 0; shared != v.shared[e.Execution] {
		v.shared[e.Execution] = shared
		words := "shared with the investigation that this one was forked from"
		if !shared {
			words = "not shared from here on"
		}
		v.p.print(l, footBlock, words)
	}
	if e.Superseded {
		v.p.print(l, noticeBlock, fmt.Sprintf("superseded by a workflow reset: %s of iteration %d", e.Kind, e.Iteration))
	}
	switch e.Kind {
	case transcript.KindSystem:
		v.tasks[e.Execution] = true
		v.prompt(l, "system prompt", e.Text)
	case transcript.KindMemory:
		v.prompt(l, "core memory", e.Text)
	case transcript.KindUser:
		v.user(l, e)
	case transcript.KindReply:
		v.reply(l, e)
	case transcript.KindCall:
		v.calls[callKey(e, e.CallIndex())] = e.At
		if e.Decision != "" {
			v.p.print(l, successBlock, v.callName(e, e.CallIndex(), e.Call.Name)+" · "+CleanLine(e.Decision))
		}
	case transcript.KindResult:
		v.result(l, e)
	case transcript.KindSummary:
		v.summary(l, e)
	case transcript.KindTry:
		words := fmt.Sprintf("model call failed after %s: %s", duration(time.Duration(e.ElapsedMS)*time.Millisecond), Clean(e.Text))
		v.p.print(l, noticeBlock, words)
	case transcript.KindFallback, transcript.KindNotice:
		fallthrough
	default: // kinds of a newer release
		v.p.print(l, noticeBlock, Clean(e.Text))
	}
}

// user prints a message to an agent. The task, which is long, is printed like a prompt.
func (v *view) user(l *lane, e transcript.Entry) {
	if v.talk {
		v.printMessage(l, e)
		return
	}
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
	v.p.print(l, footBlock, fmt.Sprintf("%s (%s)", what, Size(len(text))))
	v.p.print(l, promptBlock, Clean(text))
}

// callKey identifies the n-th call in an iteration of an execution.
func callKey(e transcript.Entry, n int) string {
	return fmt.Sprintf("%s %d/%d", e.Execution, e.Iteration, n)
}

// call prints the n-th call in a reply.
func (v *view) call(l *lane, e transcript.Entry, n int) {
	c := e.Calls[n]
	arguments := Compact(c.Arguments)
	if !v.verbose {
		arguments = clip.Line(arguments, shownArguments)
	}
	v.several[callKey(e, n)] = len(e.Calls) > 1
	v.p.print(l, callBlock, v.callName(e, n, c.Name)+" "+arguments)
}

// callName returns a call's name, with its number if the reply has several calls.
func (v *view) callName(e transcript.Entry, n int, name string) string {
	if v.several[callKey(e, n)] {
		return fmt.Sprintf("%d· %s", n+1, CleanLine(name))
	}
	return CleanLine(name)
}

// Compact formats arguments on one line. It removes white space from JSON.
func Compact(arguments string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(arguments)) == nil {
		return Clean(out.String())
	}
	return CleanLine(arguments)
}

// result prints the result of a call.
func (v *view) result(l *lane, e transcript.Entry) {
	b, words := successBlock, []string{"result"}
	if e.Call != nil {
		words[0] = v.callName(e, e.CallIndex(), e.Call.Name)
	}
	if e.ErrorType != "" || e.Status == "error" {
		b = failureBlock
		words = append(words, CleanLine(e.ErrorType))
		if e.RetryAfter > 0 {
			words = append(words, "retry after "+duration(time.Duration(e.RetryAfter*float64(time.Second))))
		}
	}
	if remarks := e.Remarks(); remarks != "" {
		words = append(words, CleanLine(remarks))
	}
	words = append(words, Size(max(e.Size, len(e.Text))))
	if v.rows {
		words = append(words, fmt.Sprintf("row %d", e.Seq))
	}
	if begun, ok := v.calls[callKey(e, e.CallIndex())]; ok {
		words = append(words, duration(e.At.Sub(begun)))
	}
	if n := len(e.Artifacts); n > 0 {
		words = append(words, Count(n, "artifact"))
	}
	v.p.print(l, b, strings.Join(words, " · "))
	if e.Call != nil && e.Call.Respelled != "" {
		v.p.print(l, noticeBlock, CleanLine(e.Call.Respelled))
	}
	v.p.print(l, contentBlock, v.content(l, Clean(e.Text)))
}

// summary prints the text that the agent sees instead of a result.
func (v *view) summary(l *lane, e transcript.Entry) {
	b, words := successBlock, []string{"summary of result " + e.Ref(), CleanLine(e.Model), Size(len(e.Text))}
	if e.ErrorType != "" {
		b, words = noticeBlock, []string{"beginning of result " + e.Ref() + ", not summarised: " + CleanLine(e.ErrorType), Size(len(e.Text))}
	}
	if e.Usage != nil {
		words = append(words, Tokens(*e.Usage))
	}
	v.p.print(l, b, strings.Join(words, " · "))
	v.p.print(l, contentBlock, v.content(l, Clean(e.Text)))
}

// content returns a result's text, or its first lines cut to the terminal's width.
func (v *view) content(l *lane, text string) string {
	text = strings.Trim(text, "\n")
	if v.verbose || text == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	left, length := len(lines)-shownLines, shownLine
	if room := v.p.roomFor(l, contentBlock); room > 0 {
		length = min(length, room-1)
	}
	lines = lines[:min(len(lines), shownLines)]
	for i := range lines {
		lines[i] = ansi.Truncate(strings.ReplaceAll(lines[i], "\t", tab), length+1, "…")
	}
	if left > 0 {
		lines = append(lines, "… "+Count(left, "more line"))
	}
	return strings.Join(lines, "\n")
}
