"use strict";
// Finds the native program, which npm installs as one of the optional packages, and checks it.
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
const own = require("./package.json");
const { version, sha256 } = own.gauze;

const platform = `${process.platform}-${process.arch}`;
const name = `@gauze-mcp/cli-${platform}`;

// places are where package managers install the package of the program: in this one or beside it. Node.js would look in
// each directory above as well, where anybody's files may be. Yarn's Plug'n'Play knows the place itself.
function places() {
  if (process.versions.pnp) return [path.dirname(require.resolve(`${name}/package.json`))];
  const beside = path.dirname(__dirname);
  const found = [path.join(__dirname, "node_modules", name)];
  if (path.basename(beside) === "node_modules") found.push(path.join(beside, name));
  return found;
}

// find returns the path of the native program of exactly this version.
exports.find = function () {
  if (!sha256[platform]) {
    throw new Error(`gauze-mcp: there is no package for ${process.platform} on ${process.arch}.
Build gauze with Go instead:
  go install github.com/gauze-mcp/gauze/cmd/gauze@latest`);
  }
  const program = path.join("bin", process.platform === "win32" ? "gauze.exe" : "gauze");
  for (const place of places()) {
    try {
      const found = JSON.parse(fs.readFileSync(path.join(place, "package.json"), "utf8"));
      const file = path.join(place, program);
      if (found.name === name && found.version === own.version && fs.existsSync(file)) return fs.realpathSync(file);
    } catch {}
  }
  throw new Error(`gauze-mcp: the package ${name}@${own.version}, which has the program, is not installed.
npm leaves it out if optional dependencies are off, or if node_modules is from another system.
Install it again, with -g if it was global:
  npm install --include=optional gauze-mcp`);
};

// verify throws an error unless file is the program of this release.
exports.verify = function (file) {
  const got = crypto.createHash("sha256").update(fs.readFileSync(file)).digest("hex");
  if (got !== sha256[platform]) {
    throw new Error(`gauze-mcp: refused, because the program is not that of release ${version}.
  file      ${file}
  SHA-256   ${got}
  expected  ${sha256[platform]}
Clean the cache and install again. If this message stays, report it:
  npm cache clean --force
  https://github.com/gauze-mcp/gauze/security`);
  }
};

// verifyOnce is verify, but reads a file only once, until it changes. What it read is noted in this package: who can write
// there can also change this script. Where nobody can, it reads the file each time.
exports.verifyOnce = function (file) {
  const { dev, ino, size, mtimeNs, ctimeNs } = fs.statSync(file, { bigint: true });
  const seen = [sha256[platform], dev, ino, size, mtimeNs, ctimeNs].join(" ");
  const note = path.join(__dirname, ".verified");
  try {
    if (fs.readFileSync(note, "utf8") === seen) return;
  } catch {}
  exports.verify(file);
  try {
    fs.writeFileSync(note, seen);
  } catch {}
};
