// Client of the HTTP API (/docs): operations, and event streams that reconnect by themselves.
const root = new URL("../api/v1/", import.meta.url);
const key = "inquest-token";

export class Problem extends Error {
  constructor(status, detail, details = [], type = "") {
    super([detail, ...details].join("; "));
    Object.assign(this, { status, details, type });
  }
}

let asking; // the open token dialog; requests that need a token share it
let askToken = async () => undefined;
export const onUnknown = (f) => (askToken = f);

async function request(path, options) {
  for (;;) {
    const token = sessionStorage.getItem(key);
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(new URL(path, root), {
      ...options,
      headers,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
    });
    if (response.status !== 401) return response;
    if (token === sessionStorage.getItem(key)) {
      // unless another request has set a new one
      asking ||= askToken(Boolean(token)).finally(() => (asking = undefined));
      sessionStorage.setItem(key, (await asking) || "");
    }
  }
}

async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  const details = (body.errors || []).map((e) => e.message).filter(Boolean);
  const detail = (body.detail || response.statusText).replace(/^ask \S+: it was refused: /, "");
  return new Problem(response.status, detail, details, body.type);
}

async function answer(path, options) {
  let response;
  try {
    response = await request(path, options);
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Problem(0, "Inquest is not responding");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

// call calls an operation and returns the response body. A string is sent as JSON without encoding.
export async function call(method, path, body, signal, more) {
  const headers = { ...(body !== undefined && { "Content-Type": "application/json" }), ...more };
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return (await answer(path, { method, headers, signal, body: text })).json();
}

export const get = (path, signal) => call("GET", path, undefined, signal);
export const entryAt = async (id, row, signal) =>
  (await get(investigation(id, `/transcript?after=${row - 1}&limit=1`), signal)).entries.find((e) => e.seq === row);
export const blob = async (path, signal) => (await answer(path, { signal })).blob();
export const investigation = (id, rest = "") => `investigations/${encodeURIComponent(id)}${rest}`;
export const conversation = (id, rest = "") => `conversations/${encodeURIComponent(id)}${rest}`;

// isAway reports whether the server is unreachable or temporarily unavailable, so that a retry makes sense.
export const isAway = (e) => e instanceof Problem && (e.status === 0 || e.status === 429 || e.status > 500);

// isLate reports whether the question or call is no longer pending. See internal/face/api/problems.go for the types.
const late = new Set(["urn:inquest:too-late", "urn:inquest:not-pending", "urn:inquest:ended"]);
export const isLate = (e) => e instanceof Problem && late.has(e.type);

// patiently retries a request until the server responds. It passes each error to away.
export async function patiently(ask, signal, away = () => {}) {
  for (let wait = 500; ; wait = Math.min(2 * wait, 5000)) {
    try {
      return await ask();
    } catch (e) {
      if (!isAway(e) || signal.aborted) throw e;
      away(e);
      await new Promise((r) => setTimeout(r, wait));
    }
  }
}

const silence = 40_000; // the server sends a keep-alive every 15 s

// stream reads events until one is marked as the last. After a lost connection it resumes after the last event received, so
// none is missed. It calls state with "live" or "lost".
export async function stream(path, { event, state, signal, last = "" }) {
  let wait = 0;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, silence);
    try {
      const response = await request(path, {
        signal: attempt.signal,
        headers: { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) },
      });
      if (!response.ok) throw await problemOf(response);
      state("live");
      const done = await read(
        response.body,
        (e) => {
          if (e.id) last = e.id;
          return event(e.type, JSON.parse(e.data));
        },
        () => {
          wait = 0;
          clearTimeout(timer);
          timer = setTimeout(stop, silence);
        },
      );
      if (done) return;
    } catch (e) {
      if (e instanceof Problem && e.status >= 400 && e.status < 500 && e.status !== 429) throw e;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      attempt.abort();
    }
    if (signal.aborted) return;
    state("lost");
    wait = Math.min(wait * 2 || 500, 5000);
    await new Promise((r) => setTimeout(r, wait * (0.7 + 0.6 * Math.random())));
  }
}

// read parses the stream's events and returns true if tell reported one as the last.
async function read(body, tell, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [], // parts of an incomplete line, which may be long: joined once
    event = { data: "" };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return false;
    alive();
    rest.push(value);
    if (!value.includes("\n")) continue;
    const lines = rest.join("").split("\n");
    rest = [lines.pop()];
    for (const line of lines) {
      const colon = line.indexOf(":");
      const [name, text] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
      if (line === "") {
        if (event.data && tell(event)) return true;
        event = { data: "" };
      } else if (name === "id") event.id = text;
      else if (name === "event") event.type = text;
      else if (name === "data") event.data += text;
    }
  }
}

// about returns the user's identity and the server's links. It is requested once.
let known;
export const about = (signal) => (known ||= get("about", signal).catch((e) => ((known = undefined), Promise.reject(e))));
