package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/prompt"
)

// viewsConfig has calls assigned to another person, results that people review, a conversation, and a judge.
var viewsConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model}
agents:
  Alpha:
    mcp_servers: [lab]
    description: digs
    tool_config:
      tool_permissions:
        lab.set: {requires_approval: true}
        lab.counter: {requires_approval: true, approvers: ["@root", "@ada"]}
  Gamma: {description: tells}
  Clerk: {type: memgpt, mcp_servers: [lab], tool_config: {tool_permissions: {lab.set: {requires_approval: true}}}}
agent_chains:
  looked:
    description: digs until people are content
    stages:
      - {name: dig, agents: [{name: Alpha}], agent_review: {question: "Is that all?"}}
      - {name: tell, agents: [{name: Gamma}]}
system:
  limits: {data: 1000}
  http:
    tokens:
      ada: {sha256: ` + hashOf("ada") + `, role: approver}
      root: {sha256: ` + hashOf("root") + `, role: admin, projects: ["*"]}
`

// views is the model for viewsConfig. Words from a review make Alpha finish immediately.
func views(hold *llmtest.Hold) llmtest.Script {
	call := func(name, args string) llmtest.Reply {
		return llmtest.Calls(llmtest.Call{Name: "lab__" + name, Args: args})
	}
	replies := map[string]llmtest.Reply{
		"Alpha 1": llmtest.Calls(llmtest.Call{Name: "lab__image", Args: `{}`}, llmtest.Call{Name: "lab__big", Args: `{"bytes":"400000"}`}),
		"Alpha 2": call("set", `{"file":"agent"}`),
		"Alpha 3": call("counter", `{"file":"effects"}`),
		"Alpha 4": llmtest.Text("alpha knows"),
		"Gamma 1": llmtest.Text("# What gamma tells\n\nIt is the disk."),
		"Clerk 1": call("set", `{"file":"desk"}`),
		"Clerk 2": llmtest.Text("the desk is set"),
		"Clerk 3": llmtest.Text("gone and come back").Chunked(3, 0).Hold(hold, 2),
	}
	return func(req llmtest.Request) llmtest.Reply {
		name, turn := prompt.AgentOf(req.System()), turnOf(req)
		switch {
		case name == "ScoringAgent" && req.Last().Text() == prompt.MissingTools:
			return llmtest.Text("A tracing tool.")
		case name == "ScoringAgent":
			return llmtest.Text("Sound.\n73")
		case name == "Alpha" && strings.Contains(string(req.Body), "look at the pool"):
			return llmtest.Text("alpha knows more")
		}
		if reply, ok := replies[fmt.Sprintf("%s %d", name, turn)]; ok {
			return reply
		}
		return llmtest.Text("an answer")
	}
}

// TestLongPageViews has people start, change, talk, judge and look around at the page while the server is killed under them.
func TestLongPageViews(t *testing.T) {
	takesLong(t)
	t.Parallel()
	hold := llmtest.NewHold()
	p := &pageWorld{world: newWorld(t, views(hold), viewsConfig), http: freeAddress(t)}
	p.env = append(p.env, "NO_COLOR=1")
	dev := p.dev("--http", p.http)
	root := p.visit("root", "http://"+p.http+"/")
	p.ada = p.visit("ada", "http://"+p.http+"/")

	id := p.startsAtPage(root)
	p.changesCall(root)
	dev.kill()
	root.shows("Connection lost. Reconnecting")
	dev = p.dev("--http", p.http)
	p.handsOn(root, id)
	p.sendsBack(root)
	p.judges(root)
	p.reviews(root)
	p.talks(root, hold, dev)
	p.looksAround(root)
	root.cites()
	root.keeps()
	root.endsWaits()
	for _, v := range []*visitor{root, p.ada} {
		v.nothingWrong()
	}
}

// startsAtPage pastes an alert, previews the investigation, and starts it.
func (p *pageWorld) startsAtPage(v *visitor) (id string) {
	p.t.Helper()
	const fill = `(selector, text, event) => { const e = document.querySelector(selector); e.value = text;
		e.dispatchEvent(new Event(event)); return e.value == text }`
	v.goTo("#/new")
	v.until("there are chains", `() => [...document.querySelectorAll("#chain option")].some(o => o.value == "looked")`)
	v.until("choose a chain", fill, "#chain", "looked", "change")
	v.until("paste too much", fill, "form textarea", strings.Repeat("x", 2000), "input")
	v.shows("This cannot start", "over the limit of 1000 (system.limits.data)")
	v.until("paste an alert", fill, "form textarea", `{"title": "The disk of db-1 is full.", "n": 12345678901234567890}`, "input")
	v.shows("This will run", "Alpha · lab-1", "JSON")
	v.accessible("start")
	v.click("form button.primary:enabled", "Start")
	v.shows("chain looked", "requested by root")
	v.do("read its id", chromedp.Evaluate(`decodeURIComponent(location.hash.slice(2))`, &id))
	v.until("the link leads to the same run", `id => [...document.querySelectorAll(".actions a")].some(a => a.textContent == "Temporal UI" &&
		a.href.includes(encodeURIComponent(id.split(":")[0]) + "/"))`, id)
	return id
}

// changesCall views an image and the whole of a large result, and approves a call with changed arguments.
func (p *pageWorld) changesCall(v *visitor) {
	p.t.Helper()
	v.until("open the call with an image", `() => [...document.querySelectorAll(".call")].filter(c => c.textContent.includes("lab.image"))
		.some(c => (c.open = true))`)
	v.until("the image is shown", `() => [...document.querySelectorAll(".picture:not([hidden]) img")].some(i => i.src.startsWith("blob:"))`)
	v.until("open the large result", `() => [...document.querySelectorAll(".call")].filter(c => c.textContent.includes("lab.big"))
		.some(c => (c.open = true))`)
	v.until("it says which argument was respelled", `() => [...document.querySelectorAll(".call .decision")]
		.some(e => e.textContent.includes("Arguments were converted to match the schema: bytes as "))`)
	v.click(".call .long button", "Show all")
	v.click(".call .long button", "Show more")
	v.until("more of it is there", `() => [...document.querySelectorAll(".call .long")].some(e => e.textContent.length > 120000)`)
	v.shows("lab.set")
	v.click(".wait button", "Edit")
	v.until("write other arguments", `() => { const box = document.querySelector(".wait textarea"); box.value = "[1]"; return true }`)
	v.click(".wait button.primary", "Approve with these arguments")
	v.shows("The arguments must be a JSON object.")
	v.until("write others", `() => { const box = document.querySelector(".wait textarea"); box.value = '{"file": "person"}'; return true }`)
	v.click(".wait button.primary", "Approve with these arguments")
	v.shows("Approved by root with edited arguments.", "lab.counter")
}

// handsOn leaves a call to another person, who asks the agent first.
func (p *pageWorld) handsOn(v *visitor, id string) {
	p.t.Helper()
	v.until("lab.counter waits", `tool => Boolean(`+cardOf+`)`, "lab.counter")
	v.click(".wait:not(.over) button", "Reassign")
	v.do("say to whom", chromedp.SendKeys(".wait:not(.over) form input", "@ada\r"))
	v.until("it is handed on", `() => {
		const said = [...document.querySelectorAll(".wait .outcome")].at(-1), form = document.querySelector(".wait form");
		if (/^Failed: .*no worker/.test(said.textContent)) form.requestSubmit(); // what was written is still there
		return /^Recorded by root: .*@ada\.$/.test(said.textContent) }`)
	p.ada.goTo("#/" + url.PathEscape(id))
	p.ada.until("it waits for ada", `tool => (`+cardOf+`)?.innerText.includes("@ada")`, "lab.counter")
	p.ada.click(".wait:not(.over) button", "Ask the agent")
	p.ada.do("ask", chromedp.SendKeys(".wait:not(.over) form textarea", "Why count?"))
	p.ada.click(".wait:not(.over) form button.primary", "Ask")
	p.ada.shows("Asked by ada. The call was not made.")
}

// sendsBack rejects a result: the drawing of the chain shows that it went back.
func (p *pageWorld) sendsBack(v *visitor) {
	p.t.Helper()
	v.shows("Is that all?")
	v.click(".wait:not(.over) button", "Send back")
	v.do("say why", chromedp.SendKeys(".wait:not(.over) form input", "look at the pool\r"))
	v.shows("run 2")
	v.until("the second result waits", `() => [...document.querySelectorAll(".wait:not(.over)")]
		.some(e => e.innerText.includes("Is that all?") && (e.querySelector("button.primary").click(), true))`)
	v.shows("What gamma tells", "completed")
	v.until("it is drawn where it went back, and forth", `() => document.querySelector(".graph .way.back.gone") &&
		document.querySelector('.graph [data-stage="tell"].completed') && document.querySelectorAll(".rail li").length >= 3`)
	v.until("turn to the stage that is drawn", `() => {
		const node = () => document.querySelector('.graph [data-stage="dig"]');
		node().dispatchEvent(new MouseEvent("click", {bubbles: true})); return node().getAttribute("aria-pressed") == "true" }`)
	v.shows("alpha knows more")
	v.click(".timeline summary", "Timeline")
	v.shows("decided", "asked a person: dig: Is that all?", "answered: dig: not approved. look at the pool")
	v.until("waits are drawn", `() => document.querySelectorAll(".bars .asked").length >= 2 &&
		document.querySelectorAll(".bars .question").length == 2 &&
		document.querySelectorAll(".bars .bar").length >= 3`)
	v.shot("page-went-back")
	v.accessible("investigation")
}

// judges requests a score and waits for it to appear.
func (p *pageWorld) judges(v *visitor) {
	p.t.Helper()
	v.click(".actions button", "Score")
	v.shows("73", "of 100", "requested by root")
}

// reviews claims the review and rates the result.
func (p *pageWorld) reviews(v *visitor) {
	p.t.Helper()
	v.shows("Needs review")
	v.click(".review button", "Claim")
	v.shows("In review by root")
	v.click(".actions button", "Rate")
	v.do("rate", chromedp.Click("dialog input[value=partly]"), chromedp.SendKeys("dialog textarea", "the disk, not the pool"))
	v.accessible("rating")
	v.shot("page-rating")
	v.click("dialog button.primary", "Rate")
	v.shows("Reviewed by root", "partly", "the disk, not the pool")
	v.shot("page-reviewed")
}

// talks talks with an agent about an investigation, and continues when the server is back.
func (p *pageWorld) talks(v *visitor, hold *llmtest.Hold, dev *process) {
	p.t.Helper()
	v.click(".actions a", "Chat about it")
	v.shows("is sent with your first message")
	v.until("choose an agent", `() => { const s = document.querySelector("#agent"); s.value = "Clerk"; s.dispatchEvent(new Event("change"));
		return s.value == "Clerk" }`)
	v.do("say something", chromedp.SendKeys("form.begin textarea", "set the desk"))
	v.accessible("chats")
	v.click("form.begin button.primary", "Start")
	v.shows("lab.set")
	v.until("approve", `tool => { const card = `+cardOf+`; card?.querySelector(".primary").click(); return Boolean(card) }`, "lab.set")
	v.shows("the desk is set")
	if task := p.model.Requests(); !strings.Contains(string(task[len(task)-1].Body), "It is the disk.") {
		p.t.Error("the agent was not given the report")
	}
	v.do("say more", chromedp.SendKeys("form.say textarea", "wait for me\r"))
	v.until("it is being written", `() => document.querySelector(".writing")?.textContent.startsWith("gon")`)
	v.accessible("talk")
	dev.kill()
	v.shows("Connection lost. Reconnecting")
	hold.Release()
	p.dev("--http", p.http)
	v.shows("gone and come back")
	v.goTo("#/chats")
	v.click(".row", "Clerk")
	v.shows("gone and come back", "the desk is set")
	v.click("form.say button", "Close the conversation")
	v.shows("The conversation closes after the current turn.", "No open conversations.")
}

// looksAround reads the configuration and runs a tool by hand.
func (p *pageWorld) looksAround(v *visitor) {
	p.t.Helper()
	v.goTo("#/stats")
	v.shows("chain", "looked", "Median time")
	v.accessible("stats")
	v.goTo("#/configuration/chains/looked")
	v.shows("digs until people are content", "reviewed by people")
	v.click("details.agent summary", "Alpha")
	v.shows("lab.counter", "needs approval")
	v.click("details.agent .values summary", "Values and their origins")
	v.shows("agents.Alpha.tool_config", "config.yaml")
	v.accessible("chains")

	v.goTo("#/configuration/tools")
	v.shows("lab.echo")
	v.do("search", chromedp.SendKeys("input[type=search]", "Echo"))
	v.until("what is found", `() => document.querySelectorAll("details.tool").length == 1`)
	v.click("details.tool summary", "lab.echo")
	v.click("details.tool button", "Run")
	v.until("give arguments", `() => { const box = document.querySelector("dialog textarea");
		if (box) box.value = '{"text": "by <b>hand</b>"}'; return Boolean(box) }`)
	v.click("dialog button.primary", "Run")
	v.shows("Result of lab.echo", "by <b>hand</b>")
	v.click("dialog button.primary", "Close")
	v.accessible("tools")

	v.goTo("#/configuration/health")
	v.shows("store", "temporal", "lab-model", "All configured servers respond.")
	v.accessible("health")
	v.goTo("#/configuration/memory/Clerk")
	v.shows("Blocks", "Archive")
	v.accessible("memory")
	p.makesAgent(v)
	p.ada.goTo("#/configuration/health")
	p.ada.shows("Not allowed: ")
}

// awaited makes chromedp wait for the page's promise.
func awaited(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }

// makesAgent creates an agent at run time, reads the errors beside the fields, corrects them, and runs the agent.
func (p *pageWorld) makesAgent(v *visitor) {
	p.t.Helper()
	set := func(field, text string) {
		v.until("fill in "+field, `(field, text) => { const e = document.querySelector("#of-" + field); if (e) e.value = text;
			return Boolean(e) }`, field, text)
	}
	v.goTo("#/configuration/agents/Alpha")
	v.shows("digs", "lab.counter", "Used in looked")
	v.accessible("agents")
	v.click("nav.names button", "New agent")
	set("name", "Scout")
	set("tool_config", `{"enabled_tools": "lab.echo"}`)
	v.click("form.definition button.primary", "Create")
	const beside = `(field, text) => document.querySelector("#wrong-" + field)?.textContent.includes(text)`
	v.until("the model is asked for where it is missing", beside, "default_model", "must specify a default_model")
	v.until("the tools are wrong where they stand", beside, "tool_config", "tool_config.enabled_tools must be a list")
	v.accessible("agent-wrong")
	set("tool_config", `{"enabled_tools": ["lab.echo"]}`)
	set("default_model", "lab-model")
	v.click("form.definition button.primary", "Create")
	v.shows("version 1 by root")
	v.click(".inside button", "Edit")
	set("description", "looks ahead")
	v.click("form.definition button.primary", "Save")
	v.shows("version 2 by root", "looks ahead")
	v.click(".inside button", "Run")
	v.do("say on what", chromedp.SendKeys("dialog textarea", "the pool"))
	v.click("dialog button.primary", "Start")
	v.shows("an answer", "completed")
	v.goTo("#/configuration/agents/Scout")
	v.click(".inside button", "Delete")
	v.click("dialog button.primary", "Delete the agent")
	v.until("it is gone", `() => ![...document.querySelectorAll("nav.names a")].some(a => a.textContent.includes("Scout"))`)
}

// cites follows a citation by the number of its source, which is not a position in a list, and reads the evidence there.
func (v *visitor) cites() {
	v.t.Helper()
	var said string
	v.do("show a report", chromedp.Evaluate(`import("./page/report.js").then(({Report}) => {
		const opened = [], report = new Report(item => opened.push(item.seq));
		report.show({report: "It is the pool [7].", status: "completed"}, {evidence: {evidence: [{n: 3, content: "no", seq: 30},
			{n: 7, content: "pool exhausted", location: "query_logs", tool: "lab.echo", seq: 70}]}});
		report.element.querySelector(".cite").click();
		return [...opened, ...[...report.element.querySelectorAll("li")].map(e => e.value + " " + e.innerText)].join("; ") })`, &said, awaited))
	if !strings.HasPrefix(said, "70; 3 no") || !strings.Contains(said, "7 pool exhausted query_logs lab.echo") {
		v.t.Errorf("the report says %q", said)
	}
}

// endsWaits checks waiting times: a question undone by a reset waited until the reset, and its replacement until the answer.
func (v *visitor) endsWaits() {
	v.t.Helper()
	var said string
	v.do("have questions end", chromedp.Evaluate(`import("./page/timeline.js").then(({Timeline}) => {
		const line = new Timeline("w:1");
		line.acts = ["asked q1", "asked b1", "reset ", "asked b1", "asked q1-2", "answered b1", "answered q1-2"].map((act, n) => {
			const [what, call] = act.split(" "); return {n, at: n, what, call} });
		return line.waits(undefined, 100).map(span => span.join("-")).join(" ") })`, &said, awaited))
	if said != "0-2- 1-5- 4-6-" {
		v.t.Errorf("waited for: %q", said)
	}
}

// keeps checks that opened sections and text being typed survive updates of the page.
func (v *visitor) keeps() {
	v.t.Helper()
	var said string
	v.do("have more come", chromedp.Evaluate(`Promise.all([import("./page/calls.js"), import("./page/waits.js")]).then(([{Call}, {Waits}]) => {
		const call = new Call({name: "lab.big", arguments: "{}"}, "w:1"), size = () => call.element.textContent.length;
		call.element.open = true;
		call.take({kind: "result", seq: 2, text: "x".repeat(300000)});
		const before = size();
		call.element.querySelector(".long button").click();
		const open = size();
		call.take({kind: "summary", seq: 3, text: "many"});
		const opened = open > before && size() > open;

		const thing = {investigation: "w:1", name: "dig/A/c1", approval: {tool: "lab.set", digest: "5f2c", arguments: "{}"}};
		const box = document.createElement("div"), waits = new Waits(box), cards = () => [...box.children].map(e => e.className).join();
		waits.show([thing]);
		[...box.querySelectorAll("button")].find(e => e.textContent.startsWith("Ask the agent")).click();
		box.querySelector("textarea").value = "why?";
		waits.show([]);
		const gone = cards();
		waits.show([thing]);
		return [opened, gone, cards(), box.querySelector(".doing:not([hidden]) textarea")?.value].join("; ") })`, &said, awaited))
	if said != "true; wait over; wait; why?" {
		v.t.Errorf("what is kept: %q", said)
	}
}

// goTo opens a part of the page.
func (v *visitor) goTo(hash string) {
	v.t.Helper()
	v.do("open "+hash, chromedp.Evaluate(`location.hash = "`+hash+`"`, nil))
}

// accessible checks the current view, wide and narrow, against the rules of axe-core.
func (v *visitor) accessible(name string) {
	v.t.Helper()
	rules := axe(v.t)
	for _, width := range []int64{375, 1280} {
		var text string
		v.do("make it narrow or wide", chromedp.EmulateViewport(width, 800))
		v.until("nothing is wider than the page", `() => document.documentElement.scrollWidth <= innerWidth`)
		v.shot(fmt.Sprintf("page-%s-%d", name, width))
		v.do("try the rules", chromedp.Evaluate(rules, nil), chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"]}).then(r =>
			JSON.stringify(r.violations.filter(v => ["serious", "critical"].includes(v.impact))
				.map(v => [v.id, v.nodes.map(n => n.html + n.failureSummary)])))`, &text, awaited))
		if text != "[]" {
			v.t.Errorf("%s at %d: %s", name, width, text)
		}
	}
}
