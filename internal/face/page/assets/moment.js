// The slider over the rows of the transcript: what was known at a moment, and who was waited for.
import { gist } from "./calls.js";
import { button, clock, foreign, h, put, reveal } from "./dom.js";
import { entryAt } from "./api.js";

const pause = 80; // ms; the row is loaded when the slider has not moved for so long

// Moment has the slider. chosen is called with the entry of a chosen row, or with undefined for the present.
export class Moment {
  constructor(id, signal, chosen) {
    Object.assign(this, { id, signal, chosen, last: 0, row: 0 });
    this.slider = h("input", { type: "range", min: 1, step: 1, "aria-label": "Row of the transcript", input: () => this.go(this.slider.valueAsNumber) });
    this.text = h("output", { dir: "auto" });
    this.leave = button("Back to the present", () => this.go(0), { class: "quiet" });
    this.known = h("ul.known", { "aria-label": "Known by then" });
    this.element = h("section.moment", { "aria-label": "Moment", hidden: true }, h("div.scrub", {}, this.slider, this.text, this.leave), this.known);
  }

  // grow takes the number of an entry.
  grow(seq) {
    if (seq <= this.last) return;
    this.last = seq;
    this.slider.max = seq;
    this.element.hidden = seq < 2;
    this.draw();
  }

  draw() {
    if (!this.row) this.slider.value = this.last;
    this.leave.hidden = this.known.hidden = !this.row;
    const { entry } = this;
    const what = entry && [clock(entry.at), entry.execution, said(entry)].filter(Boolean).map(reveal).join(" · ");
    put(this.text, this.row ? `Row ${this.row} of ${this.last} · ${what || "…"}` : `${this.last} rows · drag to see an earlier moment`);
    this.slider.setAttribute("aria-valuetext", this.text.textContent);
  }

  // go chooses a row; 0 is the present.
  async go(row) {
    this.row = Math.min(Math.max(0, Math.trunc(row) || 0), this.last);
    this.slider.value = this.row || this.last;
    this.entry = undefined;
    this.draw();
    history.replaceState(null, "", `#/${encodeURIComponent(this.id)}${this.row ? `?row=${this.row}` : ""}`);
    clearTimeout(this.soon);
    if (!this.row) return this.chosen();
    this.soon = setTimeout(() => this.read(this.row).catch(() => {}), pause);
  }

  async read(row) {
    const entry = await entryAt(this.id, row, this.signal);
    if (row !== this.row || !entry) return; // the slider has moved
    this.entry = entry;
    this.draw();
    this.chosen(this.entry);
  }

  // tell shows what was known: for each execution its name, its state, and the last text that it had written.
  tell(lines) {
    this.known.replaceChildren(
      ...lines.map(([name, state, text]) =>
        h("li", {}, name && foreign(name, "strong"), name && " · ", foreign(state), text && foreign(` · ${gist(text)}`, "span", { class: "note" })),
      ),
    );
  }
}

// said describes an entry.
const said = (e) =>
  ({
    call: `${e.call?.name} called`,
    result: `result of ${e.call?.name}`,
    reply: e.calls?.length ? `asks for ${e.calls.map((c) => c.name).join(", ")}` : "reply",
    try: "model call failed",
  })[e.kind] || e.kind;
