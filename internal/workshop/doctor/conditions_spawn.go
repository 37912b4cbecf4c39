package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// missingWord matches how a shell reports a program that it did not find.
var missingWord = regex.New(`(?i)not found|no such file|is not recognized`)

// inner matches a line about a program that the configured one started.
var inner = regex.New(`(?i)\b(?:cannot|could not|failed to|unable to) (?:run|start|exec\w*) [\w.-]+: exit`)

// shell reports whether the command is a shell or a shell script.
func (c command) shell() bool {
	return c.runs("sh", "bash", "zsh", "dash") || strings.HasSuffix(c.runner(), ".sh")
}

// ofScript reports whether the shell that lacks a program was running a script: the program is then
// one that the script calls, not the configured one.
func (c command) ofScript(script, missing string) bool {
	if len(c.words) == 0 || isRunner(missing) || missing == c.runner() || strings.Contains(c.line, missing) {
		return false
	}
	return !slices.Contains([]string{"sh", "bash", "zsh", "dash", "ash"}, script) || c.shell()
}

func (c command) firstWord() string {
	if words := withoutShell(c.words); len(words) > 0 {
		return words[0]
	}
	return ""
}

// runtimes are programs that start servers without fetching them, and that clients often cannot find although a shell can.
var runtimes = []string{"node", "python3", "java", "ruby", "conda", "tsx", "ts-node", "mise", "nvm", "fnm", "volta", "poetry", "rye",
	"hatch"}

// helpers are programs that servers call.
var helpers = []string{"git", "ffmpeg", "make", "gcc", "cc", "cmake", "rg", "gh", "kubectl", "adb", "psql", "sqlite3", "chrome", "curl",
	"pandoc", "terraform", "aws", "gcloud", "az", "helm", "jq", "tar", "unzip", "claude", "codex", "gemini", "xcodebuild", "xcrun",
	"swift", "rustc", "tsc"}

func isRunner(command string) bool {
	command = strings.ToLower(command)
	return launch.Fetches(command) || slices.Contains(runtimes, command)
}

var (
	drivePath = regex.New(`^[A-Za-z]:[\\/]`)

	flagInside = regex.New(`^(?:npx|uvx|uv|node|python3?|docker|bunx|deno|java) \S|^(?:[\w.-]+|/[\w./-]+) (?:-{1,2}\w|@?[\w.-]+/|run\b|` +
		`exec\b|[\w./-]+\.(?:js|py|ts|mjs)\b|\S+@latest)|^[\w.-]+ /`)
)

// assigned matches a command that begins with NAME=value.
var assigned = regex.New(`^(?P<variable>[A-Z][A-Z0-9_]*)=`)

// assigns reports whether the program that was not found is a variable assignment, and names the
// variable.
func assigns(m *match) bool {
	found := assigned.FindStringSubmatch(m.names["command"])
	if found == nil {
		return false
	}
	m.names["variable"] = found[1]
	return true
}

// windowsPath matches a path of Windows, possibly after a directory that a server prepended to it.
var windowsPath = regex.New(`^(?:/.*/)?[A-Za-z]:[\\/]`)

func isPath(command string) bool {
	return strings.HasPrefix(command, "/") || strings.HasPrefix(command, ".") || drivePath.MatchString(command) ||
		strings.ContainsAny(command, `/\`)
}

// windows reports whether the evidence is from Windows.
func (x *exam) windows() bool {
	return windowsSigns.MatchString(x.text) || windowsSigns.MatchString(x.cmd.line)
}

var windowsSigns = regex.New(`[A-Z]:\\|\[WinError|\.exe\b|\.cmd\b|AppData`)

// label matches a name for people, such as "Notes Server".
var label = regex.New(`^[A-Z][\w-]*(?: [A-Za-z][\w-]*){1,4}$`)

// wholeLine reports whether the program of the entry is a whole command line.
func (c command) wholeLine() bool {
	return len(c.words) > 0 && strings.Contains(c.words[0], " ") &&
		(flagInside.MatchString(c.words[0]) || assigned.MatchString(c.words[0]) || envPrefix.MatchString(c.words[0]))
}

var (
	envPrefix = regex.New(`^(?:/usr/bin/)?env (?:-\S+ )*[A-Za-z_]\w*=`)
)

var (
	startWord = regex.New(`(?i)\b(?:start|spawn|launch|execut|initiali|activat)|启动|啟動|起動|iniciar|inicializ|démarr|` +
		`lancer|starten|gestartet|avviar|запус|시작`)
	fileNoun = regex.New(`(?i)\b(?:read|open|load|stat|writ|config|mkdir|director|toml|json|lock|cwd|venv|interpreter)`)
)

func urlForStdioClient(m *match) bool {
	m.names["command"] = m.x.URL
	return m.x.NoURL && m.x.URL != "" && m.x.onlySymptom(m, nil)
}

func wholeLineAsProgram(m *match) bool {
	if !m.x.cmd.wholeLine() || !m.x.onlySymptom(m, nil) {
		return false
	}
	m.names["command"] = m.x.Command[0]
	return true
}

func jsonAsProgram(m *match) bool {
	for _, word := range m.x.Command {
		if strings.HasSuffix(word, ".json") && !strings.HasPrefix(word, "-") && m.x.cmd.runner() != "node" {
			m.names = map[string]string{"command": word}
			return true
		}
	}
	return false
}

func tildeAmongArguments(m *match) bool {
	for _, word := range m.x.Command {
		if strings.HasPrefix(word, "~/") || strings.HasPrefix(word, "$HOME/") {
			m.names = map[string]string{"path": word}
			return true
		}
	}
	return false
}

func helperWanted(m *match) bool {
	command := m.names["wanted"]
	return slices.Contains(helpers, strings.ToLower(command)) && m.x.cmd.runner() != strings.ToLower(command)
}

func scriptLacksProgram(m *match) bool {
	m.names["command"] = "A helper program that the script calls"
	return m.x.cmd.shell() && m.x.exited(m, 127) && !missingWord.MatchString(m.x.text)
}

func whileStarting(m *match) bool {
	doing, _, _ := strings.Cut(m.said, "Os {")
	return startWord.MatchString(doing) && !fileNoun.MatchString(doing)
}

func labelWanted(m *match) bool {
	command := m.names["wanted"]
	return label.MatchString(command) && !isRunner(strings.Fields(command)[0])
}

func spawnDenied(m *match) bool {
	if m.x.Spawn.Errno != "EACCES" || m.x.Spawn.Said != "" {
		return false
	}
	m.said, m.names["command"] = "spawn "+m.x.Spawn.Path+" EACCES", m.x.Spawn.Path
	return true
}
