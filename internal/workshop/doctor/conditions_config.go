package doctor

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// sdkModule matches modules of the Python SDK, which appear in its logs.
var sdkModule = regex.New(`^(?:client|server|shared|types|cli|os)\b`)

var (
	notRunnable = regex.New(`could not determine executable|does not provide any executables|No executables are provided|Cannot find ` +
		`module|can't open file|is not in this registry|E404|not found in the package registry|No such file|not found`)
	shellMissing = regex.New(`(?i)\bspawn (?:cmd|powershell|pwsh)(?:\.exe)? ENOENT|\b(?:cmd|powershell)(?:\.exe)?"?: (?:executable file ` +
		`|command )?not found|\b(?:command )?not found:? (?:cmd|powershell)(?:\.exe)?\b|\[Errno 2\] No such file or directory: '(?:cmd|` +
		`powershell)(?:\.exe)?'`)
	posixSigns = regex.New(`(?i)/Users/|/home/|/usr/|/opt/|/private/|/bin/|/snap/|\b(?:darwin|macos|linux|ubuntu)\b`)
)

// otherRunners are, for each runner, the programs that it cannot run as a package or script.
var otherRunners = map[string][]string{
	"npx":     {"uvx", "uv", "docker", "podman", "python", "python3", "pip", "pipx", "go", "cargo", "dotnet", "java", "cmd"},
	"bunx":    {"uvx", "uv", "docker", "podman", "python", "python3", "pipx"},
	"uvx":     {"npx", "npm", "node", "docker", "podman", "bunx", "bun", "deno", "cmd", "uvx"},
	"pipx":    {"npx", "npm", "node", "docker"},
	"node":    {"npx", "npm", "uvx", "uv", "docker", "python", "python3", "bunx", "node", "pnpm", "yarn"},
	"python":  {"npx", "npm", "node", "uvx", "uv", "docker", "python", "python3", "pipx"},
	"python3": {"npx", "npm", "node", "uvx", "uv", "docker", "python", "python3", "pipx"},
	"uv":      {"npx", "uvx", "docker"},
	"docker":  {"npx", "uvx", "node", "python", "docker"},
}

// runnerInside returns the runner that is the first argument of a different one, or "".
func (c command) runnerInside() string {
	words := withoutShell(c.words)
	if len(words) < 2 {
		return ""
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") {
			continue
		}
		if path.Base(word) == word && slices.Contains(otherRunners[program(words[0])], word) {
			return word
		}
		return ""
	}
	return ""
}

// startsWindowsShell reports whether the configured program is a shell of Windows.
func (c command) startsWindowsShell() bool {
	return len(c.words) > 0 && slices.Contains([]string{"cmd", "powershell"}, program(c.words[0]))
}

var pathAsOption = regex.New(`^--?(?:/|[A-Za-z]:\\)\S*[/\\]`)

// brokenJSON reports whether the text contains a client's configuration with a syntax error, and
// returns the line of the error. Comments and abbreviations are not errors, and a configuration may be
// cut off at its end.
func brokenJSON(text string) (line string, broken bool) {
	start := configStart.FindStringIndex(text)
	if start == nil {
		return "", false
	}
	var open []byte
	last := byte(0) // the last significant byte; '"' for a whole string, 'v' for another value
	for i := start[0]; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		case c == '"':
			if len(open) > 0 && (last == '"' || last == '}' || last == ']' || last == 'v') {
				return lineAt(text, i), strings.Contains(text[max(0, i-80):i], "\n") // a comma is missing
			}
			end := i + 1
			for end < len(text) && text[end] != '"' && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) || text[end] != '"' {
				return "", false
			}
			i, last = end, '"'
		case c == '{' || c == '[':
			open, last = append(open, c), c
		case c == '}' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c-2 || last == ',' { // in ASCII, brackets are two apart
				return lineAt(text, i), true
			}
			open, last = open[:len(open)-1], c
			if len(open) == 0 {
				rest := strings.TrimLeft(text[i+1:], " \n\t\r")
				return lineAt(text, i), strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, "]")
			}
		case c == ',' || c == ':':
			last = c
		case strings.HasPrefix(text[i:], "“") || strings.HasPrefix(text[i:], "”"):
			return lineAt(text, i), true
		case c == '.' || c == '/' || c == '#' || c == '<' || c >= 0x80:
			return "", false
		default:
			last = 'v'
		}
	}
	return "", false
}

var configStart = regex.New(`\{\s*["“](?:mcpServers|servers|mcp|context_servers|command)["”]\s*:|\{\s*["“][\w ` +
	`-]+["”]\s*:\s*\{\s*["“](?:command|type|url)["”]\s*:`)

func lineAt(text string, at int) string { return (&page{text: text}).line(at) }

func runnerAmongArguments(m *match) bool {
	inner := m.x.cmd.runnerInside()
	if inner == "" || !m.x.onlySymptom(m, notRunnable) {
		return false
	}
	m.names["command"], m.names["runner"] = inner, m.x.cmd.runner()
	return true
}

func windowsShellOnUnix(m *match) bool {
	if !m.x.cmd.startsWindowsShell() || m.x.windowsHost() {
		return false
	}
	where := shellMissing.FindStringIndex(m.x.text)
	if where == nil || !posixSigns.MatchString(m.x.text) {
		return false
	}
	m.said, m.names["command"] = m.x.page.line(where[0]), program(m.x.Command[0])
	return true
}

func jsonIsBroken(m *match) bool {
	line, ok := brokenJSON(m.x.text)
	m.said = line
	return ok
}

func notAHostName(m *match) bool {
	// a host name
	return !strings.Contains(m.x.text, "//mcp."+m.names["option"]) && !strings.Contains(m.x.text, "lookup mcp."+m.names["option"]) &&
		!sdkModule.MatchString(m.names["option"])
}

func rejectedSetting(m *match) bool {
	if wholeConfiguration.MatchString(m.names["option"]) {
		m.names = nil
	}
	return beforeSession(m) && m.x.Exit.Known && m.x.Exit.Code != 0 && (m.names != nil || !lacksValue.MatchString(m.x.text))
}

func pathGivenAsOption(m *match) bool {
	at := slices.IndexFunc(m.x.Command, func(word string) bool { return pathAsOption.MatchString(word) })
	if at < 1 {
		return false
	}
	m.said, m.names["option"] = m.x.Command[at], m.x.Command[at]
	return true
}
