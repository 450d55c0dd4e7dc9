// Statistics of ended investigations: how many were right, their cost and time.
import { choice, cost, foreign, h, say, span } from "./dom.js";
import { get } from "./api.js";

const day = 86400_000; // ms
const columns = [
  ["Ended", (s) => s.ended],
  ["Accurate", (s) => s.accurate],
  ["Partly", (s) => s.partly],
  ["Inaccurate", (s) => s.inaccurate],
  ["Inconclusive", (s) => s.inconclusive],
  ["To review", (s) => s.need_review],
  ["Score", (s) => (s.scored ? s.mean_score.toFixed(0) : "–")],
  ["Cost", (s) => cost(s.cost_usd) || "–"],
  ["Median time", (s) => (s.completed ? span(s.median_seconds * 1000) : "–")],
  ["P90 time", (s) => (s.completed ? span(s.p90_seconds * 1000) : "–")],
];

// stats shows the statistics in main. rest is the query of the address: by and days.
export async function stats(main, rest, { signal }) {
  const asked = new URLSearchParams(rest);
  const choose = (name, label, pairs) =>
    choice(label, pairs, (value) => (asked.set(name, value), (location.hash = `#/stats?${asked}`)), asked.get(name) || pairs[0][0]);
  const by = choose("by", "Group by", [
    ["chain", "By chain"],
    ["model", "By model"],
    ["plan", "By plan"],
  ]);
  const days = choose("days", "Period", [
    ["30", "Last 30 days"],
    ["7", "Last 7 days"],
    ["90", "Last 90 days"],
    ["365", "Last year"],
  ]);
  const found = h("div.found", { tabindex: 0, role: "region", "aria-label": "Statistics" }, h("p.empty", {}, "Loading …"));
  main.replaceChildren(
    h("h1", {}, "Statistics"),
    h("div.find", {}, by, days),
    found,
    h(
      "p.note",
      {},
      "Accurate, partly and inaccurate count the latest rating of each investigation. Inconclusive investigations completed, but are ",
      "partial, were cut short by a limit, or had no successful tool call. Times cover completed investigations only.",
    ),
  );
  const since = new Date(Date.now() - Number(days.value) * day).toISOString();
  try {
    const { items, total } = await get(`stats?${new URLSearchParams({ by: by.value, since })}`, signal);
    const row = (s, name) => h("tr", {}, h("th", { scope: "row" }, name), columns.map(([, cell]) => h("td", {}, String(cell(s)))));
    found.replaceChildren(
      items.length === 0
        ? h("p.empty", {}, "No investigation that started in this period has ended.")
        : h(
            "table.stats",
            {},
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, by.value), columns.map(([title]) => h("th", { scope: "col" }, title)))),
            h(
              "tbody",
              {},
              items.map((s) => row(s, foreign(s.name))),
              items.length > 1 && row(total, "Total"),
            ),
          ),
    );
  } catch (e) {
    if (e.name === "AbortError") return;
    found.replaceChildren();
    say(e.message, true);
  }
}
