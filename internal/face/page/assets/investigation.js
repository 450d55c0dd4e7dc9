// One investigation: pending items, report, stages, agents, and their transcripts.
import { arrange, button, foreign, h, put, reveal, words } from "./dom.js";
import { entryAt, get, investigation as pathOf, patiently, stream } from "./api.js";
import { baseOf, chainOf, Drawing, inARow, liveChain, waysOf } from "./graph.js";
import { Waits } from "./waits.js";
import { Head } from "./head.js";
import { isOpen } from "./home.js";
import { Moment } from "./moment.js";
import { Report } from "./report.js";
import { Review } from "./review.js";
import { Scores } from "./scores.js";
import { Steering } from "./steering.js";
import { Timeline } from "./timeline.js";
import { Pane } from "./transcript.js";

const tail = 400; // entries at the end of the transcript that are loaded at first
const end = Number.MAX_SAFE_INTEGER;

// investigation shows an investigation, at a row of its transcript if there is one. past means as it was at that row.
export function investigation(main, id, { signal, connection, row, past }) {
  const view = new Investigation(main, id, signal);
  patiently(() => get(pathOf(id, `/transcript?before=${end}&limit=${tail}`), signal), signal)
    .then((part) => {
      view.begin(part);
      if (row && past) view.read.then(() => view.moment.go(row));
      else if (row) view.goTo(row);
      return stream(pathOf(id, "/events"), {
        signal,
        last: String(part.entries.at(-1)?.seq || ""),
        state: (s) => {
          connection(s);
          if (s === "live") view.fresh();
        },
        event: (type, e) => view.take(type, e),
      });
    })
    .then(() => connection("over"))
    .catch((e) => view.missing(e));
  return view;
}

// byPath sorts executions like the terminal: by name, each followed by the sub-agents that it started. The order of
// events differs between viewers.
const byPath = (a, b) => {
  const [x, y] = [a, b].map((name) => name.replaceAll("/", "\u0000"));
  return x < y ? -1 : x > y ? 1 : 0;
};

class Investigation {
  constructor(main, id, signal) {
    Object.assign(this, {
      main,
      id,
      signal,
      record: undefined,
      stages: [],
      executions: new Map(),
      panes: new Map(),
      waiting: [],
      advice: undefined,
      brief: undefined,
      evidence: undefined,
      unknown: [],
    });
    this.troubles = h("div.troubles", { role: "status" });
    this.waitBox = h("div.waits");
    this.cards = new Waits(this.waitBox);
    this.report = new Report((item) => this.open(item));
    this.drawing = new Drawing(h("div.graph"), { label: "The chain", choose: (stage) => this.chooseStage(stage) });
    this.timeline = new Timeline(id, signal);
    this.moment = new Moment(id, signal, (entry) => this.showAt(entry));
    this.scored = new Scores(id, signal);
    this.review = new Review(id, signal);
    this.steering = new Steering(id, signal, {
      score: () => this.scored.ask(() => this.draw()),
      rate: () => this.review.rate(),
    });
    this.head = new Head(this.steering.element);
    this.rail = h("ol.rail", { "aria-label": "Stages in the order in which they ran" });
    this.panesBox = h("div.panes");
    main.replaceChildren(
      h(
        "nav.back",
        {},
        h("a", { href: "#/", "aria-keyshortcuts": "u" }, "All investigations"),
        " · ",
        h("a", { href: `#/compare/${encodeURIComponent(id)}` }, "Compare"),
      ),
      this.head.element,
      this.troubles,
      this.waitBox,
      this.drawing.box,
      this.timeline.element,
      this.moment.element,
      h(
        "div.findings",
        {},
        (this.told = h("div.told", {}, this.report.element, this.review.element, this.scored.element)),
        h("section.work", { "aria-label": "Stages and agents" }, this.rail, this.panesBox),
      ),
    );
  }

  // begin adds the end of the transcript. Earlier entries are loaded when the user scrolls to them.
  begin({ entries, previous }) {
    this.floor = previous || 0;
    for (const e of entries) this.pane(e.execution).add(e);
    this.moment.grow(entries.at(-1)?.seq || 0);
    this.read = this.timeline.read();
  }

  missing(e) {
    if (e.name === "AbortError") return;
    this.main.replaceChildren(
      h("nav.back", {}, h("a", { href: "#/" }, "All investigations")),
      h("h1", {}, e.status === 404 ? "No investigation with that ID" : "This investigation cannot be shown"),
      e.status === 404
        ? h("p", {}, "No investigation has the ID ", foreign(this.id, "code"), ", or it belongs to a project that you cannot access.")
        : h("p.wrong", {}, reveal(e.message)),
    );
  }

  // named loads the subject and the score from the list.
  async named() {
    if (this.naming || this.tries >= 5) return; // it may appear in the list a moment later
    this.naming = true;
    this.tries = (this.tries || 0) + 1;
    try {
      const { items } = await get(
        `investigations?${new URLSearchParams({ q: this.id.split(":")[0].slice(0, 200), names_only: true, limit: 20 })}`,
        this.signal,
      );
      this.listed = items.find((r) => r.id === this.id || r.workflow_id === this.id);
      this.draw();
    } catch {
      /* ignored: the page shows its ID instead */
    }
    this.naming = false;
  }

  // fresh clears what a stream repeats after each reconnect: replies in progress and pending items.
  fresh() {
    for (const pane of this.panes.values()) pane.grow(undefined);
    this.untold = true;
  }

  // take handles an event (docs/reference/events.md) and returns true for the last one.
  take(type, e) {
    switch (type) {
      case "entry":
        this.pane(e.entry.execution).add(e.entry);
        this.timeline.add(e.entry);
        this.moment.grow(e.entry.seq);
        break;
      case "delta":
        this.pane(e.delta.execution).grow(e.delta);
        break;
      case "record":
        if (!this.record && this.asOf) requestAnimationFrame(() => this.showAt(this.asOf));
        this.record = e.investigation;
        this.about = e.about || this.about;
        this.stages = e.stages || [];
        for (const x of e.executions || []) {
          this.executions.set(x.name, x);
          this.pane(x.name).about(x, this.stateAt(x));
        }
        if (this.untold) this.wait([], []); // pending items arrive before the record
        this.timeline.show(e.executions || [], this.record.ended_at);
        this.draw();
        if (!this.listed) this.named();
        if (!this.chain) this.drawn();
        break;
      case "waiting":
        this.wait(e.approvals, e.questions);
        break;
      case "outage":
        this.timeline.away = e.outages || [];
        this.timeline.draw();
        this.trouble(
          "outage",
          (e.outages || []).map(
            (o) =>
              `Waiting for ${o.provider || o.model}: ${o.error}; ` +
              (o.error_type === "ServerStarting"
                ? `gives up at ${new Date(o.until).toLocaleTimeString()}`
                : `attempt ${o.tries} failed, next at ${new Date(o.next).toLocaleTimeString()}${o.fallback ? `, then ${o.fallback} takes over` : ""}`),
          ),
        );
        break;
      case "connection":
        this.trouble(e.to, e.lost ? [`Inquest lost its connection to ${e.to}. No data is lost.`] : []);
        break;
      case "ended":
        this.ended(e.result);
        return true;
    }
    return false;
  }

  pane(name) {
    let pane = this.panes.get(name);
    if (!pane) {
      const earlier = (execution, before, limit) =>
        get(pathOf(this.id, `/transcript?${new URLSearchParams({ execution, before, limit })}`), this.signal);
      this.panes.set(name, (pane = new Pane(name, { id: this.id, floor: this.floor, until: this.asOf?.seq, earlier })));
      if (this.record) this.draw();
    }
    return pane;
  }

  // showAt shows the investigation as it was after an entry, or as it is.
  async showAt(entry) {
    this.asOf = entry;
    if (!this.record) return; // shown once it is there
    this.asked = entry && this.timeline.waitsAt(new Date(entry.at));
    this.told.hidden = Boolean(entry);
    await Promise.all([...this.panes.values()].map((pane) => pane.endAt(entry?.seq)));
    if (this.asOf !== entry) return;
    const { executions } = this.seen();
    for (const x of executions.values()) this.pane(x.name).stands(this.stateOf(x.name, x.status));
    this.draw();
    if (!entry) return;
    if (executions.has(entry.execution)) this.open(entry);
    this.moment.tell([
      ...[...executions.values()].map(({ name, status }) => [name, this.asked.get(name) || words(status), this.pane(name).conclusion]),
      ...(this.asked.has("") ? [["", this.asked.get("")]] : []),
    ]);
  }

  // seen returns the records as they were at the chosen row, or as they are.
  seen() {
    const { asOf, record, stages, executions } = this;
    if (!asOf) return { record, stages, executions };
    const at = new Date(asOf.at);
    const over = (x) => x.ended_at && new Date(x.ended_at) <= at;
    const then = (x) => (over(x) ? x : { ...x, status: "running", ended_at: undefined });
    const by = (x) => new Date(x.started_at) <= at || x.name === asOf.execution || x.name === stageOf(asOf.execution, executions);
    const later = stages.filter((s) => !by(s) && s.index >= 0).map((s) => s.name);
    const envelope = { ...record.envelope, pending: [...later, ...((isOpen(record.status) && record.envelope?.pending) || [])] };
    return {
      record: { ...then(record), envelope },
      stages: stages.filter(by).map(then),
      executions: new Map([...executions].filter(([, x]) => by(x)).map(([name, x]) => [name, then(x)])),
    };
  }

  // waits returns waiting_approval or waiting_answer if a stage or agent waits for a person, else an empty string.
  waits(name) {
    if (this.asOf) return this.asked?.has(name) ? "waiting_approval" : "";
    const mine = ({ approval, question }) =>
      approval ? approval.execution === name || stageOf(approval.execution, this.executions) === name : question.stage === name;
    const found = this.waiting.find(mine);
    return found ? (found.approval ? "waiting_approval" : "waiting_answer") : "";
  }

  // stateOf returns the state of a stage or agent. Waiting for a person replaces "running".
  stateOf(name, status) {
    return isOpen(status) ? this.waits(name) || status : status;
  }

  // stateAt returns the state of an execution at the chosen row, or now.
  stateAt(x) {
    return this.stateOf(x.name, (this.asOf && this.seen().executions.get(x.name)?.status) || x.status);
  }

  wait(approvals, questions) {
    this.untold = false;
    const { id, record } = this;
    const thing = { investigation: record?.id || id, workflow_id: record?.workflow_id, project: record?.project };
    this.waiting = [
      ...(questions || []).map((q) => ({ ...thing, kind: q.kind, name: q.id, expires: q.expires, question: q })),
      ...(approvals || []).map((a) => ({
        ...thing,
        kind: "approval",
        name: `${a.execution}/${a.call_id}`,
        expires: a.expires,
        approval: a,
      })),
    ];
    this.cards.show(this.waiting);
    for (const [name, x] of this.executions) this.pane(name).stands(this.stateAt(x));
    this.timeline.later();
    this.draw();
  }

  trouble(name, texts) {
    this.bad = { ...this.bad, [name]: texts };
    this.troubles.replaceChildren(
      ...Object.values(this.bad)
        .flat()
        .map((t) => foreign(t, "p")),
    );
  }

  ended(result) {
    this.bad = {};
    this.trouble("outage", []);
    this.wait([], []);
    if (result?.report && this.record) {
      const { not_checked, no_tool_result } = result;
      const envelope = { ...this.record.envelope, not_checked, no_tool_result };
      this.record = { ...this.record, report: this.record.report || result.report, envelope };
    }
    get(pathOf(this.id), this.signal)
      .then((whole) => {
        this.record = whole.investigation;
        this.stages = whole.stages;
        this.brief = whole.brief;
        this.advice = whole.advice;
        this.forks = whole.forks;
        this.unknown = (whole.unknown_calls || []).filter((c) => c.risk !== "read_only");
        this.scored.show(whole.scores);
        this.review.show(whole);
        for (const x of whole.executions) {
          this.executions.set(x.name, x);
          this.pane(x.name).about(x, this.stateAt(x));
        }
        this.timeline.show(whole.executions, this.record.ended_at);
        this.timeline.read();
        this.draw();
      })
      .catch(() => {});
    get(pathOf(this.id, "/evidence"), this.signal)
      .then((found) => {
        this.evidence = found;
        this.review.claims = found.claims || [];
        this.draw();
      })
      .catch(() => {});
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.record) return;
      this.head.show(this.record, { about: this.about, ...this.listed }, this.scored.last?.score, this.forks);
      const paused = this.record.status === "paused" || this.waiting.some((w) => !w.expires);
      this.steering.show(this.record, paused, this.executions);
      this.report.show(this.record, this);
      for (const pane of this.panes.values()) pane.said(this.record.error);
      this.drawRail();
      this.drawChain();
      if (!this.executions.has(this.wanted?.execution)) return;
      this.open(this.wanted);
      this.wanted = undefined;
    });
  }

  // open shows the entry that evidence was quoted from.
  open(item) {
    const pane = this.panes.get(item.execution);
    if (!pane) return;
    this.choose(stageOf(item.execution, this.executions));
    requestAnimationFrame(() => pane.find(item.seq));
  }

  // goTo shows the entry with a number, once its agent is known.
  async goTo(row) {
    const entry = await entryAt(this.id, row, this.signal).catch(() => {});
    if (!entry) return;
    this.wanted = entry;
    this.draw();
  }

  // drawRail draws the stages in the order of their runs, then those that have not run, and the agents of the chosen
  // stage.
  drawRail() {
    const { record, stages, executions } = this.seen();
    const by = new Map(stages.toSorted((a, b) => (a.envelope?.order || a.index) - (b.envelope?.order || b.index)).map((s) => [s.name, s]));
    const names = [...by.keys()];
    const panes = [...this.panes.keys()].filter((n) => !this.asOf || executions.has(n));
    for (const name of panes) {
      const stage = stageOf(name, executions);
      if (!names.includes(stage)) names.push(stage);
    }
    const pending = isOpen(record.status) ? (record.envelope?.pending || []).filter((n) => !names.includes(n)) : [];
    const agents = (stage) => panes.filter((n) => stageOf(n, executions) === stage).sort(byPath);
    const working = (stage) => executions.get(agents(stage).find((n) => isOpen(executions.get(n)?.status)));
    const stateOf = (stage) => this.stateOf(stage, by.get(stage)?.status || working(stage)?.status || "running");
    const now = names.filter((n) => isOpen(stateOf(n))).at(-1) || names.at(-1);
    if (!this.chosen || !this.byHand) this.chosen = now;
    this.rail.hidden = names.length <= 1 || (this.chain !== undefined && !names.some((n) => baseOf(n) !== n));
    this.stops ||= new Map();
    arrange(
      this.rail,
      [...names, ...pending].map((name) => {
        let stop = this.stops.get(name);
        if (!stop) {
          const dot = h("span.dot");
          const who = h("span.agents");
          const press = button(h("span.stage", { dir: "auto" }, reveal(name)), () => this.choose(name), { "data-item": true });
          press.append(who);
          stop = { dot, who, press, element: h("li", {}, dot, press) };
          this.stops.set(name, stop);
        }
        const waits = pending.includes(name);
        const state = waits ? "pending" : stateOf(name);
        stop.element.dataset.state = state;
        stop.press.disabled = waits;
        stop.press.setAttribute("aria-pressed", String(name === this.chosen));
        const at = by.get(name);
        const pass = at?.envelope?.pass > 1 ? `pass ${at.envelope.pass} · ` : "";
        put(
          stop.who,
          pass +
            (waits
              ? "pending"
              : `${
                  agents(name)
                    .map((n) => reveal(n.slice(name.length + 1) || n))
                    .join(", ") || words(state)
                }${state === "completed" ? "" : ` · ${words(state)}`}`),
        );
        return stop.element;
      }),
    );
    const chosen = agents(this.chosen).map((n) => this.panes.get(n));
    for (const pane of this.panes.values()) if (pane.shown && !chosen.includes(pane)) pane.hide();
    arrange(
      this.panesBox,
      chosen.map((p) => p.element),
    );
    for (const pane of chosen) pane.show();
  }

  // drawn loads the chain from the configuration. If it no longer exists, the drawing is made from the runs.
  async drawn() {
    this.chain = inARow([]);
    const project = this.record.project ? `?${new URLSearchParams({ project: this.record.project })}` : "";
    const found = await get(`chains/${encodeURIComponent(this.record.chain)}/graph${project}`, this.signal).catch(() => undefined);
    if (found) this.chain = chainOf(found);
    this.draw();
  }

  drawChain() {
    const { record, stages, executions } = this.seen();
    const runs = stages.toSorted((a, b) => (a.envelope?.order || a.index) - (b.envelope?.order || b.index));
    for (const { stage } of executions.values()) {
      if (runs.some((r) => r.name === stage)) continue; // a stage's record may arrive after those of its agents
      const working = [...executions.values()].find((x) => x.stage === stage && isOpen(x.status));
      runs.push({ name: stage, status: working?.status || "running" });
    }
    const live = liveChain(this.chain || inARow([]), {
      runs: runs.map((r) => ({ ...r, status: this.stateOf(r.name, r.status) })),
      executions: [...executions.values()].map((x) => ({ ...x, status: this.stateOf(x.name, x.status) })),
      pending: isOpen(record.status) ? record.envelope?.pending || [] : [],
      chosen: this.chosen && baseOf(this.chosen),
    });
    this.drawing.box.hidden = live.stages.length === 0;
    this.drawing.show(live, waysOf(runs));
  }

  // chooseStage selects the last run of a stage.
  chooseStage(stage) {
    const runs = [...this.stops.keys()].filter((name) => baseOf(name) === stage);
    if (runs.length) this.choose(runs.at(-1));
  }

  choose(name) {
    this.byHand = true;
    this.chosen = name;
    this.drawRail();
    this.drawChain();
  }

  press(key) {
    this.steering.press(key);
  }
}

const stageOf = (execution, executions) => executions.get(execution)?.stage || execution.split("/")[0];
