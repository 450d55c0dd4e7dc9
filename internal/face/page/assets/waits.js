// Pending items: tool calls to approve, and questions.
import { ask, bytes, foreign, h, indented, button, isJSON, long, put, reveal, roughly, say, ticking } from "./dom.js";
import { call, investigation, isLate } from "./api.js";
import { markdown } from "./markdown.js";

const nameOf = (thing) => `${thing.investigation} ${thing.name} ${thing.approval?.digest || ""}`;
const grave = new Set(["destructive", "high", "critical"]); // risks of calls that need a second click to approve
const shown = 10_000; // ms that a card stays after its item is no longer pending, so that nothing moves under the pointer

// Waits shows cards in its own element. titled returns an investigation's subject; without it, cards do not name their
// investigation.
export class Waits {
  constructor(box, titled) {
    Object.assign(this, { box, titled, cards: new Map() });
  }

  // name updates the cards' titles.
  name() {
    for (const card of this.cards.values()) card.name();
  }

  // show updates the cards to match the current pending items.
  show(things) {
    const now = new Set();
    for (const thing of things) {
      const name = nameOf(thing);
      now.add(name);
      let card = this.cards.get(name);
      if (card?.gone && !card.busy && !card.decided) card.comeBack();
      else if (!card || card.gone) {
        card = new Card(thing, this.titled);
        this.cards.set(name, card);
        this.box.append(card.element);
      }
      card.update(thing);
    }
    for (const [name, card] of this.cards) {
      if (!now.has(name) && !card.gone) {
        card.leave();
        card.over = setTimeout(() => {
          if (this.cards.get(name) === card) this.cards.delete(name);
          card.element.remove();
        }, shown);
      }
    }
  }
}

class Card {
  constructor(thing, titled) {
    Object.assign(this, { thing, titled });
    this.outcome = h("p.outcome", { role: "status" });
    this.facts = h("div.facts");
    this.doing = h("div.doing");
    this.element = h(
      "article.wait",
      { tabindex: 0, "data-item": true, "aria-label": this.label() },
      h("header", {}, this.title(), this.deadline()),
      titled && this.place(),
      h("div.case", {}, h("div.why", {}, this.why(), this.facts), this.content()),
      this.doing,
      this.outcome,
    );
    this.element.press = (key) => this.press(key);
    this.offer();
  }

  label() {
    const { approval, question } = this.thing;
    return approval ? `${reveal(approval.tool)} needs approval` : `Question from ${reveal(question.stage)}`;
  }

  title() {
    const { approval, question } = this.thing;
    if (approval) {
      return h(
        "h3",
        {},
        foreign(approval.tool, "code"),
        approval.risk && h(`span.risk.${approval.risk}`, {}, approval.risk.replaceAll("_", " ")),
        h("span.by", {}, "requested by ", foreign(approval.agent)),
      );
    }
    const kinds = {
      clarification: "Question",
      confirmation: "Do you agree?",
      agent_review: "Review the result",
      bound: "A limit was reached",
    };
    return h("h3", {}, kinds[question.kind] || question.kind, h("span.by", {}, "from ", foreign(question.stage)));
  }

  deadline() {
    return ticking("span.deadline", () => {
      const { expires, approval } = this.thing;
      if (!expires) return "no deadline while paused";
      const left = roughly(new Date(expires) - Date.now());
      if (!approval) return `expires in ${left}`;
      const next = approval.escalates_to;
      return next ? `escalates to ${reveal(next)} in ${left} unless decided` : `auto-denied in ${left} unless approved`;
    });
  }

  place() {
    const { investigation: id, conversation, workflow_id: name, project } = this.thing;
    this.link = h("a", { dir: "auto", href: conversation ? `#/chats/${encodeURIComponent(name)}` : `#/${encodeURIComponent(id)}` });
    this.name();
    return h("p.place", {}, this.link, project && project !== "default" && h("span", {}, project));
  }

  name() {
    if (this.link) put(this.link, this.titled(this.thing.investigation) || reveal(this.thing.workflow_id));
  }

  // why shows the reason for the call, with its source. These texts come from models and servers, so they are never markup.
  why() {
    const { agent_reason: reason, plan_step: step, tool_description: described } = this.thing.approval || {};
    const said = [
      ["The agent says", reason],
      ["Plan step", step],
      ["Tool description", described],
    ].filter(([, text]) => text);
    return said.length > 0 && h("dl.said", {}, said.map(([by, text]) => h("div", {}, h("dt", {}, by), foreign(text, "dd"))));
  }

  content() {
    const { approval, question } = this.thing;
    if (!approval) return h("div", {}, markdown(question.question || ""), question.data && long(indented(JSON.stringify(question.data))));
    return long(indented(approval.arguments || ""));
  }

  // lacking returns why the card does not show the whole call. Such calls cannot be approved.
  lacking() {
    const { approval } = this.thing;
    return approval?.arguments_ref
      ? `Only part of the arguments (${bytes(approval.size)}) is shown. Run "starter inbox" to see all, then "starter decide" to approve.`
      : "";
  }

  update(thing) {
    const again = (thing.approval?.approved_by || []).length !== (this.thing.approval?.approved_by || []).length;
    this.thing = thing;
    const a = thing.approval;
    this.facts.replaceChildren(
      ...[
        a?.approvers?.length && `Can be decided by ${a.approvers.join(", ")}.`,
        a?.approvals_needed > 1 &&
          `Needs approval from ${a.approvals_needed} people${a.approved_by?.length ? `; approved by ${a.approved_by.join(", ")}` : ""}.`,
        a?.hidden && `${bytes(a.hidden)} of the arguments are masked.`,
        this.lacking(),
        ...(a?.notes || []),
      ]
        .filter(Boolean)
        .map((fact) => foreign(fact, "p")),
    );
    if (again && this.decided) this.outcome.append(" The call needs another approval.");
  }

  // offer shows the possible decisions.
  offer() {
    const { approval, question } = this.thing;
    if (question?.kind === "bound") {
      const decide = (label, decision) => button(label, () => this.answer({ decision }, "Answering", `Answered: ${decision}.`));
      this.doing.replaceChildren(
        h(
          "div.buttons",
          {},
          button("Raise the limit …", () => extend(this.thing.investigation), { class: "primary", "aria-keyshortcuts": "a" }),
          decide("Conclude", "conclude"),
          decide("Stop", "stop"),
        ),
      );
      return;
    }
    const asked = !approval && question.kind !== "confirmation" && !question.review;
    if (asked) {
      const text = h("textarea", { rows: 2, "aria-label": "Your answer", placeholder: "Your answer" });
      this.field = text;
      const send = () => (text.value.trim() ? this.answer({ text: text.value.trim() }, "Answering", "Answered.") : text.focus());
      text.addEventListener("keydown", (e) => (e.metaKey || e.ctrlKey) && e.key === "Enter" && send());
      this.doing.replaceChildren(text, h("div.buttons", {}, button("Answer", send, { class: "primary" })));
      return;
    }
    const [yes, no] = approval ? ["Approve", "Deny"] : question.review ? ["Approve", "Send back"] : ["Agree", "Disagree"];
    const twice = approval && grave.has(approval.risk);
    this.doing.replaceChildren(
      h(
        "div.buttons",
        {},
        !this.lacking() &&
          button(twice ? `${yes} …` : yes, () => (twice ? this.confirm() : this.say(true, "")), {
            class: "primary",
            "aria-keyshortcuts": "a",
          }),
        button(`${no} …`, () => this.reason(no), { "aria-keyshortcuts": "d" }),
        approval && !this.lacking() && !approval.hidden && button("Edit …", () => this.edit()),
        approval && button("Ask the agent …", () => this.askBack()),
        approval && button("Reassign …", () => this.handOn()),
      ),
    );
  }

  // confirm asks again before a call that may be destructive is approved. The key "a" does not confirm it, and the button is in
  // a different place, so that a double click does not approve.
  confirm() {
    const { approval } = this.thing;
    const yes = button(`Approve this ${approval.risk === "destructive" ? "destructive" : `${approval.risk}-risk`} call`, () => this.say(true, ""), {
      class: "danger",
    });
    this.doing.replaceChildren(
      h(
        "div.confirm",
        { role: "group", "aria-label": "Confirm the approval" },
        h("p", {}, "Once the call is approved, the agent makes it, and you may not be able to undo it."),
        h("div.buttons", {}, button("Back", () => (this.offer(), this.element.focus())), yes),
      ),
    );
    yes.focus();
  }

  // instead shows an input in place of the buttons. take converts it to the decision.
  instead(field, label, take) {
    const send = (e) => (e.preventDefault(), take(field.value.trim()));
    const back = button("Back", () => (this.offer(), this.element.focus()));
    this.doing.replaceChildren(
      h("form.reason", { submit: send }, field, h("div.buttons", {}, h("button.primary", { type: "submit" }, label), back)),
    );
    field.focus();
  }

  // edit approves the call with other arguments. They are sent as text, so that numbers are not rounded.
  edit() {
    const { approval } = this.thing;
    const text = h("textarea.code", { rows: 10, "aria-label": "Arguments", spellcheck: "false", required: true });
    text.value = indented(approval.arguments || "{}");
    this.instead(text, "Approve with these arguments", (given) => {
      if (!isJSON(given) || given[0] !== "{") return this.wrong("The arguments must be a JSON object.");
      const body = this.decision({ approved: true });
      return this.decide(`${body.slice(0, -1)},"arguments":${given}}`, "Approving");
    });
  }

  askBack() {
    const text = h("textarea", {
      rows: 2,
      maxlength: 1000,
      required: true,
      "aria-label": "Question for the agent",
      placeholder: "Your question. The call is not made; the agent answers and can request it again.",
    });
    this.instead(text, "Ask", (ask) => ask && this.decide(this.decision({ ask }), "Asking"));
  }

  handOn() {
    const props = {
      type: "text",
      maxlength: 200,
      required: true,
      "aria-label": "Who decides",
      placeholder: "a group, a role, or @name",
    };
    this.instead(h("input", props), "Reassign", (to) => to && this.decide(this.decision({ hand_to: to }), "Reassigning"));
  }

  wrong(text) {
    this.outcome.className = "outcome wrong";
    this.outcome.textContent = text;
  }

  // decision returns a decision's request body, as JSON.
  decision(what) {
    return JSON.stringify({ call_id: this.thing.name, digest: this.thing.approval.digest, ...what });
  }

  // decide sends a decision and shows the server's result: the call may need another approval.
  decide(body, doing) {
    return this.send("/decide", body, doing, (d) => {
      const by = d.by ? ` by ${d.by}` : "";
      if (d.pending) return `Recorded${by}: ${d.pending}.`;
      if (d.question) return `Asked${by}. The call was not made.`;
      return d.approved ? `Approved${by}${d.edit ? " with edited arguments" : ""}.` : `Denied${by}.`;
    });
  }

  // reason asks for the reason of a denial.
  reason(no) {
    const text = h("input", {
      type: "text",
      "aria-label": "Reason",
      placeholder: "Reason (the agent sees it)",
      maxlength: 1000,
    });
    this.doing.replaceChildren(
      h(
        "form.reason",
        { submit: (e) => (e.preventDefault(), this.say(false, text.value.trim())) },
        text,
        h(
          "div.buttons",
          {},
          h("button.danger", { type: "submit" }, no),
          button("Back", () => (this.offer(), this.element.focus())),
        ),
      ),
    );
    text.focus();
  }

  say(approved, reason) {
    const { approval, question } = this.thing;
    if (!approval) {
      return this.answer(
        { approved, text: reason || undefined },
        "Answering",
        approved ? (question.review ? "Approved." : "Agreed.") : question.review ? "Sent back." : "Disagreed.",
      );
    }
    return this.decide(this.decision({ approved, reason: reason || undefined }), approved ? "Approving" : "Denying");
  }

  answer(body, doing, done) {
    return this.send("/answer", { id: this.thing.name, ...body }, doing, () => done);
  }

  // send shows the action at once, and then its result.
  async send(path, body, doing, done) {
    if (this.busy || this.decided || this.gone) return;
    this.busy = true;
    this.element.setAttribute("aria-busy", "true");
    this.doing.hidden = true;
    this.outcome.className = "outcome";
    this.outcome.textContent = `${doing} …`;
    try {
      this.outcome.textContent = reveal(done(await call("POST", investigation(this.thing.investigation, path), body)));
      this.decided = true;
      this.element.classList.add("over");
    } catch (e) {
      const late = isLate(e);
      this.outcome.classList.add("wrong");
      this.outcome.textContent = reveal(
        late ? `Not applied, because it came too late: ${e.message}` : e.status === 403 ? `Not allowed: ${e.message}` : `Failed: ${e.message}`,
      );
      this.decided = late;
      this.doing.hidden = late || this.gone;
      if (late) this.element.classList.add("over");
    }
    this.busy = false;
    this.element.removeAttribute("aria-busy");
  }

  leave() {
    this.gone = true;
    this.element.classList.add("over");
    if (this.busy || this.decided) return;
    this.doing.hidden = true;
    this.outcome.textContent = "No longer pending: it was decided elsewhere, expired, or the investigation ended.";
    if (this.element.contains(document.activeElement)) say(this.outcome.textContent, true);
  }

  // comeBack shows an item that is pending again, for example after a reset. It keeps what the user was typing.
  comeBack() {
    clearTimeout(this.over);
    this.gone = false;
    this.element.classList.remove("over");
    this.doing.hidden = false;
    this.outcome.textContent = "";
  }

  press(key) {
    if (this.doing.hidden || this.busy) return;
    if (key === "a" && this.field) this.field.focus();
    else this.doing.querySelector(`[aria-keyshortcuts="${key}"]`)?.click();
  }
}

// extend raises the limits of an investigation by the values that the user enters.
export async function extend(id) {
  const field = (label, props) => h("label", {}, label, h("input", { type: "number", min: 0, step: "any", ...props }));
  const fields = [
    field("minutes", { name: "minutes", step: 1 }),
    field("model calls", { name: "llm_calls", step: 1 }),
    field("tokens", { name: "tokens", step: 1 }),
    field("dollars", { name: "cost_usd" }),
  ];
  const given = await ask("Raise limits by", "Raise", h("div.fields", {}, fields), () =>
    Object.fromEntries(fields.map((f) => [f.lastChild.name, Number(f.lastChild.value)]).filter(([, value]) => value > 0)),
  );
  if (!given || !Object.keys(given).length) return;
  const { minutes, ...body } = given;
  try {
    await call("POST", investigation(id, "/extend-budget"), { ...body, ...(minutes && { duration: `${minutes}m` }) });
    say("Limits raised.");
  } catch (e) {
    say(e.message, true);
  }
}

export const confirm = (title, text, label) => ask(title, label, h("p", {}, text), () => true);
