package store

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Acts that follow from another write are added to the audit trail in the same transaction. A repeated step would write them again,
// so each act has a key. Acts of transcript rows have none, because those rows are written only once.

// actsOf returns the acts of a transcript row.
func actsOf(e transcript.Entry, acts []audit.Act) (out []audit.Act) {
	if len(acts) == 0 {
		acts = decidedByWords(e)
	}
	for _, act := range acts {
		act.Investigation, act.Execution = e.Investigation, cmp.Or(act.Execution, e.Execution)
		if act.At.IsZero() {
			act.At = e.At
		}
		out = append(out, act)
	}
	return out
}

// decidedByWords returns the act of a call whose decision and result are in a single row, such as a memory tool's call; nil for any
// other row.
func decidedByWords(e transcript.Entry) []audit.Act {
	if e.Kind != transcript.KindResult || e.Decision == "" || e.Call == nil {
		return nil
	}
	return []audit.Act{{
		What: audit.Executed, Call: e.Call.ID, Tool: e.Call.Name,
		Detail: audit.Detail("decision", e.Decision, "digest", e.Digest, "status", e.Status, "error_type", e.ErrorType),
	}}
}

func startedAct(r record.Investigation) audit.Act {
	return audit.Act{
		Investigation: r.ID, At: r.StartedAt, What: audit.Started, Who: r.Envelope.By, Key: "started " + r.Writer,
		Detail: audit.Detail("workflow", r.WorkflowID, "chain", r.Chain, "alert_type", r.AlertType, "project", r.Project,
			"plan", r.PlanHash, "data", r.DataHash),
	}
}

func resetAct(investigation, run string) audit.Act {
	return audit.Act{Investigation: investigation, What: audit.Reset, Detail: audit.Detail("run", run), Key: "reset " + run}
}

func endedAct(r record.Investigation) audit.Act {
	at := time.Now()
	if r.EndedAt != nil {
		at = *r.EndedAt
	}
	return audit.Act{
		Investigation: r.ID, At: at, What: audit.Ended, Key: fmt.Sprintf("ended %s %s", r.Writer, r.Status),
		Detail: audit.Detail("status", string(r.Status), "reason", string(r.EndReason), "error", r.Error),
	}
}

// askedActs returns the acts for the approvals and questions that are currently waiting for people.
func askedActs(w record.Waiting) (out []audit.Act) {
	for _, a := range w.Approvals {
		out = append(out, audit.Act{
			Investigation: w.Investigation, What: audit.Asked, Execution: a.Execution, Call: a.CallID, Tool: a.Tool,
			// A change of the approvers, or one more of several approvals, makes it a new act.
			Key: fmt.Sprintf("asked %s %s %s %q %q %d", w.RunID, a.Name(), a.Digest, a.Approvers, a.ApprovedBy, len(a.Notes)),
			Detail: audit.Detail("digest", a.Digest, "risk", string(a.Risk), "arguments", a.Arguments, "arguments_ref", a.ArgumentsRef,
				"approvers", strings.Join(a.Approvers, ", "), "approved_by", strings.Join(a.ApprovedBy, ", "), "notes", strings.Join(a.Notes, "\n")),
		})
	}
	for _, q := range w.Questions {
		out = append(out, audit.Act{
			Investigation: w.Investigation, What: audit.Asked, Call: q.ID, Key: fmt.Sprintf("asked %s %s", w.RunID, q.ID),
			Detail: audit.Detail("kind", q.Kind, "stage", q.Stage, "question", q.Question, "data", string(q.Data)),
		})
	}
	return out
}

// guidedAct returns the act of a letter sent to the given stages.
func guidedAct(l transcript.Letter, stages []string) audit.Act {
	return audit.Act{
		Investigation: l.Investigation, At: l.At, What: audit.Guided, Who: l.By,
		Key:    fmt.Sprintf("guided %s %s %d", l.RunID, l.Source, l.Ordinal),
		Detail: audit.Detail("from", l.Source, "agent", l.Agent, "stage", strings.Join(stages, ", "), "text", l.Text),
	}
}
