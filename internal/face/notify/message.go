package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
)

// message is an event in words for people.
type message struct {
	subject string      // one line of plain text
	facts   [][2]string // names and values, each one line of plain text
	text    string      // Markdown that may come from a model
	link    string      // to the page; empty means none
}

const (
	maxSubject = 150   // characters
	maxFact    = 300   // characters
	maxText    = 10000 // bytes of the text in a chat; Mattermost allows 16,383 characters, and Teams 28 KB of JSON
)

// messageOf describes an event. now is in the time zone of the readers.
func messageOf(e Event, now time.Time) message {
	i := e.Investigation
	m := message{link: i.URL}
	fact := func(name, value string) {
		if value = reveal.Unseen(strings.Join(strings.Fields(value), " ")); value != "" {
			m.facts = append(m.facts, [2]string{name, clip.Line(value, maxFact)})
		}
	}
	switch {
	case e.Approval != nil:
		a := e.Approval
		m.subject = fmt.Sprintf("Approval needed: %s in %s", a.Tool, i.WorkflowID)
		fact("Agent", a.Agent)
		fact("Risk", string(a.Risk))
		for _, line := range a.Facts() {
			fact("Note", line)
		}
		fact("Deadline", a.Deadline(a.LeftAt(now)))
		if a.Arguments != "" {
			m.text = markdown.Fenced(a.Arguments)
		}
		if a.Bytes() > len(a.Arguments) {
			m.text += fmt.Sprintf("\n\nThe arguments have %d bytes. Read all of them before you decide.", a.Bytes())
		}
		if note := a.HiddenNote(); note != "" {
			m.text += "\n\n" + strings.TrimSpace(note)
		}
		if why := a.Why(); len(why) > 0 {
			m.text += "\n\n- " + strings.Join(why, "\n- ")
		}
	case e.Question != nil:
		m.subject = "Answer needed in " + i.WorkflowID
		fact("Stage", e.Question.Stage)
		if !e.Question.Expires.IsZero() {
			fact("Deadline", e.Question.Expires.In(now.Location()).Format("2006-01-02 15:04 MST"))
		}
		m.text = e.Question.Question
	case e.Report != nil:
		m.subject = fmt.Sprintf("Investigation %s: %s", i.Status, i.WorkflowID)
		if e.Check != nil {
			m.subject = fmt.Sprintf("Check %s: %s", i.Schedule, e.Check.Verdict)
		}
		fact("Result", e.Report.Line)
		short := *e.Report
		short.Line = ""
		m.text, _ = short.Short()
	default:
		m.subject = "Investigation started: " + i.WorkflowID
		fact("Started by", i.By)
	}
	if e.Escalation > 0 {
		m.subject = "Still open: " + m.subject
		fact("Open since", e.Time.In(now.Location()).Format("2006-01-02 15:04 MST"))
	}
	if i.Severity != "" {
		m.subject = "[" + i.Severity + "] " + m.subject
	}
	m.subject = clip.Line(reveal.Unseen(strings.Join(strings.Fields(m.subject), " ")), maxSubject)
	fact("Project", i.Project)
	fact("Chain", i.Chain)
	m.text = strings.TrimSpace(reveal.Unseen(m.text))
	return m
}

// limited shortens a text for a chat.
func limited(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = clip.Text(text, maxText)
	if strings.Count("\n"+text, "\n```")%2 != 0 {
		text += "\n```"
	}
	return text + "\n\nThe text is longer: open the investigation."
}
