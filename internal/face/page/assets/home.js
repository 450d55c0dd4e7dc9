// Start page: pending items, running investigations, and ended ones.
import { ago, arrange, button, caveat, choice, cost, count, h, put, reveal, say, span, stateOf, status, ticking, tokens } from "./dom.js";
import { get, isAway, stream } from "./api.js";
import { Waits } from "./waits.js";

const lookEvery = 4000; // ms between polls of pending items
const loading = "Loading …"; // until the first answer
const openStatuses = new Set(["running", "waiting_approval", "waiting_answer", "paused", "waiting_provider", "asleep", "pending"]);
export const isOpen = (s) => openStatuses.has(s);

export function home(main, { signal, connection }) {
  const view = new Home(main, signal);
  stream("events", { signal, state: connection, event: (_, e) => view.changed(e) }).catch((e) => say(e.message, true));
  view.lookAgain();
}

class Home {
  constructor(main, signal) {
    Object.assign(this, { signal, rows: new Map(), query: "" });
    const part = (title, name, ...content) => h(`section.${name}`, { "aria-labelledby": name }, h("h2", { id: name }, title), ...content);
    this.waiting = h("div.waits");
    this.calm = h("p.empty", {}, loading);
    this.running = h("div.rows");
    this.idle = h("p.empty", {}, loading);
    this.ended = h("div.rows");
    this.none = h("p.empty", {}, loading);
    this.further = h("p.further");
    this.search = h("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search names, alerts and reports",
      "aria-keyshortcuts": "/",
      maxlength: 200,
      input: () => this.find(),
    });
    this.reviewState = "";
    this.review = choice(
      "Filter by review",
      [
        ["", "All"],
        ["needs_review", "Needs review"],
        ["in_progress", "In review"],
        ["reviewed", "Reviewed"],
      ],
      () => this.find(),
    );
    this.waits = new Waits(this.waiting, (id) => this.rows.has(id) && titleOf(this.rows.get(id)));
    this.inbox = part("Needs your attention", "inbox", this.waiting, this.calm);
    main.replaceChildren(
      h("h1.unseen", {}, "Inbox and investigations"),
      this.inbox,
      part("Running", "running", this.running, this.idle),
      part("Finished", "finished", h("div.find", {}, this.search, this.review), this.ended, this.none, this.further),
    );
    this.load();
    const timer = setInterval(() => !document.hidden && this.look(), lookEvery);
    signal.addEventListener("abort", () => clearInterval(timer));
    document.addEventListener("visibilitychange", () => !document.hidden && this.look(), { signal });
  }

  // look loads the pending items.
  async look() {
    try {
      const items = [];
      for (let next = ""; next !== undefined; ) {
        const page = await get(next ? `inbox?cursor=${next}` : "inbox", this.signal);
        items.push(...page.items);
        next = page.next;
      }
      this.waits.show(items);
      put(this.calm, "Nothing needs your attention.");
      this.calm.hidden = items.length > 0 || this.waiting.childElementCount > 0;
      document.title = items.length ? `(${items.length}) Inquest` : "Inquest";
    } catch (e) {
      if (e.status >= 400 && e.status !== 503) say(e.message, true);
    }
  }

  // lookAgain schedules one look, however often it is called.
  lookAgain() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.look(), 150);
  }

  find() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.query = this.search.value.trim();
      this.reviewState = this.review.value;
      this.rows.clear();
      this.paged = false;
      this.load();
      if (this.reviewState && !this.query) this.load(undefined, ""); // the filter is not for those that run
    }, 250);
  }

  // load loads the first page of the list, or the page at a cursor.
  async load(cursor, reviewState = this.reviewState) {
    const asked = `${this.query} ${this.reviewState}`;
    const parameters = new URLSearchParams({
      limit: 50,
      ...(this.query && { q: this.query }),
      ...(reviewState && { review: reviewState }),
      ...(cursor && { cursor }),
    });
    try {
      const { items, next } = await get(`investigations?${parameters}`, this.signal);
      if (asked !== `${this.query} ${this.reviewState}`) return;
      this.loaded = true;
      for (const one of items) this.rows.set(one.id, one);
      if (reviewState === this.reviewState && (cursor || !this.paged))
        this.further.replaceChildren(...(next ? [button("Show older", () => ((this.paged = true), this.load(next)))] : []));
      this.draw();
    } catch (e) {
      if (e.name === "AbortError") return;
      say(e.message, true);
      if (!this.loaded && isAway(e)) this.reading = setTimeout(() => this.load(), lookEvery);
    }
  }

  // changed adds or updates an investigation. Its subject is only in the list.
  changed({ investigation: one }) {
    const known = this.rows.get(one.id);
    if (known || (this.reviewState && !this.query)) this.rows.set(one.id, { ...known, ...one });
    if (!known || known.status !== one.status) {
      this.lookAgain();
      clearTimeout(this.reading);
      if (!this.query || known) this.reading = setTimeout(() => this.load(), 300);
    }
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    const all = [...this.rows.values()].sort((a, b) => (a.started_at < b.started_at ? 1 : -1));
    this.lines ||= new Map();
    const lines = (rows) =>
      rows.map((one) => {
        let line = this.lines.get(one.id);
        if (!line || line.open !== isOpen(one.status)) this.lines.set(one.id, (line = new Line(one)));
        line.update(one);
        return line.element;
      });
    const open = all.filter((r) => isOpen(r.status));
    const ended = all.filter((r) => !isOpen(r.status) && (!this.reviewState || r.review?.state === this.reviewState));
    arrange(this.running, lines(open));
    arrange(this.ended, lines(ended));
    this.waits.name();
    this.idle.hidden = open.length > 0;
    this.none.hidden = ended.length > 0;
    if (!this.loaded) return;
    put(this.idle, "No investigations running.");
    put(this.none, this.query || this.reviewState ? "No finished investigation matches." : "No finished investigations yet.");
  }
}

// titleOf returns an investigation's title.
export const titleOf = (r) => reveal(r.about || r.alert_type || r.workflow_id);

// Line is an investigation in the list.
class Line {
  constructor(one) {
    Object.assign(this, { one, open: isOpen(one.status) });
    this.state = h("span.state");
    this.title = h("span.title", { dir: "auto" });
    this.note = h("span.note", { dir: "auto" });
    this.used = h("span.used");
    this.time = this.open
      ? ticking("span.time", () => span(Date.now() - new Date(this.one.started_at)))
      : ticking("span.time", () => ago(this.one.ended_at || this.one.started_at), { title: new Date(one.started_at).toLocaleString() });
    this.element = h(
      "a.row",
      { href: `#/${encodeURIComponent(one.id)}`, "data-item": true },
      this.state,
      h("span.what", {}, this.title, this.note),
      this.used,
      this.time,
    );
  }

  update(one) {
    this.one = one;
    const state = stateOf(one);
    if (this.state.dataset.of !== state) {
      this.state.dataset.of = state;
      this.state.replaceChildren(status(state));
    }
    put(this.title, titleOf(one));
    const summary =
      (one.envelope?.summary || "")
        .replace(/[#*`]/g, "")
        .split("\n")
        .find((l) => l.trim()) || "";
    put(
      this.note,
      [one.chain, one.project !== "default" && one.project, caveat(one.envelope), summary || one.error].filter(Boolean).map(reveal).join(" · ").slice(0, 300),
    );
    put(
      this.used,
      [
        one.review?.state === "in_progress" && "in review",
        one.score !== undefined && `score ${one.score}`,
        tokens(one.usage) && `${count(tokens(one.usage))} tokens`,
        cost(one.usage?.cost_usd),
      ]
        .filter(Boolean)
        .join(" · "),
    );
  }
}
