// A launcher that talks on stdout, as launchers do: node noisy.cjs COMMAND ARGS...
// A banner first, then a stray line before every line of the server's own.
'use strict';
const { spawn } = require('node:child_process');
const readline = require('node:readline');

const strays = [
  'Server running on stdio!',
  '\x1b[32mINFO\x1b[0m request handled in 3 ms',
  '{"level":"info","msg":"handled"}',
  '{"not":"closed',
  '[1,2,3]',
  'null',
  '',
];
let n = 0;
const stray = () => process.stdout.write(strays[n++ % strays.length] + '\n');

strays.forEach(stray);
const server = spawn(process.argv[2], process.argv.slice(3), { stdio: ['inherit', 'pipe', 'inherit'] });
readline.createInterface({ input: server.stdout }).on('line', (line) => {
  stray();
  process.stdout.write(line + '\n');
});
server.on('exit', (code) => process.exit(code ?? 1));
