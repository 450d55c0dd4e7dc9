// Sends generated requests to every operation of an OpenAPI document, most of them wrong, and checks what comes back:
// a documented answer that the schema allows, or a problem with a reason, never 500, and soon.
//   node contract.mjs URL TOKEN RUNS ID,ID,...
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";

const [url, token, runs, known] = process.argv.slice(2);
const ids = known.split(",");
const doc = await (await fetch(`${url}/openapi.json`)).json();
const checked = await new Validator().validate(structuredClone(doc));
if (!checked.valid) throw new Error(`the document is not OpenAPI: ${JSON.stringify(checked.errors)}`);

const ajv = formats.default(new Ajv.default({ strict: false, allErrors: false, logger: false }));
const compiled = new Map();
// allows says why a schema does not allow a value; "" = it does.
function allows(value, schema) {
  if (!compiled.has(schema)) compiled.set(schema, ajv.compile({ ...schema, components: doc.components })); // which it refers to
  const validate = compiled.get(schema);
  return validate(value) ? "" : ajv.errorsText(validate.errors);
}

const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("", "0", "-1", "null", "../..", "%00", "' OR 1=1 --", "a".repeat(3000)),
  fc.constantFrom(...ids));
const number = fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger(), fc.constantFrom(0, -1, 1, 5, 1e308));

// like generates what a schema asks for, more or less.
function like(schema, depth = 0) {
  if (!schema || depth > 5) return fc.jsonValue();
  if (schema.$ref) return like(doc.components.schemas[schema.$ref.split("/").pop()], depth + 1);
  if (schema.enum) return fc.oneof(fc.constantFrom(...schema.enum), text);
  const type = [schema.type].flat().find((t) => t !== "null");
  if (type === "object" && schema.properties) {
    return fc.record(Object.fromEntries(Object.entries(schema.properties).filter(([key]) => key !== "$schema")
      .map(([key, value]) => [key, fc.oneof({ weight: 9, arbitrary: like(value, depth + 1) }, fc.jsonValue())])), { requiredKeys: schema.required ?? [] });
  }
  switch (type) {
    case "object": return fc.dictionary(text, typeof schema.additionalProperties === "object" ? like(schema.additionalProperties, depth + 1) : fc.jsonValue());
    case "array": return fc.array(like(schema.items, depth + 1), { maxLength: 3 });
    case "string": return text;
    case "integer": return fc.oneof(fc.integer({ min: 0, max: 100 }), number);
    case "number": return number;
    case "boolean": return fc.boolean();
  }
  return fc.jsonValue();
}

function request(op) {
  const parameters = fc.record(Object.fromEntries((op.parameters ?? []).map((p) =>
    [`${p.in} ${p.name}`, p.in === "path" && p.name === "id" ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ids) }, text) : fc.oneof(like(p.schema), text)])),
    { requiredKeys: (op.parameters ?? []).filter((p) => p.in === "path").map((p) => `${p.in} ${p.name}`) });
  const schema = op.requestBody?.content["application/json"].schema;
  const body = schema ? fc.oneof({ weight: 6, arbitrary: like(schema).map((v) => JSON.stringify(v)) }, fc.json(), fc.string(), fc.constant(undefined)) : fc.constant(undefined);
  return fc.record({ parameters, body });
}

async function ask(method, path, op, { parameters, body }) {
  const headers = { authorization: `Bearer ${token}` }, query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    const name = key.slice(key.indexOf(" ") + 1), said = typeof value === "string" ? value : JSON.stringify(value) ?? "";
    if (key.startsWith("path ")) path = path.replace(`{${name}}`, encodeURIComponent(said.toWellFormed()));
    else if (key.startsWith("query ")) query.append(name, said);
    else headers[name] = said.replace(/[^\x20-\x7e]/g, "?");
  }
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method === "get") body = undefined;
  const leave = new AbortController(), late = setTimeout(() => leave.abort(new Error("it takes too long")), 15_000);
  try {
    const response = await fetch(`${url}${path}${query.size ? "?" + query : ""}`, { method: method.toUpperCase(), headers, body, signal: leave.signal, redirect: "manual" });
    const kind = response.headers.get("content-type") ?? "";
    if (kind.startsWith("text/event-stream")) return { status: response.status, kind };
    return { status: response.status, kind, said: await response.text() };
  } finally {
    clearTimeout(late);
    leave.abort();
  }
}

// wrong says what is wrong with an answer.
function wrong(op, { status, kind, said }) {
  if (status === 500) return "500";
  if (status === 301 || status === 307) return ""; // a path that was not clean
  if (status >= 400) {
    if (kind !== "application/problem+json") return `a ${status} of ${kind}`;
    const problem = JSON.parse(said);
    return problem.detail ? allows(problem, doc.components.schemas.ErrorModel) : `no reason: ${said}`;
  }
  const declared = op.responses[status];
  if (!declared) return `the status ${status} is not in the document`;
  if (kind !== "application/json") return "";
  return allows(JSON.parse(said), declared.content["application/json"].schema);
}

let operations = 0, answers = {};
for (const [path, methods] of Object.entries(doc.paths)) {
  for (const [method, op] of Object.entries(methods)) {
    operations++;
    await fc.assert(fc.asyncProperty(request(op), async (input) => {
      const answer = await ask(method, path, op, input);
      answers[answer.status] = (answers[answer.status] ?? 0) + 1;
      const problem = wrong(op, answer);
      if (problem) throw new Error(`${op.operationId}: ${problem}: ${answer.status} ${answer.said?.slice(0, 500)}`);
    }), { numRuns: Number(runs), seed: 20, endOnFailure: true });
  }
}
console.log(JSON.stringify({ operations, answers }));
