package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const contractConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents: {Sorter: {type: llm}, Writer: {type: react}}
agent_chains:
  last: {alert_types: [last], stages: [{name: sort, agents: [{name: Sorter}]}]}
  first:
    alert_types: [first]
    stages: [{name: sort, agents: [{name: Sorter}]}, {name: write, agents: [{name: Writer}]}]
system:
  http: {tokens: {ada: {sha256: "TOKEN", role: viewer}}}
`

// TestTextOutsideContract has a model write prose where its agent must return one JSON object. The run is partial. The terminal's
// report and the page contain the reason, and also the text if it is from the last stage.
func TestTextOutsideContract(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if who(req) == "Writer" {
			return llmtest.Text("# Cause\n\nThe disk is full.")
		}
		return llmtest.Text("It looks like the pool to me.")
	}, strings.Replace(contractConfig, "TOKEN", hashOf("ada"), 1))
	p := &pageWorld{world: w, http: freeAddress(t)}
	w.dev("--http", p.http)
	p.ada = p.visit("ada", "http://"+p.http+"/")
	const reason = "does not meet the contract: no valid JSON object found in response"
	for chain, texts := range map[string][]string{
		"last":  {"It looks like the pool to me.", reason},
		"first": {"The disk is full.", reason},
	} {
		_, errs, code := w.starter("", "run", "--chain", chain, "--data", "db-1 is slow", "--workflow-id", chain)
		if code != 3 || !strings.Contains(errs, "does not meet its contract") {
			t.Errorf("%s: run ended with %d and said\n%s", chain, code, errs)
		}
		r := w.ended(chain)
		if r.Status != agent.StatusCompleted || r.EndReason != agent.EndPartial {
			t.Errorf("%s is %s (%s)", chain, r.Status, r.EndReason)
		}
		report := w.must("report", chain)
		for _, text := range append(texts, "stage sort is partial: ") {
			if !strings.Contains(report, text) {
				t.Errorf("the report of %s lacks %q:\n%s", chain, text, report)
			}
		}
		p.ada.goTo("#/" + url.PathEscape(r.ID))
		p.ada.shows(append(texts, "Stage sort is partial: the output "+reason, "partial")...)
		if chain == "first" { // its report names a cause
			var brief string
			p.ada.do("read the brief", chromedp.Text(".brief", &brief, chromedp.ByQuery))
			if got := strings.Fields(brief); !slices.Equal(got, strings.Fields("Cause The disk is full.")) {
				t.Errorf("the brief on the page is %q", brief)
			}
		}
	}
	p.ada.nothingWrong()
}
