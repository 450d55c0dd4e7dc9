"use strict";
const element = (name, text, ...children) => {
  const e = document.createElement(name);
  if (text) e.textContent = text;
  e.append(...children);
  return e;
};

function operation(doc, path, method, op) {
  const role = op["x-role"] ? ` · ${op["x-role"]}` : "";
  const box = element("details", "", element("summary", "", element("code", `${method.toUpperCase()} ${path}`), ` ${op.summary}${role}`));
  const fields = element("ul");
  for (const p of op.parameters || []) {
    fields.append(element("li", "", element("code", p.name), ` (${p.in}${p.required ? ", required" : ""}) ${p.description || ""}`));
  }
  box.append(fields);
  const schemas = [["body", op.requestBody?.content], ["response", Object.entries(op.responses).find(([code]) => code < "300")?.[1].content]];
  for (const [name, content] of schemas) {
    const schema = Object.values(content || {})[0]?.schema;
    if (schema) box.append(element("p", name), element("pre", JSON.stringify(resolve(doc, schema), null, 2)));
  }
  return box;
}

function resolve(doc, schema, depth = 0) {
  if (!schema || typeof schema !== "object" || depth > 6) return schema;
  if (schema.$ref) return resolve(doc, doc.components.schemas[schema.$ref.split("/").pop()], depth + 1);
  if (schema.properties) {
    return Object.fromEntries(Object.entries(schema.properties).map(([key, value]) =>
      [key + (schema.required?.includes(key) ? "" : "?"), resolve(doc, value, depth + 1)]));
  }
  if (schema.items) return [resolve(doc, schema.items, depth + 1)];
  return [].concat(schema.type || "any").join("|") + (schema.description ? `: ${schema.description}` : "");
}

fetch("openapi.json").then((r) => r.json()).then((doc) => {
  const main = document.getElementById("operations");
  main.replaceChildren();
  for (const [path, methods] of Object.entries(doc.paths)) {
    for (const [method, op] of Object.entries(methods)) main.append(operation(doc, path, method, op));
  }
});
