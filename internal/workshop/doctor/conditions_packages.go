package doctor

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// mcpLibrary matches evidence that is about the Python library of the protocol and not only about a
// server with that word in its name.
var mcpLibrary = regex.New(`\bmcp\.(?:server|types|shared|client|cli|os)\b|(?:from|import|module named|module) ['"]?(?:mcp|` +
	`fastmcp)\b|from '(?:mcp|fastmcp)[.']|site-packages[/\\](?:mcp|fastmcp)[/\\]|'(?:Server|FastMCP|McpServer|ClientSession|MCPServer)' ` +
	`object|\b(?:Fast)?MCP\.(?:__init__|run)\(\)|\b(?:mcp|fastmcp)[<>=!~]=?\d`)

// olderMCP reports whether the library that lacks something is that of the protocol, from what a clue
// captured or, if that names no library, from the whole text.
func olderMCP(text string, names map[string]string) bool {
	for _, key := range []string{"package", "module"} {
		root, _, _ := strings.Cut(names[key], ".")
		switch {
		case slices.Contains([]string{"mcp", "fastmcp", "Server", "FastMCP", "McpServer", "ClientSession", "MCPServer"}, root):
			return true
		case key == "package" && root != "":
			return false
		}
	}
	return mcpLibrary.MatchString(text)
}

// ofALibrary reports whether a stack trace ends in an error that a different version of a library
// can cause, or is cut off before its error. That the packages were just installed proves nothing.
func ofALibrary(m *match) bool {
	all := exceptionLine.FindAllStringSubmatch(m.x.text, -1)
	if len(all) == 0 {
		return true
	}
	return slices.Contains([]string{"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "NameError"}, all[len(all)-1][1])
}

// exceptionLine matches the last line of a Python stack trace.
var exceptionLine = regex.New(`(?m)^(?:[\w]+\.)*(\w+(?:Error|Exception|Exit|Warning|Interrupt|Group))\b(?::|$)`)

// canBeDamaged reports whether a missing module can be a file that a cached copy has lost. A path
// without an extension, imported by a module of a package, is not a file: the code asks for something
// that the installed version of a library does not provide.
func canBeDamaged(m *match) bool {
	found := importedPath.FindStringSubmatch(m.said)
	return found == nil || path.Ext(found[1]) != ""
}

var importedPath = regex.New(`Cannot find module '([^'\n]*[/\\]node_modules[/\\][^'\n]+)' imported from`)

func subcommandOfUvx(m *match) bool {
	return m.x.cmd.runs("uvx", "bunx") && len(m.x.Command) > 2 &&
		slices.Contains([]string{"run", "install", "add", "tool"}, m.x.Command[1]) && m.x.onlySymptom(m, nil)
}
