// Transcript of one agent, updated live: guidance, thoughts, replies, tool calls and results.
import { Call, gist } from "./calls.js";
import { button, clock, cost, count, foreign, h, long, put, reveal, say, status, tokens, words } from "./dom.js";
import { markdown } from "./markdown.js";

const pageful = 200; // entries per page; at most three pages are in the DOM

const earlierAtOnce = 400; // entries per request
const pace = 400; // ms between updates of replies in progress, for all panes together
const writing = 2000; // minimum number of characters at the end of such a reply that are shown
const near = 300; // px from the top at which earlier entries are loaded

// due holds the panes with new content. One frame draws them all, and measures all before it writes any, so that the browser
// computes the layout once.
const due = new Set();
function drawDue() {
  const panes = [...due].filter((pane) => pane.shown).map((pane) => [pane, pane.atEnd() && !pane.record?.ended_at]);
  due.clear();
  for (const [pane, follow] of panes) pane.update(follow);
  for (const [pane, follow] of panes) if (follow) pane.toEnd();
}

// Growing is a paragraph that shows the end of a growing text. It appends new text, because replacing the whole would cost a full
// layout.
class Growing {
  constructor(name, of) {
    Object.assign(this, { of, text: new Text(), known: 0 });
    this.element = h(name, { dir: "auto" }, this.text);
  }

  show(whole) {
    if (whole.length < this.known || this.text.length + whole.length - this.known > 2 * writing) {
      this.text.data = "";
      this.known = Math.max(0, whole.length - writing);
    }
    if (whole.length > this.known) this.text.appendData(reveal(whole.slice(this.known)));
    this.known = whole.length;
  }
}

const callBase = 1 << 20; // see transcript.CallKey
const callIndex = (e) => (e.position < callBase ? -1 : Math.floor((e.position - callBase) / 3));

// Pane shows one execution, up to the entry until. It is drawn only while it is on the page, and keeps what arrives meanwhile. It has the
// entries from number floor on; zero means all. earlier(name, floor, limit) loads those before it.
export class Pane {
  constructor(name, { id, earlier, floor = 0, until = Infinity }) {
    Object.assign(this, { name, id, ask: earlier, floor, until });
    Object.assign(this, { entries: new Map(), order: [], nodes: new Map(), calls: new Map(), live: undefined, shown: false });
    const [, ...rest] = name.split("/");
    this.state = h("span.state");
    this.model = h("span.model", { dir: "auto" });
    this.used = h("span.used");
    this.earlier = h("p.earlier");
    this.list = h("div.entries");
    this.further = h("p.earlier");
    this.tail = h("div.tail", { "aria-live": "off" });
    this.body = h(
      "div.transcript",
      { tabindex: 0, role: "group", "aria-label": `transcript of ${reveal(rest.join("/"))}` },
      this.earlier,
      this.list,
      this.further,
      this.tail,
    );
    this.body.addEventListener("scroll", () => this.body.scrollTop < near && this.back(), { passive: true });
    this.element = h(
      "section.pane",
      { "aria-label": reveal(name) },
      h("header", {}, h("h3", { dir: "auto" }, reveal(rest.join("/") || name)), this.state, this.model, this.used),
      this.body,
    );
    new IntersectionObserver((was) => (this.seen = was.at(-1).isIntersecting) && this.later()).observe(this.element);
  }

  // stands shows the state of the execution.
  stands(state) {
    if (this.state.dataset.of === state) return;
    this.state.dataset.of = state;
    this.state.replaceChildren(status(state));
  }

  // about takes the execution's record. state is its state, including a wait for a person.
  about(x, state = x.status) {
    this.record = x;
    this.stands(state);
    put(this.model, reveal(x.model || ""));
    put(
      this.used,
      [
        x.iterations && `${x.iterations} ${x.iterations === 1 ? "turn" : "turns"}`,
        tokens(x.usage) && `${count(tokens(x.usage))} tokens`,
        cost(x.usage?.cost_usd),
        x.stop_reason && x.stop_reason !== "end_turn" && words(x.stop_reason),
      ]
        .filter(Boolean)
        .join(" · "),
    );
    if (x.error && !this.error) this.body.before((this.error = foreign(x.error, "p", { class: "wrong" })));
  }

  // said hides the error of the execution if the report shows it.
  said(text) {
    if (this.error) this.error.hidden = Boolean(text?.endsWith(this.record.error));
  }

  // add takes an entry: a new one, or one that a reset has superseded.
  add(entry) {
    if (entry.seq < this.floor) return; // loaded when the user scrolls there
    if (this.entries.has(entry.seq)) this.stale = true;
    else this.order.push(entry.seq);
    this.entries.set(entry.seq, entry);
    if (entry.kind === "reply" && !entry.superseded) this.live = undefined;
    this.later();
  }

  // grow appends to the reply in progress. Without a text, the reply has ended.
  grow(delta) {
    if (!delta) this.live = undefined;
    else {
      if (!this.live || delta.restart || delta.attempt !== this.live.attempt || delta.iteration !== this.live.iteration) {
        this.live = { iteration: delta.iteration, attempt: delta.attempt, text: "", thinking: "" };
      }
      this.live.text += delta.text || "";
      this.live.thinking += delta.thinking || "";
    }
    if (this.seen) this.later(pace);
  }

  // later draws new content once in the next frame.
  later(wait = 0) {
    if (!this.shown) return;
    if (!due.size) wait ? setTimeout(() => requestAnimationFrame(drawDue), wait) : requestAnimationFrame(drawDue);
    due.add(this);
  }

  // size is the number of entries up to until.
  get size() {
    const n = this.until === Infinity ? -1 : this.order.findIndex((seq) => seq > this.until);
    return n < 0 ? this.order.length : n;
  }

  // conclusion is the last text of a reply up to until.
  get conclusion() {
    for (const seq of this.order.slice(0, this.size).reverse()) {
      const e = this.entries.get(seq);
      if (e.kind === "reply" && !e.superseded && e.text) return e.text;
    }
    return "";
  }

  // endAt shows the transcript up to an entry, by default all of it.
  async endAt(until = Infinity) {
    this.until = until;
    if (this.floor > until) await this.known(until).catch((e) => e.name === "AbortError" || say(e.message, true));
    if (!this.shown || this.until !== until) return;
    this.redraw(this.size - pageful);
    this.drawLive();
    this.toEnd();
  }

  update(follow) {
    if (this.stale) this.redraw();
    else if (follow && this.size - this.from > 2 * pageful) this.redraw(this.size - pageful);
    else if (this.drawn < this.size) this.drawNew();
    this.drawLive();
  }

  // drawNew draws new entries, as far as there is room.
  drawNew() {
    const until = Math.min(this.size, this.from + 3 * pageful);
    for (; this.drawn < until; this.drawn++) this.draw(this.entries.get(this.order[this.drawn]));
    const left = this.size - until;
    this.further.replaceChildren(
      ...(left
        ? [
            button(`Show later entries (${left})`, () => this.goTo(until), { class: "quiet" }),
            button("Go to end", () => this.goTo(this.size - 1), { class: "quiet" }),
          ]
        : []),
    );
  }

  drawLive() {
    if (!this.live || this.until !== Infinity) return this.tail.replaceChildren();
    const { text, thinking } = this.live;
    if (this.writing?.of !== this.live) {
      [this.thinking, this.writing] = [new Growing("p.thought"), new Growing("p.writing", this.live)];
      this.tail.replaceChildren(this.thinking.element, this.writing.element);
    }
    this.thinking.show(text ? "" : thinking);
    this.writing.show(text);
  }

  atEnd() {
    return this.body.scrollHeight - this.body.scrollTop - this.body.clientHeight < 60;
  }

  toEnd() {
    this.body.scrollTop = this.body.scrollHeight;
  }

  // show draws the end of the transcript.
  show() {
    if (this.shown) return;
    this.shown = true;
    this.redraw(this.size - pageful);
    this.drawLive();
    if (this.floor > this.until) this.endAt(this.until);
    const short = this.from === 0 && this.floor === 0 && this.record?.ended_at;
    if (!short) requestAnimationFrame(() => this.toEnd());
    if (!this.order.length && this.floor) this.back();
  }

  hide() {
    this.shown = false;
    this.list.replaceChildren();
  }

  // redraw draws the window again, starting at an entry.
  redraw(from = this.from) {
    this.from = Math.max(0, from);
    this.drawn = this.from;
    this.stale = false;
    this.list.replaceChildren();
    this.nodes.clear();
    this.calls.clear();
    this.drawNew();
    const before = this.from > 0 || this.floor > 0;
    this.earlier.replaceChildren(
      ...(before
        ? [
            button("Show earlier entries", () => this.back(), { class: "quiet" }),
            button("Go to start", () => this.first(), { class: "quiet" }),
          ]
        : []),
    );
  }

  // back shows earlier entries without moving what the user reads.
  async back() {
    if (this.reading || !this.shown || (this.from === 0 && !this.floor)) return;
    this.reading = true;
    try {
      if (this.from === 0) await this.read(earlierAtOnce);
      if (!this.shown) return;
      const top = this.list.firstElementChild;
      const seq = this.order[this.from];
      const was = top ? top.getBoundingClientRect().top : 0;
      this.redraw(this.from - pageful);
      const now = this.nodes.get(seq);
      if (now) this.body.scrollTop += now.getBoundingClientRect().top - was;
      else this.toEnd();
    } catch (e) {
      if (e.name !== "AbortError") say(e.message, true);
    } finally {
      this.reading = false;
    }
  }

  // read loads entries before the known ones.
  async read(limit) {
    const { entries, previous } = await this.ask(this.name, this.floor, limit);
    const fresh = entries.filter((e) => !this.entries.has(e.seq));
    for (const e of fresh) this.entries.set(e.seq, e);
    this.order = [...fresh.map((e) => e.seq), ...this.order];
    this.from = (this.from || 0) + fresh.length;
    this.drawn = (this.drawn || 0) + fresh.length;
    this.floor = previous || 0;
  }

  // known loads entries until the one with this number is known, if it exists.
  async known(seq) {
    while (this.floor > seq) await this.read(1000);
  }

  async first() {
    await this.known(0).catch((e) => say(e.message, true));
    if (this.shown && !this.floor) this.goTo(0);
  }

  // goTo draws the window around the entry at an index and scrolls to it.
  goTo(at) {
    this.redraw(at - pageful);
    const node = this.nodes.get(this.order[at]);
    node?.scrollIntoView({ block: "center" });
    node?.focus({ preventScroll: true });
    return node;
  }

  // find scrolls to an entry and expands it.
  async find(seq) {
    await this.known(seq).catch((e) => say(e.message, true));
    if (!this.entries.has(seq) || !this.shown || seq > this.until) return;
    const node = this.goTo(this.order.indexOf(seq));
    if (node?.tagName === "DETAILS") node.open = true;
    node?.classList.add("found");
  }

  // draw creates the node of an entry, or adds it to the node of its call.
  draw(e) {
    const index = callIndex(e);
    const key = (n) => `${e.iteration}/${n}${e.superseded ? " superseded" : ""}`;
    if (index >= 0) {
      const one = this.callOf(key(index), e.call);
      one.take(e);
      return this.put(e, one.element);
    }
    const node = draw[e.kind]?.(e) || draw.notice(e);
    if (e.superseded) node.classList.add("superseded");
    if (e.shared) {
      node.classList.add("shared");
      node.title = `Shared: row ${e.shared} of the investigation that this one was forked from`;
    }
    this.put(e, node);
    if (e.kind === "reply") {
      (e.calls || []).forEach((call, n) => this.put(undefined, this.callOf(key(n), call).element));
    }
  }

  put(e, node) {
    if (e) this.nodes.set(e.seq, node);
    if (!node.isConnected || node.parentNode !== this.list) this.list.append(node);
  }

  callOf(key, call) {
    let one = this.calls.get(key);
    if (!one) this.calls.set(key, (one = new Call(call, this.id)));
    return one;
  }
}

const stamp = (e) => h("time", { datetime: e.at, title: new Date(e.at).toLocaleString() }, clock(e.at));
const folded = (name, e, label, text) => {
  const box = h(
    `details.entry.${name}`,
    { tabindex: -1 },
    h("summary", {}, h("span.who", {}, label), h("span.gist", { dir: "auto" }, reveal(gist(text))), stamp(e)),
  );
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(long(text)));
  return box;
};

// told describes a reply's usage, by the kinds of tokens that the provider reports.
const told = (u) => {
  const parts = (...all) => {
    const some = all.filter(([n]) => n).map(([n, kind]) => `${count(n)} ${kind}`);
    return some.length ? ` (${some.join(", ")})` : "";
  };
  const input = parts([u.cache_read_tokens, "cached"], [u.cache_write_tokens, "written to cache"], [u.image_tokens, "for images"]);
  return `${count(u.input_tokens || 0)} in${input}, ${count(u.output_tokens || 0)} out${parts([u.reasoning_tokens, "thinking"])}`;
};

// draw has a function for each kind of entry except calls.
const draw = {
  system: (e) => folded("system", e, "Instructions", e.text || ""),
  memory: (e) => folded("memory", e, "Memory", e.text || ""),
  user: (e) => folded("user", e, e.by ? reveal(e.by) : e.mail ? "Guidance" : e.iteration > 1 ? "Note" : "Task", e.text || ""),
  reply: (e) =>
    h(
      "div.entry.reply",
      { tabindex: -1, "data-item": true },
      e.thinking && folded("thinking", e, "Thinking", e.thinking),
      e.text && markdown(e.text),
      e.invalid && foreign(`Violates the output contract: ${e.invalid}`, "p", { class: "wrong" }),
      h(
        "p.meta",
        {},
        `turn ${e.iteration}`,
        tokens(e.usage) ? ` · ${told(e.usage)}` : "",
        e.usage?.cost_usd ? ` · ${cost(e.usage.cost_usd)}` : "",
        e.forced ? " · requested without tools" : "",
        " · ",
        stamp(e),
      ),
    ),
  try: (e) =>
    h(
      "div.entry.try",
      { tabindex: -1 },
      h("p.wrong", {}, "Model call failed: ", foreign(`${e.error_type || ""} ${e.text || ""}`.slice(0, 2000)), " · ", stamp(e)),
    ),
  fallback: (e) =>
    h("div.entry.notice", { tabindex: -1 }, h("p", {}, "Switched to another model: ", foreign(e.text || e.model || ""), " · ", stamp(e))),
  notice: (e) => h("div.entry.notice", { tabindex: -1 }, h("p", {}, foreign((e.text || e.kind).slice(0, 4000)), " · ", stamp(e))),
};
