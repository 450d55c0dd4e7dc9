package e2e

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/browsertest"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// TestUI starts an investigation in Temporal's own UI, steers it there, and reads its progress and outcome
// there.
func TestUI(t *testing.T) {
	t.Parallel()
	w, l := newLab(t, func(l *lab) { l.heldAt = "Alpha 1" })
	w.dev()
	b := newBrowser(t, "http://"+w.ui+"/namespaces/default/workflows")
	b.begin("disk-full", `{"alert_type":"lab","data":"The disk of db-1 is full."}`)
	l.hold.Wait(t)
	if task := w.model.Requests()[0].Task(); !strings.Contains(task, "The disk of db-1 is full.") {
		t.Errorf("the model was not shown what was typed:\n%s", task)
	}
	started := w.history("disk-full")[0].GetWorkflowExecutionStartedEventAttributes()
	id := workflows.InvestigationID("disk-full", started.GetFirstExecutionRunId())

	b.open("disk-full", "User Metadata")
	b.shows("lab · running", "waiting for the agents of stage dig", "Alpha (running)")
	b.shot("running-details")
	b.open("disk-full", "Timeline")
	b.shows("RUNNING", "Resolve", "dig")
	b.shot("running")
	b.open("disk-full", "Event History") // the only view with the summaries of local activities
	b.shows("chain and configuration")
	alpha := id + "/dig/Alpha"
	b.signal("disk-full", "guide", `{"text":"look at the disks"}`,
		"Send guidance, which the agents see before their next model call.")
	eventually(t, "what was said is in the mail", func() bool { return stock{world: w}.posted("disk-full") })
	b.signal("disk-full", "pause", "", "Make no more model calls until resumed.")
	eventually(t, "Alpha is paused", func() bool { return w.agentStatus(alpha).Status == agent.StatusPaused })
	l.hold.Release()
	eventually(t, "Alpha has stopped", func() bool { return w.agentStatus(alpha).Doing == "paused" })
	b.open("disk-full", "User Metadata")
	b.shows("lab · paused", "a person to resume")
	b.shot("paused-details")
	b.signal("disk-full", "resume", "", "Continue after a pause.")
	b.shows("COMPLETED", "the report of gamma", "report") // on the page that was opened during the pause
	b.shot("completed")
	received := func(req llmtest.Request) bool {
		return who(req) == "Alpha" && turnOf(req) == 2 && strings.Contains(string(req.Body), "look at the disks")
	}
	if !slices.ContainsFunc(w.model.Requests(), received) {
		t.Error("the model was not told what was typed into the dialog")
	}
}

// TestLongUI reads an investigation's actions and findings in Temporal's own UI.
func TestLongUI(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w, _ := newLab(t, nil)
	w.dev()
	id := workflows.InvestigationID("disk-full", w.begin("disk-full").GetRunID())
	w.end("disk-full")
	b := newBrowser(t, "http://"+w.ui+"/namespaces/default/workflows")
	pages := []struct {
		workflow, tab string
		want          []string
	}{
		{"disk-full", "User Metadata", []string{"lab · completed", "Alpha (completed), Beta (completed), SynthesisAgent (completed)",
			"Gamma (completed)"}},
		{"disk-full", "Relationships", []string{id + "/dig", id + "/tell"}},
		{id + "/dig", "Timeline", []string{"Alpha · lab-1", "Beta · lab-1", "SynthesisAgent · lab-1", "SaveStage"}},
		{id + "/dig", "Event History", []string{"stage dig"}},
		{id + "/dig", "User Metadata", []string{"iterations", "SynthesisAgent", "lab-1"}},
		{id + "/dig/Alpha", "Timeline", []string{"lab-1 · iteration 1", "lab-1 · iteration 2", "lab-1 · iteration 3"}},
		{id + "/dig/Alpha", "Event History", []string{"tools of lab", "lab.echo", "lab.set", "lab.counter"}},
		{id + "/dig/Alpha", "User Metadata", []string{"Alpha · lab-1"}},
	}
	for _, p := range pages {
		b.open(p.workflow, p.tab)
		b.shows(p.want...)
		b.shot(strings.NewReplacer("/", "-", " ", "-").Replace(strings.TrimPrefix(p.workflow, id+"/") + " " + p.tab))
	}
}

// TestLongUIRefuses checks that the UI shows why a request was rejected.
func TestLongUIRefuses(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w, _ := newLab(t, nil)
	w.dev()
	b := newBrowser(t, "http://"+w.ui+"/namespaces/default/workflows")
	b.begin("typo", `{"alert_type":"lob"}`)
	eventually(t, "it has ended", func() bool { return slices.Contains(w.list(), "typo") })
	b.open("typo", "Timeline")
	b.shows("FAILED", `no chain has the alert type \"lob\"; available: kubernetes, lab, sample-incident`)
	b.shot("refused")
	b.open("typo", "User Metadata")
	b.shows("refused", `no chain has the alert type "lob"`)
	b.shot("refused-details")
}

// browser is a page of headless Chromium.
type browser struct {
	t    *testing.T
	ctx  context.Context // chromedp's context, which owns the page
	base string          // base of every URL that is opened
}

// newBrowser starts a Chromium with an empty profile for the length of a test.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	return &browser{t: t, ctx: browsertest.Start(t, chromedp.WindowSize(1600, 1300)), base: base}
}

func (b *browser) do(what string, actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.shot("failed-" + b.t.Name())
		var shown string
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(`document.body.innerText`, &shown)); err != nil {
			shown = err.Error()
		}
		b.t.Fatalf("%s: %v; the page shows:\n%.4000s", what, err, shown)
	}
}

// until polls a function of the page until it returns true.
func (b *browser) until(what, function string, args ...any) {
	b.t.Helper()
	b.do(what, chromedp.PollFunction(function, nil, chromedp.WithPollingArgs(args...),
		chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(0))) // do has a timeout
}

// open opens a tab of a workflow's page. The UI first goes to a page that it chooses, so open clicks the tab
// until it stays. It waits longer after each click, because a click aborts the page change that the previous one began.
func (b *browser) open(workflowID, tab string) {
	b.t.Helper()
	const turn = `name => {
		const tab = [...document.querySelectorAll("[role=tab]")].find(e => e.innerText.startsWith(name));
		if (tab && tab.ariaSelected != "true" && Date.now() >= (window.nextClick ?? 0)) {
			window.clickPause = 2 * (window.clickPause ?? 250);
			window.nextClick = Date.now() + window.clickPause;
			tab.click();
		}
		return tab?.ariaSelected == "true" }`
	b.do("open "+workflowID, chromedp.Navigate(b.base+"/"+url.PathEscape(workflowID)))
	b.until("turn to "+tab, turn, tab)
}

// begin fills in the form behind the deep link and submits it.
func (b *browser) begin(id, in string) {
	b.t.Helper()
	var queue, kind string
	b.do("open the form",
		chromedp.Navigate(b.base+"/start-workflow?workflowType="+workflows.TypeInvestigation+"&taskQueue="+workflows.TaskQueue),
		chromedp.SendKeys(`#workflowId`, id), chromedp.Value(`#taskQueue`, &queue), chromedp.Value(`#workflowType`, &kind))
	if queue != workflows.TaskQueue || kind != workflows.TypeInvestigation {
		b.t.Errorf("the form proposes type %q and task queue %q", kind, queue)
	}
	b.write(`.cm-content`, in)
	b.shot(id + "-form")
	b.click(`button:enabled`, "Start Workflow")
}

// signal sends a signal with the dialog on an investigation's page.
func (b *browser) signal(id, name, in, description string) {
	b.t.Helper()
	b.open(id, "Timeline") // a new page, because a reused dialog keeps its input
	b.click(`button`, "More Actions")
	b.click(`[role=menuitem]`, "Send a Signal")
	b.click(`[data-testid=signal-select-button]`, "")
	b.shows(description)
	b.shot("signals")
	b.click(`[role=option]`, name)
	if in != "" {
		b.write(`#modal-content-signal-confirmation-modal .cm-content`, in)
	}
	b.shot("signal-" + name)
	b.click(`button:enabled`, "Submit")
}

// write types into an editor.
func (b *browser) write(editor, text string) {
	b.t.Helper()
	b.click(editor, "")
	b.do("write "+text, input.InsertText(text))
}

// click clicks the first visible element that begins with text, and waits for it if necessary.
func (b *browser) click(selector, text string) {
	b.t.Helper()
	const click = `(selector, text = "") => [...document.querySelectorAll(selector)]
		.filter(e => e.checkVisibility() && e.innerText.trim().startsWith(text)).slice(0, 1).some(e => (e.focus(), e.click(), true))`
	b.until(fmt.Sprintf("click on %s %q", selector, text), click, selector, text)
}

// shows waits until the page shows all of these texts. Markdown is in separate frames.
func (b *browser) shows(texts ...string) {
	b.t.Helper()
	const shown = `text => [document, ...[...document.querySelectorAll("iframe")].map(e => e.contentDocument)]
		.some(d => d?.body?.innerText.includes(text))`
	for _, text := range texts {
		b.until(fmt.Sprintf("the page shows %q", text), shown, text)
	}
}

// shot takes a screenshot and keeps it if E2E_SCREENSHOTS names a folder.
func (b *browser) shot(name string) {
	b.t.Helper()
	folder := os.Getenv("E2E_SCREENSHOTS")
	if folder == "" {
		folder = b.t.TempDir()
	}
	var png []byte
	if err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		b.t.Errorf("screenshot %s: %v", name, err)
	} else if err := os.WriteFile(filepath.Join(folder, "ui-"+name+".png"), png, 0o600); err != nil {
		b.t.Error(err)
	}
}
