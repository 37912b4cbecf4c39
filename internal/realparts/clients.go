package realparts

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// Client names one real program that starts MCP servers, by its id in our table of clients.
type Client string

// The clients that can be had from npm and asked without an account.
const (
	ClaudeCode Client = "claude-code"
	Codex      Client = "codex"
	GeminiCLI  Client = "gemini-cli"
	Opencode   Client = "opencode"
	CopilotCLI Client = "copilot-cli"
)

// programs are where the packages keep what is really started. Most have it in a package of its own for each system,
// which their install script would link; taken from there, no script has to run.
var programs = map[Client]string{
	ClaudeCode: "@anthropic-ai/claude-code-linux-*/claude",
	Codex:      "@openai/codex-linux-*/vendor/*/bin/codex",
	GeminiCLI:  "@google/gemini-cli/bundle/gemini.js",
	Opencode:   "opencode-linux-*/bin/opencode",
	CopilotCLI: "@github/copilot-linux-*/copilot",
}

// The clients are large: two of them are asked in every check, the others when they are asked for.
var (
	clientsUnit     = clientsFrom("clients", pinsClientsPackage, pinsClientsLock)
	moreClientsUnit = clientsFrom("clients-more", pinsMorePackage, pinsMoreLock)
)

func clientsFrom(name, manifest, lock string) unit {
	return unit{name: name, pins: pinned(manifest) + pinned(lock) + nodePin, install: func(ctx context.Context, dir string, out io.Writer) (place, error) {
		return installPinned(ctx, dir, out, oldestNode, manifest, lock)
	}}
}

// NeedClient returns the command line that starts the client, with the manners of Need.
func NeedClient(t testing.TB, client Client, args ...string) []string {
	t.Helper()
	from := moreClientsUnit
	if client == ClaudeCode || client == Codex {
		from = clientsUnit
	}
	place := need(t, from)
	found, err := filepath.Glob(filepath.Join(place.Modules, programs[client]))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		missing(t, string(client), fmt.Errorf("its package has no program for this machine"))
	}
	argv := append([]string{found[0]}, args...)
	if filepath.Ext(found[0]) == ".js" {
		argv = append([]string{place.Node}, argv...)
	}
	return argv
}
