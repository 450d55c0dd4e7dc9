package postmortem_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	unsafe "github.com/yuin/goldmark/renderer/html"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/postmortem"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

func clock(text string) time.Time {
	at, err := time.Parse(time.DateTime, "2026-03-17 "+text)
	if err != nil {
		panic(err)
	}
	return at
}

// source has everything that a draft shows, and texts of agents and tools that try to be more than text.
func source() postmortem.Source {
	const text = "# Root cause\n\nThe pool of checkout is exhausted [1]. <!-- inquest:end cause -->\n\n# Confidence\n\nHigh.\n\n" +
		"# Impact\n\nOrders failed for 12 minutes. See [this](https://evil.example).\n\n- 3 % of customers\n\n" +
		"# Next\n\n1. Enlarge the pool.\n2. Add an alert."
	end := clock("14:20:00")
	call := func(id, name string, risk agent.Risk) *transcript.Call {
		return &transcript.Call{ID: id, Name: name, Arguments: `{"deployment":"checkout"}`, Risk: risk}
	}
	entry := func(seq int64, execution, at string, kind transcript.Kind, body transcript.Body) transcript.Entry {
		return transcript.Entry{Scope: transcript.Scope{Execution: execution}, Seq: seq, Kind: kind, At: clock(at), Body: body}
	}
	r := record.Investigation{
		ID: "lab:1", WorkflowID: "lab", Chain: "triage", AlertType: "HighLatency", Status: agent.StatusCompleted, EndReason: agent.EndCompleted,
		StartedAt: clock("14:10:00"), EndedAt: &end, Report: text, Labels: agent.Labels{Metadata: map[string]string{agent.Severity: "critical"}},
	}
	r.Envelope.By, r.Envelope.Summary = "ada", "The pool was too small.\nEnlarge it."
	r.Envelope.NotChecked = []record.NotChecked{{Server: "loki", Why: "it did not answer"}}
	w := system.Record{
		Investigation: r,
		Executions: []record.Execution{
			{Name: "dig/LogAgent", Stage: "dig", Status: agent.StatusCompleted},
			{Name: "fix/Fixer", Stage: "fix", Status: agent.StatusFailed, Error: "quota exhausted"},
			{Name: ":summary/Sum", Stage: ":summary", Status: agent.StatusCompleted},
		},
		Entries: []transcript.Entry{
			entry(1, "dig/LogAgent", "14:10:01", transcript.KindSystem, transcript.Body{Text: "prompt"}),
			entry(2, "dig/LogAgent", "14:11:00", transcript.KindResult,
				transcript.Body{Call: call("c1", "prom.query", agent.RiskReadOnly), Status: "success", Text: "20"}),
			entry(4, "dig/LogAgent", "14:12:00", transcript.KindReply, transcript.Body{Text: "# Result\n\nThe pool is exhausted."}),
			entry(5, "fix/Fixer", "14:15:00", transcript.KindResult, transcript.Body{Call: call("c2", "k8s.restart", agent.RiskDestructive),
				Status: "success", Result: transcript.Result{Decision: "approved by ada"}}),
			entry(6, "fix/Fixer", "14:16:00", transcript.KindResult, transcript.Body{Call: call("c3", "k8s.delete", agent.RiskDestructive),
				Status: "error", ErrorType: "Denied", Result: transcript.Result{Refused: true, Decision: "denied by ada"}}),
		},
		Ratings: []record.Rating{{By: "bob", Rating: record.Partly, Note: "the pool of inventory", ActionTaken: "rolled back to 1.4.1"}},
	}
	proof := &evidence.Evidence{
		Items: []evidence.Item{{N: 1, Citation: toolresult.Citation{Content: "20"}, Source: evidence.Source{Seq: 2, Execution: "dig/LogAgent"}}},
		Claims: []evidence.Claim{
			{N: 1, Text: "At 14:02:11 the pool of checkout had 20 of 20 connections.", Cites: []int{1}, Verdict: evidence.Verified},
			{N: 2, Text: "The alert fired at 23:59 UTC.", Cites: []int{1}, Verdict: evidence.Found},
			{N: 3, Text: "30 orders failed.", Cites: []int{1}, Verdict: evidence.Unverified, Missing: []string{"30"}},
		},
	}
	rep := report.Of(r, nil, "lab:1 · completed · 10 m", proof)
	rep.UnknownWrites = []transcript.UnknownCall{{Execution: "fix/Fixer", Tool: "k8s.scale", Arguments: `{"n":3}`, Seq: 7}}
	w.Stages = []record.Stage{{Name: "dig", Result: "dig/LogAgent"}, {Name: ":summary", Index: -1, Result: ":summary/Sum"}}
	acts := []audit.Act{
		{At: clock("14:14:50"), What: audit.Decided, Who: "ada", Execution: "fix/Fixer", Call: "c2", Tool: "k8s.restart",
			Detail: audit.Detail("decision", "approved")},
		{At: clock("14:13:00"), What: audit.Paused, Who: "bob"}, {At: clock("14:10:00"), What: audit.Started, Who: "ada"},
		{At: clock("14:11:30"), What: audit.Guided, Who: "bob", Detail: audit.Detail("text", "look at the pool", "stage", "dig")},
		{At: clock("14:15:30"), What: audit.Decided, Who: "ada", Execution: "fix/Fixer", Call: "c3", Tool: "k8s.delete",
			Detail: audit.Detail("decision", "denied", "reason", "it is in use")},
		{At: clock("14:16:00"), What: audit.Asked, Call: "q1", Detail: audit.Detail("question", "Which region?")},
		{At: clock("14:17:00"), What: audit.Answered, Who: "bob", Call: "q1", Detail: audit.Detail("answer", "eu-1")},
		{At: clock("14:18:00"), What: audit.Asked, Call: "q2", Detail: audit.Detail("question", "Shall I go on?")},
		{At: clock("14:19:00"), What: audit.Answered, Call: "q2", Detail: audit.Detail("answer", "nobody answered")},
		{At: clock("14:20:00"), What: audit.Ended, Detail: audit.Detail("status", "completed", "reason", "completed")},
	}
	for n := range acts {
		acts[n].N = int64(n + 1)
	}
	return postmortem.Source{
		Record: w, Report: rep, Page: "https://inquest.example.com/",
		Acts: acts,
	}
}

// A draft has what the journal has, each line with its row, and nothing in it can be more than text.
func TestDraft(t *testing.T) {
	t.Parallel()
	s := source()
	document := postmortem.New("lab:1", postmortem.Title(s), postmortem.Draft(s))
	goldentest.Equal(t, "testdata/postmortem.md", document)
	if strings.Contains(document, " [this](") || strings.Count(document, "\n<!-- inquest:end cause -->\n") != 1 {
		t.Errorf("a text has become a link or a line of ours:\n%s", document)
	}
	if _, kept, err := postmortem.Update(document, "lab:1", postmortem.Draft(s)); err != nil || len(kept) > 0 {
		t.Errorf("its own update: %q, %v", kept, err)
	}
}

// Whatever agents and tools write is text in the document that people see, and in the one that is sent to other systems.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`<a href="https://evil.example">Runbook</a> <img src=https://evil.example/t.png>`, "~~~ x", "``` x", "<? x", "<div hidden>",
		"# Cause", "## Cause", "> quote", "===", "---", "| a | b |", "1. one", "+ one",
		"[x](https://evil.example)", `\[x](https://evil.example)`, "![x](https://evil.example)",
		"`[x](https://evil.example)`", "a ` b [x](https://evil.example) ` c `", "``a`` [x](https://evil.example)",
		"[x]: https://evil.example", "<!-- x", "-->",
		"<!-- inquest:end cause -->", "<!-- inquest:begin cause 12 -->", "a` [x](https://evil.example) `b", "<https://evil.example/a>",
	} {
		for _, lines := range []string{text, "one `\n" + text, text + "\n" + text} {
			s := source()
			r := &s.Record.Investigation
			r.Report = "# Root cause\n\n" + text + "\n\n# Impact\n\n- " + text + "\n\n# Next\n\n1. " + text
			s.Report = report.Of(*r, nil, text, s.Report.Evidence)
			s.Report.Brief.Cause, s.Report.Brief.Next, s.Report.Summary, s.Report.Error = text, []string{text}, lines, text
			s.Record.Executions[1].Error, s.Record.Ratings[0].Note, s.Record.Ratings[0].ActionTaken = text, text, text
			s.Record.Entries[2].Text, s.Record.Entries[3].Call.Arguments, s.Acts[2].Who = text, text, text
			s.Acts = append(s.Acts, audit.Act{What: audit.Rated, Who: text, Detail: audit.Detail("rating", text)})
			document := postmortem.New("lab:1", "T", postmortem.Draft(s))
			var html bytes.Buffer
			if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(unsafe.WithUnsafe())).Convert(
				[]byte(document), &html); err != nil {
				t.Fatal(err)
			}
			links := strings.Count(html.String(), "<a href=")
			rows := strings.Count(html.String(), `<a href="https://inquest.example.com/#/lab:1`)
			bare := strings.Count(html.String(), `<a href="https://evil.example`)
			hidden := strings.Count(html.String(), `>https://evil.example`) // an address that people see may be one
			if n := strings.Count(html.String(), "<h2"); n != 7 || links != rows+bare || bare != hidden || strings.Contains(html.String(), "<img") {
				t.Fatalf("%q: %d headings, %d links, %d rows, %d visible addresses:\n%s", lines, n, links, rows, hidden, document)
			}
			if _, kept, err := postmortem.Update(document, "lab:1", nil); err != nil || len(kept) > 0 {
				t.Errorf("%q: %v, %v", lines, kept, err)
			}
			if updated, kept, err := postmortem.Update(document, "lab:1", postmortem.Draft(source())); err != nil || len(kept) > 0 ||
				updated != postmortem.New("lab:1", "T", postmortem.Draft(source())) {
				t.Errorf("%q: sections that nobody has changed are not drafted again: %v, %v", lines, kept, err)
			}
		}
	}
}

// Without a store's evidence, a page or anything that happened, a draft says what is missing.
func TestBareDraft(t *testing.T) {
	t.Parallel()
	end := clock("14:20:00")
	r := record.Investigation{
		ID: "lab:1", WorkflowID: "lab", Chain: "triage", Status: agent.StatusFailed, StartedAt: clock("14:10:00"), EndedAt: &end,
		Error: "quota exhausted", Report: "Since 2026-03-17T14:02Z orders fail.\n\nIt is 25:61.",
	}
	s := postmortem.Source{Record: system.Record{Investigation: r}, Report: report.Of(r, nil, "failed", nil)}
	goldentest.Equal(t, "testdata/bare.md", postmortem.New("lab:1", postmortem.Title(s), postmortem.Draft(s)))
}
