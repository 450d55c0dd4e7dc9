// A client that is made of the OpenAPI document: what it is told is typed.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [url, token] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: url!, headers: { authorization: `Bearer ${token}` } });

function must<T>(what: string, answer: { data?: T; error?: { detail?: string } }): T {
  if (answer.error || answer.data === undefined) throw new Error(`${what}: ${answer.error?.detail}`);
  return answer.data;
}

const request = { params: { header: { "Idempotency-Key": "a" } }, body: { chain: "shop", data: { title: "slow" } } };
const started = must("start", await api.POST("/api/v1/investigations", request));
const again = must("start again", await api.POST("/api/v1/investigations", request));
if (!again.known || again.id !== started.id) throw new Error("started twice");

const page = must("list", await api.GET("/api/v1/investigations", { params: { query: { limit: 1 } } }));
const id: string = page.items![0]!.id;
const one = must("get", await api.GET("/api/v1/investigations/{id}", { params: { path: { id } } }));
const told = must("transcript", await api.GET("/api/v1/investigations/{id}/transcript", { params: { path: { id } } }));
const missing = await api.GET("/api/v1/investigations/{id}", { params: { path: { id: "nothing" } } });
if (missing.error?.status !== 404) throw new Error("there is something");
console.log(JSON.stringify({ report: one.investigation.report, entries: told.entries!.length, refused: missing.error.detail }));
