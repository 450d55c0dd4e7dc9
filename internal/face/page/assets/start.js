// Form that starts an investigation. It shows problems before the start.
import { bytes, foreign, h, isJSON, indented, long, reveal, say } from "./dom.js";
import { about, call, get, isAway, patiently } from "./api.js";

const checkAfter = 350; // ms after the last key

export function start(main, { signal }) {
  new Start(main, signal).load();
}

class Start {
  constructor(main, signal) {
    Object.assign(this, { signal, asked: 0 });
    const changed = () => this.later();
    this.data = h("textarea.code", {
      rows: 14,
      "aria-label": "What to investigate",
      placeholder: "Paste an alert (text or JSON)",
      spellcheck: "false",
      input: changed,
    });
    this.chain = h("select", { id: "chain", change: changed });
    this.project = h("select", { id: "project", change: () => this.chains() });
    this.whose = h("label", { hidden: true }, "Project", this.project);
    this.about = h("p.note");
    this.kind = h("p.note", { role: "status" }, "");
    this.found = h("div.checked", { role: "status" });
    this.go = h("button.primary", { type: "submit", disabled: true }, "Start");
    main.replaceChildren(
      h("h1", {}, "Start an investigation"),
      h(
        "form.start",
        { submit: (e) => (e.preventDefault(), this.start()) },
        h("div.given", {}, this.data, this.kind),
        h(
          "div.chosen",
          {},
          this.whose,
          h("label", { for: "chain" }, "Chain", this.chain),
          this.about,
          this.found,
          h("div.buttons", {}, this.go),
        ),
      ),
    );
    this.data.focus();
  }

  async load() {
    try {
      const { roles } = await patiently(
        () => about(this.signal),
        this.signal,
        (e) => this.found.replaceChildren(foreign(e.message, "p")),
      );
      const projects = Object.keys(roles).filter((p) => p !== "*");
      if (roles["*"] && !projects.includes("default")) projects.unshift("default");
      this.project.replaceChildren(...projects.map((p) => h("option", { value: p }, reveal(p))));
      this.whose.hidden = projects.length < 2;
      await this.chains();
    } catch (e) {
      if (e.name !== "AbortError") say(e.message, true);
    }
  }

  async chains() {
    const { items } = await patiently(() => get(`chains?${new URLSearchParams(this.projectOf())}`, this.signal), this.signal);
    this.all = items;
    const option = (c) => h("option", { value: c.name }, reveal(c.name));
    const [own, builtin] = [items.filter((c) => !c.built_in), items.filter((c) => c.built_in)];
    const group = (label, some) => (some.length ? h("optgroup", { label }, some.map(option)) : undefined);
    this.chain.replaceChildren(...[group("Yours", own), group("Built in", builtin)].filter(Boolean));
    this.later();
  }

  projectOf() {
    return this.project.value ? { project: this.project.value } : {};
  }

  // body returns the request. JSON is sent as it was pasted, because parsing would round large numbers.
  body() {
    const text = this.data.value;
    const json = isJSON(text);
    const rest = JSON.stringify({ chain: this.chain.value, ...this.projectOf() });
    return `${rest.slice(0, -1)},"data":${json ? text : JSON.stringify(text)}}`;
  }

  later() {
    const chain = this.all?.find((c) => c.name === this.chain.value);
    this.about.textContent = reveal([chain?.description, chain && `Stages: ${chain.stages.join(", ")}`].filter(Boolean).join(" · "));
    this.go.disabled = true;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.check(), checkAfter);
  }

  // check shows the problems that a start would report. Only the newest of several responses counts.
  async check() {
    const text = this.data.value;
    const n = ++this.asked;
    const begun = /^\s*[{[]/.test(text);
    this.kind.textContent = text && (isJSON(text) ? "JSON" : begun ? "Text (starts like JSON but is not valid JSON)" : "Text");
    if (!text.trim() || !this.chain.value) return this.found.replaceChildren();
    try {
      const out = await call("POST", "investigations/check", this.body(), this.signal);
      if (n !== this.asked) return;
      this.go.disabled = out.problems.length > 0;
      this.found.replaceChildren(...(out.problems.length ? problems(out) : fits(out, text)));
    } catch (e) {
      if (n !== this.asked || e.name === "AbortError") return;
      if (isAway(e)) setTimeout(() => n === this.asked && this.check(), 2000);
      this.found.replaceChildren(foreign(e.message, "p", { class: "wrong" }));
    }
  }

  async start() {
    if (this.go.disabled) return;
    this.go.disabled = true;
    try {
      const body = this.body();
      if (this.sent !== body) this.key = crypto.randomUUID?.() || `${Date.now()}-${Math.random()}`; // equal requests start once
      this.sent = body;
      const { id } = await call("POST", "investigations", body, this.signal, { "Idempotency-Key": this.key });
      location.hash = `#/${encodeURIComponent(id)}`;
    } catch (e) {
      this.go.disabled = false;
      if (e.name !== "AbortError") say(e.message, true);
    }
  }
}

const problems = ({ problems: all }) => [
  h("h2.name", {}, "This cannot start"),
  h(
    "ul.problems",
    {},
    all.map((p) => foreign(p, "li", { class: "wrong" })),
  ),
];

function fits({ stages, size, data }, given) {
  const masked = data !== given.slice(0, data.length) && !isJSON(given);
  return [
    h("h2.name", {}, "This will run"),
    h(
      "ol.stages",
      {},
      (stages || []).map((s) => h("li", {}, foreign(s.name, "strong"), " ", foreign(s.agents.join(", "), "span", { class: "note" }))),
    ),
    h(
      "details",
      {},
      h("summary", {}, `Data shown to agents (${bytes(size)}${masked ? ", masked" : ""})`),
      long(isJSON(data) ? indented(data) : data),
    ),
  ];
}
