// Frame of the page: navigation, connection state, keys, and the token.
import { ask, h } from "./dom.js";
import { onUnknown } from "./api.js";
import { home } from "./home.js";
import { investigation } from "./investigation.js";

const main = document.getElementById("main");
const line = document.getElementById("connection");
let leave = new AbortController();
let view;

// connection shows why the page is disconnected, while it is.
function connection(state) {
  line.className = state;
  line.textContent = { live: "live", lost: "Connection lost. Reconnecting …", over: "" }[state] || "";
}

// views are the other parts of the page. They are loaded on first use.
const views = {
  new: async (_, options) => (await import("./start.js")).start(main, options),
  chats: async (rest, options) => (await import("./chat.js")).chat(main, rest, options),
  compare: async (rest, options) => (await import("./compare.js")).compare(main, rest, options),
  stats: async (rest, options) => (await import("./stats.js")).stats(main, rest, options),
  configuration: async (rest, options) => (await import("./configuration.js")).configuration(main, rest, options),
};

async function show() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const options = { signal, connection: (state) => signal.aborted || connection(state) };
  connection("over");
  document.title = "Inquest";
  view = undefined;
  const [, name = "", sign = "", rest = ""] = /^#\/([^/?]*)([/?]?)(.*)$/.exec(location.hash) || [];
  for (const a of document.querySelectorAll(".places a")) {
    a.toggleAttribute("aria-current", false);
    if (a.hash === `#/${name}` || (a.hash === "#/" && !views[name]))
      a.setAttribute("aria-current", name && a.hash === "#/" ? "true" : "page");
  }
  scrollTo(0, 0);
  try {
    if (views[name]) await views[name]((sign === "?" ? "?" : "") + rest, options);
    else if (!name) view = home(main, options);
    else {
      const past = sign === "?"; // #/ID?row=N shows the investigation as it was at a row, and #/ID/N the row
      const row = Number(past ? new URLSearchParams(rest).get("row") : rest);
      view = investigation(main, decodeURIComponent(name), { ...options, row, past });
    }
  } catch (e) {
    if (e instanceof URIError) location.hash = "#/";
    else if (!signal.aborted) main.replaceChildren(h("p.wrong", {}, "This part of the page could not be loaded. Reload the page."));
  }
}

onUnknown(async (again) => {
  const token = h("input", { type: "password", required: true, autocomplete: "off", "aria-label": "Token" });
  const given = await ask(
    "Sign in",
    "Sign in",
    [
      h(
        "p",
        {},
        again
          ? "Unknown token. Try another one."
          : "Enter your Inquest token. It is kept until you close this tab.",
      ),
      token,
    ],
    () => token.value.trim(),
  );
  if (given === undefined) await new Promise((again) => setTimeout(again, 500));
  return given;
});

const keys = [
  ["j, k", "next, previous"],
  ["Enter", "open the selected item"],
  ["a", "approve the selected call, or agree; a risky call needs a second confirmation"],
  ["d", "deny the selected call, with a reason"],
  ["g", "send guidance to the agents"],
  ["p", "pause, resume"],
  ["e", "raise the limits"],
  ["c", "conclude: finish now with what is known so far"],
  ["x", "cancel the investigation"],
  ["r", "rate a finished investigation"],
  ["s", "score a finished investigation"],
  ["n", "start an investigation"],
  ["u", "back to all investigations"],
  ["/", "search"],
  ["?", "show these keys"],
];

const help = () =>
  ask(
    "Keys",
    "Close",
    [
      h(
        "dl.keys",
        {},
        keys.map(([key, what]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              key.split(", ").map((k) => h("kbd", {}, k)),
            ),
            h("dd", {}, what),
          ),
        ),
      ),
      h("p", {}, "Everything on this page is also available through ", h("a", { href: "docs" }, "the HTTP API"), "."),
    ],
  );
document.getElementById("help").addEventListener("click", help);

// items are the elements that j and k move between.
const items = () => [...main.querySelectorAll("[data-item]")].filter((e) => e.checkVisibility() && !e.disabled);

function step(by) {
  const all = items();
  const at = all.findIndex((e) => e === document.activeElement || e.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  const target = next?.tagName === "DETAILS" ? next.querySelector("summary") : next;
  target?.focus();
  target?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector("dialog[open]")) return;
  if (e.target.matches?.("input, textarea, select")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  const does = {
    j: () => step(1),
    k: () => step(-1),
    "?": help,
    n: () => (location.hash = "#/new"),
    u: () => (location.hash = "#/"),
    "/": () => main.querySelector("input[type=search]")?.focus(),
    a: () => document.activeElement.closest?.(".wait")?.press("a"),
    d: () => document.activeElement.closest?.(".wait")?.press("d"),
    g: () => view?.press?.("g"),
    p: () => view?.press?.("p"),
    e: () => view?.press?.("e"),
    c: () => view?.press?.("c"),
    x: () => view?.press?.("x"),
    r: () => view?.press?.("r"),
    s: () => view?.press?.("s"),
  }[e.key];
  if (!does || (e.repeat && !"jk".includes(e.key))) return;
  e.preventDefault();
  does();
});

document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
show();
