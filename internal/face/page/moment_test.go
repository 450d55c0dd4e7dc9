package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// TestMoment: with ?row=N, the page shows what was known at that row, and who was waited for. The slider leads to other rows and back.
func TestMoment(t *testing.T) {
	t.Parallel()
	const id = "one:0123456789ab"
	begun := time.Now().Add(-time.Hour).Truncate(time.Second)
	at := func(row int) time.Time { return begun.Add(time.Duration(row) * time.Minute) }
	var executions []record.Execution
	var stages []record.Stage
	var entries []transcript.Entry
	for n, name := range []string{"dig/A", "tell/B"} {
		stage, agentName, _ := strings.Cut(name, "/")
		from, to := at(10*n), at(10*n+10)
		executions = append(executions, record.Execution{
			Name: name, Stage: stage, Agent: agentName, Status: agent.StatusCompleted, StartedAt: from, EndedAt: &to,
		})
		stages = append(stages, record.Stage{Name: stage, Index: n, Status: agent.StatusCompleted, StartedAt: from, EndedAt: &to})
		for row := 10*n + 1; row <= 10*n+10; row++ {
			entries = append(entries, transcript.Entry{
				Scope: transcript.Scope{Execution: name}, Key: transcript.Key{Iteration: row}, Seq: int64(row), Kind: transcript.KindReply,
				At: at(row), Body: transcript.Body{Text: fmt.Sprintf("reply %d of %s", row, agentName)},
			})
		}
	}
	ended := at(20)
	i := record.Investigation{
		ID: id, WorkflowID: "one", Chain: "lab", Status: agent.StatusCompleted, StartedAt: begun, EndedAt: &ended, Report: "the report",
	}
	call := audit.Act{Execution: "dig/A", Call: "c1", Tool: "k8s.restart"}
	asked, decided := call, call
	asked.N, asked.What, asked.At = 1, audit.Asked, at(3)
	decided.N, decided.What, decided.At = 2, audit.Decided, at(6)
	path := "investigations/{id}"
	b := newTab(t, map[string]http.HandlerFunc{
		path:           answer(system.Whole{Investigation: i, Stages: stages, Executions: executions}),
		path + "/acts": answer(system.ActsPage{Items: []audit.Act{asked, decided}}),
		path + "/transcript": func(w http.ResponseWriter, r *http.Request) {
			shown := entries
			var after int
			if _, err := fmt.Sscan(r.URL.Query().Get("after"), &after); err == nil {
				shown = entries[after : after+1]
			}
			if r.URL.Query().Has("kind") {
				shown = nil
			}
			answer(map[string]any{"entries": append([]transcript.Entry{}, shown...)})(w, r)
		},
		path + "/events": events(
			event(t, "record", map[string]any{"investigation": i, "stages": stages, "executions": executions}),
			event(t, "ended", map[string]any{"result": map[string]any{"id": id}})),
	})
	if err := chromedp.Run(b.ctx, chromedp.Navigate(b.address+"/#/"+id+"?row=4")); err != nil {
		t.Fatal(err)
	}
	shown := b.text("Row 4 of 20", "dig/A · reply", "waiting for approval: k8s.restart · reply 4 of A", "reply 3 of A", "waiting approval")
	for _, later := range []string{"the report", "reply 5 of A", "reply 11", "tell/B"} {
		if strings.Contains(shown, later) {
			t.Errorf("at row 4, the page shows %q:\n%s", later, shown)
		}
	}
	const press = `document.querySelector(".moment input").focus()`
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(press, nil), chromedp.KeyEvent(kb.ArrowRight)); err != nil {
		t.Fatal(err)
	}
	b.text("Row 5 of 20", "reply 5 of A")
	set := `const s = document.querySelector(".moment input"); s.value = 12; s.dispatchEvent(new Event("input"))`
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(set, nil)); err != nil {
		t.Fatal(err)
	}
	shown = b.text("Row 12 of 20", "dig/A · completed · reply 10 of A", "tell/B · running · reply 12 of B", "reply 11 of B")
	if strings.Contains(shown, "reply 13") || strings.Contains(shown, "the report") {
		t.Errorf("at row 12:\n%s", shown)
	}
	var hash string
	err := chromedp.Run(b.ctx, chromedp.Evaluate("location.hash", &hash), chromedp.Click(".scrub button"))
	if err != nil || !strings.HasSuffix(hash, "?row=12") {
		t.Errorf("%q, %v", hash, err)
	}
	b.text("20 rows", "the report", "reply 20 of B")
	if err := chromedp.Run(b.ctx, chromedp.Evaluate("location.hash", &hash)); err != nil || strings.Contains(hash, "?") {
		t.Errorf("%q, %v", hash, err)
	}
}
