// Agents page: lists configured agents with their tools and settings, and edits agents that were created at run time.
import { ask, button, foreign, h, isJSON, indented, reveal, say } from "./dom.js";
import { about, call, get } from "./api.js";
import { offered, origins, values } from "./configuration.js";
import { confirm } from "./waits.js";

const path = (name, rest = "") => `agents/${encodeURIComponent(name)}${rest}`;
const at = (name) => `#/configuration/agents${name ? `/${encodeURIComponent(name)}` : ""}`;

export async function agents(box, name, signal) {
  const [{ items }, { roles }] = await Promise.all([get("agents", signal), about(signal)]);
  const admin = Object.values(roles).includes("admin");
  const chosen = items.find((a) => a.name === name) || (name === "" ? undefined : items[0]);
  const link = (a) =>
    h(
      "a",
      { href: at(a.name), "aria-current": a === chosen && "true", "data-item": true },
      reveal(a.name),
      a.source === "virtual" && h("span.note", {}, `version ${a.version}`),
    );
  const inside = h("div.inside");
  box.replaceChildren(
    h("nav.names", { "aria-label": "Agents" }, items.map(link), admin && button("New agent …", () => edit(inside, undefined, signal))),
    inside,
  );
  if (!chosen) return;
  const made = chosen.source === "virtual";
  const whole = await get(path(chosen.name), signal);
  const shown = made ? undefined : await origins("", signal);
  const mine = (shown?.values || []).filter((v) => v.path.startsWith(`agents.${chosen.name}.`));
  inside.append(
    ...[
      h("h2.name", {}, reveal(chosen.name)),
      chosen.description && foreign(chosen.description, "p"),
      h("p.note", {}, reveal([chosen.type, made && `version ${whole.version} by ${whole.by}`].filter(Boolean).join(" · "))),
      whole.chains.length > 0 && h("p.note", {}, "Used in ", foreign(whole.chains.join(", "))),
      h(
        "div.buttons",
        {},
        ...[
          button("Run …", () => run(chosen.name)),
          made && admin && button("Edit …", () => edit(inside, whole, signal)),
          made && admin && button("Delete …", () => remove(whole), { class: "danger" }),
        ].filter(Boolean),
      ),
      await offered(chosen.name, signal, whole.project),
      mine.length > 0 && values("Values and their origins", mine),
    ].filter(Boolean),
  );
}

// run starts an investigation with this agent alone.
async function run(name) {
  const text = h("textarea", { rows: 5, required: true, "aria-label": "Task", placeholder: "Task" });
  const given = await ask(`Run ${reveal(name)}`, "Start", text, () => text.value.trim());
  if (!given) return;
  try {
    const body = `{"data":${isJSON(given) ? given : JSON.stringify(given)}}`;
    const { id } = await call("POST", path(name, "/run"), body, undefined, {
      "Idempotency-Key": crypto.randomUUID?.() || String(Math.random()),
    });
    location.hash = `#/${encodeURIComponent(id)}`;
  } catch (e) {
    say(e.message, true);
  }
}

const version = (whole) => ({ "If-Match": `"${whole.version}"` });

async function remove(whole) {
  const refused = whole.chains.length ? ` These chains will no longer start: ${whole.chains.join(", ")}.` : "";
  const told = `This deletes ${reveal(whole.name)}. Its versions are kept.${refused}`;
  if (!(await confirm("Delete", told, "Delete the agent"))) return;
  try {
    await call("DELETE", path(whole.name), undefined, undefined, version(whole));
    location.hash = at();
  } catch (e) {
    say(e.message, true);
  }
}

// fields maps each field of the form to its place in a definition and its label.
const fields = [
  ["name", "Name", "input"],
  ["description", "Description", "input"],
  ["type", "Type", "input"],
  ["default_model", "Model: an llm_providers entry, or provider:model", "input"],
  ["system_prompt", "Instructions (replace those of the type)", "textarea"],
  ["mcp_servers", "MCP servers, separated by commas", "input"],
  ["tool_config", "Tools: enabled_tools, disabled_tools and tool_permissions, as JSON", "textarea"],
];
const configured = ["default_model", "mcp_servers", "tool_config"];

// edit shows the form for an agent. whole is the agent to change; without it, the form creates a new one.
function edit(box, whole, signal) {
  const d = whole?.definition || { config: {} };
  const inputs = Object.fromEntries(
    fields.map(([key, , tag]) => {
      const value = configured.includes(key) ? d.config[key] : d[key];
      const input = h(`${tag}${key === "tool_config" ? ".code" : ""}`, {
        id: `of-${key}`,
        "aria-describedby": `wrong-${key}`,
        spellcheck: "false",
      });
      if (tag === "textarea") input.rows = key === "tool_config" ? 8 : 5;
      else input.type = "text";
      input.value = Array.isArray(value) ? value.join(", ") : typeof value === "object" ? indented(JSON.stringify(value)) : value || "";
      if (key === "name") input.disabled = Boolean(whole);
      return [key, input];
    }),
  );
  const wrong = Object.fromEntries(
    ["", ...fields.map(([key]) => key)].map((key) => [key, h("p.wrong", { id: `wrong-${key}`, role: "status" })]),
  );
  const save = h("button.primary", { type: "submit" }, whole ? "Save" : "Create");
  const send = async (e) => {
    e.preventDefault();
    save.disabled = true;
    for (const p of Object.values(wrong)) p.replaceChildren();
    try {
      const body = definition(inputs);
      const made = await (whole ? call("PUT", path(whole.name), body, signal, version(whole)) : call("POST", "agents", body, signal));
      say(whole ? `Saved as version ${made.version}. Running investigations keep their version.` : "Agent created.");
      if (location.hash === at(made.name)) return agents(box.parentElement, made.name, signal);
      location.hash = at(made.name);
    } catch (error) {
      if (error.name !== "AbortError") place(error, wrong);
    }
    save.disabled = false;
  };
  box.replaceChildren(
    h("h2.name", {}, whole ? `Edit ${reveal(whole.name)}` : "New agent"),
    h(
      "form.definition",
      { submit: send },
      wrong[""],
      fields.map(([key, label]) => h("div", {}, h("label", { for: `of-${key}` }, label), inputs[key], wrong[key])),
      h(
        "div.buttons",
        {},
        save,
        button("Cancel", () => agents(box.parentElement, whole?.name, signal)),
      ),
    ),
  );
  inputs[whole ? "description" : "name"].focus();
}

// definition returns the request body as text, because the tools' JSON is sent unchanged.
function definition(inputs) {
  const text = (key) => inputs[key].value.trim();
  const servers = text("mcp_servers")
    .split(/\s*,\s*/)
    .filter(Boolean);
  const config = JSON.stringify({
    agent_source: "virtual",
    default_model: text("default_model"),
    ...(servers.length && { mcp_servers: servers }),
  });
  const tools = text("tool_config");
  if (tools && !isJSON(tools)) throw Object.assign(new Error("tool_config must be a JSON object"), { details: [] });
  const top = Object.fromEntries(
    ["name", "type", "description", "system_prompt"].map((key) => [key, text(key)]).filter(([, value]) => value),
  );
  const whole = tools ? `${config.slice(0, -1)},"tool_config":${tools}}` : config;
  return `${JSON.stringify(top).slice(0, -1)}${Object.keys(top).length ? "," : ""}"config":${whole}}`;
}

// place shows each error beside the field that it names, and all others above the form.
function place(error, wrong) {
  for (const text of error.details?.length ? error.details : [error.message]) {
    const named = fields.map(([key]) => key).find((key) => new RegExp(`\\b${key}\\b`).test(text)) || "";
    const key = /tool_config|enabled_tools|disabled_tools|tool_permissions|^Tool/.test(text) ? "tool_config" : named;
    wrong[key].append(h("span", {}, reveal(text)), " ");
  }
  Object.values(wrong)
    .find((p) => p.firstChild)
    .scrollIntoView({ block: "center" });
}
