// Both of the protocol's TypeScript clients start a server of ours, investigate by it, and end it.
import { Client as Former } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = process.argv.slice(2);
const out = [];
for (const [Kind, Transport] of [[Former, FormerTransport], [Client, StdioClientTransport]]) {
  const client = new Kind({ name: "test", version: "1" });
  const errors = [];
  client.onerror = (e) => errors.push(e.message); // of what is on standard output and no message, too
  const transport = new Transport({ command, args, env: process.env });
  await client.connect(transport);
  const { tools } = await client.listTools(); // the results below are checked against their output schemas
  const waiting = { timeout: 300_000 };
  const call = (name, args) => client.callTool({ name, arguments: args }, ...(Kind === Former ? [undefined, waiting] : [waiting]));
  const started = await call("start_investigation", { chain: "lab", data: "the disk is full", again: true });
  const { id } = started.structuredContent;
  let ended;
  do {
    ended = await call("get_investigation", { id, wait: 60 });
  } while (ended.structuredContent.status === "running");
  const evidence = await call("get_evidence", { id });
  const inbox = await call("list_inbox", { limit: 1 });
  const refused = await call("get_investigation", { id: "none" });
  const report = await client.readResource({ uri: `inquest://investigations/${encodeURIComponent(id)}/report` });
  const pid = transport.pid;
  await client.close();
  let runs = true;
  try {
    process.kill(pid, 0);
  } catch {
    runs = false;
  }
  out.push({
    tools: tools.length, status: ended.structuredContent.status, report: report.contents[0].text,
    refused: refused.isError === true && refused.content[0].text, lists: [evidence, inbox].every((r) => !r.isError), errors, runs,
  });
}
console.log(JSON.stringify(out));
process.exit(0);
