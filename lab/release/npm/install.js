"use strict";
// Checks the native program and puts it in place of bin/gauze, so that no Node.js runs beside it.
const fs = require("fs");
const path = require("path");
const native = require("./native.js");

// replace makes to the same file as from, at once: whoever starts it finds the old one or the new one.
function replace(from, to) {
  const temporary = `${to}.${process.pid}`;
  try {
    fs.linkSync(from, temporary);
  } catch {
    fs.copyFileSync(from, temporary); // another file system, or one without hard links
  }
  try {
    fs.chmodSync(temporary, 0o755);
    fs.renameSync(temporary, to);
  } catch (err) {
    fs.rmSync(temporary, { force: true });
    throw err;
  }
}

// npm on Windows and Yarn start bin/gauze with Node.js, whatever it is.
const keep = process.platform === "win32" || (process.env.npm_config_user_agent || "").startsWith("yarn/");

try {
  const program = native.find();
  native.verify(program);
  if (!keep) replace(program, path.join(__dirname, "bin", "gauze"));
} catch (err) {
  console.error(err.message);
  process.exitCode = 1;
}
