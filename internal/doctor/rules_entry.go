package doctor

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Entry is a server's entry in a client's configuration, as far as a diagnosis needs it.
type Entry struct {
	Command []string // program and arguments
	URL     string
	Env     []string // names of the variables that the entry sets; nil if they are not known
	NoURL   bool     // the client only starts commands from this file
	NoSSE   bool     // the client connects to URLs by streamable HTTP only
}

// FromEntry returns a case made of a client's log and the server's entry.
func FromEntry(e Entry, text string) Case {
	c := FromLog("", text)
	c.Command, c.URL, c.Env, c.NoURL, c.NoSSE = e.Command, e.URL, e.Env, e.NoURL, e.NoSSE
	if len(c.Command) == 0 && c.URL != "" {
		c.Command = []string{c.URL}
	}
	return c
}

// entryCauses returns the causes that the entry itself shows. The log only has to confirm that the
// server failed.
func entryCauses() []cause {
	return []cause{
		{
			name: "runner_in_arguments", category: ConfigMalformed,
			explain: "The entry starts {command|one program} with a different one ({runner|another runner}), which cannot run it.",
			fix:     "Set \"command\" to {command|the program that runs the server}, and keep only its own arguments in \"args\".",
			clues: []clue{{certain, "", func(x *exam, m *match) bool {
				inner := x.runnerInside()
				if inner == "" || !x.onlySymptom(m, notRunnable) {
					return false
				}
				m.names["command"], m.names["runner"] = inner, x.runner()
				return true
			}}},
			hides: []string{"wrong_runner", "script_missing", "wrong_package_name", "broken_npm_install", "console_script_not_installed", "docker_image_not_published", "bad_generated_args", "venv_not_used"},
		},
		{
			name: "windows_shell_elsewhere", category: CommandNotFound,
			explain: "The entry starts the server with {command|a Windows shell}, which only exists on Windows.",
			fix:     "Set \"command\" to the program after /c, and remove the shell and /c from the entry.",
			clues: []clue{{certain, "", func(x *exam, m *match) bool {
				if !x.startsWindowsShell() || x.windowsHost() {
					return false
				}
				where := shellMissing.FindStringIndex(x.text)
				if where == nil || !posixSigns.MatchString(x.text) {
					return false
				}
				m.said, m.names["command"] = x.page.line(where[0]), program(x.Command[0])
				return true
			}}},
			hides: []string{"windows_env_stripped", "gui_path_missing", "wrong_command_name", "command_path_missing", "windows_cmd_shim"},
		},
	}
}

// entryClues returns clues of other causes that rest on the entry.
func entryClues() map[string][]clue {
	return map[string][]clue{
		"http_server_run_as_stdio": {
			{likely, "", func(x *exam, m *match) bool { return x.startsHTTP() && x.onlySymptom(m, unanswered) }},
		},
		"url_in_stdio_only_client": {
			{strong, "", func(x *exam, m *match) bool {
				m.names["command"] = x.URL
				return x.NoURL && x.URL != "" && x.onlySymptom(m, nil)
			}},
		},
		"sse_vs_streamable": {
			{strong, "", func(x *exam, m *match) bool {
				return x.NoSSE && strings.HasSuffix(strings.TrimRight(x.URL, "/"), "/sse") && x.onlySymptom(m, nil)
			}},
		},
		"env_placeholder_not_expanded": {
			{likely, "", func(x *exam, m *match) bool {
				name := x.wholeReference()
				if name == "" || !x.onlySymptom(m, nil) {
					return false
				}
				m.names["variable"] = name
				return true
			}},
		},
		"env_not_forwarded_to_container": {
			{likely, "", func(x *exam, m *match) bool {
				name := x.namedNotGiven()
				if name == "" || !strings.Contains(x.text, name) && !rejected.MatchString(x.text) {
					return false
				}
				m.said, m.names["variable"] = "-e "+name, name
				return true
			}},
		},
		"old_node_first_in_path": {
			{likely, "", func(x *exam, m *match) bool {
				version := nodeInPath.FindStringSubmatch(x.line)
				if version == nil || !belowSupported(version[1]) || !x.onlySymptom(m, nil) {
					return false
				}
				m.names["version"] = strings.TrimSuffix(version[1]+version[2], ".")
				return true
			}},
		},
		"stdin_not_connected": {
			{guess, "", func(x *exam, m *match) bool { return x.execWithoutInput() && x.onlySymptom(m, nil) }},
		},
		"container_localhost": {
			{likely, "", func(x *exam, m *match) bool {
				return x.container() && local.MatchString(x.line) && x.onlySymptom(m, unreachable) && unreachable.MatchString(m.said)
			}},
			{likely, "", func(x *exam, m *match) bool { // the client runs in a container
				return local.MatchString(x.address()) && ofCompose.MatchString(x.text) && (x.status(m, 500, 502, 503, 504) || x.onlySymptom(m, faultLogged) && faultLogged.MatchString(m.said) || unreachable.MatchString(x.text) && x.onlySymptom(m, unreachable))
			}},
		},
		"wrong_runner": {
			{likely, "", func(x *exam, m *match) bool {
				return x.runs("uvx", "bunx") && len(x.Command) > 2 && slices.Contains([]string{"run", "install", "add", "tool"}, x.Command[1]) && x.onlySymptom(m, nil)
			}},
		},
		"space_in_path_argument": splitAtSpace(),
		"wrong_command_name":     labelAsCommand(),
	}
}

// splitAtSpace returns the clues that a missing path is the part before a space of a path in the
// entry.
func splitAtSpace() []clue {
	cut := func(x *exam, m *match) bool {
		_, rest, found := strings.Cut(x.line, m.names["path"]+" ")
		rest, _, _ = strings.Cut(rest, " ")
		return found && strings.ContainsAny(m.names["path"], `/\`) && !strings.ContainsAny(rest[:min(1, len(rest))], `-/\`) &&
			strings.ContainsAny(rest, `/\.`) && !strings.Contains(path.Base(strings.ReplaceAll(m.names["path"], `\`, "/")), ".")
	}
	return []clue{
		{certain, `(?i)(?:ENOENT|no such file or directory|cannot find(?: module| the path)?|can't open file|does not exist|not found|is not a directory|not recognized)[^\n]{0,40}['"` + "`" + `“](?P<path>(?:[A-Za-z]:|~)?[/\\][^'"` + "`" + `”\n]+)['"` + "`" + `”]`, cut},
		{certain, `(?i)['"` + "`" + `“](?P<path>(?:[A-Za-z]:|~)?[/\\][^'"` + "`" + `”\n]+)['"` + "`" + `”][^\n]{0,20}(?:no such file|cannot be found|does not exist|not found|is not recognized)`, cut},
		{certain, `(?i)(?:no such file or directory|command not found|does not exist|not found): (?P<path>(?:[A-Za-z]:|~)?[/\\][^\s:'"]+)`, cut},
		{certain, `(?P<path>(?:[A-Za-z]:|~)?[/\\][^\s:'"]+): (?i:no such file or directory|command not found|not found|is not a directory)`, cut},
	}
}

// labelAsCommand returns the clues that the command is a name for people, such as "Notes Server".
func labelAsCommand() []clue {
	return cannotFind(likely, func(x *exam, command string) bool {
		return label.MatchString(command) && !isRunner(x, strings.Fields(command)[0])
	})
}

var label = &wording{source: `^[A-Z][\w-]*(?: [A-Za-z][\w-]*){1,4}$`}

// onlySymptom reports whether the text says that the server failed, in the words of also or of any
// client, and puts that line into the match. Whether it says why is decided by the other causes.
func (x *exam) onlySymptom(m *match, also *wording) bool {
	for _, words := range []*wording{also, anySymptom} {
		if words == nil {
			continue
		}
		if where := words.FindStringIndex(x.text); where != nil {
			m.said = x.page.line(where[0])
			return true
		}
	}
	return false
}

var (
	anySymptom  = &wording{source: `(?i)connection (?:was )?closed|client closed|server (?:transport )?(?:closed|disconnected|exited)|exited before|process exited|failed to (?:connect|start|initialize|reconnect|load)|could not (?:attach|connect|start)|couldn't reach|timed out|timeout|-3200[01]|not connected|broken pipe|disconnected`}
	unanswered  = &wording{source: `(?i)waiting for server to respond|Message from client: \{"method":"initialize"|no response to initialize`}
	notRunnable = &wording{source: `could not determine executable|does not provide any executables|No executables are provided|Cannot find module|can't open file|is not in this registry|E404|not found in the package registry|No such file|not found`}

	unreachable = &wording{source: `(?i)fetch failed|connection (?:attempts? failed|error|refused|failed)|max retries exceeded|failed to establish a new connection|cannot connect|could not connect|couldn't connect|failed to connect to (?:localhost|127|the)|ECONNREFUSED|unreachable`}

	faultLogged = &wording{source: `\| +50[0-4] +\||"(?:GET|POST)[^"\n]*" 50[0-4]\b`} // access logs
	ofCompose   = &wording{source: `(?m)^[\w.-]{3,40} +\| `}

	shellMissing = &wording{source: `(?i)\bspawn (?:cmd|powershell|pwsh)(?:\.exe)? ENOENT|\b(?:cmd|powershell)(?:\.exe)?"?: (?:executable file |command )?not found|\b(?:command )?not found:? (?:cmd|powershell)(?:\.exe)?\b|\[Errno 2\] No such file or directory: '(?:cmd|powershell)(?:\.exe)?'`}
	posixSigns   = &wording{source: `(?i)/Users/|/home/|/usr/|/opt/|/private/|/bin/|/snap/|\b(?:darwin|macos|linux|ubuntu)\b`}
	nodeInPath   = &wording{source: `(?i)(?:versions/node/|node-versions/|installs/node(?:js)?/|image/node/|nodejs/|node@|\\nvm\\)v?(\d{1,2})(\.[\d.]+|\b)`}
)

// oldestNode is the oldest major version of Node that current servers and SDKs run on.
const oldestNode = 18

func belowSupported(version string) bool {
	major, err := strconv.Atoi(version)
	return err == nil && major < oldestNode
}

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
func (x *exam) runnerInside() string {
	words := withoutShell(x.Command)
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

// execWithoutInput reports whether the server is started in a running container or pod without its
// stdin.
func (x *exam) execWithoutInput() bool {
	return x.runs("docker", "podman", "kubectl", "oc", "nerdctl") && x.has("exec") && !x.interactive() && !x.has("--stdin", "compose", "-d")
}

// startsWindowsShell reports whether the configured program is a shell of Windows.
func (x *exam) startsWindowsShell() bool {
	return len(x.Command) > 0 && slices.Contains([]string{"cmd", "powershell"}, program(x.Command[0]))
}

// windowsHost reports whether the text is from a Windows machine: the entry itself does not count.
func (x *exam) windowsHost() bool { return windowsSigns.MatchString(x.text) }

// startsHTTP reports whether the arguments ask a local server for a transport other than stdio.
func (x *exam) startsHTTP() bool {
	return len(x.Command) > 0 && !x.remote() && httpMode.MatchString(x.line) && !stdioMode.MatchString(x.line) && !brokeOff.MatchString(x.text)
}

var (
	httpMode  = &wording{source: `(?i)(?:^|[\s(])(?:(?:--?(?:transport|mode|transport-type|t)|(?:MCP_)?TRANSPORT(?:_TYPE|_MODE)?)[ =]['"]?(?:sse|http|streamable[-_]?http|shttp)\b|transport=['"]?(?:sse|http|streamable)|--(?:sse|http|streamable[-_]?http|stateless-http)(?:\s|$))`}
	stdioMode = &wording{source: `(?i)\bstdio\b`}
)

// wholeReference returns the variable whose unexpanded reference is a whole argument or the whole
// value of one. Bridges expand references in headers themselves.
func (x *exam) wholeReference() string {
	for _, word := range x.Command {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if x.bridge() && strings.Contains(word, ":${") {
			continue
		}
		if name := unexpanded(word); name != "" && !editorVariable(name) && len(word) <= len(name)+len("${env:}") {
			return name
		}
	}
	return ""
}

// editorVariable reports whether editors, not shells, define the variable.
func editorVariable(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "workspace") || lower == "userhome" || strings.HasPrefix(lower, "input") || lower == "__dirname" || lower == "claude_plugin_root"
}

// namedNotGiven returns a variable that docker run passes on by name but that the entry does not
// set, or "".
func (x *exam) namedNotGiven() string {
	if !x.container() || x.Env == nil {
		return ""
	}
	for i := 1; i < len(x.Command); i++ {
		name := x.Command[i]
		if before := x.Command[i-1]; (before == "-e" || before == "--env") && variableName.MatchString(name) && !slices.Contains(x.Env, name) {
			return name
		}
	}
	return ""
}
