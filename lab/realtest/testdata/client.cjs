// A TypeScript SDK client under orders: node client.cjs v1|v2|v2-auto COMMAND ARGS... | URL
// Reads {"id":1,"do":"call","tool":"echo","args":{}} and writes {"id":1,"result":{...}} or {"id":1,"error":"..."};
// {"id":0,"pid":...} comes first, when the session is ready, and {"updated":"URI"} at any time. Closes the session when its stdin ends.
'use strict';
const readline = require('node:readline');

const [version, command, ...args] = process.argv.slice(2);
const v1 = version === 'v1';
const http = /^http:/.test(command);
const modern = '2026-07-28';

// v1 has a file for each part; v2 has one for all, and one for what only Node.js can do.
const part = (name) => require(v1 ? `@modelcontextprotocol/sdk/${name}.js` : '@modelcontextprotocol/client');
const { Client } = part('client/index');
const { StdioClientTransport } = v1 ? part('client/stdio') : require('@modelcontextprotocol/client/stdio');
const { StreamableHTTPClientTransport } = part('client/streamableHttp');

const say = (report) => process.stdout.write(JSON.stringify(report) + '\n');

const options = version === 'v2-auto' ? { versionNegotiation: { mode: 'auto' } } : {};
const client = new Client({ name: 'realtest', version: '1' }, options);
const transport = http
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: { ...process.env }, stderr: 'inherit' });
const updated = 'notifications/resources/updated';
client.setNotificationHandler(v1 ? part('types').ResourceUpdatedNotificationSchema : updated, (n) => say({ updated: n.params.uri }));

function obey(order) {
  const opts = { timeout: 60_000 };
  if (order.progress) opts.onprogress = () => say({ id: order.id, progress: true });
  switch (order.do) {
    case 'tools':
      return client.listTools(undefined, opts);
    case 'call': {
      const params = { name: order.tool, arguments: order.args ?? {} };
      return v1 ? client.callTool(params, undefined, opts) : client.callTool(params, opts);
    }
    case 'subscribe':
      if (version === 'v2-auto' && client.getNegotiatedProtocolVersion() >= modern)
        return client.listen({ resourceSubscriptions: [order.uri] }, opts).then(() => ({}));
      return client.subscribeResource({ uri: order.uri }, opts);
    default:
      throw new Error('unknown order ' + order.do);
  }
}

async function main() {
  try {
    await client.connect(transport);
  } catch (error) {
    say({ id: 0, error: String(error) });
    process.exit(1);
  }
  const negotiated = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? '';
  say({ id: 0, pid: transport.pid ?? 0, version: negotiated });
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', async (line) => {
    const order = JSON.parse(line);
    try {
      say({ id: order.id, result: await obey(order) });
    } catch (error) {
      say({ id: order.id, error: String(error) });
    }
  });
  lines.on('close', async () => {
    await client.close();
    process.exit(0);
  });
}

main();
