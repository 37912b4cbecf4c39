// A TypeScript SDK client with tasks: node tasks.cjs PLAN COMMAND ARGS...
// Runs the plan in the file PLAN with run_task as a task and writes what it received as one JSON object. It confirms every question.
'use strict';
const fs = require('node:fs');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { CallToolResultSchema, ElicitRequestSchema } = require('@modelcontextprotocol/sdk/types.js');

const [plan, command, ...args] = process.argv.slice(2);
const related = 'io.modelcontextprotocol/related-task';

async function main() {
  const out = { statuses: [] };
  const client = new Client({ name: 'realtest', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    out.asked = request.params._meta?.[related]?.taskId;
    return { action: 'accept', content: { agree: true } };
  });
  await client.connect(new StdioClientTransport({ command, args, env: { ...process.env }, stderr: 'inherit' }));
  out.supported = (await client.listTools()).tools.filter((t) => t.execution?.taskSupport).map((t) => t.name);
  const params = { name: 'run_task', arguments: { plan: fs.readFileSync(plan, 'utf8') } };
  for await (const message of client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 }, timeout: 60_000 })) {
    if (message.type === 'taskCreated') out.id = message.task.taskId;
    if (message.type === 'taskStatus') out.statuses.push(message.task.status);
    if (message.type === 'result') out.result = message.result;
    if (message.type === 'error') out.error = String(message.error);
  }
  out.got = await client.experimental.tasks.getTask(out.id);
  out.listed = (await client.experimental.tasks.listTasks()).tasks.map((t) => t.taskId);
  out.late = await client.experimental.tasks.cancelTask(out.id).then(() => '', String);
  await client.close();
  console.log(JSON.stringify(out));
}

main().catch((error) => { console.error(error); process.exit(1); });
