// Controls of an investigation: guidance, pause, limits, end, score, and links.
import { ask, button, h, reveal, say } from "./dom.js";
import { about, call, investigation as pathOf } from "./api.js";
import { isOpen } from "./home.js";
import { confirm, extend } from "./waits.js";

export class Steering {
  constructor(id, signal, ended) {
    Object.assign(this, { id, signal, ended });
    this.element = h("div.actions", { role: "toolbar", "aria-label": "Steering" });
  }

  press(key) {
    [...this.element.children].find((b) => b.getAttribute("aria-keyshortcuts") === key)?.click();
  }

  // show shows the controls that fit the investigation's state. paused means that the investigation
  // or only its pending items are paused.
  show(record, paused, executions) {
    Object.assign(this, { record, paused, executions });
    const open = isOpen(record.status);
    const key = `${open} ${open && paused} ${this.temporal || ""}`;
    if (this.element.dataset.of === key) return;
    this.element.dataset.of = key;
    const act = (label, keys, what, props) => button(label, what, { "aria-keyshortcuts": keys, title: `${label} (${keys})`, ...props });
    if (this.temporal === undefined) this.link();
    this.element.replaceChildren(
      ...[
        ...(open
          ? [
              act("Guide", "g", () => this.guide()),
              paused
                ? act("Resume", "p", () => this.steer("/resume", "Resumed."))
                : act("Pause", "p", () => this.steer("/pause", "Paused: no more model calls until you resume.")),
              act("Raise limits", "e", () => extend(this.id)),
              act(
                "Conclude",
                "c",
                async () =>
                  (await confirm("Conclude", "The agents finish now with their findings so far.", "Conclude")) &&
                  this.steer("/conclude", "Concluding."),
              ),
              act(
                "Cancel",
                "x",
                async () =>
                  (await confirm("Cancel", "The investigation stops. Finished work is kept.", "Cancel the investigation")) &&
                  this.steer("/cancel", "Cancelling."),
                { class: "danger" },
              ),
            ]
          : [act("Rate", "r", this.ended.rate), act("Score", "s", this.ended.score)]),
        h("a.button", { href: `#/chats?about=${encodeURIComponent(this.record.id)}` }, "Chat about it"),
        this.temporal && h("a.button", { href: this.temporal, rel: "noopener noreferrer", target: "_blank" }, "Temporal UI"),
      ].filter(Boolean),
    );
  }

  // link finds the address of the same run in the Temporal UI.
  async link() {
    this.temporal = "";
    const { temporal_ui: ui } = await about(this.signal).catch(() => ({}));
    if (!ui || !/^https?:/.test(ui)) return;
    this.temporal = `${ui}/${encodeURIComponent(this.record.workflow_id)}/${encodeURIComponent(this.record.run_id)}`;
    this.show(this.record, this.paused, this.executions);
  }

  async steer(path, done, body) {
    try {
      const out = await call("POST", pathOf(this.id, path), body ?? (path === "/conclude" ? {} : undefined));
      say(out.signal ? "No worker is responding. The request is queued for the next one that does." : done);
    } catch (e) {
      say(e.message, true);
    }
  }

  async guide() {
    const running = [...this.executions.values()].filter((x) => isOpen(x.status));
    const text = h("textarea", { rows: 4, required: true, "aria-label": "Your guidance", placeholder: "Your guidance" });
    const whom = h(
      "select",
      { "aria-label": "Recipient" },
      h("option", { value: "" }, "running agents, or the next one"),
      running.map((x) => h("option", { value: x.name }, reveal(x.name))),
    );
    const said = await ask("Guide", "Send", [text, whom], () => ({ text: text.value.trim(), name: whom.value }));
    if (!said?.text) return;
    const x = this.executions.get(said.name);
    this.steer("/guide", `Guidance sent${x ? ` to ${reveal(x.name)}` : ""}. It is read before the next model call.`, {
      text: said.text,
      ...(x && { stage: x.stage, agent: x.name.slice(x.stage.length + 1) }),
    });
  }
}
