// Both of the protocol's TypeScript clients use our server over HTTP: that of sessions, and the one without.
import { Client as Former } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, token] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const out = [];
for (const [Kind, Transport] of [[Former, FormerTransport], [Client, StreamableHTTPClientTransport]]) {
  const client = new Kind({ name: "test", version: "1" });
  await client.connect(new Transport(new URL(url), { requestInit }));
  const { tools } = await client.listTools(); // the results below are checked against their output schemas
  const call = (name, args) => client.callTool({ name, arguments: args });
  const started = await call("start_investigation", { chain: "shop", data: "slow", key: "one for both" });
  const progress = [];
  const onprogress = (p) => progress.push(p.message);
  const options = Kind === Former ? [undefined, { onprogress }] : [{ onprogress }];
  const ended = await client.callTool({ name: "get_investigation", arguments: { id: "slow", wait: 1 } }, ...options);
  const refused = await call("get_investigation", { id: "none" });
  const transcript = await call("get_transcript", { id: "ours" });
  const evidence = await call("get_evidence", { id: "ours" });
  const list = await call("list_investigations", {});
  const inbox = await call("list_inbox", {});
  const report = await client.readResource({ uri: "inquest://investigations/ours/report" });
  const prompt = await client.getPrompt({ name: "investigate", arguments: { what: "it is slow" } });
  out.push({
    tools: tools.map((t) => t.name).sort().join(" "),
    started: started.structuredContent.status,
    ended: ended.structuredContent.status,
    progress: progress.length > 0,
    refused: refused.isError === true && refused.content[0].text,
    transcript: transcript.structuredContent.entries.map((e) => e.text),
    lists: [evidence, list, inbox].every((r) => !r.isError && !!r.structuredContent.notice),
    report: report.contents[0].text,
    prompt: prompt.messages[0].content.text.includes("it is slow"),
  });
  await client.close();
}
console.log(JSON.stringify(out));
process.exit(0);
