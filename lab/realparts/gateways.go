package realparts

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

const mcpProxyPin = "mcp-proxy==0.13.0"

var gatewaysUnit = npmUnitOf("gateways", minNode, pinsGatewaysPackage, pinsGatewaysLock)

// Gateways has the command lines of other programs that serve many servers from one process.
type Gateways struct {
	McpHub   []string // from npm
	McpProxy []string // from PyPI; not the npm package of that name
	Versions map[string]string
}

// InstallGateways returns the gateways, and installs them if they are missing.
func InstallGateways(ctx context.Context, out io.Writer) (g Gateways, err error) {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	npm, err := installed(ctx, gatewaysUnit, out)
	if err != nil {
		return g, err
	}
	script, err := packageScript(filepath.Join(npm.Modules, "mcp-hub"))
	if err != nil {
		return g, fmt.Errorf("mcp-hub: %w", err)
	}
	g.McpHub = []string{npm.Node, script}
	python, err := installed(ctx, pypiServer{pins: []string{mcpProxyPin}, program: "mcp-proxy"}.unit(), out)
	if err != nil {
		return g, err
	}
	g.McpProxy = []string{filepath.Join(python.Cache, venvBin(), "mcp-proxy")}
	g.Versions = map[string]string{"mcp-hub": versionsOf(pinsGatewaysPackage)["mcp-hub"], "mcp-proxy": strings.TrimPrefix(mcpProxyPin, "mcp-proxy==")}
	return g, nil
}

// InstallEverything returns the command line of server-everything, and installs it if it is missing.
func InstallEverything(ctx context.Context, out io.Writer) ([]string, error) {
	p, err := installed(ctx, npmUnit, out)
	if err != nil {
		return nil, err
	}
	script, err := packageScript(filepath.Join(p.Modules, "@modelcontextprotocol", string(Everything)))
	return []string{p.Node, script}, err
}
