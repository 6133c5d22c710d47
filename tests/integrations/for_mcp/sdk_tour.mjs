// Use a server with the SDK in TypeScript: node sdk_tour.mjs NODE_MODULES URL
import assert from "node:assert";
import { pathToFileURL } from "node:url";

const [modules, url] = process.argv.slice(2);
const sdk = (name) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${name}`));
const { Client } = await sdk("client/index.js");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp.js");

const client = new Client({ name: "tour", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ["recall", "remember", "correct", "forget"]);
await client.callTool({ name: "remember", arguments: { text: "Rami edits with Helix" } });
const found = await client.callTool({ name: "recall", arguments: { query: "Rami edits" } });
assert(found.content[0].text.includes("Helix"));
const bad = await client.callTool({ name: "correct", arguments: { id: "nobody", text: "x" } });
assert(bad.isError && bad.content[0].text.includes("nobody"));
assert.equal((await client.listResources()).resources.length, 2);
const prompt = await client.getPrompt({ name: "recall", arguments: { topic: "Rami" } });
assert(prompt.messages[0].content.text.includes("Helix"));
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "recall" },
  argument: { name: "topic", value: "tea" },
});
assert.deepEqual(completed.completion.values, ["tea/time"]);
await assert.rejects(client.callTool({ name: "erase", arguments: {} }), /unknown tool/);
await client.close();
