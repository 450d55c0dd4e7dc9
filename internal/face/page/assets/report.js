// The report of an investigation, with its citations.
import { button, caveats, foreign, h, reveal, withoutCaveats } from "./dom.js";
import { markdown, readable } from "./markdown.js";

// Report has its own element. open shows the entry that evidence was quoted from.
export class Report {
  constructor(open) {
    this.open = open;
    this.element = h("section.report", { "aria-label": "Report", hidden: true });
  }

  // show shows the report of a record, with its brief first. advice is what to do about a failure. evidence holds the cited evidence that
  // was found, and unknown the writes that may have taken effect. stages are those of the investigation: partial ones state the reason.
  show(r, { advice, brief, evidence, unknown = [], stages = [] }) {
    const lines = caveats(r.envelope);
    const text = withoutCaveats(r);
    const partial = stages.filter((s) => s.index >= 0 && s.envelope?.partial);
    const key = `${text.length} ${r.status} ${r.error} ${Boolean(evidence)} ${Boolean(brief)} ${Boolean(advice)} ${unknown.map((c) => c.late?.status || "-")} ${partial.length} ${lines.length}`;
    if (this.told === key) return;
    this.told = key;
    this.element.hidden = !text && !r.error && !advice && unknown.length + partial.length === 0;
    const items = evidence?.evidence || [];
    const cite = (n) => {
      const item = items.find((i) => i.n === n);
      const go = (e) => (e.preventDefault(), this.open(item));
      return item && h("a.cite", { href: location.hash, click: go, title: reveal(item.content || item.tool || "") }, `[${n}]`);
    };
    this.element.replaceChildren(
      ...[
        r.error && foreign(r.error, "p", { class: "wrong" }),
        advice && h("div.advice", {}, markdown(advice)),
        ...lines.map((line) => foreign(line, "p", { class: "wrong" })),
        ...partial.map((s) => foreign(`Stage ${s.name} is partial: ${s.envelope.partial}`, "p", { class: "wrong" })),
        brief &&
          h(
            "dl.brief",
            {},
            brief.cause && [h("dt", {}, "Cause"), h("dd", {}, markdown(brief.cause))],
            brief.confidence && [h("dt", {}, "Confidence"), h("dd", {}, markdown(brief.confidence))],
            brief.next && [h("dt", {}, "Next"), h("dd", {}, h("ol", {}, brief.next.map((step) => h("li", {}, markdown(step)))))],
          ),
        r.envelope?.summary && h("div.summary", {}, markdown(r.envelope.summary)),
        this.calls(
          "Outcome unknown: these calls were interrupted and may have taken effect. Check before you repeat them.",
          unknown.filter((c) => c.late?.status !== "success"),
        ),
        this.calls(
          "Answered late: these calls were interrupted, but their tools later reported success. The agents did not see it.",
          unknown.filter((c) => c.late?.status === "success"),
        ),
        text && markdown(readable(text), cite),
        items.length > 0 &&
          h(
            "details.evidence",
            {},
            h("summary", {}, `Evidence (${items.length})`),
            h(
              "ol",
              {},
              items.map((i) =>
                h(
                  "li",
                  { value: i.n },
                  foreign(i.content || "", "q"),
                  " ",
                  foreign([i.location, i.relevance].filter(Boolean).join(" · "), "span", { class: "note" }),
                  " ",
                  i.tool && foreign(i.tool, "code"),
                  i.problem && foreign(` ${i.problem}`, "span", { class: "wrong" }),
                  i.seq > 0 && button("Open the call", () => this.open(i), { class: "quiet" }),
                ),
              ),
            ),
          ),
      ].filter(Boolean),
    );
  }

  // calls lists interrupted calls under a text that says what is known of them.
  calls(text, calls) {
    if (calls.length === 0) return false;
    const line = (c) => [
      foreign(`${c.tool} ${c.arguments || ""}`, "code"),
      foreign(` ${c.execution} · ${new Date(c.at).toLocaleTimeString()}`, "span", { class: "note" }),
      c.late && foreign(` answered late: ${c.late.status} ${c.late.text || ""}`, "span", { class: "note" }),
      " ",
      button("Open the call", () => this.open(c), { class: "quiet" }),
    ];
    return h("div.unknown", {}, h("p.wrong", {}, text), h("ul", {}, calls.map((c) => h("li", {}, line(c)))));
  }
}
