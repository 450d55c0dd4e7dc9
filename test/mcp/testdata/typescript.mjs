// A server on the official TypeScript SDK, over stdio or, if PORT is set, over HTTP. SDK is the folder of the SDK's modules.
// The server appends a line to the file EFFECTS when a call is cancelled.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";

const load = (module) => import(`${process.env.SDK}/${module}.js`);
const { McpServer } = await load("server/mcp");
const { ListToolsRequestSchema } = await load("types");

const text = (said) => ({ content: [{ type: "text", text: said }] });

function newServer() {
  const server = new McpServer({ name: "typescript", version: "1" });
  let grown;
  server.registerTool("grow", {}, () => {
    grown = server.registerTool("grown", { description: "new" }, () => text("I am new"));
    return text("grown"); // the SDK sends list_changed
  });
  server.registerTool("shrink", {}, () => {
    grown.remove();
    return text("shrunk");
  });
  server.registerTool("wait", {}, (extra) => new Promise((resolve) => {
    extra.signal.addEventListener("abort", () => {
      appendFileSync(process.env.EFFECTS, `cancelled: ${extra.signal.reason}\n`);
      resolve(text("too late"));
    });
    extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken: extra._meta.progressToken, progress: 0.5, total: 2, message: "half of the first" },
    });
  }));
  if (process.env.PAGED) paginate(server.server);
  return server;
}

// paginate lists 45 tools in pages of ten, with cursors that are not numbers, and refuses any other cursor.
function paginate(server) {
  const cursor = (from) => Buffer.from(JSON.stringify({ from, "~": "+/=?&" })).toString("base64");
  const starts = [0, 10, 20, 30, 40];
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = params?.cursor === undefined ? 0 : starts.find((n) => n > 0 && cursor(n) === params.cursor);
    if (from === undefined) throw new Error(`unknown cursor ${params.cursor}`);
    const tools = Array.from({ length: Math.min(10, 45 - from) }, (_, n) => (
      { name: `tool_${from + n}`, inputSchema: { type: "object" } }));
    return { tools, nextCursor: from + 10 < 45 ? cursor(from + 10) : undefined };
  });
}

if (!process.env.PORT) {
  const { StdioServerTransport } = await load("server/stdio");
  await newServer().connect(new StdioServerTransport());
} else {
  const { StreamableHTTPServerTransport } = await load("server/streamableHttp");
  const sessions = new Map();
  createServer(async (req, res) => {
    let transport = sessions.get(req.headers["mcp-session-id"]);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await newServer().connect(transport);
    }
    await transport.handleRequest(req, res);
  }).listen(Number(process.env.PORT), "localhost", () => console.error(`listening on port ${process.env.PORT}`));
}
