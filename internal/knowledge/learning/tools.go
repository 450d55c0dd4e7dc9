package learning

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
)

var (
	recallSchema = json.RawMessage(`{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":2000,"description":"What you want to know, in a few words or a sentence"},
"limit":{"type":"integer","minimum":1,"maximum":20,"description":"Maximum number of learnings (default 10)"}},
"required":["query"],"additionalProperties":false}`)
	sessionsSchema = json.RawMessage(`{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":200,
"description":"One or a few identifiers, such as a service, pod, host or user. All must occur."},
"alert_type":{"type":"string","description":"Only investigations of alerts of this type"},
"days_back":{"type":"integer","minimum":1,"maximum":365,"description":"How many days to look back (default 30)"},
"limit":{"type":"integer","minimum":1,"maximum":10,"description":"Maximum number of investigations (default 5)"}},
"required":["query"],"additionalProperties":false}`)
)

// Specs returns the tools that look up earlier investigations of the project.
func Specs() []tool.Spec {
	return []tool.Spec{{
		Name: agent.ToolRecallPast,
		Description: "Searches the learnings from earlier investigations: facts about these systems, normal behaviour, what " +
			"worked and what led nowhere. Returns short lessons, not reports.",
		Schema: recallSchema, Risk: agent.RiskReadOnly,
	}, {
		Name: agent.ToolSearchSessions,
		Description: "Searches the alerts and reports of earlier investigations for identifiers, to find out whether a service, " +
			"host or user was investigated before, and with what result.",
		Schema: sessionsSchema, Risk: agent.RiskReadOnly,
	}}
}

// RecallIn holds the arguments of recall_past_investigations.
type RecallIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

// SessionsIn holds the arguments of search_past_sessions.
type SessionsIn struct {
	Query     string `json:"query"`
	AlertType string `json:"alert_type"`
	DaysBack  int    `json:"days_back"`
	Limit     int    `json:"limit"`
}

// ParseRecall reads the arguments and fills in the defaults.
func ParseRecall(arguments json.RawMessage) (in RecallIn, err error) {
	err = json.Unmarshal(bytes.TrimSpace(arguments), &in)
	in.Limit = min(max(cmp.Or(in.Limit, 10), 1), 20)
	return in, err
}

// ParseSessions reads the arguments and fills in the defaults.
func ParseSessions(arguments json.RawMessage) (in SessionsIn, err error) {
	err = json.Unmarshal(bytes.TrimSpace(arguments), &in)
	in.DaysBack, in.Limit = min(max(cmp.Or(in.DaysBack, 30), 1), 365), min(max(cmp.Or(in.Limit, 5), 1), 10)
	return in, err
}

// PastQuery asks for ended investigations of a project.
type PastQuery struct {
	Project, Text, AlertType string
	Since                    time.Time
	Except                   string // the ID of the investigation that asks
	Limit                    int
}

// RecalledText returns learnings in the form for a model. problem says why their meaning was not compared; empty means that there was no
// problem.
func RecalledText(found []Scored, problem string, now time.Time) string {
	var out strings.Builder
	if problem != "" {
		fmt.Fprintf(&out, "Only words were compared, not meaning, because the embedding model failed. Search with other words too.\n\n")
	}
	if len(found) == 0 {
		return out.String() + "No learnings match. Try other words."
	}
	for _, s := range found {
		fmt.Fprintf(&out, "- %s (%s, %s; confidence %.2f; from %s, %s): %s\n", Name(s.ID), s.Kind, s.Polarity, s.Current,
			s.Investigation, record.When(s.Created, now), strings.Join(strings.Fields(s.Text), " "))
	}
	return out.String()
}

const (
	maxResult = 800 // characters of an investigation's result
	maxName   = 200
	maxNote   = 300
)

// Past is an ended investigation that a search has found.
type Past struct {
	record.Investigation
	Score   *int // its last score
	Ratings []record.Rating
	// Withdrawn reports whether people have withdrawn its learnings.
	Withdrawn bool
}

// problem says why the result must not be used; empty means that it may be.
func (p Past) problem() string {
	for _, r := range p.Ratings {
		if r.Rating == record.Inaccurate {
			return strings.TrimSpace("A person rated the result inaccurate, so it is left out. " + clip.Line(r.Note, maxNote))
		}
	}
	if p.Withdrawn {
		return "A person withdrew the learnings from this investigation, so its result is left out."
	}
	return ""
}

// SessionsText returns investigations in the form for a model.
func SessionsText(found []Past, now time.Time) string {
	if len(found) == 0 {
		return "No investigations match. Search for fewer or other identifiers, or look back further."
	}
	var out strings.Builder
	for _, r := range found {
		fmt.Fprintf(&out, "# %s\nStarted %s, %s", clip.Line(r.WorkflowID, maxName), record.When(r.StartedAt, now), r.Status)
		if r.AlertType != "" {
			fmt.Fprintf(&out, ", alert type %s", clip.Line(r.AlertType, maxName))
		}
		if r.Score != nil {
			fmt.Fprintf(&out, ", score %d of 100", *r.Score)
		}
		result := strings.TrimSpace(cmp.Or(r.problem(), strings.TrimSpace(r.Envelope.Summary),
			strings.TrimPrefix(r.Report, r.Envelope.NotCheckedParagraph()), r.Error, "No result."))
		if caveat := r.Envelope.CaveatLine(); caveat != "" {
			result = caveat + ". " + result
		}
		fmt.Fprintf(&out, "\n%s\n\n", clip.Text(result, maxResult))
	}
	return out.String()
}
