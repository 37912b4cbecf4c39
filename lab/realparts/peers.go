package realparts

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

const fastMCPPin = "fastmcp==4.1.2"

var peersUnit = npmUnitOf("peers", minNode, pinsPeersPackage, pinsPeersLock)

// Peers returns the command lines of two other proxies, with which the bench compares gauze: fastmcp
// from PyPI and mcp-proxy from npm. It installs them if they are missing.
func Peers(ctx context.Context, out io.Writer) (fastMCP, mcpProxy []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	python, err := installed(ctx, pypiServer{pins: []string{fastMCPPin}, program: "fastmcp"}.unit(), out)
	if err != nil {
		return nil, nil, err
	}
	npm, err := installed(ctx, peersUnit, out)
	if err != nil {
		return nil, nil, err
	}
	script, err := packageScript(filepath.Join(npm.Modules, "mcp-proxy"))
	if err != nil {
		return nil, nil, fmt.Errorf("mcp-proxy: %w", err)
	}
	return []string{filepath.Join(python.Cache, venvBin(), "fastmcp")}, []string{npm.Node, script}, nil
}
