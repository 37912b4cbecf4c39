package realparts

import (
	"fmt"
	"path/filepath"
	"testing"
)

// Client is a real MCP client, named by its id in the table of clients.
type Client string

// The clients that are on npm and run without an account.
const (
	ClaudeCode Client = "claude-code"
	Codex      Client = "codex"
	GeminiCLI  Client = "gemini-cli"
	Opencode   Client = "opencode"
	CopilotCLI Client = "copilot-cli"
)

// programs are the paths of the executables. Most are in a separate package for each system, which
// the install script would link; used from there, no script has to run.
var programs = map[Client]string{
	ClaudeCode: "@anthropic-ai/claude-code-linux-*/claude",
	Codex:      "@openai/codex-linux-*/vendor/*/bin/codex",
	GeminiCLI:  "@google/gemini-cli/bundle/gemini.js",
	Opencode:   "opencode-linux-*/bin/opencode",
	CopilotCLI: "@github/copilot-linux-*/copilot",
}

// The clients are large: three of them are part of every check, the others run on request.
var (
	clientsUnit     = npmUnitOf("clients", minNode, pinsClientsPackage, pinsClientsLock)
	geminiUnit      = npmUnitOf("clients-gemini", minNode, pinsGeminiPackage, pinsGeminiLock)
	moreClientsUnit = npmUnitOf("clients-more", minNode, pinsMorePackage, pinsMoreLock)
)

// NeedClient returns the command line that starts the client. A missing client is handled as in
// Need.
func NeedClient(t testing.TB, client Client, args ...string) []string {
	t.Helper()
	from := moreClientsUnit
	switch client {
	case ClaudeCode, Codex:
		from = clientsUnit
	case GeminiCLI:
		from = geminiUnit
	}
	place := need(t, from)
	found, err := filepath.Glob(filepath.Join(place.Modules, programs[client]))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		missing(t, string(client), fmt.Errorf("its package has no executable for this machine"))
	}
	argv := append([]string{found[0]}, args...)
	if filepath.Ext(found[0]) == ".js" {
		argv = append([]string{place.Node}, argv...)
	}
	return argv
}
