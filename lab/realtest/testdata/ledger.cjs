// A witness inside a real server: node --require ledger.cjs SERVER, with REALTEST_LEDGER naming a file.
// Every tools/call that arrives is written to the file before the server hears of it: one line each, synced by being
// written at once. A call whose arguments hold one of these words makes the server die by SIGKILL, the first time only:
//   die-on-receipt      it arrived, nothing was done
//   die-before-answer   it was done, nobody was told
//   die-mid-answer      it was done, half the answer was written
//   die-after-answer    it was done, the answer was written
'use strict';
const fs = require('node:fs');
const file = process.env.REALTEST_LEDGER;
const fates = new Map(); // request id -> how to die when its answer is written

const die = () => process.kill(process.pid, 'SIGKILL');

function arrived(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  if (message.method !== 'tools/call') return;
  const entry = JSON.stringify({ tool: message.params.name, args: JSON.stringify(message.params.arguments) });
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : [];
  fs.appendFileSync(file, entry + '\n');
  const fate = /die-[a-z]+-[a-z]+/.exec(entry)?.[0];
  if (!fate || before.includes(entry)) return;
  if (fate === 'die-on-receipt') die();
  fates.set(JSON.stringify(message.id), fate);
}

// Listening for data would start the stream before the server is ready; being in the way of emit does not.
let rest = '';
const emit = process.stdin.emit;
process.stdin.emit = function (event, chunk, ...more) {
  if (event === 'data') {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    lines.forEach(arrived);
  }
  return emit.call(this, event, chunk, ...more);
};

const write = process.stdout.write;
process.stdout.write = function (chunk, ...more) {
  const fate = fates.size > 0 && fates.get(JSON.stringify(JSON.parse(chunk).id));
  if (fate) {
    if (fate === 'die-mid-answer') fs.writeSync(1, String(chunk).slice(0, chunk.length / 2));
    if (fate === 'die-after-answer') fs.writeSync(1, chunk);
    die();
  }
  return write.call(this, chunk, ...more);
};
