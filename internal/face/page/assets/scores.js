// Scores of an investigation, and requests for a new score.
import { cost, foreign, h, reveal, say, ticking, words, ago } from "./dom.js";
import { call, get, investigation as pathOf, patiently } from "./api.js";

const lookEvery = 2500; // ms between polls while a score is being made

export class Scores {
  constructor(id, signal) {
    Object.assign(this, { id, signal, all: [] });
    this.element = h("section.scores", { "aria-label": "Score", hidden: true });
  }

  get last() {
    return this.all.filter((s) => s.score !== undefined).at(-1);
  }

  show(all) {
    this.all = all || [];
    this.element.hidden = !this.all.length;
    this.element.replaceChildren(...[...this.all].reverse().map(card));
  }

  // ask requests a score and polls until it is ready.
  async ask(done) {
    try {
      const before = this.all.length;
      await call("POST", pathOf(this.id, "/score"));
      say("Scoring started.");
      const look = async () => {
        const { scores } = await patiently(() => get(pathOf(this.id), this.signal), this.signal);
        this.show(scores);
        done();
        if (scores.length <= before || !scores.at(-1).ended_at) setTimeout(() => look().catch(() => {}), lookEvery);
      };
      await look();
    } catch (e) {
      if (e.name !== "AbortError") say(e.message, true);
    }
  }
}

function card(s) {
  const judged = s.score !== undefined;
  return h(
    "article.score",
    {},
    h(
      "header",
      {},
      h("strong", {}, judged ? String(s.score) : s.ended_at ? "no score" : "…"),
      h("span.of", {}, judged ? " of 100" : s.ended_at ? "" : " being scored"),
      h(
        "span.note",
        {},
        [s.model && reveal(s.model), s.by && `requested by ${reveal(s.by)}`, cost(s.usage?.cost_usd)].filter(Boolean).join(" · "),
      ),
      ticking("span.note", () => ago(s.ended_at || s.started_at)),
    ),
    s.failure_tags?.length > 0 &&
      h(
        "p.tags",
        {},
        s.failure_tags.map((t) => h("span.tag", {}, reveal(words(t)))),
      ),
    s.assessment && h("details", {}, h("summary", {}, "Why"), foreign(s.assessment, "p")),
    s.missing_tools && h("details", {}, h("summary", {}, "Tools that would have helped"), foreign(s.missing_tools, "p")),
    s.error && foreign(s.error, "p", { class: "wrong" }),
  );
}
