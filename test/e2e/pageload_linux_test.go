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
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

// writers is the number of agents that write in parallel.
const writers = 8

// TestLongPageLoad watches eight agents that write at a model's pace. It limits the CPU time of the browser and
// the server, which does not depend on the load of the host, and the time to the first view.
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
	const size, every = 12, 100 * time.Millisecond // characters per chunk: 30 tokens a second
	text := counted("It is the disk of db-%d, or what it *writes*.\n\n", 160)
	p := &pageWorld{world: newWorld(t, llmtest.Always(llmtest.Text(text).Chunked(size, every)), config), http: freeAddress(t)}
	p.env = append(p.env, "INQUEST_STORE="+postgrestest.Start(t).Database(t, "crowd"))
	p.dev("--no-worker")
	p.worker("--http", p.http) // runs the agents
	aside := freeAddress(t)
	server := p.worker("--task-queue", "nobodys", "--http", aside) // serves only the page
	v := p.visit("ada", "http://"+aside+"/")
	v.firstView()
	id := p.begin("crowd", `"x"`)
	v.do("have all of them in sight", chromedp.EmulateViewport(3840, 2160))
	v.goTo("#/" + url.PathEscape(id))
	v.until("all write", `n => [...document.querySelectorAll(".writing")].filter(e => e.textContent.length > 100).length == n`, writers)
	began, browser, serving := time.Now(), v.cpu(), server.cpu()
	v.until("they have written for a while", `ms => (window.since ||= performance.now()) + ms < performance.now()`, 20_000)
	whole := time.Since(began).Seconds()
	share := func(used time.Duration) float64 { return 100 * used.Seconds() / whole }
	browses, serves := share(v.cpu()-browser), share(server.cpu()-serving)
	t.Logf("of a core the browser takes %.1f %%, and the server of the page %.1f %%", browses, serves)
	if browses > 20 || serves > 5 {
		t.Error("which is too much")
	}
	v.shot("page-crowd")
	v.do("have few of them in sight", chromedp.EmulateViewport(375, 800))
	const last = `[...document.querySelectorAll(".pane")].at(-1)`
	v.until("what is written out of sight is shown to who looks there", `() => { const pane = `+last+`, was = window.was ||= pane.innerText;
		pane.scrollIntoView(); return pane.querySelector(".writing")?.textContent.length > 100 && pane.innerText != was }`)
	p.call(http.MethodPost, "investigations/"+url.PathEscape(id)+"/cancel", "", &struct{}{})
	v.nothingWrong()
}

// firstView limits what is loaded before the page shows content, and reports the time of its first paint.
func (v *visitor) firstView() {
	v.t.Helper()
	v.shows("Nothing needs your attention.", "No investigations running.")
	var sent, paint float64
	v.do("read what it took", chromedp.Evaluate(`["navigation", "resource"].flatMap(kind => performance.getEntriesByType(kind))
			.reduce((sum, one) => sum + one.transferSize, 0)`, &sent),
		chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`, &paint))
	v.t.Logf("first view: %.0f bytes, painted after %.0f ms", sent, paint)
	if sent < 10_000 || sent > 150_000 {
		v.t.Errorf("%.0f bytes", sent)
	}
}

// cpu returns the CPU time of all the browser's processes.
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
