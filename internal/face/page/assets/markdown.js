// Renders Markdown as DOM nodes: headings, lists, tables, code, quotes, emphasis, and links to http and https. Anything else
// stays text.
import { h, long, reveal } from "./dom.js";

const longest = 200_000; // characters; longer texts are shown as they are
const deepest = 8; // nesting depth of lists and quotes

// markdown renders a text. cite returns a node for a citation's number, or nothing.
export function markdown(text, cite) {
  if (text.length > longest) return long(text);
  return h("div.markdown", { dir: "auto" }, blocks(reveal(text).split("\n"), 0, cite));
}

// readable returns a text as Markdown for people: a JSON object becomes a section per key, and a fence around
// Markdown is removed. It follows Readable of internal/kit/markdown.
export function readable(text) {
  const bare = text.trim();
  const whole = sections(bare);
  if (whole) return whole;
  const inner = unfenced(bare);
  if (inner?.trim()) return inner + "\n";
  const found = [...bare.matchAll(/^```\w*[ \t]*\n([^]*?)\n?```[ \t]*$/gm)];
  if (found.length !== 1) return text;
  const [all, body] = found[0];
  const before = bare.slice(0, found[0].index);
  const after = bare.slice(found[0].index + all.length);
  if (/^ {0,3}#{1,6}[ \t]/m.test(before + after)) return text;
  const laidOut = sections(body);
  return laidOut ? (before + laidOut + after).replace(/^\n+/, "") : text;
}

// unfenced returns the Markdown in a fence around the whole text, which may have fences inside. It follows unfenced of
// internal/kit/markdown.
function unfenced(text) {
  const [first, ...lines] = text.split(/\r?\n/);
  const outer = /^(`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*$/i.exec(first);
  if (!outer) return undefined;
  let inside = false;
  for (const [n, line] of lines.entries()) {
    const m = /^[ \t]*(`{3,}|~{3,})[ \t]*([^`]*)$/.exec(line);
    if (!m?.[1].startsWith(outer[1])) continue;
    if (inside && m[2].trim()) return undefined; // the line before that seemed to begin a fence has ended the outer one
    if (!inside && !m[2].trim() && n === lines.length - 1) return lines.slice(0, n).join("\n");
    inside = !inside;
  }
  return inside ? undefined : lines.join("\n");
}

// sections formats a JSON object. It returns nothing for an empty object or other text.
function sections(text) {
  if (!text.startsWith("{")) return undefined;
  let object;
  try {
    // Numbers keep their spelling: a 64-bit id would be rounded.
    object = JSON.parse(text, (key, value, context) => (typeof value === "number" ? (context?.source ?? String(value)) : value));
  } catch {
    return undefined;
  }
  if (Object.keys(object).length === 0) return undefined;
  const scalar = (v) =>
    v === null ? "–"
    : Array.isArray(v) && v.every((e) => typeof e === "string") ? v.join(", ")
    : typeof v === "object" ? "`" + JSON.stringify(v).replaceAll("`", "'") + "`"
    : String(v);
  const line = (v) => scalar(v).trim().replaceAll("\n", "\n  ");
  const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
  const pairs = (v) => Object.entries(v).map(([key, member]) => `**${title(key)}:** ${line(member)}`);
  const section = (v) =>
    Array.isArray(v) ? v.map((e) => `- ${isObject(e) ? pairs(e).join("; ") : line(e)}`).join("\n") || "None."
    : isObject(v) ? pairs(v).map((pair) => `- ${pair}`).join("\n")
    : scalar(v);
  return Object.entries(object).map(([key, v]) => `## ${title(key)}\n\n${section(v)}\n`).join("\n");
}

// title turns a key into words: "root_cause" and "rootCause" become "Root cause".
function title(key) {
  const words = key.replace(/(\p{Ll})(\p{Lu})/gu, (_, a, b) => `${a} ${b.toLowerCase()}`).replace(/[_-]+/g, " ").trim();
  return words ? words[0].toUpperCase() + words.slice(1) : key;
}

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/;
const rule = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const item = /^( *)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$/;
const quote = /^ {0,3}>/;
const table = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

function blocks(lines, depth, cite) {
  const out = [];
  let n = 0;
  const starts = (line) => fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || item.test(line);
  while (n < lines.length) {
    const line = lines[n];
    let m;
    if (!line.trim()) n++;
    else if ((m = fence.exec(line))) {
      const body = [];
      for (n++; n < lines.length && !(lines[n].trim().startsWith(m[1]) && !lines[n].trim().replaceAll(m[1][0], "")); n++)
        body.push(lines[n]);
      n++;
      out.push(h("pre", { tabindex: 0 }, h("code", {}, body.join("\n"))));
    } else if ((m = heading.exec(line))) {
      out.push(h(`h${Math.min(m[1].length + 2, 6)}`, {}, inline(m[2], 0, cite)));
      n++;
    } else if (rule.test(line)) {
      out.push(h("hr"));
      n++;
    } else if (quote.test(line) && depth < deepest) {
      const body = [];
      for (; n < lines.length && quote.test(lines[n]); n++) body.push(lines[n].replace(/^ {0,3}> ?/, ""));
      out.push(h("blockquote", {}, blocks(body, depth + 1, cite)));
    } else if (item.test(line) && depth < deepest) {
      const [list, next] = listOf(lines, n, depth, cite);
      out.push(list);
      n = next;
    } else if (line.includes("|") && n + 1 < lines.length && lines[n + 1].includes("-") && table.test(lines[n + 1])) {
      const rows = [];
      for (; n < lines.length && lines[n].includes("|"); n++) rows.push(cells(lines[n]));
      out.push(tableOf(rows, cite));
    } else {
      const body = [line.trim()];
      for (n++; n < lines.length && lines[n].trim() && !starts(lines[n]); n++) body.push(lines[n].trim());
      out.push(
        h(
          "p",
          {},
          body.flatMap((text, k) => (k ? [h("br"), ...inline(text, 0, cite)] : inline(text, 0, cite))),
        ),
      );
    }
  }
  return out;
}

// listOf parses a list: its items, each with its indented lines.
function listOf(lines, n, depth, cite) {
  const [, indent, mark] = item.exec(lines[n]);
  const ordered = /\d/.test(mark);
  const list = h(ordered ? "ol" : "ul", ordered && mark.slice(0, -1) !== "1" ? { start: parseInt(mark, 10) } : {});
  while (n < lines.length) {
    const m = item.exec(lines[n]);
    if (!m || m[1].length !== indent.length || /\d/.test(m[2]) !== ordered) break;
    const body = [m[3] || ""];
    const within = indent.length + 2;
    for (n++; n < lines.length; n++) {
      const deep = lines[n].length - lines[n].trimStart().length;
      if (
        !lines[n].trim()
          ? n + 1 < lines.length && !/^ {2,}/.test(lines[n + 1]) && !item.test(lines[n + 1])
          : deep <= indent.length && (item.test(lines[n]) || !lines[n - 1].trim() || heading.test(lines[n]) || fence.test(lines[n]))
      )
        break;
      body.push(lines[n].slice(Math.min(deep, within)));
    }
    const inner = blocks(body, depth + 1, cite);
    list.append(h("li", {}, inner.length && inner[0].tagName === "P" ? [...inner[0].childNodes, ...inner.slice(1)] : inner));
  }
  return [list, n];
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((c) => c.trim());

function tableOf([head, , ...rows], cite) {
  const row = (tag) => (r) =>
    h(
      "tr",
      {},
      head.map((_, n) => h(tag, {}, inline(r[n] || "", 0, cite))),
    );
  return h(
    "div.scroll",
    { tabindex: 0, role: "group", "aria-label": "table" },
    h("table", {}, h("thead", {}, row("th")(head)), h("tbody", {}, rows.map(row("td")))),
  );
}

const address = /^https?:\/\/[^\s<>"'`|\\]+/i;

// link accepts only http and https, and shows the address if the text differs from it.
function link(to, children) {
  let url;
  try {
    url = new URL(to);
  } catch {
    return children;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return children;
  const shown = h("span", {}, children).textContent;
  return [
    h("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" }, children),
    ...(shown === to || shown === url.href ? [] : [` (${url.href})`]),
  ];
}

// inline parses a line from left to right. Unclosed marks stay text.
function inline(text, depth, cite) {
  const out = [];
  let plain = "",
    n = 0;
  const add = (...nodes) => {
    if (plain) out.push(plain);
    plain = "";
    out.push(...nodes);
  };
  const until = (mark, from) => {
    const at = text.slice(from, from + 2000).indexOf(mark);
    return at < 0 ? -1 : from + at;
  };
  while (n < text.length) {
    const c = text[n];
    let end, m;
    if (c === "\\" && /[!-/:-@[-`{-~]/.test(text[n + 1] || "") && text[n + 1] !== "u") {
      plain += text[n + 1];
      n += 2;
    } else if (c === "`" && (m = /^`+/.exec(text.slice(n, n + 20))) && (end = until(m[0], n + m[0].length)) > 0) {
      add(h("code", {}, text.slice(n + m[0].length, end)));
      n = end + m[0].length;
    } else if ((c === "*" || c === "_") && depth < deepest && (m = emphasis(text, n, until))) {
      add(h(m.tag, {}, inline(m.body, depth + 1, cite)));
      n = m.next;
    } else if (c === "[" && depth < deepest && (m = /^\[([^[\]]{0,500})\]\(([^()\s]{1,2000})\)/.exec(text.slice(n, n + 2510)))) {
      add(...[link(m[2], inline(m[1], depth + 1, cite))].flat());
      n += m[0].length;
    } else if (c === "[" && cite && (m = /^\[(\d{1,4}(?:, ?\d{1,4})*)\]/.exec(text.slice(n, n + 60)))) {
      add(...m[1].split(/, ?/).map((k) => cite(Number(k)) || `[${k}]`));
      n += m[0].length;
    } else if ((c === "h" || c === "H") && !/\w/.test(text[n - 1] || "") && (m = address.exec(text.slice(n, n + 2000)))) {
      const to = m[0].replace(/[.,;:!?)\]*_]+$/, "");
      add(...[link(to, [to])].flat());
      n += to.length;
    } else {
      plain += c;
      n++;
    }
  }
  add();
  return out;
}

// emphasis parses **strong** or *em* at a position, if it is closed.
function emphasis(text, n, until) {
  for (const [mark, tag] of [
    [text[n].repeat(2), "strong"],
    [text[n], "em"],
  ]) {
    const from = n + mark.length;
    if (!text.startsWith(mark, n) || /\s/.test(text[from] || " ") || (text[n] === "_" && /\w/.test(text[n - 1] || ""))) continue;
    const end = until(mark, from + 1);
    if (end > 0 && !/\s/.test(text[end - 1]) && !(text[n] === "_" && /\w/.test(text[end + mark.length] || ""))) {
      return { tag, body: text.slice(from, end), next: end + mark.length };
    }
  }
  return undefined;
}
