// Configuration page: drawn chains, agents with the source of each setting, tools, models, servers, and memory.
import { ago, ask, bytes, button, foreign, h, indented, long, put, reveal, say, ticking, words } from "./dom.js";
import { agents } from "./agents.js";
import { call, get, patiently } from "./api.js";
import { chainOf, Drawing } from "./graph.js";

const parts = [
  ["chains", "Chains"],
  ["agents", "Agents"],
  ["tools", "Tools"],
  ["health", "Models and servers"],
  ["memory", "Memory"],
];

export function configuration(main, rest, { signal }) {
  const [part, ...names] = rest.split("/");
  const name = names.length ? decodeURIComponent(names.join("/")) : undefined;
  const chosen = parts.some(([p]) => p === part) ? part : "chains";
  const box = h("div.part");
  main.replaceChildren(
    h("h1", {}, "Configuration"),
    h(
      "nav.tabs",
      { "aria-label": "Parts of the configuration" },
      parts.map(([p, title]) => h("a", { href: `#/configuration/${p}`, "aria-current": p === chosen && "page" }, title)),
    ),
    box,
  );
  const show = () => (box.replaceChildren(), { chains, agents, tools, health, memory }[chosen](box, name, signal));
  const away = (e) => box.replaceChildren(foreign(`${e.message}; retrying.`, "p", { class: "wrong", role: "status" }));
  patiently(show, signal, away).catch((e) => e.name !== "AbortError" && box.replaceChildren(refused(e)));
}

const refused = (e) =>
  foreign(e.status === 403 ? `Not allowed: ${e.message}` : e.message, "p", { class: e.status === 403 ? "empty" : "wrong" });

// origins returns a chain's settings, each with its source, or nothing if the user may not see them.
export const origins = (chain, signal) => get(`config?${new URLSearchParams(chain ? { chain } : {})}`, signal).catch(() => undefined);

async function chains(box, name, signal) {
  const { items } = await get("chains", signal);
  if (!items.length) return box.replaceChildren(h("p.empty", {}, "No chains."));
  const chosen = items.find((c) => c.name === name) || items.find((c) => !c.built_in) || items[0];
  const inside = h("div.inside");
  box.replaceChildren(
    h(
      "nav.names",
      { "aria-label": "Chains" },
      items.map((c) =>
        h(
          "a",
          { href: `#/configuration/chains/${encodeURIComponent(c.name)}`, "aria-current": c === chosen && "true", "data-item": true },
          reveal(c.name),
          c.built_in && h("span.note", {}, "built in"),
        ),
      ),
    ),
    inside,
  );
  const path = `chains/${encodeURIComponent(chosen.name)}`;
  const [drawn, plan, shown] = await Promise.all([
    get(`${path}/graph`, signal),
    get(path, signal).catch((e) => ({ problem: e.message })),
    origins(chosen.name, signal),
  ]);
  const drawing = new Drawing(h("div.graph"), { label: `The chain ${reveal(chosen.name)}` });
  inside.append(
    ...[
      h("h2.name", {}, reveal(chosen.name)),
      chosen.description && foreign(chosen.description, "p"),
      chosen.alert_types?.length > 0 && h("p.note", {}, "Alert types: ", foreign(chosen.alert_types.join(", "))),
      drawing.box,
      plan.problem && foreign(plan.problem, "p", { class: "wrong" }),
      ...(plan.stages || []).map((s) => stageOf(s, shown, signal)),
      shown ? values("All values of the chain", shown.values) : h("p.note", {}, "Only an admin of all projects can see where values come from."),
      shown && findings(shown.findings || []),
    ].filter(Boolean),
  );
  drawing.show(chainOf(drawn));
}

const stageOf = (stage, shown, signal) =>
  h(
    "section.stage",
    {},
    h("h3", {}, reveal(stage.name)),
    (stage.agents || []).map((a) => agentOf(a, shown, signal)),
  );

// agentOf shows an agent as it would run: its models, its limits and, on request, its tools.
function agentOf(a, shown, signal) {
  const models = (a.providers || []).map((p) => `${p.name}${p.model && !p.name.includes(p.model) ? ` (${p.model})` : ""}`);
  const facts = [a.definition !== a.name && a.definition, a.type, models.join(", then "), `at most ${a.max_iterations} turns`];
  const inside = h("div");
  const at = a.version ? a.definition.lastIndexOf("@") : a.definition.length; // an agent created at run time is named NAME@PROJECT
  const whose = { name: a.definition.slice(0, at), project: a.definition.slice(at + 1) };
  const open = async (e) => {
    if (!e.target.open || inside.childElementCount) return;
    const mine = (shown?.values || []).filter(
      (v) => v.path.startsWith(`agents.${a.definition}.`) || v.path.startsWith(`agents["${a.definition}"].`),
    );
    inside.append(
      await offered(whose.name, signal, whose.project),
      ...(a.instructions ? [h("h4", {}, "Instructions"), long(a.instructions)] : []),
      ...(mine.length ? [values("Values and their origins", mine)] : []),
    );
  };
  return h(
    "details.agent",
    { "data-item": true, toggle: open },
    h("summary", {}, foreign(a.name, "strong"), foreign(facts.filter(Boolean).join(" · "), "span", { class: "note" })),
    inside,
  );
}

// offered shows the tools of an agent. project is set for agents created at run time.
export async function offered(agent, signal, project) {
  try {
    const { items, troubled, troubles } = await get(`tools?${new URLSearchParams({ agent, ...(project && { project }) })}`, signal);
    return h(
      "div",
      {},
      h("h4", {}, items.length ? `Tools (${items.length})` : "No tools"),
      h(
        "ul.tools",
        {},
        items.map((t) => h("li", {}, toolLine(t))),
      ),
      troubled > 0 && wrongs(troubles || [countOf(troubled)]),
    );
  } catch (e) {
    return refused(e);
  }
}

const countOf = (n) => (n === 1 ? "1 server or tool has problems" : `${n} servers or tools have problems`);

const toolLine = (t) => [
  foreign(t.name, "code"),
  " ",
  h(`span.risk.${t.risk}`, {}, words(t.risk)),
  t.needs_approval ? h("span.note", {}, " needs approval") : "",
];

const wrongs = (texts) =>
  h(
    "ul.problems",
    {},
    texts.map((t) => foreign(t, "li", { class: "wrong" })),
  );

const from = ({ path, file, line, built_in: builtIn, default_of: type }) =>
  file && !builtIn
    ? `${file}${line ? `:${line}` : ""}${path ? ` (${path})` : ""}`
    : builtIn
      ? "built in"
      : type
        ? `default (${type})`
        : path || "default";

// values is a table of the settings and where each was written.
export const values = (title, all) =>
  h(
    "details.values",
    {},
    h("summary", {}, `${title} (${all.length})`),
    h(
      "div.scroll",
      { tabindex: 0, role: "group", "aria-label": title },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, h("th", {}, "Setting"), h("th", {}, "Value"), h("th", {}, "Origin"))),
        h(
          "tbody",
          {},
          all.map((v) =>
            h(
              "tr",
              {},
              h("td", {}, foreign(v.path, "code")),
              h("td", {}, foreign((typeof v.value === "string" ? v.value : JSON.stringify(v.value)).slice(0, 300))),
              h("td.note", {}, foreign(from(v.from))),
            ),
          ),
        ),
      ),
    ),
  );

function findings(all) {
  if (!all.length) return h("p.note", {}, "No findings in the configuration.");
  return h(
    "section.findings-list",
    {},
    h("h3", {}, `Findings in the whole configuration (${all.length})`),
    h(
      "ul",
      {},
      all.map((f) =>
        h(
          "li",
          {},
          h(`span.severity.${f.severity}`, {}, f.severity),
          " ",
          foreign(f.message),
          " ",
          foreign([f.path, f.file && `${f.file}${f.line ? `:${f.line}` : ""}`].filter(Boolean).join(" · "), "span", { class: "note" }),
        ),
      ),
    ),
  );
}

async function tools(box, _, signal) {
  const list = h("div.rows");
  const told = h("p.note", { role: "status" });
  const wrong = h("div");
  let asked = 0;
  const search = h("input", {
    type: "search",
    placeholder: "Search tools",
    "aria-label": "Search tools by name and description",
    maxlength: 200,
  });
  const look = async () => {
    const n = ++asked;
    const { items, troubles, troubled } = await get(
      `tools?${new URLSearchParams(search.value.trim() ? { q: search.value.trim() } : {})}`,
      signal,
    );
    if (n !== asked) return;
    put(told, `${items.length} ${items.length === 1 ? "tool" : "tools"}`);
    list.replaceChildren(...items.map((t) => toolRow(t)));
    wrong.replaceChildren(...(troubled ? [wrongs(troubles || [countOf(troubled)])] : []));
  };
  let soon;
  search.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(() => look().catch((e) => e.name !== "AbortError" && say(e.message, true)), 250);
  });
  box.replaceChildren(h("div.find", {}, search), told, wrong, list);
  await look();
}

function toolRow(t) {
  return h(
    "details.agent.tool",
    { "data-item": true },
    h("summary", {}, h("span", {}, toolLine(t)), foreign((t.description || "").split("\n")[0].slice(0, 200), "span", { class: "note" })),
    (t.description || "").trim().includes("\n") && foreign(t.description, "p", { class: "described" }),
    h("h4", {}, "Parameters"),
    long(indented(JSON.stringify(t.input_schema))),
    button("Run …", () => runTool(t)),
  );
}

// runTool makes one tool call under the policy of an agent.
async function runTool(t, given, approved) {
  const required = t.parameters.filter((p) => p.required).map((p) => [p.name, p.type === "string" ? "" : null]);
  const text = h("textarea.code", { rows: 8, "aria-label": "Arguments", spellcheck: "false" });
  text.value = given || indented(JSON.stringify(Object.fromEntries(required)));
  const typed =
    given && approved
      ? given
      : await ask(`Run ${reveal(t.name)}`, "Run", [h("p", {}, "Arguments (a JSON object):"), text], () => text.value.trim() || "{}");
  if (typed === undefined) return;
  try {
    const body = `{"arguments":${typed}${approved ? ',"approved":true' : ""}}`;
    JSON.parse(body);
    const out = await call("POST", `tools/${encodeURIComponent(t.name)}/run`, body);
    const failed = out.is_error && foreign(`Failed: ${out.error_type || "error"}`, "p", { class: "wrong" });
    await ask(`Result of ${reveal(t.name)}`, "Close", [failed, long(out.content || "(empty)")].filter(Boolean));
  } catch (e) {
    if (e.type === "urn:inquest:needs-approval" && !approved) {
      const word = h("p", {}, "This call needs approval. If you run it, the audit trail records that you approved it.");
      if (await ask(`Run ${reveal(t.name)}`, "Approve and run", word, () => true)) return runTool(t, typed, true);
      return;
    }
    say(e instanceof SyntaxError ? "The arguments must be a JSON object." : e.message, true);
  }
}

async function health(box, _, signal) {
  const found = await get("health", signal);
  const rows = (all) =>
    h(
      "ul.conditions",
      {},
      all.map((c) =>
        h(
          "li",
          {},
          h(`span.status.${c.status === "ok" ? "completed" : "failed"}`, {}, reveal(c.name)),
          " ",
          foreign(c.detail || "", "span", { class: "note" }),
        ),
      ),
    );
  box.replaceChildren(
    h("section", {}, h("h2", {}, "System"), rows(found.system)),
    h("section", {}, h("h2", {}, "Models"), h("p.note", {}, "Checks whether keys are set; no model is called."), rows(found.providers)),
    h(
      "section",
      {},
      h("h2", {}, "MCP servers and their tools"),
      found.mcp_servers.length ? wrongs(found.mcp_servers) : h("p.empty", {}, "All configured servers respond."),
    ),
  );
}

async function memory(box, name, signal) {
  const { items } = await get("agents", signal);
  const chosen = items.find((a) => a.name === name) || items[0];
  const inside = h("div.inside");
  box.replaceChildren(
    h(
      "nav.names",
      { "aria-label": "Agents" },
      items.map((a) =>
        h(
          "a",
          { href: `#/configuration/memory/${encodeURIComponent(a.name)}`, "aria-current": a === chosen && "true", "data-item": true },
          reveal(a.name),
        ),
      ),
    ),
    inside,
  );
  if (!chosen) return;
  const path = `memory/${encodeURIComponent(chosen.identity)}`;
  const none = (e) => (e.status === 404 ? { items: [] } : Promise.reject(e));
  const [blocks, archival] = await Promise.all([get(`${path}/blocks`, signal).catch(none), get(`${path}/archival`, signal).catch(none)]);
  inside.append(
    h("h2.name", {}, reveal(chosen.name)),
    h("h3", {}, "Blocks"),
    ...(blocks.items.length ? blocks.items.map(block) : [h("p.empty", {}, "No blocks.")]),
    h("h3", {}, "Archive"),
    h(
      "ul.archive",
      {},
      archival.items.map((e) =>
        h(
          "li",
          {},
          foreign(e.content),
          ticking("span.note", () => ` ${ago(e.at)}`),
        ),
      ),
    ),
  );
  if (!archival.items.length) inside.append(h("p.empty", {}, "No entries."));
}

const block = (b) =>
  h(
    "details.agent",
    { open: true },
    h(
      "summary",
      {},
      foreign(b.label, "strong"),
      h("span.note", {}, `${bytes(b.value.length)} of ${bytes(b.limit)}${b.read_only ? " · read-only" : ""}`),
    ),
    b.description && foreign(b.description, "p", { class: "note" }),
    long(b.value || "(empty)"),
  );
