// Review of an ended investigation: its state, people's ratings, and the form for a rating.
import { ago, ask, button, foreign, h, reveal, say, ticking } from "./dom.js";
import { about, call, get, investigation as pathOf } from "./api.js";

const verdicts = [
  ["accurate", "Accurate: the cause and the findings are right"],
  ["partly", "Partly accurate: something important is wrong or missing"],
  ["inaccurate", "Inaccurate: wrong or misleading"],
];

const stateText = (r) =>
  ({
    needs_review: "Needs review",
    in_progress: `Claimed for review${r.assignee ? ` by ${reveal(r.assignee)}` : ""}`,
    reviewed: `Reviewed${r.reviewer ? ` by ${reveal(r.reviewer)}` : ""}`,
  })[r.state];

export class Review {
  constructor(id, signal) {
    Object.assign(this, { id, signal, ratings: [], claims: [] });
    this.element = h("section.review", { "aria-label": "Review", hidden: true });
  }

  // show shows the review and the ratings of an ended investigation.
  show({ review, ratings }) {
    Object.assign(this, { review, ratings: ratings || [] });
    this.element.hidden = !review;
    if (!review) return;
    const act = (label, action) => button(label, () => this.change("/review", { action }), { class: "quiet" });
    const open = review.state !== "reviewed";
    this.element.replaceChildren(
      h(
        "header",
        {},
        h("strong", {}, stateText(review)),
        review.reviewed_at && ticking("span.note", () => ago(review.reviewed_at)),
        h(
          "span.buttons",
          {},
          open && act("Claim", "claim"),
          review.state === "in_progress" && act("Release", "release"),
          open && act("Acknowledge", "acknowledge"),
          !open && act("Reopen", "reopen"),
        ),
      ),
      ...this.ratings.map(card),
    );
  }

  // change sends a change, and shows the state after it, also if the change was refused.
  async change(path, body) {
    try {
      await call("POST", pathOf(this.id, path), body);
    } catch (e) {
      say(e.message, true);
    }
    get(pathOf(this.id), this.signal)
      .then((whole) => this.show(whole))
      .catch(() => {});
  }

  // rate asks for a rating. It starts with the person's last one.
  async rate() {
    const me = await about(this.signal).catch(() => ({}));
    const mine = this.ratings.find((r) => (r.by || "") === (me.name || "")) || {};
    const box = (label, value) => h("textarea", { rows: 3, maxlength: 2000, "aria-label": label, placeholder: label }, value);
    const note = box("What was right or wrong, such as the actual cause", mine.note);
    const action = box("What was done about the incident", mine.action_taken);
    const withdraw = h("input", { type: "checkbox" });
    const selects = this.claims.map((claim, n) =>
      h(
        "select",
        { "aria-label": `Rating of claim ${n + 1}` },
        h("option", { value: "" }, "not rated"),
        verdicts.map(([value]) =>
          h("option", { value, selected: mine.claims?.some((c) => c.claim === n + 1 && c.rating === value) }, value),
        ),
      ),
    );
    const list = h(
      "div",
      { role: "radiogroup", "aria-label": "Rating" },
      verdicts.map(([value, text]) =>
        h("label.choice", {}, h("input", { type: "radio", name: "rating", value, checked: mine.rating === value, required: true }), text),
      ),
    );
    const body = await ask(
      "Rate the result",
      "Rate",
      [
        list,
        note,
        action,
        selects.length > 0 &&
          h(
            "details.claims",
            {},
            h("summary", {}, `Claims of the report (${selects.length})`),
            h(
              "ol",
              {},
              this.claims.map((claim, n) => h("li", {}, foreign(claim.text), " ", selects[n])),
            ),
          ),
        h("label.choice", {}, withdraw, "If inaccurate, withdraw for good what it taught later investigations"),
      ],
      () => ({
        rating: list.querySelector(":checked").value,
        note: note.value.trim(),
        action_taken: action.value.trim(),
        claims: selects.map((s, n) => ({ claim: n + 1, rating: s.value })).filter((c) => c.rating),
      }),
    );
    if (!body) return;
    await this.change("/rating", { ...body, ...(withdraw.checked && body.rating === "inaccurate" && { withdraw: true }) });
  }
}

const card = (r) =>
  h(
    "article",
    {},
    h("strong", {}, r.rating),
    foreign(r.by ? ` by ${r.by}` : ""),
    " ",
    ticking("span.note", () => ago(r.at)),
    r.note && foreign(r.note, "p"),
    r.action_taken && foreign(`Action taken: ${r.action_taken}`, "p"),
    r.claims && h("ul", {}, r.claims.map((c) => foreign(`${c.rating}: ${c.text}${c.note ? ` (${c.note})` : ""}`, "li"))),
  );
