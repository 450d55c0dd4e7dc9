// Head of an investigation: its name, its status, and its usage and limits.
import { alertNotes, cost, count, foreign, h, put, reveal, span, stateOf, status, ticking, tokens, words } from "./dom.js";
import { titleOf } from "./home.js";

// cut lists the end reasons of chains that a limit cut short.
const cut = new Set(["max_passes_exceeded", "max_llm_calls_exceeded", "max_agent_hops_exceeded", "max_loop_exceeded", "budget_exceeded"]);

// answered says what answered the tool calls of a fork.
function answered({ tools, coverage }) {
  if (!tools) return "";
  if (!coverage) return " · tool calls answered from its results";
  const { hits, misses, live } = coverage;
  return ` · ${hits} of ${hits + misses + live} tool calls answered from its results`;
}

export class Head {
  constructor(steering) {
    this.title = h("h1", { dir: "auto" }, "…");
    this.state = h("span.state");
    this.line = h("p.line", { dir: "auto" });
    this.forks = h("div");
    this.notes = h("div.troubles");
    this.meters = h("dl.meters");
    this.element = h("header.head", {}, h("div.name", {}, this.title, this.state), this.line, this.forks, this.notes, this.meters, steering);
  }

  // show shows a record. The subject comes from the list, and so does the score until it is loaded.
  show(r, listed, score = listed?.score, forks = []) {
    this.record = r;
    const title = titleOf({ ...listed, ...r });
    put(this.title, title);
    document.title = `${title} · Inquest`;
    const state = stateOf(r);
    if (this.state.dataset.of !== state) {
      this.state.dataset.of = state;
      this.state.replaceChildren(status(state));
    }
    const e = r.envelope || {};
    put(
      this.line,
      [
        r.workflow_id,
        `chain ${r.chain}`,
        r.project && r.project !== "default" && `project ${r.project}`,
        e.by && `requested by ${e.by}`,
        `since ${new Date(r.started_at).toLocaleString()}`,
        e.pass > 1 && `pass ${e.pass}`,
        r.end_reason && r.end_reason !== "completed" && (cut.has(r.end_reason) ? "cut short: " : "") + words(r.end_reason),
      ]
        .filter(Boolean)
        .map(reveal)
        .join(" · "),
    );
    const link = (id) => h("a", { href: `#/${encodeURIComponent(id)}` }, reveal(id.replace(/:[^:]*$/, "")));
    const fork = r.envelope?.fork;
    const links = JSON.stringify([fork, forks]);
    if (this.links !== links) {
      this.links = links;
      this.forks.replaceChildren(
        ...[
          fork && h("p.note", {}, "Forked from ", link(fork.of), fork.at ? ` at ${reveal(fork.at)}` : " at its end", ` · ${fork.rows} rows shared`, answered(fork)),
          ...(fork?.changes || []).map((change) => foreign(`Changed: ${change}`, "p", { class: "note" })),
          ...(fork?.left || []).map((call) => foreign(`Not shared, do not repeat: ${call}`, "p", { class: "note" })),
          forks.length > 0 && h("p.note", {}, "Forks: ", ...forks.flatMap((id, n) => (n ? [", ", link(id)] : [link(id)]))),
        ].filter(Boolean),
      );
    }
    if (!this.notes.childElementCount) this.notes.append(...alertNotes(r).map((note) => foreign(`Alert: ${note}`, "p")));
    const bound = (name) => Number((e.bounds || []).find((b) => b.name === name)?.limit) || 0;
    const time = (e.bounds || []).find((b) => b.name === "max_duration" || b.name === "timeout")?.limit;
    const u = r.usage || {};
    this.clock ||= ticking("span", () =>
      span((this.record.ended_at ? new Date(this.record.ended_at) : Date.now()) - new Date(this.record.started_at)),
    );
    const meter = (name, value, of, show = count) =>
      value || of
        ? [
            h(
              "div.meter",
              {},
              h("dt", {}, name),
              h(
                "dd",
                {},
                show(value || 0),
                of ? h("span.of", {}, ` of ${show(of)}`) : "",
                of ? h("progress", { max: of, value: Math.min(value || 0, of), "aria-label": name }) : "",
              ),
            ),
          ]
        : [];
    this.meters.replaceChildren(
      h("div.meter", {}, h("dt", {}, "time"), h("dd", {}, this.clock, time ? h("span.of", {}, ` of ${time}`) : "")),
      ...meter("tokens", tokens(u), bound("max_tokens_total")),
      ...meter("cost", u.cost_usd, bound("max_cost_usd"), (n) => cost(n) || "$0"),
      ...meter("model calls", u.model_calls, bound("max_llm_calls")),
      ...meter("tool calls", u.tool_calls, 0),
      ...(score === undefined ? [] : [h("div.meter", {}, h("dt", {}, "score"), h("dd", {}, String(score)))]),
    );
  }
}
