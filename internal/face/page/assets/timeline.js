// Timeline: a bar for each agent with its waits, and the actions of people and outages of providers.
import { arrange, clock, foreign, h, reveal, span, svg, words } from "./dom.js";
import { get, investigation as pathOf } from "./api.js";

const row = 20; // height, in pixels
const most = 24; // maximum number of agents with a bar
const waited = 1500; // ms; a longer gap after a failed model call counts as waiting for the provider
const kinds = ["try", "fallback", "notice"];

// said maps the actions that are shown to their texts. Other actions are in the transcript.
const said = {
  paused: "paused",
  resumed: "resumed",
  guided: "sent guidance",
  decided: "decided",
  asked: "asked a person",
  answered: "answered",
  extended: "raised limits",
  concluded: "requested conclusion",
  cancelled: "requested cancellation",
  reset: "workflow reset",
  started: "started",
  ended: "ended",
};

const details = ["stage", "decision", "reason", "question", "answer", "text", "status"]; // fields of an action that are shown

const told = { try: "model call failed:", fallback: "switched to another model:" };

export class Timeline {
  constructor(id, signal) {
    Object.assign(this, { id, signal, entries: new Map(), acts: [], executions: [], away: [] });
    this.chart = h("div.bars");
    this.list = h("ol.happened", { tabindex: 0, "aria-label": "Events" });
    this.summary = h("summary", {}, "Timeline");
    this.details = h("details", { "data-item": true, toggle: () => this.draw() }, this.summary, this.chart, this.list);
    this.element = h("section.timeline", { "aria-label": "Timeline" }, this.details);
  }

  // read loads what the investigation's stream lacks: earlier entries, and the actions of people.
  async read() {
    try {
      const query = kinds.map((k) => `kind=${k}`).join("&");
      const [, { entries }] = await Promise.all([
        this.readActs(),
        get(pathOf(this.id, `/transcript?${query}&limit=1000&before=${Number.MAX_SAFE_INTEGER}`), this.signal),
      ]);
      this.failed = 0;
      for (const e of entries) this.entries.set(e.seq, e);
      this.draw();
    } catch (e) {
      if (e.name !== "AbortError") this.later(Math.min(60000, 1500 * 2 ** (this.failed = (this.failed || 0) + 1)));
    }
  }

  // readActs loads new actions.
  async readActs() {
    for (let next = true; next; ) {
      const after = this.acts.at(-1)?.n || 0;
      const part = await get(pathOf(this.id, `/acts?after=${after}`), this.signal);
      this.acts.push(...part.items.filter((a) => a.n > (this.acts.at(-1)?.n || 0))); // two reads may overlap
      next = part.next;
    }
  }

  // later schedules one read, however often it is called.
  later(wait = 1500) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => !this.signal.aborted && this.read(), wait);
  }

  // add handles an entry of the stream.
  add(e) {
    if (kinds.includes(e.kind)) this.entries.set(e.seq, e);
  }

  show(executions, end) {
    this.executions = executions;
    this.end = end;
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const entries = [...this.entries.values()].filter((e) => !e.superseded).sort((a, b) => a.seq - b.seq);
    const tries = entries.filter((e) => e.kind === "try");
    const pauses = this.acts.filter((a) => a.what === "paused").length;
    const asked = this.acts.filter((a) => a.what === "asked").length;
    const times = (n, one, many) => n > 0 && `${n} ${n === 1 ? one : many}`;
    const gist = [
      times(pauses, "pause", "pauses"),
      times(tries.length, "model call failed", "model calls failed"),
      times(entries.filter((e) => e.kind === "fallback").length, "fallback", "fallbacks"),
      times(asked, "wait for a person", "waits for people"),
    ].filter(Boolean);
    this.summary.replaceChildren("Timeline", h("span.note", {}, gist.length ? gist.join(" · ") : "no interruptions"));
    if (!this.details.open) return;
    this.bars(tries);
    const happened = [
      ...this.acts
        .filter((a) => said[a.what])
        .map((a) => ({
          at: a.at,
          key: `a${a.n}`,
          kind: a.what,
          text: [...new Set([said[a.what], a.tool, ...details.map((name) => a.detail?.[name])])].filter(Boolean).join(": "),
          who: a.who,
        })),
      ...entries.map((e) => ({
        at: e.at,
        key: `e${e.seq}`,
        kind: e.kind,
        text: [told[e.kind], e.error_type, e.text].filter(Boolean).join(" "),
        who: e.execution,
      })),
    ].sort((a, b) => new Date(a.at) - new Date(b.at));
    this.lines ||= new Map();
    arrange(
      this.list,
      happened.map((x) => {
        if (!this.lines.has(x.key)) {
          this.lines.set(
            x.key,
            h(
              `li.${x.kind}`,
              {},
              h("time", { datetime: x.at, title: new Date(x.at).toLocaleString() }, clock(x.at)),
              foreign(x.text.slice(0, 400)),
              x.who && foreign(x.who, "span", { class: "by" }),
            ),
          );
        }
        return this.lines.get(x.key);
      }),
    );
  }

  bars(tries) {
    const all = this.executions.filter((x) => x.started_at).slice(0, most);
    if (!all.length) return this.chart.replaceChildren();
    const now = this.end ? new Date(this.end) : new Date();
    const from = Math.min(...all.map((x) => new Date(x.started_at)), ...this.acts.map((a) => new Date(a.at)));
    const whole = Math.max(now - from, 1000);
    const x = (at) => Math.min(100, Math.max(0, (100 * (new Date(at) - from)) / whole));
    const width = (a, b) => Math.max(0.25, x(b) - x(a));
    const height = all.length * row;
    const rect = (a, b, y, tall, name, title) =>
      svg("rect", { x: `${x(a)}%`, y, width: `${width(a, b)}%`, height: tall, rx: 2, class: name }, [svg("title", {}, [reveal(title)])]);
    const held = this.pauses(now).map(([a, b, who]) =>
      rect(a, b, 0, height, "held", `paused${who ? ` by ${who}` : ""} for ${span(new Date(b) - new Date(a))}`),
    );
    held.push(...this.waits(undefined, now).map(([a, b]) => rect(a, b, 0, height, "question", "waiting for an answer")));
    const away = this.away.flatMap((o) => [o.execution, ...(o.others || [])].map((name) => ({ ...o, name })));
    const marks = all.flatMap((one, n) => {
      const y = n * row + 5;
      const until = one.ended_at || now;
      const mine = tries.filter((t) => t.execution === one.name);
      return [
        rect(
          one.started_at,
          until,
          y,
          10,
          `bar ${one.status}`,
          `${one.name}: ${words(one.status)}, ${span(new Date(until) - new Date(one.started_at))}`,
        ),
        ...[
          ...outages(mine),
          ...away.filter((o) => o.name === one.name).map((o) => [o.since, now, o.error, o.server]),
        ].map(([a, b, why, server]) =>
          rect(a, b, y, 10, "waited", `waiting for ${server ? "a tool server" : "its provider"}: ${why}`),
        ),
        ...this.waits(one.name, now).map(([a, b, tool]) => rect(a, b, y, 10, "asked", `waiting for approval: ${tool}`)),
        ...mine.map((t) =>
          svg("circle", { cx: `${x(t.at)}%`, cy: y + 5, r: 3.5, class: "try" }, [svg("title", {}, [reveal(t.text || "")])]),
        ),
      ];
    });
    this.chart.replaceChildren(
      h(
        "div.names",
        {},
        all.map((one) => foreign(one.name, "span", { title: one.name })),
      ),
      svg("svg", { width: "100%", height, role: "img", "aria-label": "when each agent worked and waited" }, [...held, ...marks]),
      h("div.scale", {}, h("span", {}, clock(from)), h("span", {}, span(whole)), h("span", {}, this.end ? clock(now) : "now")),
      h(
        "p.legend",
        {},
        h("span.held", {}, "paused"),
        h("span.asked", {}, "waiting for a person"),
        h("span.waited", {}, "waiting for a provider or server"),
        h("span.try", {}, "model call failed"),
      ),
    );
  }

  // pauses are the spans in which the investigation was paused.
  pauses(now) {
    const out = [];
    let since;
    for (const a of this.acts) {
      if (a.what === "paused" && !since) since = a;
      else if (since && (a.what === "resumed" || a.what === "ended")) {
        out.push([since.at, a.at, since.who]);
        since = undefined;
      }
    }
    if (since) out.push([since.at, now, since.who]);
    return out;
  }

  // waitsAt returns what was waited for at a time, by execution; the empty name is for questions of stages.
  waitsAt(at) {
    const out = new Map();
    const during = ([a, b]) => new Date(a) <= at && at < new Date(b);
    for (const { name } of this.executions) {
      const wait = this.waits(name, new Date()).find(during);
      if (wait) out.set(name, `waiting for approval: ${wait[2]}`);
    }
    if (this.waits(undefined, new Date()).some(during)) out.set("", "waiting for an answer");
    return out;
  }

  // waits are the spans in which an agent's calls waited for people. Waits without an agent are stages' questions; a reset
  // ends them unless they are asked again.
  waits(execution, now) {
    const calls = this.acts.filter((a) => a.execution === execution && a.call);
    const later = (a, b) => a.call === b.call && b.n > a.n;
    const undone = (a) =>
      !execution && this.acts.find((r) => r.what === "reset" && r.n > a.n && !calls.some((b) => later(a, b) && b.n > r.n));
    return calls
      .filter((a, n) => a.what === "asked" && !calls.slice(0, n).some((b) => b.what === "asked" && b.call === a.call))
      .map((a) => [a.at, (calls.find((b) => later(a, b) && b.what !== "asked") || undone(a))?.at || this.end || now, a.tool]);
  }
}

// outages are the long gaps between a failed model call and its retry.
const outages = (tries) =>
  tries
    .map((t, n) => [t, tries[n + 1]])
    .filter(([t, next]) => next?.iteration === t.iteration && new Date(next.at) - new Date(t.at) > waited)
    .map(([t, next]) => [t.at, next.at, t.text || t.error_type || ""]);
