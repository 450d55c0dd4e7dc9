// DOM helpers for all parts of the page. Text always becomes text nodes, so output of models and tools is never markup.

// h creates an element from "tag.class.class".
export function h(name, props, ...children) {
  const [tag, ...classes] = name.split(".");
  const e = document.createElement(tag);
  if (classes.length) e.className = classes.join(" ");
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") e.addEventListener(key, value);
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false && c !== ""));
  return e;
}

// svg creates an SVG element.
export function svg(name, props, children = []) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(props)) {
    if (typeof value === "function") e.addEventListener(key, value);
    else e.setAttribute(key, value);
  }
  e.append(...children.filter(Boolean));
  return e;
}

export const button = (label, click, props) => h("button", { type: "button", click, ...props }, label);

// choice creates a select from pairs of value and text. chosen is called with the new value.
export const choice = (label, pairs, chosen, value) =>
  h(
    "select",
    { "aria-label": label, change: chosen && ((e) => chosen(e.target.value)) },
    pairs.map(([v, text]) => h("option", { value: v, selected: v === value }, text)),
  );

// arrange sets the children of a parent, and moves only those that are out of place, so the others keep the focus.
export function arrange(parent, children) {
  children.forEach((child, n) => {
    if (parent.children[n] !== child) parent.insertBefore(child, parent.children[n] || null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

// put sets an element's text if it has changed.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// reveal replaces invisible characters, and those that change the direction of text, with their code points.
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0e\uffa0]/gu;
export function reveal(text) {
  return String(text)
    .replace(/\r\n/g, "\n")
    .replace(unseen, (c) =>
      c === "\n" || c === "\t"
        ? c
        : c.codePointAt(0) > 0xffff
          ? `\\u{${c.codePointAt(0).toString(16)}}`
          : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

// foreign shows text of a model or tool on one line.
export const foreign = (text, name = "span", props) => h(name, { dir: "auto", ...props }, reveal(text));

const first = 4000;
const more = 64 << 10;

// long shows the beginning of a long text, and the rest in parts on request.
export function long(text, shown = first) {
  text = String(text);
  const box = h("div.long", { tabindex: 0 });
  const add = (from, to) => {
    if (to < text.length && text.charCodeAt(to - 1) >> 10 === 0x36) to++; // do not split a surrogate pair
    box.append(h("pre", { dir: "auto" }, reveal(text.slice(from, to))));
    if (to >= text.length) return;
    const next = button(
      `Show more (${bytes(text.length - to)} left)`,
      () => {
        next.remove();
        add(to, Math.min(to + more, text.length));
      },
      { class: "quiet" },
    );
    box.append(next);
  };
  add(0, Math.min(shown, text.length));
  return box;
}

// indented formats JSON character by character. Parsing it would round numbers that are too large for JavaScript.
export function indented(json) {
  let out = "",
    depth = 0,
    quoted = false;
  const line = () => "\n" + "  ".repeat(Math.max(depth, 0));
  for (let n = 0; n < json.length; n++) {
    const c = json[n];
    if (quoted) {
      out += c;
      if (c === "\\") out += json[++n] ?? "";
      else if (c === '"') quoted = false;
    } else if (c === '"') {
      quoted = true;
      out += c;
    } else if (c === "{" || c === "[") {
      const close = /^\s*[}\]]/.exec(json.slice(n + 1, n + 40));
      if (close) {
        out += c + close[0].trim();
        n += close[0].length;
      } else {
        depth++;
        out += c + line();
      }
    } else if (c === "}" || c === "]") {
      depth--;
      out += line() + c;
    } else if (c === ",") out += c + line();
    else if (c === ":") out += ": ";
    else if (!/\s/.test(c)) out += c;
  }
  return out;
}

export const isJSON = (text) => {
  if (text.length > 200_000 || !/^\s*[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

export const bytes = (n) => (n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1e3).toFixed(0)} kB` : `${(n / 1e6).toFixed(1)} MB`);
export const count = (n) => (n < 10_000 ? String(n || 0) : n < 1e6 ? `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k` : `${(n / 1e6).toFixed(1)}M`);
export const cost = (usd) => (usd ? `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}` : "");
export const tokens = (u) => (u?.input_tokens || 0) + (u?.output_tokens || 0);
export const words = (status) => String(status || "").replaceAll("_", " ");
export const clock = (at) => new Date(at).toLocaleTimeString([], { hour12: false });

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  return s < 172_800 ? `${Math.floor(s / 3600)}h ${Math.floor(s / 60) % 60}m` : `${Math.floor(s / 86_400)}d`;
}

// roughly formats a duration in its one or two largest units, like package record.
export function roughly(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(s / 3600), Math.floor(s / 60)];
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${minutes} min`;
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

export const ago = (at) => {
  const ms = Date.now() - new Date(at);
  return ms < 60_000 ? "just now" : `${span(ms).split(" ")[0]} ago`;
};

// ticking is text that is updated every second while it is on the page.
const clocks = new Map();
export function ticking(name, make, props) {
  const e = h(name, props, make());
  clocks.set(e, make);
  return e;
}
setInterval(() => {
  for (const [e, make] of clocks) {
    if (e.isConnected) {
      put(e, make());
      e.dataset.shown = "";
    } else if ("shown" in e.dataset) clocks.delete(e);
  }
}, 1000);

// stateOf returns the status that people see of a record: a partial result is not shown as a complete one.
export const stateOf = (r) => (r.status === "completed" && r.end_reason === "partial" ? "partial" : r.status);

// serverText describes a server that was not checked. quote is applied to the words of others.
const serverText = ({ server, agents = [], why, detail }, quote = (text) => text) =>
  `${server} (${[why || "it has not listed its tools", detail && quote(detail)].filter(Boolean).join(": ")})` +
  (agents.length ? ` · ${agents.length === 1 ? "agent" : "agents"} ${agents.join(", ")}` : "");

// caveats returns one line for each thing that the report of an envelope does not rest on. They belong before its cause.
export const caveats = (e) =>
  [
    ...(e?.not_checked || []).map((n) => `Not checked: ${serverText(n)}`),
    e?.no_tool_result && "No tool result: no tool call succeeded, so the report is not based on data from any system",
  ].filter(Boolean);

// alertNotes returns what the sender of an investigation's alert reported and could not be read (agent.AlertNotes).
export const alertNotes = (r) => (r.metadata?.alert_notes || "").split("\n").filter(Boolean);

// withoutCaveats returns the report of a record without the paragraphs that the worker put before it: caveats shows these. An agent may
// have written similar ones, which stay. It follows NotCheckedParagraph of internal/record.
export function withoutCaveats({ report = "", envelope }) {
  const code = (text) => "`" + text.replaceAll("`", "'") + "`";
  const ours = (envelope?.not_checked || []).map((n) => `**Not checked:** ${serverText(n, code)}\n`.replaceAll("\n", "\n\n")).join("");
  return report.startsWith(ours) ? report.slice(ours.length) : report;
}

// caveat is caveats in a few words, for a line of a list.
export const caveat = (e) =>
  e?.not_checked ? `Not checked: ${e.not_checked.map((n) => n.server).join(", ")}` : e?.no_tool_result && "No tool result";

export const status = (s) => h(`span.status.${s || "pending"}`, {}, words(s));

// say shows a message and announces it to screen readers.
let silence;
export function say(text, wrong) {
  const box = document.getElementById("said");
  box.className = wrong ? "wrong" : "";
  box.replaceChildren(reveal(text));
  clearTimeout(silence);
  silence = setTimeout(() => box.replaceChildren(), wrong ? 12_000 : 6_000);
}

// ask opens a dialog and returns the value that its function made, or undefined if the user closed it. Without a function, it only
// shows the text.
export function ask(title, label, fields, value) {
  return new Promise((done) => {
    let out;
    const box = h(
      "dialog",
      { "aria-label": title, close: () => (box.remove(), done(out)) },
      h(
        "form",
        {
          submit: (e) => {
            e.preventDefault();
            out = value?.();
            box.close();
          },
        },
        h("h2", {}, title),
        fields,
        h(
          "div.buttons",
          {},
          h("button.primary", { type: "submit" }, label),
          value && button("Cancel", () => box.close()),
        ),
      ),
    );
    document.body.append(box);
    box.showModal();
  });
}
