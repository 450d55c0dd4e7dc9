package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/kit/npmtest"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// people maps the people that the page tests' API knows to their tokens.
var people = map[string]string{"ada": "token-of-ada", "bob": "token-of-bob", "root": "token-of-root"}

// pageConfig is the lab's configuration, with calls that need approval, a chain with a hostile agent, and people.
var pageConfig = approvalConfig + `
  hostile:
    stages: [{name: attack, agents: [{name: Mallory}]}]
system:
  http:
    tokens:
      ada: {sha256: ` + hashOf("ada") + `, role: approver}
      bob: {sha256: ` + hashOf("bob") + `, role: approver}
`

func hashOf(person string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(people[person]))) }

const (
	reportText = "# What happened\n\nThe **disk** is full: [the runbook](https://runbooks.example.com/disk).\n\n" +
		"| volume | used |\n|---|---|\n| db-1 | 99 % |\n\n1. Delete `old.log`\n   - and its copies\n2. Wait\n"
	// rightToLeft reverses the text after it; nothing is an invisible character.
	rightToLeft, nothing = "\u202e", "\u200b"
)

// hostileText contains everything that a browser might interpret as more than text.
var hostileText = `<script>window.pwned = 1</script><img src="https://evil.example/x.png" onerror="window.pwned = 2">` + "\n\n" +
	`[click](javascript:window.pwned=3) [data](data:text/html,<script>alert(1)</script>) ![pixel](https://evil.example/pixel.png)` + "\n\n" +
	`<javascript:alert(4)> <svg onload=alert(5)> <iframe srcdoc="<script>alert(6)</script>"></iframe> ` +
	"<style>*{display:none}</style>\n\ngnp." + rightToLeft + "exe.lagel" + nothing +
	"l שלום مرحبا [honest.example](https://evil.example/login) " +
	"</div></body>\n\n" +
	counted("*%d[_%d", 3000) + counted("%d> ", 300) + counted("\n- %d", 50) + "\n\n"

// counted repeats a pattern with different numbers, because an agent that repeats the same text is interrupted.
func counted(pattern string, times int) string {
	var out strings.Builder
	for n := range times {
		out.WriteString(strings.ReplaceAll(pattern, "%d", strconv.Itoa(n)))
	}
	return out.String()
}

// TestPage has people view an investigation in a browser and make decisions there while the server is killed and restarted.
func TestPage(t *testing.T) {
	t.Parallel()
	l := newScript()
	l.heldAt = "Beta 2"
	l.replace["Gamma 2"] = llmtest.Text(reportText)
	add := llmtest.Call{Name: "lab__add", Args: `{"a":2,"b":3}`}
	l.replace["Beta 1"] = llmtest.Calls(add).Text("I add <b>2</b> and 3, since both are missing.")
	echo := llmtest.Call{Name: "lab__echo", Args: mustJSON(map[string]string{"text": hostileText})}
	l.replace["Mallory 1"] = llmtest.Calls(echo).Thinking(hostileText).Text(hostileText)
	l.replace["Mallory 2"] = llmtest.Text(hostileText+counted("%d<b>"+nothing, 5<<20/12)).Chunked(60_000, 0)
	config := strings.Replace(pageConfig, "agents:\n", "agents:\n  Mallory: {description: attacks, mcp_servers: [lab]}\n", 1)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if who(req) == "Mallory" {
			return l.replace[fmt.Sprintf("Mallory %d", turnOf(req))]
		}
		return l.script()(req)
	}, config)
	p := &pageWorld{world: w, lab: l, http: freeAddress(t)}
	dev := w.dev("--http", p.http)
	p.ada, p.bob = p.visit("ada", "http://"+p.http+"/"), p.visit("bob", p.behind("/inquest"))
	p.ada.shows("Nothing needs your attention.", "No investigations running.", "No finished investigations yet.")

	id := p.begin("lab", `"The disk of db-1 is full."`)
	p.ada.shows("lab.set", "lab.add")
	p.ada.until("what waits says what it is about", `() => [...document.querySelectorAll(".wait .place")].length == 2 &&
		[...document.querySelectorAll(".wait .place")].every(e => e.textContent == "The disk of db-1 is full.")`)
	p.decides(id)
	p.ada.until("the page shows what Beta is saying", `() => document.querySelector(".writing")?.textContent.includes("beta")`)
	p.ada.shot("page-writing")
	p.decideAtOnce()

	dev.kill()
	p.ada.shows("Connection lost. Reconnecting")
	l.hold.Release()
	w.dev("--http", p.http)
	p.ada.shows("What happened", "completed")
	p.isWhole(id)
	p.ada.shot("page-report")
	p.hostile()
	p.accessible(id)
	p.longTranscript(id)
}

// pageWorld is a world with people who use its page.
type pageWorld struct {
	*world
	lab      *lab
	http     string
	ada, bob *visitor
}

// visitor is a person at the page, with everything that the browser reported about it.
type visitor struct {
	*browser
	mu    sync.Mutex
	wrong []string // dialogs, errors, policy violations, requests to other hosts
}

// visit opens the page and enters the person's name.
func (p *pageWorld) visit(person, base string) *visitor {
	p.t.Helper()
	v := &visitor{browser: newBrowser(p.t, base)}
	v.watch(strings.Split(base, "/")[2])
	v.do("open the page", log.Enable(), network.Enable(), chromedp.EmulateViewport(1280, 800), chromedp.Navigate(v.base))
	v.shows("Sign in")
	v.do("give a token", chromedp.SendKeys(`dialog input`, "token-of-nobody\r"))
	v.shows("Unknown token.")
	v.do("give a token", chromedp.SendKeys(`dialog input`, people[person]+"\r"))
	return v
}

// behind serves the page through a proxy, under a path.
func (p *pageWorld) behind(path string) string {
	p.t.Helper()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: p.http})
			r.Out.Host = r.In.Host
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	server := httptest.NewServer(http.StripPrefix(path, proxy))
	p.t.Cleanup(server.Close)
	return server.URL + path + "/"
}

func (v *visitor) watch(host string) {
	chromedp.ListenTarget(v.ctx, func(event any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening:
			v.wrong = append(v.wrong, "dialog: "+e.Message)
		case *runtime.EventExceptionThrown:
			v.wrong = append(v.wrong, "exception: "+e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Source == log.SourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
				v.wrong = append(v.wrong, "policy: "+e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			// An object that the page itself created is not a request to another host.
			if u, err := url.Parse(strings.TrimPrefix(e.Request.URL, "blob:")); err != nil || u.Host != host {
				v.wrong = append(v.wrong, "request: "+e.Request.URL)
			}
		}
	})
}

// nothingWrong fails the test if the browser reported a problem.
func (v *visitor) nothingWrong() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, what := range v.wrong {
		v.t.Error(what)
	}
}

// begin starts an investigation with the API.
func (p *pageWorld) begin(chain, data string) (id string) {
	p.t.Helper()
	var out struct{ ID string }
	p.call(http.MethodPost, "investigations", `{"chain":"`+chain+`","data":`+data+`}`, &out)
	return out.ID
}

// call sends an API request as Ada.
func (p *pageWorld) call(method, path, body string, out any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.http+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+people["ada"])
	req.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil || response.StatusCode >= 300 {
		p.t.Fatalf("%s %s: status %d, %v: %s", method, path, response.StatusCode, err, text)
	}
}

const cardOf = `[...document.querySelectorAll(".wait:not(.over)")].find(e => e.innerText.includes(tool))`

// decides approves a call by a click in the inbox, and a risky one with two keys in the investigation. There
// the page shows the agent's reason for the call, and draws a waiting agent as waiting.
func (p *pageWorld) decides(id string) {
	p.t.Helper()
	const press = `tool => { const card = ` + cardOf + `; card?.querySelector(".primary").click(); return Boolean(card) }`
	p.ada.until("approve lab.set", press, "lab.set")
	p.ada.shows("Approved by ada.")
	p.ada.click(".row", "")
	p.ada.shows("chain lab", "requested by ada", "requested by Beta", "I add <b>2</b> and 3, since both are missing.", "auto-denied in")
	p.ada.until("the stage and the agent wait", `() => document.querySelector('.graph [data-stage="dig"].waiting_approval') &&
		[...document.querySelectorAll(".pane")].some(e => e.textContent.includes("Beta") && e.querySelector(".status.waiting_approval"))`)
	p.ada.until("choose lab.add", `tool => { const card = `+cardOf+`; card?.focus(); return Boolean(card) }`, "lab.add")
	p.ada.do("ask for its approval by a key", chromedp.KeyEvent("a"))
	p.ada.shows("Once the call is approved, the agent makes it")
	p.ada.shot("page-confirm")
	p.ada.do("press the same key once more", chromedp.KeyEvent("a"))
	p.ada.until("it waits", `tool => (`+cardOf+`)?.querySelector(".outcome").textContent == ""`, "lab.add")
	p.ada.do("confirm it by another key", chromedp.KeyEvent("\r"))
	p.ada.shows("Approved by ada.")
	p.bob.do("open the investigation", chromedp.Navigate(p.bob.base+"#/"+url.PathEscape(id)))
	p.bob.shows("chain lab")
}

// decideAtOnce has two people decide on one call at the same moment: one wins, and the other is notified.
func (p *pageWorld) decideAtOnce() {
	p.t.Helper()
	for _, v := range []*visitor{p.ada, p.bob} {
		v.until("lab.counter waits", `tool => Boolean(`+cardOf+`)`, "lab.counter")
	}
	p.bob.until("begin to deny", `tool => { `+cardOf+`.querySelector("button:not(.primary)").click(); return true }`, "lab.counter")
	p.bob.do("say why", chromedp.SendKeys(".wait:not(.over) input", "not <b>today</b>"))
	var both sync.WaitGroup
	both.Go(func() {
		p.ada.until("approve", `tool => { `+cardOf+`.querySelector(".primary").click(); return true }`, "lab.counter")
	})
	both.Go(func() {
		p.bob.until("deny", `tool => { `+cardOf+`.querySelector(".danger").click(); return true }`, "lab.counter")
	})
	both.Wait()
	const outcome = `tool => [...document.querySelectorAll(".wait.over")].find(e => e.innerText.includes(tool))
		?.querySelector(".outcome").textContent`
	said := map[string]string{}
	for name, v := range map[string]*visitor{"Approved by ada.": p.ada, "Denied by bob.": p.bob} {
		v.until("it is told what became of it", `tool => /Approved|Denied|too late/.test((`+outcome+`)(tool) || "")`, "lab.counter")
		var text string
		v.do("read", chromedp.Evaluate(`(`+outcome+`)("lab.counter")`, &text))
		said[name] = text
	}
	won := 0
	for name, text := range said {
		if text == name {
			won++
		} else if !strings.HasPrefix(text, "Not applied, because it came too late: ") {
			p.t.Errorf("%q", text)
		}
	}
	if won != 1 {
		p.t.Errorf("%d have won: %q", won, said)
	}
	p.bob.shot("page-decided")
}

// isWhole compares the page of an ended investigation with the store.
func (p *pageWorld) isWhole(id string) {
	p.t.Helper()
	p.ada.until("the report is rendered", `() => document.querySelector(".report h3")?.textContent == "What happened" &&
		document.querySelector(".report strong")?.textContent == "disk" &&
		document.querySelector(".report td:last-child")?.textContent == "99 %" &&
		document.querySelector(".report ol > li > ul > li")?.textContent == "and its copies" &&
		document.querySelector(".report a")?.href == "https://runbooks.example.com/disk"`)
	var all struct {
		Entries []struct {
			Kind, Execution, Text string
			Status                string
		}
	}
	p.call(http.MethodGet, "investigations/"+url.PathEscape(id)+"/transcript?limit=1000", "", &all)
	want := map[string]int{}
	for _, e := range all.Entries {
		if e.Kind == "reply" || e.Kind == "result" {
			want[strings.Split(e.Execution, "/")[0]+" "+e.Kind]++
		}
	}
	for _, stage := range []string{"dig", "tell"} {
		p.ada.until("turn to stage "+stage, `name => { const node = () => document.querySelector(`+"`.graph [data-stage=\"${name}\"]`"+`);
			node()?.dispatchEvent(new MouseEvent("click", {bubbles: true})); return node()?.getAttribute("aria-pressed") == "true" }`, stage)
		for kind, selector := range map[string]string{"reply": ".entry.reply", "result": ".call[data-state=done], .call[data-state=failed]"} {
			p.ada.until(fmt.Sprintf("%d × %s of %s", want[stage+" "+kind], kind, stage),
				`(selector, n) => document.querySelectorAll(selector).length == n`, selector, want[stage+" "+kind])
		}
	}
	p.ada.nothingWrong()
	p.bob.nothingWrong()
}

// hostile shows all output of a hostile agent, fully expanded.
func (p *pageWorld) hostile() {
	p.t.Helper()
	id := p.begin("hostile", `"<script>alert(7)</script>"`)
	p.ada.do("open it", chromedp.Navigate(p.ada.base+"#/"+url.PathEscape(id)))
	p.ada.shows("completed", "Show more (")
	p.ada.until("open everything", `() => { document.querySelectorAll("details").forEach(e => e.open = true);
		[...document.querySelectorAll("button")].filter(b => b.textContent.startsWith("Show more")).forEach(b => b.click()); return true }`)
	p.ada.shows("<script>window.pwned = 1</script>", `\u202e`, `\u200b`, "<svg onload=alert(5)>")
	p.ada.until("nothing of it is markup", `() => {
		const bad = [...document.querySelectorAll("main script, main img, main iframe, main style, main [style], main [onerror], " +
			"main :not(.graph, .bars) > svg")];
		const links = [...document.querySelectorAll("main a")].filter(a => !/^https?:/.test(a.protocol));
		return window.pwned === undefined && bad.length == 0 && links.length == 0 }`)
	p.ada.until("a link names where it leads", `() => [...document.querySelectorAll("main .markdown a")]
		.filter(a => a.textContent == "honest.example")
		.some(a => a.nextSibling.textContent.includes("https://evil.example/login") && a.rel.includes("noopener"))`)
	p.ada.shot("page-hostile")
	p.ada.nothingWrong()
}

// accessible checks the page's first views against the rules of axe-core.
func (p *pageWorld) accessible(id string) {
	p.t.Helper()
	for name, at := range map[string]string{"inbox": "#/", "investigation": "#/" + url.PathEscape(id)} {
		p.ada.goTo(at)
		p.ada.shows(map[string]string{"inbox": "hostile", "investigation": "What happened"}[name])
		p.ada.accessible(name)
	}
}

// axe returns axe-core as one script.
func axe(t *testing.T) string {
	t.Helper()
	installed, err := npmtest.Install("testdata/npm")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(installed, "node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// longTranscript opens a transcript of 10,000 entries, not all of which are on the page.
func (p *pageWorld) longTranscript(id string) {
	p.t.Helper()
	const all, step = 10_000, 1000
	s := p.open()
	for n := range all / step {
		var rows []transcript.Row
		for k := range step {
			rows = append(rows, transcript.Row{
				Key: transcript.Key{Iteration: 10 + n, Position: k}, Kind: transcript.KindNotice,
				Body: transcript.Body{Text: fmt.Sprintf("notice %d", n*step+k)},
			})
		}
		_, err := s.Append(p.t.Context(), transcript.Step{
			Scope:  transcript.Scope{Investigation: id, Execution: "tell/Gamma"},
			Writer: transcript.Writer{RunID: "r", ActivityID: fmt.Sprintf("%d/1", n)}, Rows: rows,
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	p.bob.do("open it", chromedp.EmulateViewport(1280, 800), chromedp.Navigate("about:blank"),
		chromedp.Navigate(p.bob.base+"#/"+url.PathEscape(id)))
	const few = `() => document.querySelectorAll(".entry").length <= 650 && `
	const press = `[...document.querySelectorAll(".earlier button")].some(b => b.textContent.startsWith("%s") && (b.click(), true))`
	const last = `[...document.querySelectorAll(".entry.notice")].at(-1)?.textContent.startsWith("notice 9999")`
	p.bob.until("the end is shown, and few entries", few+last)
	var asked int
	p.bob.do("count what was asked for", chromedp.Evaluate(`performance.getEntriesByType("resource").filter(r =>
		r.name.includes("/transcript?") && !r.name.includes("kind=")).length`, &asked))
	if asked != 1 {
		p.t.Errorf("%d parts of the transcript were read to show its end", asked)
	}
	p.bob.until("those before them, by scrolling", few+`(document.querySelector(".transcript").scrollTop = 0, true) &&
		document.querySelector(".transcript").textContent.includes("notice 9000 ")`)
	p.bob.until("what is read stays in its place", few+`document.querySelector(".transcript").scrollTop > 100`)
	p.bob.until("to the beginning", few+fmt.Sprintf(press, "Go to start"))
	p.bob.until("the first is shown", few+`[...document.querySelectorAll(".entry")].some(e => e.textContent.includes("Instructions"))`)
	p.bob.until("to the end", few+fmt.Sprintf(press, "Go to end"))
	p.bob.until("the last is shown again", few+last)
	var slowest float64
	p.bob.do("scroll", chromedp.Evaluate(`new Promise(done => { const box = document.querySelector(".transcript"), times = [];
		let before = performance.now(); box.scrollTop = box.scrollHeight;
		const frame = now => { times.push(now - before); before = now; box.scrollTop -= 150;
			times.length < 60 ? requestAnimationFrame(frame) : done(times.sort((a, b) => a - b)[57]) };
		requestAnimationFrame(frame) })`, &slowest, awaited))
	p.t.Logf("19 of 20 frames take at most %.0f ms", slowest)
}

func mustJSON(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // encoding a map of texts cannot fail
	return strings.TrimSpace(out.String())
}
