// Review of an ended investigation: its state, people's ratings, and the form for a rating.
import { ago, ask, button, choice, foreign, h, reveal, say, ticking } from "./dom.js";
import { about, call, get, investigation as pathOf } from "./api.js";

const verdicts = [
  ["accurate", "Accurate: the cause and the findings are right"],
  ["partly", "Partly accurate: something important is wrong or missing"],
  ["inaccurate", "Inaccurate: wrong or misleading"],
];

const stateText = (r) =>
  ({
    needs_review: "Needs review",
    in_progress: `In review${r.assignee ? ` by ${reveal(r.assignee)}` : ""}`,
    reviewed: `Reviewed${r.reviewer ? ` by ${reveal(r.reviewer)}` : ""}`,
  })[r.state];

export class Review {
  constructor(id, signal) {
    Object.assign(this, { id, signal, ratings: [], claims: undefined }); // the claims are not known until the evidence is loaded
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

  // change sends a change and then reloads the review, even if the change was refused. It returns whether it was accepted.
  async change(path, body) {
    let accepted = true;
    try {
      await call("POST", pathOf(this.id, path), body);
    } catch (e) {
      say(e.message, true);
      accepted = false;
    }
    get(pathOf(this.id), this.signal)
      .then((whole) => this.show(whole))
      .catch(() => {});
    return accepted;
  }

  // rate asks for a rating. It starts with the person's last one. If it is refused, it asks again.
  async rate() {
    const me = await about(this.signal).catch(() => ({}));
    const last = this.ratings.find((r) => (r.by || "") === (me.name || "")) || {};
    const same = (claim) => last.claims?.find((c) => c.claim === claim.n && claim.text.startsWith(c.text))?.rating;
    let body = { ...last, claims: this.claims?.map((claim) => ({ claim: claim.n, rating: same(claim) })) };
    do body = await this.askRating(body);
    while (body && !(await this.change("/rating", body)));
  }

  // askRating returns the rating that a person enters in a form, or undefined. The form starts with another rating.
  askRating(from) {
    const box = (label, value) => h("textarea", { rows: 3, maxlength: 2000, "aria-label": label, placeholder: label }, value);
    const note = box("What was right or wrong, such as the actual cause", from.note);
    const action = box("What was done about the incident", from.action_taken);
    const withdraw = h("input", { type: "checkbox", checked: from.withdraw });
    const pairs = [["", "not rated"], ...verdicts.map(([value]) => [value, value])];
    const before = (n) => from.claims?.find((c) => c.claim === n)?.rating || "";
    const selects = (this.claims || []).map(({ n }) => choice(`Rating of claim ${n}`, pairs, undefined, before(n)));
    const list = h(
      "div",
      { role: "radiogroup", "aria-label": "Rating" },
      verdicts.map(([value, text]) =>
        h("label.choice", {}, h("input", { type: "radio", name: "rating", value, checked: from.rating === value, required: true }), text),
      ),
    );
    const fields = [
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
            selects.map((select, n) => h("li", { value: this.claims[n].n }, foreign(this.claims[n].text), " ", select)),
          ),
        ),
      h("label.choice", {}, withdraw, "If inaccurate, permanently withdraw its learnings"),
    ];
    return ask("Rate the result", "Rate", fields, () => {
      const rating = list.querySelector(":checked").value;
      return {
        rating,
        note: note.value.trim(),
        action_taken: action.value.trim(),
        ...(this.claims && { claims: selects.map((s, n) => ({ claim: this.claims[n].n, rating: s.value })).filter((c) => c.rating) }),
        ...(withdraw.checked && rating === "inaccurate" && { withdraw: true }),
      };
    });
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
    r.claims && h("ul", {}, r.claims.map((c) => foreign(`${c.rating}: ${c.text}`, "li"))),
  );
