package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/record"
)

// executionEnd prints the end of an execution once, if it has ended.
func (v *view) executionEnd(e record.Execution, l *lane) {
	if !e.Status.Closed() || v.printed[e.Name] {
		return
	}
	v.printed[e.Name] = true
	words := []string{string(e.Status)}
	if e.StopReason != "" && e.StopReason != agent.StopEndTurn && string(e.StopReason) != string(e.Status) {
		words = append(words, string(e.StopReason))
	}
	words = append(words, Count(e.Iterations, "iteration"), Tokens(e.Usage))
	words = append(words, took(e.StartedAt, e.EndedAt)...)
	if said := Actions(e.ActionsExecuted); said != "" {
		words = append(words, said)
	}
	b := endBlock
	if e.Status != agent.StatusCompleted {
		b = errorBlock
	}
	v.p.print(l, b, strings.Join(words, " · ")+reason(e.Error))
}

// Actions says whether an agent has changed something. It is empty if the agent does not report that.
func Actions(executed *bool) string {
	if executed == nil {
		return ""
	}
	return map[bool]string{true: "actions executed", false: "no actions executed"}[*executed]
}

func (v *view) stageEnd(s record.Stage) {
	words := []string{"stage " + s.Name, string(s.Status)}
	if s.Outcome == agent.OutcomePartial {
		words = append(words, string(s.Outcome))
	}
	words = append(words, took(s.StartedAt, s.EndedAt)...)
	look := bold
	if s.Status != agent.StatusCompleted {
		look = red
	}
	why := s.Error
	for _, e := range v.executions { // the line of an agent has already said why
		if e.Stage == s.Name && e.Error != "" && v.printed[e.Name] && strings.HasSuffix(why, e.Error) {
			why = ""
		}
	}
	v.p.lines(look, CleanLine(strings.Join(words, " · ")+reason(why)))
}

// end prints the report and the summary. The caveats come first and only once.
func (v *view) end() {
	r := v.record
	for _, line := range r.Envelope.Caveats() {
		v.p.lines(yellow, CleanLine(line))
	}
	if r.Report != "" {
		v.heading("report")
		readable := markdown.Readable(strings.TrimPrefix(r.Report, r.Envelope.NotCheckedParagraph()))
		text := Clean(readable)
		if v.live {
			text = Markdown(readable, v.p.width, v.p.color)
		}
		v.p.full(plain, text)
	}
	v.p.full(plain, "")
	if r.Envelope.Summary != "" {
		v.heading("executive summary")
		v.p.lines(plain, Clean(r.Envelope.Summary)+"\n")
	}
	v.p.lines(look(r.Status), Summary(r))
	if why := r.Envelope.SummaryError; why != "" {
		v.p.lines(yellow, "no executive summary: "+CleanLine(why))
	}
	for _, line := range r.Envelope.Undelivered {
		v.p.lines(yellow, "not delivered: "+CleanLine(line))
	}
	if r.Error != "" {
		v.p.lines(red, Clean(r.Error))
	}
}

func look(status agent.Status) style {
	switch {
	case status == agent.StatusCompleted:
		return green
	case status.Closed():
		return red
	}
	return yellow
}

// Summary describes an investigation in one line: how it ended, its duration and its usage.
func Summary(r record.Investigation) string {
	words := []string{CleanLine(r.ID), string(r.Status)}
	if why := r.EndReason.Words(r.Status); why != "" {
		words = append(words, why)
	}
	words = append(words, took(r.StartedAt, r.EndedAt)...)
	return strings.Join(append(words, Usage(r.Usage)), " · ")
}

func took(start time.Time, end *time.Time) []string {
	if end == nil || start.IsZero() {
		return nil
	}
	return []string{duration(end.Sub(start))}
}

func reason(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %s", CleanLine(text))
}
