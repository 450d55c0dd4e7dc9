// Tool calls in a transcript: request, result, and images in the result.
import { arrange, button, bytes, foreign, h, indented, isJSON, long, put, reveal, say, words } from "./dom.js";
import { blob, get, investigation as pathOf } from "./api.js";

export const gist = (text) => String(text).slice(0, 400).replace(/\s+/g, " ").trim().slice(0, 160);

// Call is a tool call with its request and result.
export class Call {
  constructor(call, id) {
    Object.assign(this, { call, id, rows: {}, parts: new Map() });
    this.mark = h("span.mark", {}, "requested");
    this.element = h(
      "details.entry.call",
      { tabindex: -1, "data-item": true, "data-state": "asked" },
      h(
        "summary",
        {},
        foreign(call.name, "code"),
        h("span.gist", { dir: "auto" }, reveal(gist(call.arguments === "{}" ? "" : call.arguments))),
        this.mark,
      ),
    );
    this.element.addEventListener("toggle", () => this.fill());
  }

  take(e) {
    this.rows[e.kind] = e;
    if (e.kind === "call") this.call = e.call; // as it was made: a person may have edited the arguments
    const { result, summary } = this.rows;
    const state = result
      ? result.status === "error" || result.error_type || result.refused
        ? "failed"
        : "done"
      : e.kind === "call"
        ? "running"
        : "asked";
    this.element.dataset.state = state;
    if (e.superseded) this.element.classList.add("superseded");
    put(
      this.mark,
      state === "failed"
        ? words(result.refused ? "refused" : result.error_type || "failed")
        : state === "done"
          ? [result.given ? "given" : result.recorded ? "recorded" : this.time(), summary && "summarised"].filter(Boolean).join(" · ") || "done"
          : state === "running"
            ? "running"
            : "requested",
    );
    if (result?.images?.length) this.element.open = true;
    if (this.element.open) this.fill();
  }

  time() {
    const ms = this.rows.call ? new Date(this.rows.result.at) - new Date(this.rows.call.at) : 0;
    return ms < 1 ? "" : ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
  }

  // fill creates the parts of an opened call. It keeps existing parts, because the user may have expanded them.
  fill() {
    if (!this.element.open) return;
    const {
      call,
      rows: { result, summary },
    } = this;
    const parts = [this.element.firstElementChild];
    const part = (name, make) => {
      if (!this.parts.has(name)) this.parts.set(name, make());
      parts.push(this.parts.get(name));
    };
    const text = (title, body) => h("div.part", {}, h("h4", {}, title), body);
    const shown = (words = "") => long(isJSON(words) ? indented(words) : words || "(empty)");
    const given = call.arguments || "{}";
    const by = result?.given && `result given by ${result.given}`;
    const from = result?.recorded && `recorded as row ${result.recorded.split("/").at(-1)} of ${result.recorded.replace(/\/\d+$/, "")}`;
    const decision = [call.edited, result?.call?.respelled || call.respelled, result?.decision, by, from].filter(Boolean).join("; ");
    if (given !== "{}") part(`arguments ${given}`, () => text("Arguments", shown(given)));
    if (decision) part(`decision ${decision}`, () => foreign(decision, "p", { class: "decision" }));
    if (!result) part("none", () => h("p.meta", {}, "No result yet."));
    else {
      part(`result ${result.seq}`, () => text(`Result · row ${result.seq}`, result.blob ? this.paged(result) : shown(result.text)));
      // A model without vision received no images; then the text of the result mentions them.
      const pictured = result.images?.length || result.text?.includes("[image, image/");
      for (let n = 1; pictured && n <= (result.artifacts || []).length; n++) part(`image ${result.seq}/${n}`, () => this.picture(result, n));
    }
    if (summary) part(`summary ${summary.seq}`, () => text("Shown to the model instead", long(summary.text || "")));
    arrange(this.element, parts);
  }

  // paged shows the beginning of a large result, and loads the rest in parts on request.
  paged({ seq, text = "", size }) {
    const box = h("div.long", { tabindex: 0 }, h("pre", { dir: "auto" }, reveal(text.slice(0, 4000))));
    let at = 0;
    const further = async () => {
      next.disabled = true;
      try {
        const part = await get(pathOf(this.id, `/transcript/${seq}/whole?offset=${at}`));
        if (at === 0) box.firstChild.remove(); // the first part repeats it
        at = part.next || 0;
        next.before(h("pre", { dir: "auto" }, reveal(part.text)));
        if (!at) return next.remove();
        next.textContent = `Show more (${bytes(part.size - at)} left)`;
      } catch (e) {
        say(e.message, true);
      }
      next.disabled = false;
    };
    const next = button(`Show all (${bytes(size)})`, further, { class: "quiet" });
    box.append(next);
    return box;
  }

  // picture shows a part of a result if it is an image. It uses fetch, because an img element cannot send the token.
  picture({ seq }, n) {
    const image = h("img", { alt: `image ${n} of the result of ${reveal(this.call.name)}` });
    const box = h("div.picture", { hidden: true }, image);
    blob(pathOf(this.id, `/transcript/${seq}/images/${n}`))
      .then((content) => {
        image.src = URL.createObjectURL(content);
        image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
        box.hidden = false;
      })
      .catch((e) => {
        if (e.status === 422) return;
        box.replaceChildren(foreign(e.message, "p", { class: "wrong" }));
        box.hidden = false;
      });
    return box;
  }
}
