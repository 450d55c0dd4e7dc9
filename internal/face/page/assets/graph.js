// Drawing of a chain: stages with their agents, the routes between them, and the progress of a run.
import { reveal, svg, words } from "./dom.js";

const box = 184; // width of a stage, in pixels
const gap = 46; // space between layers, where the routes run
const row = 19; // height of an agent
const most = 9; // agents that are drawn by name

// layersOf places each stage after all stages that lead to it, and finds the routes that lead back.
function layersOf(stages, edges) {
  const place = new Map(stages.map((s, n) => [s.name, n]));
  const ahead = (e) => place.get(e.from) < place.get(e.to) || e.kinds.some((k) => k === "requires" || k === "after");
  const layer = new Map();
  const of = (name) => {
    if (!layer.has(name)) {
      layer.set(name, 0); // reaching it again means a cycle
      const before = edges.filter((e) => e.to === name && ahead(e)).map((e) => of(e.from));
      layer.set(name, before.length ? Math.max(...before) + 1 : 0);
    }
    return layer.get(name);
  };
  for (const s of stages) of(s.name);
  return { layer, isBack: (e) => !ahead(e) || layer.get(e.to) <= layer.get(e.from) };
}

// chainOf converts the API's graph to what Drawing needs.
export function chainOf({ graph }) {
  const stages = (graph.Stages || []).map((s) => ({
    name: s.Name,
    agents: [...(s.Agents || []), ...(s.SubAgents || [])]
      .map((name) => ({ name }))
      .concat(s.Synthesis ? { name: s.Synthesis, joins: true } : []),
    notes: [s.Review && `reviewed by ${s.Review}`, s.JoinAny && "after first predecessor"].filter(Boolean),
  }));
  const known = new Set(stages.map((s) => s.name));
  const edges = [];
  for (const e of graph.Edges || []) {
    const one = { from: e.From, to: e.To, kinds: [e.Kind], max: e.Max };
    const same = edges.find((o) => o.from === one.from && o.to === one.to);
    if (known.has(one.from) && known.has(one.to)) same ? same.kinds.push(e.Kind) : edges.push(one);
    else if (known.has(one.from) && (one.to === "clarification" || one.to === "confirmation")) {
      const notes = stages.find((s) => s.name === one.from).notes;
      const note = one.to === "clarification" ? "may ask people" : "asks for confirmation";
      if (!notes.includes(note)) notes.push(note);
    }
  }
  return { stages, edges };
}

// inARow is a chain of which only the names of the stages are known.
export const inARow = (names) => ({
  stages: names.map((name) => ({ name, agents: [], notes: [] })),
  edges: names.slice(1).map((to, n) => ({ from: names[n], to, kinds: ["next"] })),
});

// baseOf returns the stage of a run: "dig" for its second run, "dig#2".
export const baseOf = (run) => run.replace(/#\d+$/, "");

// waysOf returns the routes that an investigation took from stage to stage, from its runs in order.
export function waysOf(runs) {
  const out = [];
  for (const [n, run] of runs.slice(1).entries()) {
    const [from, to] = [baseOf(runs[n].name), baseOf(run.name)];
    const same = out.find((w) => w.from === from && w.to === to);
    if (same) same.times++;
    else out.push({ from, to, times: 1 });
  }
  return out;
}

// liveChain adds progress to a chain: the state of each stage's last run, and its agents.
export function liveChain(chain, { runs, executions, pending, chosen }) {
  const names = new Set([...[...runs.map((r) => r.name), ...executions.map((x) => x.stage)].map(baseOf), ...pending]);
  const more = [...names].filter((name) => !chain.stages.some((s) => s.name === name));
  const row = inARow(more);
  const stages = [...chain.stages, ...row.stages].map((s) => {
    const mine = runs.filter((r) => baseOf(r.name) === s.name);
    const last = mine.at(-1);
    const stage = last?.name || executions.findLast((x) => baseOf(x.stage) === s.name)?.stage;
    const working = executions.filter((x) => x.stage === stage);
    const agents = working.map((x) => {
      const name = x.name.slice(x.stage.length + 1) || x.agent;
      return { name, state: x.status, depth: name.split("/").length - 1 };
    });
    const known = new Set(agents.map((a) => a.name));
    return {
      ...s,
      agents: agents.length ? [...agents, ...(last?.ended_at ? [] : s.agents.filter((a) => a.joins && !known.has(a.name)))] : s.agents,
      state: last?.status || (working.length ? working.at(-1).status : pending.includes(s.name) ? "pending" : ""),
      runs: mine.length,
      pass: last?.envelope?.pass,
      chosen: s.name === chosen,
    };
  });
  const joined = more.length && chain.stages.length ? [{ from: chain.stages.at(-1).name, to: more[0], kinds: ["next"] }] : [];
  return { stages, edges: [...chain.edges, ...joined, ...row.edges] };
}

// Drawing shows a chain in its own element. It redraws only if something has changed.
export class Drawing {
  constructor(box, { choose, label }) {
    Object.assign(this, { box, choose, label, key: "" });
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", label);
  }

  // show draws the chain. A stage may have: state, agents (name, state, depth), runs, pass, chosen.
  show(chain, ways = []) {
    const key = JSON.stringify([chain, ways]);
    if (key === this.key) return;
    this.key = key;
    const focused = this.box.contains(document.activeElement) && document.activeElement.dataset.stage;
    const { stages, edges } = chain;
    const { layer, isBack } = layersOf(stages, edges);
    const columns = [];
    for (const s of stages) (columns[layer.get(s.name)] ||= []).push(s);
    const high = (s) => 34 + row * (Math.min(s.agents.length, most) + (s.agents.length > most ? 1 : 0)) + row * s.notes.length + 8;
    const tall = Math.max(...columns.map((c) => c.reduce((sum, s) => sum + high(s) + 22, -22)), 40);
    const back = edges.filter(isBack);
    const turned = ways.filter(
      (w) => layer.has(w.to) && !edges.some((e) => e.from === w.from && e.to === w.to) && layer.get(w.to) <= layer.get(w.from),
    );
    const loops = [...back, ...turned.map((w) => ({ ...w, kinds: ["went back"] }))];
    const at = new Map();
    columns.forEach((c, n) => {
      let y = 6 + (tall - c.reduce((sum, s) => sum + high(s) + 22, -22)) / 2;
      for (const s of c) {
        at.set(s.name, { x: 4 + n * (box + gap), y, h: high(s) });
        y += high(s) + 22;
      }
    });
    const width = columns.length * (box + gap) - gap + 8;
    const height = tall + 14 + loops.length * 18 + (loops.length ? 16 : 0);
    const gone = (e) => ways.find((w) => w.from === e.from && w.to === e.to)?.times || 0;
    const drawn = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, [
      svg("defs", {}, [
        svg(
          "marker",
          {
            id: "tip",
            viewBox: "0 0 8 8",
            refX: 7,
            refY: 4,
            markerWidth: 9,
            markerHeight: 9,
            markerUnits: "userSpaceOnUse",
            orient: "auto",
          },
          [svg("path", { d: "M0 0 L8 4 L0 8 z", class: "tip" })],
        ),
      ]),
      ...edges.filter((e) => !back.includes(e)).map((e) => this.forth(e, at, gone(e))),
      ...loops.map((e, n) => this.back(e, at, gone(e), tall + 26 + n * 18)),
      ...stages.map((s) => this.stage(s, at.get(s.name))),
    ]);
    this.box.replaceChildren(drawn);
    if (focused) this.box.querySelector(`[data-stage="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const now = this.box.querySelector(".node.running, .node.waiting_approval, .node.waiting_answer, .node[aria-pressed=true]");
    if (now && this.box.scrollWidth > this.box.clientWidth) {
      this.box.scrollLeft = at.get(now.dataset.stage).x - (this.box.clientWidth - box) / 2;
    }
  }

  forth(e, at, times) {
    const [a, b] = [at.get(e.from), at.get(e.to)];
    const [x1, y1, x2, y2] = [a.x + box, a.y + a.h / 2, b.x - 2, b.y + b.h / 2];
    const half = Math.max(18, (x2 - x1) / 2);
    return svg("g", { class: `way${times ? " gone" : ""}` }, [
      svg("path", { d: `M${x1} ${y1} C${x1 + half} ${y1} ${x2 - half} ${y2} ${x2} ${y2}`, "marker-end": "url(#tip)" }),
      svg("title", {}, [titleOf(e, times)]),
    ]);
  }

  back(e, at, times, y) {
    const [a, b] = [at.get(e.from), at.get(e.to)];
    const [x1, x2] = [a.x + box / 2 + 14, b.x + box / 2 - 14];
    const from = a.y + a.h;
    const to = b.y + b.h + 2;
    return svg("g", { class: `way back${times ? " gone" : ""}` }, [
      svg("path", {
        d: `M${x1} ${from} V${y - 8} Q${x1} ${y} ${x1 - 8} ${y} H${x2 + 8} Q${x2} ${y} ${x2} ${y - 8} V${to}`,
        "marker-end": "url(#tip)",
      }),
      svg("text", { ...(a === b ? { x: x1 + 8, y } : { x: (x1 + x2) / 2, y: y - 4, "text-anchor": "middle" }) }, [
        `${e.kinds[0]}${times ? ` × ${times}` : ""}${e.max ? ` of ${e.max}` : ""}`,
      ]),
      svg("title", {}, [titleOf(e, times)]),
    ]);
  }

  stage(s, { x, y, h }) {
    const state = s.state || "";
    const agents = s.agents.slice(0, most);
    const told = [s.name, words(state), s.runs > 1 && `run ${s.runs}`, s.pass > 1 && `pass ${s.pass}`].filter(Boolean);
    const said = `${told.join(", ")}${s.agents.length ? `; ${s.agents.map((a) => `${a.name} ${words(a.state)}`.trim()).join(", ")}` : ""}`;
    const press = this.choose && state && state !== "pending" ? () => this.choose(s.name) : undefined;
    const line = (n) => y + 24 + row * (n + 1);
    return svg(
      "g",
      {
        class: `node ${state}`,
        "data-stage": s.name,
        ...(press
          ? {
              role: "button",
              tabindex: 0,
              "data-item": "",
              "aria-pressed": String(Boolean(s.chosen)),
              click: press,
              keydown: (e) => (e.key === "Enter" || e.key === " ") && (e.preventDefault(), press()),
            }
          : { role: "img" }),
      },
      [
        svg("title", {}, [reveal(said)]), // the node's accessible name
        svg("rect", { x, y, width: box, height: h, rx: 8, class: "frame" }),
        svg("circle", { cx: x + 14, cy: y + 18, r: 4.5, class: `dot ${state}` }),
        svg("text", { x: x + 26, y: y + 22.5, class: "name" }, [cut(s.name, 19)]),
        (s.runs > 1 || s.pass > 1) &&
          svg("text", { x: x + box - 10, y: y + 22.5, class: "run", "text-anchor": "end" }, [
            s.runs > 1 ? `run ${s.runs}` : `pass ${s.pass}`,
          ]),
        ...agents.flatMap((a, n) => {
          const deep = a.depth ?? a.name.split("/").length - 1;
          return [
            svg("circle", { cx: x + 30 + deep * 12, cy: line(n) - 4, r: 3, class: `dot ${a.state || ""}` }),
            svg("text", { x: x + 39 + deep * 12, y: line(n), class: "agent" }, [cut(a.name.split("/").at(-1), 19 - deep * 2)]),
          ];
        }),
        s.agents.length > most && svg("text", { x: x + 39, y: line(most), class: "agent" }, [`and ${s.agents.length - most} more`]),
        ...s.notes.map((note, n) =>
          svg("text", { x: x + 26, y: line(agents.length + (s.agents.length > most ? 1 : 0) + n), class: "note" }, [cut(note, 24)]),
        ),
      ],
    );
  }
}

const cut = (text, most) => {
  const all = [...reveal(text)];
  return all.length > most ? `${all.slice(0, most - 1).join("")}…` : all.join("");
};

const titleOf = (e, times) =>
  reveal(`${e.from} → ${e.to}: ${[...new Set(e.kinds)].join(", ")}${times ? `, taken ${times === 1 ? "once" : `${times} times`}` : ""}`);
