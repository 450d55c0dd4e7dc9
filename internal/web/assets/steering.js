// What people do with an investigation: words to its agents, pauses, bounds, its end, its score, and where else it is shown.
import { ask, button, h, reveal, say } from "./dom.js";
import { about, call, investigation as pathOf } from "./api.js";
import { isOpen } from "./home.js";
import { confirm, extend } from "./waits.js";

export class Steering {
  constructor(id, signal, score) {
    Object.assign(this, { id, signal, score });
    this.element = h("div.actions", { role: "toolbar", "aria-label": "Steering" });
  }

  press(key) {
    [...this.element.children].find((b) => b.getAttribute("aria-keyshortcuts") === key)?.click();
  }

  // show offers what can be done with an investigation as it stands. paused: it, or the clock of what waits in it.
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
                ? act("Resume", "p", () => this.steer("/resume", "It goes on."))
                : act("Pause", "p", () => this.steer("/pause", "It pauses: no further model call is made.")),
              act("Raise bounds", "e", () => extend(this.id)),
              act(
                "Conclude",
                "c",
                async () =>
                  (await confirm("Conclude", "The agents are asked to finish now, with what they know.", "Conclude")) &&
                  this.steer("/conclude", "It concludes."),
              ),
              act(
                "Cancel",
                "x",
                async () =>
                  (await confirm("Cancel", "It stops. What it has finished is kept.", "Cancel the investigation")) &&
                  this.steer("/cancel", "It is being cancelled."),
                { class: "danger" },
              ),
            ]
          : [act("Score", "s", this.score)]),
        h("a.button", { href: `#/chats?about=${encodeURIComponent(this.record.id)}` }, "Chat about it"),
        this.temporal && h("a.button", { href: this.temporal, rel: "noopener noreferrer", target: "_blank" }, "Temporal UI"),
      ].filter(Boolean),
    );
  }

  // link finds where the same run is in Temporal's UI.
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
      say(out.signal ? `${done} No worker answers now: it waits for one.` : done);
    } catch (e) {
      say(e.message, true);
    }
  }

  async guide() {
    const running = [...this.executions.values()].filter((x) => isOpen(x.status));
    const text = h("textarea", { rows: 4, required: true, "aria-label": "What they should know", placeholder: "What they should know" });
    const whom = h(
      "select",
      { "aria-label": "For whom" },
      h("option", { value: "" }, "all agents at work"),
      running.map((x) => h("option", { value: x.name }, reveal(x.name))),
    );
    const said = await ask("Guide", "Send", [text, whom], () => ({ text: text.value.trim(), name: whom.value }));
    if (!said?.text) return;
    const x = this.executions.get(said.name);
    this.steer("/guide", `Told ${x ? reveal(x.name) : "the agents at work"}: it stands before the next model call.`, {
      text: said.text,
      ...(x && { stage: x.stage, agent: x.name.slice(x.stage.length + 1) }),
    });
  }
}
