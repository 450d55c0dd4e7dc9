// Two investigations side by side.
import { ago, cost, count, foreign, h, long, reveal, span, stateOf, status, tokens, words } from "./dom.js";
import { get, investigation as pathOf } from "./api.js";
import { titleOf } from "./home.js";
import { markdown } from "./markdown.js";

// compare shows a comparison in main. rest is that of the address: A/B, or A to choose the other one from a list.
export async function compare(main, rest, { signal }) {
  const [a, b] = rest.split("/").map(decodeURIComponent);
  const box = h("div", {}, h("p.empty", {}, "Loading …"));
  main.replaceChildren(h("nav.back", {}, h("a", { href: at(a) }, "Investigation")), h("h1", {}, "Compare"), box);
  try {
    box.replaceChildren(...(b ? shown(await get(pathOf(a, `/compare/${encodeURIComponent(b)}`), signal)) : await others(a, signal)));
  } catch (e) {
    if (e.name !== "AbortError") box.replaceChildren(h("p.wrong", {}, reveal(e.message)));
  }
}

const at = (id, row) => `#/${encodeURIComponent(id)}${row ? `/${row}` : ""}`;

// others lists recent investigations of the same chain.
async function others(id, signal) {
  const { investigation } = await get(pathOf(id), signal);
  const { items } = await get(`investigations?${new URLSearchParams({ chain: investigation.chain, limit: 50 })}`, signal);
  const rest = items.filter((r) => r.id !== investigation.id && r.chain === investigation.chain);
  if (rest.length === 0) return [h("p.empty", {}, "No other investigation of this chain.")];
  return [
    h("p", {}, "Choose what to compare it with. These are recent investigations of the same chain."),
    h(
      "ul",
      {},
      rest.map((r) =>
        h(
          "li",
          {},
          h("a", { href: `#/compare/${encodeURIComponent(id)}/${encodeURIComponent(r.id)}`, "data-item": true }, titleOf(r)),
          h("span.note", {}, ` ${reveal(r.workflow_id)} · ${words(r.status)} · ${ago(r.started_at)}`),
        ),
      ),
    ),
  ];
}

// rows are the titles and cells of the first table. A row without any cell is left out.
const rows = [
  ["Status", (r) => status(stateOf(r))],
  ["Ended as", (r) => r.end_reason && r.end_reason !== "completed" && words(r.end_reason)],
  ["Error", (r) => r.error && foreign(r.error)],
  ["Chain", (r) => r.chain && foreign(r.chain)],
  ["Caveats", (r) => r.brief?.caveats?.map((text) => foreign(text, "p"))],
  ["Cause", (r) => r.brief?.cause && markdown(r.brief.cause)],
  ["Confidence", (r) => r.brief?.confidence && markdown(r.brief.confidence)],
  ["Proof", (r) => r.brief?.proof && foreign(r.brief.proof)],
  ["Models", (r) => r.models.length > 0 && foreign(r.models.join(", "))],
  ["Tokens", (r) => count(tokens(r.usage))],
  ["Model calls", (r) => count(r.usage?.model_calls || 0)],
  ["Tool calls", (r) => listed(r.tool_calls)],
  ["Cost", (r) => cost(r.usage?.cost_usd)],
  ["Started", (r) => new Date(r.started_at).toLocaleString()],
  ["Time", (r) => r.ended_at && span(new Date(r.ended_at) - new Date(r.started_at))],
];

const listed = (calls) => {
  const all = Object.entries(calls).sort();
  return all.length > 0 && all.map(([tool, n]) => foreign(`${n}× ${tool}`, "div"));
};

function shown({ a, b, plan, plan_problem, steps }) {
  const table = (head, body) =>
    h("div.found", { tabindex: 0, role: "region", "aria-label": head }, h("table.sides", {}, columns(a, b, head), h("tbody", {}, body)));
  const agents = [...new Set(steps.map(nameOf))];
  return [
    table(
      "Result",
      rows
        .map(([title, cell]) => [title, cell(a), cell(b)])
        .filter(([, left, right]) => left || right)
        .map(([title, left, right]) => h("tr", {}, h("th", { scope: "row" }, title), h("td", {}, left || "–"), h("td", {}, right || "–"))),
    ),
    h("h2", {}, "Settings"),
    plan_problem && foreign(`The plans could not be compared: ${plan_problem}`, "p", { class: "wrong" }),
    !plan_problem && plan.length === 0 && h("p.empty", {}, "The plans are the same."),
    plan.length > 0 &&
      table(
        "Setting",
        plan.map((c) => h("tr", {}, h("th", { scope: "row" }, foreign(c.path, "code")), h("td", {}, value(c.a)), h("td", {}, value(c.b)))),
      ),
    h("h2", {}, "Replies"),
    ...agents.map((name) => agent(name, steps.filter((s) => nameOf(s) === name), a, b)),
    agents.length === 0 && h("p.empty", {}, "No agent has replied."),
  ].filter(Boolean);
}

const nameOf = (s) => (s.a || s.b).agent;

const columns = (a, b, head) =>
  h(
    "thead",
    {},
    h("tr", {}, h("th", { scope: "col" }, head), ...[a, b].map((r) => h("th", { scope: "col" }, foreign(r.id, "a", { href: at(r.id) })))),
  );

const value = (v) => (v === undefined ? "–" : long(typeof v === "string" ? v : JSON.stringify(v, null, 2), 1000));

// agent shows the replies of an agent in pairs. It is open if any differ.
function agent(name, steps, a, b) {
  const first = steps.findIndex((s) => s.difference);
  const says = first < 0 ? "no difference" : `differs from reply ${first + 1}: ${steps[first].difference}`;
  const turn = (id, t, row) =>
    t
      ? [
          h("a", { href: at(id, row || t.row) }, `row ${row || t.row}`),
          ...(t.calls || []).map((c) => foreign(c, "p", { class: "call" })),
          t.text && foreign(t.text, "p"),
        ]
      : "–";
  return h(
    "details.sided",
    { open: first >= 0 },
    h("summary", {}, foreign(name, "strong"), foreign(` ${says}`)),
    h(
      "table.sides",
      {},
      columns(a, b, "Reply"),
      h(
        "tbody",
        {},
        steps.map((s, n) =>
          h(
            "tr",
            { class: s.difference && "differs" },
            h("th", { scope: "row" }, String(n + 1), s.difference && foreign(s.difference, "p", { class: "note" })),
            h("td", {}, turn(a.id, s.a, s.a_row)),
            h("td", {}, turn(b.id, s.b, s.b_row)),
          ),
        ),
      ),
    ),
  );
}
