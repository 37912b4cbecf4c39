#!/usr/bin/env node
"use strict";
// Starts the native program where install scripts are off: with them, this file is the program itself.
const { spawn } = require("child_process");
const { constants } = require("os");

let program;
try {
  const native = require("../native.js");
  program = native.find();
  native.verifyOnce(program);
} catch (err) {
  console.error(err.message);
  process.exit(1);
}
const args = process.argv.slice(2);
const windows = process.platform === "win32";

if (process.execve && !windows) {
  process.execve(program, [program, ...args]); // newer versions of Node.js can become the program
}

// The program has a session of its own, so that each signal reaches it once, from here: a terminal sends Ctrl-C to this
// process alone, as kill does. It can still read and write the terminal, which is not the one that controls it. On Windows,
// the console sends Ctrl-C to both.
const child = spawn(program, args, { stdio: "inherit", detached: !windows });
for (const signal of windows ? ["SIGTERM", "SIGHUP"] : ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGWINCH", "SIGCONT"]) {
  process.on(signal, () => child.kill(signal));
}
if (windows) process.on("SIGINT", () => {});
else {
  process.on("SIGTSTP", () => {
    child.kill("SIGSTOP");
    process.kill(process.pid, "SIGSTOP");
  });
}
child.on("error", (err) => {
  console.error(`gauze-mcp: ${program} does not start: ${err.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.exitCode = 128 + constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
