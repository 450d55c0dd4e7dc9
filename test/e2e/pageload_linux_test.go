package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// writers is how many agents write side by side.
const writers = 8

// TestLongPageLoad watches eight agents that write at the pace of a model: neither the browser nor the server works much for it.
// What is bounded is the time of processors, which does not depend on what else this host does.
func TestLongPageLoad(t *testing.T) {
	takesLong(t)
	t.Parallel()
	var agents, definitions []string
	for n := range writers {
		agents = append(agents, fmt.Sprintf("{name: Writer%d}", n))
		definitions = append(definitions, fmt.Sprintf("  Writer%d: {description: writes}", n))
	}
	config := `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents:
` + strings.Join(definitions, "\n") + `
agent_chains:
  crowd: {stages: [{name: write, agents: [` + strings.Join(agents, ", ") + `]}]}
system: {http: {tokens: {ada: {sha256: ` + hashOf("ada") + `, role: approver}}}}
`
	const size, every = 12, 100 * time.Millisecond // characters at a time: 30 tokens a second
	text := counted("It is the disk of db-%d, or what it *writes*.\n\n", 110)
	p := &pageWorld{world: newWorld(t, llmtest.Always(llmtest.Text(text).Chunked(size, every)), config), http: freeAddress(t)}
	server := p.dev("--http", p.http) // with the agents and Temporal
	v := p.visit("ada", "http://"+p.http+"/")
	var paint float64
	v.do("read when it was painted first",
		chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`, &paint))
	t.Logf("first paint after %.0f ms", paint)

	id := p.begin("crowd", `"x"`)
	v.goTo("#/" + url.PathEscape(id))
	v.until("all write", `n => [...document.querySelectorAll(".writing")].filter(e => e.textContent.length > 100).length == n`, writers)
	began, browser, serving := time.Now(), v.cpu(), server.cpu()
	v.until("they have written for a while", `ms => (window.since ||= performance.now()) + ms < performance.now()`, 20_000)
	whole := time.Since(began)
	browser, serving = v.cpu()-browser, server.cpu()-serving
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / whole.Seconds() }
	t.Logf("in %s: the browser %s (%.1f %% of a core), the server %s (%.1f %%)",
		whole.Round(time.Second), browser, share(browser), serving, share(serving))
	if share(browser) > 40 { // 20 alone on two cores without a GPU; another browser beside it makes it 26
		t.Errorf("the browser takes %.1f %% of a core", share(browser))
	}
	if share(serving) > 30 { // most of which is the agents' and Temporal's
		t.Errorf("the whole system takes %.1f %% of a core", share(serving))
	}
	v.shot("page-crowd")
	v.do("make it 4K", chromedp.EmulateViewport(3840, 2160))
	v.shot("page-crowd-4k")
	p.call(http.MethodPost, "investigations/"+url.PathEscape(id)+"/cancel", "", &struct{}{})
	v.nothingWrong()
}

// cpu is what all processes of the browser have used.
func (v *visitor) cpu() (all time.Duration) {
	v.t.Helper()
	infos, err := systeminfo.GetProcessInfo().Do(cdp.WithExecutor(v.ctx, chromedp.FromContext(v.ctx).Browser))
	if err != nil {
		v.t.Fatal(err)
	}
	for _, one := range infos {
		all += time.Duration(one.CPUTime * float64(time.Second))
	}
	return all
}
