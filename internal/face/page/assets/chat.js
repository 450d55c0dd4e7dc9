// Conversations with agents: the list of open ones, and the view of one.
import { ago, button, cost, count, foreign, h, reveal, say, ticking, tokens } from "./dom.js";
import { call, conversation as pathOf, get, isAway, patiently, stream } from "./api.js";
import { Pane } from "./transcript.js";
import { Waits } from "./waits.js";

const longest = 80_000; // characters of a report in a first message
const tail = 400; // entries that are loaded at first

export function chat(main, rest, options) {
  const [name, query] = rest.split("?");
  if (name) return new Talk(main, decodeURIComponent(name), options).begin();
  return new Threads(main, new URLSearchParams(query).get("about"), options.signal).load();
}

// Threads lists the open conversations and starts new ones.
class Threads {
  constructor(main, about, signal) {
    Object.assign(this, { about, signal });
    this.agent = h("select", { id: "agent", change: () => this.describe() });
    this.what = h("p.note");
    this.text = h("textarea", {
      rows: 4,
      required: true,
      maxlength: 15_000,
      "aria-label": "Your first message",
      placeholder: "Your first message",
    });
    this.send = h("button.primary", { type: "submit" }, "Start");
    this.context = h("p.note");
    this.rows = h("div.rows");
    this.none = h("p.empty", {}, "No open conversations.");
    main.replaceChildren(
      h("h1", {}, "Conversations"),
      h(
        "form.begin",
        { submit: (e) => (e.preventDefault(), this.begin()) },
        h("label", { for: "agent" }, "Agent", this.agent),
        this.what,
        this.context,
        this.text,
        h("div.buttons", {}, this.send),
      ),
      h("section", { "aria-labelledby": "open" }, h("h2", { id: "open" }, "Open"), this.rows, this.none),
    );
    if (about) this.text.focus();
    const timer = setInterval(() => !document.hidden && this.list(), 5000);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  async load() {
    this.list();
    try {
      const { items } = await patiently(() => get("agents", this.signal), this.signal);
      this.agents = items;
      this.agent.replaceChildren(...items.map((a) => h("option", { value: a.name }, reveal(a.name))));
      this.describe();
      if (!this.about) return;
      const { investigation: r } = await patiently(() => get(`investigations/${encodeURIComponent(this.about)}`, this.signal), this.signal);
      this.report = [
        `This conversation is about investigation ${r.workflow_id} (chain ${r.chain}, ${r.status}). Its report:`,
        r.report?.slice(0, longest) || r.error || "There is no report yet.",
      ];
      this.project = r.project;
      this.context.textContent = reveal(`The report of ${r.workflow_id} is sent with your first message.`);
    } catch (e) {
      if (e.name !== "AbortError") say(e.message, true);
    }
  }

  describe() {
    this.what.textContent = reveal(this.agents.find((a) => a.name === this.agent.value)?.description || "");
  }

  async list() {
    try {
      const { items } = await get("conversations", this.signal);
      this.none.hidden = items.length > 0;
      const key = JSON.stringify(items);
      if (key === this.key) return;
      this.key = key;
      this.rows.replaceChildren(
        ...items.map((t) =>
          h(
            "a.row",
            { href: `#/chats/${encodeURIComponent(t.thread)}`, "data-item": true },
            foreign(t.agent || "", "span", { class: "state" }),
            h("span.what", {}, foreign(t.thread, "span", { class: "title" })),
            h(
              "span.used",
              {},
              [tokens(t.usage) && `${count(tokens(t.usage))} tokens`, cost(t.usage?.cost_usd)].filter(Boolean).join(" · "),
            ),
            ticking("span.time", () => ago(t.since)),
          ),
        ),
      );
    } catch (e) {
      if (e.name !== "AbortError" && !isAway(e)) say(e.message, true);
    }
  }

  async begin() {
    const text = [...(this.report || []), this.text.value.trim()].join("\n\n");
    this.send.disabled = true;
    try {
      const body = { agent: this.agent.value, text, ...(this.project && { project: this.project }) };
      const { thread } = await call("POST", "conversations?wait=0", body, this.signal);
      location.hash = `#/chats/${encodeURIComponent(thread)}`;
    } catch (e) {
      this.send.disabled = false;
      if (e.name !== "AbortError") say(e.message, true);
    }
  }
}

// Talk is the view of one conversation.
class Talk {
  constructor(main, thread, { signal, connection }) {
    Object.assign(this, { main, thread, signal, connection, panes: new Map() });
    this.box = h("div.talk");
    const waits = h("div.waits");
    this.waits = new Waits(waits);
    this.text = h("textarea", {
      rows: 2,
      maxlength: 100_000,
      "aria-label": "Your message",
      placeholder: "Your message",
      keydown: (e) => e.key === "Enter" && !e.shiftKey && !e.isComposing && (e.preventDefault(), this.say()),
    });
    this.go = h("button.primary", { type: "submit" }, "Send");
    this.close = button("Close the conversation", () => this.end());
    main.replaceChildren(
      h("nav.back", {}, h("a", { href: "#/chats" }, "All conversations")),
      h("h1", { dir: "auto" }, reveal(thread)),
      this.box,
      waits,
      h("form.say", { submit: (e) => (e.preventDefault(), this.say()) }, this.text, h("div.buttons", {}, this.go, this.close)),
    );
    document.title = `${reveal(thread)} · Inquest`;
    this.text.focus();
  }

  begin() {
    patiently(() => get(pathOf(this.thread, `/transcript?before=${Number.MAX_SAFE_INTEGER}&limit=${tail}`), this.signal), this.signal)
      .then(({ entries, previous }) => {
        this.floor = previous || 0;
        for (const e of entries) this.pane(e).add(e);
        return stream(pathOf(this.thread, "/events"), {
          signal: this.signal,
          last: String(entries.at(-1)?.seq || ""),
          state: (s) => {
            this.connection(s);
            if (s === "live") for (const pane of this.panes.values()) pane.grow(undefined);
          },
          event: (type, e) => this.take(type, e),
        });
      })
      .catch((e) => e.name !== "AbortError" && this.missing(e));
  }

  missing(e) {
    this.box.replaceChildren(foreign(e.status === 404 ? "No conversation with that ID." : e.message, "p", { class: "wrong" }));
  }

  take(type, e) {
    if (type === "entry") this.pane(e.entry).add(e.entry);
    else if (type === "delta") this.pane(e.delta).grow(e.delta);
    else if (type === "waiting") {
      const thing = { investigation: this.thread, workflow_id: this.thread, conversation: true };
      this.waits.show(
        (e.approvals || []).map((a) => ({
          ...thing,
          kind: "approval",
          name: `${a.execution}/${a.call_id}`,
          expires: a.expires,
          approval: a,
        })),
      );
    }
    return false;
  }

  pane({ execution }) {
    let pane = this.panes.get(execution);
    if (!pane) {
      const earlier = (execution, before, limit) =>
        get(pathOf(this.thread, `/transcript?${new URLSearchParams({ execution, before, limit })}`), this.signal);
      pane = new Pane(execution, { id: this.thread, floor: this.floor, earlier });
      this.panes.set(execution, pane);
      this.box.append(pane.element);
      pane.show();
    }
    return pane;
  }

  async say() {
    const text = this.text.value.trim();
    if (!text || this.go.disabled) return;
    this.go.disabled = true;
    try {
      await call("POST", pathOf(this.thread, "/messages?wait=0"), { text }, this.signal);
      this.text.value = "";
    } catch (e) {
      if (e.name !== "AbortError") say(e.message, true);
    }
    this.go.disabled = false;
    this.text.focus();
  }

  async end() {
    try {
      await call("POST", pathOf(this.thread, "/close"), undefined, this.signal);
      say("The conversation closes after the current turn.");
      location.hash = "#/chats";
    } catch (e) {
      if (e.name !== "AbortError") say(e.message, true);
    }
  }
}
