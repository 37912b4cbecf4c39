package doctor

import (
	"slices"
	"strings"
)

// apart precedes the name of a tool in patterns: "git" in mcp-server-git is not the tool.
const apart = `(?:^|[^\n\w./@+-])`

// notFound is how operating systems, shells, languages and clients report a missing program. If the
// name is missing, it is the configured one.
var notFound = []string{
	// Node, Bun, Deno
	`\bspawn(?:Sync)? (?P<command>[^"'|{}\n]+?) ENOENT\b`,
	`ENOENT: no such file or directory, (?:posix_spawn|uv_spawn|spawn) '?(?P<command>[^'\n]+)`,
	`Executable not found in \$PATH: "(?P<command>[^"\n]+)"`,
	`NotFound: Failed to spawn '(?P<command>[^'\n]+)'`,
	`syscall: 'spawn (?P<command>[^'\n]+)'`,
	// Go
	`exec: "(?P<command>[^"\n]+)": (?:executable file|file) (?:not found|does not exist)`,
	`fork/exec (?P<command>[^\n]+?): no such file or directory`,
	// Rust: the word "program", or only the error number
	`\bprogram not found\b`,
	`\bcannot find binary path\b`,
	`Failed to spawn process: No such file or directory`,
	`(?i)fail(?:ed|ure) to (?:spawn|start|launch|execute|run|create)[^\n]{0,60}(?:command|process|server|child)[: ]+(?:['"` + "`" + `]?(?P<command>[\w./\\-]+)['"` + "`" + `]?: ?)?(?:No such file or directory|The system cannot find the file specified)`,
	`(?i)unable to (?:start|launch|run|execute) (?P<command>[\w./-]+): no such file`,
	apart + `(?P<command>npx|node|uvx|uv|python3?|docker) n'est pas reconnu`,
	`(?:execvp?e?(?:\(\d\))?|posix_spawnp?)[^\n]{0,20}(?:failed)?[^\n]{0,20}No such file or directory`,
	`(?i)fail(?:ed|ure)? to (?:spawn|start|launch|execute|run)[^\n]*?(?:No such file or directory|The system cannot find the file specified\.?) \(os error 2\)`,
	// Python
	`FileNotFoundError: (?:\[Errno 2\] No such file or directory: )?['"]?(?P<command>[A-Za-z][\w-]*|(?:/[\w.-]+)*/s?bin/[\w.-]+|[A-Za-z]:\\[^\n'"]+\.(?:exe|cmd|bat))['"]?[ \t]*(?:$|[\n,;)])`,
	`\[Errno 2\] No such file or directory:? ["“](?P<command>[A-Za-z][\w-]*)["”]`,
	`\[WinError 2\]`,
	`(?i)CreateProcess(?:W|A)? ?(?:failed|error)[^\n]{0,12}\b2\b`,
	`\[Errno 2\] No such file or directory: ['"](?P<command>[A-Za-z][\w-]*)['"]`,
	`(?i)(?:start|spawn|launch|run)\w*[^\n]{0,30}: (?P<command>[\w./-]+) ENOENT\b`,
	`The file “(?P<command>[^”\n]+)” doesn’t exist`,
	`(?m)^FileNotFoundError: \[Errno 2\] No such file or directory$`,
	// Java, .NET, Ruby, Swift
	`Cannot run program "(?P<command>[^"\n]+)"[^\n]*?error=2,`,
	`trying to start process '(?P<command>[^'\n]+)' with working directory '[^'\n]*'\. (?:No such file|The system cannot find the file|系统找不到)`,
	`No such file or directory - (?P<command>[\w./-]+) \(Errno::ENOENT\)`,
	// shells
	`(?:\b(?:bash|zsh|sh|dash|ksh|ash)|-bash|\.sh)(?:\.exe)?: (?:exec: )?(?:line )?(?:\d+: )?(?:exec: )?(?P<command>[^:\s]+): (?:command )?not found`,
	`(?i)\bcommand not found:? '?(?P<command>[A-Za-z0-9_@/~][\w@./+-]*)`,
	`(?P<command>[\w@./+-]+): command not found\b`,
	`fish: Unknown command:? '?(?P<command>[\w@./+-]+)`,
	`Command '(?P<command>[^'\n]+)' not found`,
	`\benv: ['‘"]?(?P<command>[\w.+-]+)['’"]?: No such file or directory`,
	`: (?P<command>/[\w./+-]+): bad interpreter: No such file`,
	// Windows, in a few of its languages; a code page may have destroyed the rest
	`'"?(?P<command>[^'"\n]+)"?' is not recognized as an internal or external command`,
	`[Tt]he term '(?P<command>[^'\n]+)' is not recognized as (?:the|a) name of`,
	`['"“„](?P<command>[^'"\n]+)['"”“] ?(?:不是内部或外部命令|不是內部或外部命令|は、内部コマンド|n'est pas reconnu (?:en tant que commande|comme nom)|nicht gefunden|introuvable|no se reconoce como un comando|ist entweder falsch geschrieben|não é reconhecido como um comando|non è riconosciuto come comando|не является внутренней|은\(는\) 내부 또는 외부 명령|nie jest rozpoznawan)`,
	`(?P<command>[\w@./+-]+): (?:(?:orden|comando) no encontrad[ao]|no se encontró la orden|Kommando nicht gefunden|Befehl nicht gefunden|commande introuvable|commande non trouvée|comando não encontrado|comando non trovato|команда не найдена|コマンドが見つかりません|未找到命令|找不到命令|命令未找到|명령을 찾을 수 없)`,
	`(?:Die Benennung|El término|O termo|Il termine|Le terme|Имя|Термин|用語|용어) ?["'«“](?:\x{A0})?(?P<command>[^"'»”\n]+?)(?:\x{A0})?["'»”] ?(?:wurde nicht als Name|no se reconoce como|não é reconhecido como|non è riconosciuto come|n['’]est pas reconnu comme|не распознано как|は、コマンドレット|이\(가\) cmdlet)`,
	`(?:无法将|無法辨識)[“'"「](?P<command>[^”'"」\n]+)[”'"」](?:项识别为|詞彙)`,
	`'(?P<command>[\w.@:/\\-]{1,80})'\s{0,2}\x{FFFD}`,
	// clients and servers in their own words
	`(?i)\b(?:command|executable|binary|program) ['"‘` + "`" + `](?P<command>[^'"’` + "`" + `\n]+)['"’` + "`" + `] (?:was |is |could )?not (?:be )?(?:found|installed|available)`,
	`(?i)\b(?:could not|cannot|can't|unable to|failed to) (?:find|locate)(?: the)? (?:command|executable|binary|program)[: ]+['"‘` + "`" + `]?(?P<command>[\w@./+-]+)`,
	apart + `(?P<command>npx|npm|node|uvx|uv|pip|pipx|python3?|docker|podman|bun|bunx|deno|java|dotnet|git|go|cargo|ffmpeg|conda)(?:\.exe|\.cmd)?['"` + "`" + `]?(?: command| executable)? (?:is |was )?(?:not found|not installed|could not be found)\b`,
	`(?i)` + apart + `(?P<command>git|npm|node|uv|docker) executable not found\b`,
	`(?i)\b(?:could not|couldn't|cannot|can't|unable to|failed to) (?:find|locate|resolve) ['"` + "`" + `]?(?P<command>npx|npm|node|uvx|uv|pipx|python3?|docker|podman|bun|bunx|deno|java|dotnet|git|go|cargo|ffmpeg|conda)\b['"` + "`" + `]?(?:$|[\s,]|\.(?:\s|$))`,
	`\bwhich: no (?P<command>[\w.-]+) in \(`,
	`'(?P<command>[\w.@-]{2,40})' is not recognized\b`,
	`(?i)failed to (?:spawn|start|launch|execute|run) ['"` + "`" + `]?(?P<command>[\w.-]+)['"` + "`" + `]?: (?:command )?not found`,
	`(?i)\b(?P<command>[\w.-]{2,30}) (?:is not|isn't|was not|not) (?:found )?(?:in|on) (?:your |the |system )?\$?PATH\b`,
	`(?i)\bno (?P<command>node(?:\.js)?|python|java|docker|bun|deno|uv|git) (?:installation|executable|binary|interpreter) (?:was |could be )?found`,
	`(?P<command>xcrun): error: invalid active developer path`,
	`(?i)\b(?P<command>uvx?|node(?:\.js)?|npm|npx|python3?|docker|git|bun|deno|java|ffmpeg|pnpm|yarn)(?: package manager)? (?:was |is |could )?not (?:be )?(?:detected|found|located)\b`,
	`(?i)\b(?P<command>[\w.-]{2,30}) is required,? but (?:it['’]?s |it is |was |is )?not (?:installed|found|available)`,
	`(?i)missing required (?:binary|program|executable|tool|command):? ['"]?(?P<command>[\w.-]+)`,
	`(?i)failed to (?:spawn|execute|start) (?:child )?process ['"“](?P<command>[^'"”\n]+)['"”] \(No such file`,
	`\bENOENT:? (?P<command>npx|node|uvx?|python3?|docker|bunx?|npm)\b`,
	`(?i)couldn['’]t execute ['"](?P<command>[^'"\n]+)['"]: no such file`,
	`\bCommandNotFoundException\b:? ?(?P<command>[\w.-]*)`,
	`(?i)(?:unable to|could not|cannot|failed to) (?:launch|start|run|execute|spawn) ['"](?P<command>[^'"\n]+)['"]: (?:file |command |program )?not found`,
	`(?im)\bexecutable not found: (?P<command>[\w.-]+)[ \t]*$`,
	`(?i)please install (?P<command>uv|node(?:\.js)?|docker|python|bun|git|deno)(?:$|[\s,;:!)]|\.(?:\s|$))`,
	`(?i)` + apart + `(?P<command>node(?:\.js)?|uv|python|docker|bun|java|git|deno) (?:is|was) not installed\b`,
	`\bENOENT:? (?P<command>(?:/[\w.-]+)*/s?bin/[\w.-]+)(?:$|\s)`,
}

// cannotFind returns the clues of all such reports, for the commands that fit.
func cannotFind(confidence float64, fits func(x *exam, command string) bool) []clue {
	var clues []clue
	for _, expr := range slices.Concat(notFound, notFoundToo) {
		clues = append(clues, clue{confidence, expr, func(x *exam, m *match) bool {
			if ofRegistry.MatchString(m.said) {
				return false // a missing package, whatever its name
			}
			command := m.names["command"]
			if command == "" {
				command = x.firstWord()
			} else {
				command = strings.TrimRight(strings.Trim(command, `"' `), ".")
				m.names["command"] = command
			}
			return fits(x, command)
		}})
	}
	clues = append(clues, clue{confidence, "", func(x *exam, m *match) bool { // seen by gauze itself
		if x.Spawn.Errno != "ENOENT" || x.Spawn.Said != "" || x.Spawn.Of == "cwd" || !fits(x, x.Spawn.Path) {
			return false
		}
		m.names["command"], m.said = x.Spawn.Path, "spawn "+x.Spawn.Path+" ENOENT"
		return true
	}})
	return clues
}

var ofRegistry = &wording{source: `(?i)\bnot found in (?:the )?(?:package |npm |cargo )?(?:registry|index)|\bBecause \S+ was not found|not found (?:on|in) PyPI`}

// missingWord matches how a shell reports a program that it did not find.
var missingWord = &wording{source: `(?i)not found|no such file|is not recognized`}

// inner matches a line about a program that the configured one started.
var inner = &wording{source: `(?i)\b(?:cannot|could not|failed to|unable to) (?:run|start|exec\w*) [\w.-]+: exit`}

// shell reports whether the command is a shell or a shell script.
func (x *exam) shell() bool {
	return x.runs("sh", "bash", "zsh", "dash") || strings.HasSuffix(x.runner(), ".sh")
}

// ofScript reports whether the shell that lacks a program was running a script: the program is then
// one that the script calls, not the configured one.
func (x *exam) ofScript(script, missing string) bool {
	if len(x.Command) == 0 || isRunner(x, missing) || missing == x.runner() || strings.Contains(x.line, missing) {
		return false
	}
	return !slices.Contains([]string{"sh", "bash", "zsh", "dash", "ash"}, script) || x.shell()
}

func (x *exam) firstWord() string {
	if words := withoutShell(x.Command); len(words) > 0 {
		return words[0]
	}
	return ""
}

// runners are programs that start servers, and that clients often cannot find although a shell can.
var runners = []string{"npx", "npm", "node", "uvx", "uv", "pipx", "bun", "bunx", "deno", "pnpm", "pnpx", "yarn", "docker", "podman", "python3", "pip", "go", "cargo", "dotnet", "dnx", "java", "ruby", "conda", "tsx", "ts-node", "mise", "nvm", "fnm", "volta", "poetry", "rye", "hatch"}

// helpers are programs that servers call.
var helpers = []string{"git", "ffmpeg", "make", "gcc", "cc", "cmake", "rg", "gh", "kubectl", "adb", "psql", "sqlite3", "chrome", "curl", "pandoc", "terraform", "aws", "gcloud", "az", "helm", "jq", "tar", "unzip", "claude", "codex", "gemini", "xcodebuild", "xcrun", "swift", "rustc", "tsc"}

func isRunner(_ *exam, command string) bool {
	return slices.Contains(runners, strings.ToLower(command))
}

var (
	drivePath   = &wording{source: `^[A-Za-z]:[\\/]`}
	splitPath   = &wording{source: `(?i)^[A-Z]:[\\/](?:Program|Documents|Users[\\/][^\\/]+)$`}
	platformBin = &wording{source: `node_modules/.*(?:linux|musl|gnu)[-_]?(?:x64|arm64|x86_64|aarch64)`}
	assignment  = &wording{source: `^[A-Z][A-Z0-9_]+(?:=|$)`}
	flagInside  = &wording{source: `^(?:npx|uvx|uv|node|python3?|docker|bunx|deno|java) \S|^(?:[\w.-]+|/[\w./-]+) (?:-{1,2}\w|@?[\w.-]+/|run\b|exec\b|[\w./-]+\.(?:js|py|ts|mjs)\b|\S+@latest)`}
)

// assigned matches a command that begins with NAME=value.
var assigned = &wording{source: `^(?P<variable>[A-Z][A-Z0-9_]*)=`}

// assigns reports whether the program that was not found is a variable assignment, and names the
// variable.
func assigns(_ *exam, m *match) bool {
	found := assigned.FindStringSubmatch(m.names["command"])
	if found == nil {
		return false
	}
	m.names["variable"] = found[1]
	return true
}

// ofWindows returns a condition: what was captured is a path of Windows, but gauze itself saw the
// failure on a different system.
func ofWindows(key string) func(*exam, *match) bool {
	return func(x *exam, m *match) bool {
		return x.Live && !x.typing().Windows() && windowsPath.MatchString(m.names[key])
	}
}

// windowsPath matches a path of Windows, possibly after a directory that a server prepended to it.
var windowsPath = &wording{source: `^(?:/.*/)?[A-Za-z]:[\\/]`}

func isPath(command string) bool {
	return strings.HasPrefix(command, "/") || strings.HasPrefix(command, ".") || drivePath.MatchString(command) || strings.ContainsAny(command, `/\`)
}

// windows reports whether the evidence is from Windows.
func (x *exam) windows() bool {
	return windowsSigns.MatchString(x.text) || windowsSigns.MatchString(x.line)
}

var windowsSigns = &wording{source: `[A-Z]:\\|\[WinError|\.exe\b|\.cmd\b|AppData`}

func spawnCauses() []cause {
	return []cause{
		{
			name: "url_in_stdio_only_client", category: TransportMismatch,
			explain: "The entry has {command|a URL} where this client expects a command. The client supports only stdio servers.",
			fix:     "Configure gauze as a stdio server that connects to the URL: `\"command\": \"gauze\", \"args\": [\"run\", \"--url\", \"URL\"]`",
			instead: []advice{{when: live, fix: "Pass the address with --url instead of after --."}},
			clues: append(cannotFind(certain, func(_ *exam, command string) bool { return strings.Contains(command, "://") }),
				clue{strong, `(?i)(?:only (?:supports? )?stdio|"?command"?(?: field)? is required|missing (?:required )?(?:field|property|key) ['"` + "`" + `]?command|must (?:specify|have|define|provide) (?:a |the )?['"` + "`" + `]?command)\b`,
					func(x *exam, m *match) bool { return x.remote() || strings.Contains(m.said, "://") }},
				clue{strong, `(?s)"path": ?\[\s*"mcpServers",\s*"[^"\n]+",\s*"command"\s*\]`, func(x *exam, _ *match) bool { return x.address() != "" }},
				clue{strong, `(?i)(?:does not|doesn't) support (?:remote|url|http|sse)[^\n]{0,20}(?:servers?|transports?)`, nil}),
			hides: []string{"entry_shape_wrong", "json_syntax"},
		},
		{
			name: "command_and_args_in_one_string", category: ConfigMalformed,
			explain: "The client treated the whole command line {command|with its arguments} as the name of a program, because the command and its arguments are in one string.",
			fix:     "Set \"command\" to the program alone, and write each argument as an element of \"args\".",
			instead: []advice{{when: assigns,
				explain: "The command begins with a variable assignment, which only a shell understands. The client looked for a program of that name.",
				fix:     "Set \"command\" to the program alone, write each argument as an element of \"args\", and set the variable under \"env\": `\"{variable|NAME}\": \"VALUE\"`"}},
			clues: append(cannotFind(certain, func(x *exam, command string) bool {
				return flagInside.MatchString(command) || assigned.MatchString(command) && !x.typing().Windows()
			}),
				clue{strong, `\bspawn (?P<command>[\w./\\:-]+ [^\n|{}"]*'[^\n|{}"]*) ENOENT\b`, func(_ *exam, m *match) bool { return strings.Count(m.names["command"], "'") == 2 }},
				clue{strong, `\bspawn (?P<command>(?:\S*/)?(?:npx|uvx|uv|bun|node|python3?|docker|deno|npm|pnpm|yarn) [\w@.-]+) ENOENT\b`, nil},
				clue{strong, `\b(?:ba|z|da|a)?sh: (?:line )?\d+: (?P<command>[^\n:{]* (?:&&|\|\||-y|--|run|exec) [^\n:]*): (?i:no such file|command not found|not found)`, nil}),
		},
		{
			name: "shell_reads_messages", category: ConfigMalformed,
			explain: "A shell was started instead of the server, and it interprets the client's messages as commands.",
			fix:     "Pass the whole command to the shell as one argument after -c, or start the program without a shell.",
			clues: []clue{
				{certain, `\b(?:ba|z|da|a|fi)?sh: (?:(?:line )?\d+: )?(?:command not found: )?['"]?\{"?jsonrpc"?:`, nil},
				{certain, `'?\{"?jsonrpc"?:[^\n]{0,400}(?i:is not recognized as|: (?:command )?not found)`, nil},
			},
			hides: []string{"gui_path_missing", "wrong_command_name", "command_path_missing"},
		},
		{
			name: "config_file_given_as_command", category: ConfigMalformed,
			explain: "{command|The configured program} is a configuration file and cannot be started.",
			fix:     "Set \"command\" to the server's program. The file itself belongs where the client reads its configuration.",
			clues: append(cannotFind(certain, func(_ *exam, command string) bool { return strings.HasSuffix(command, ".json") }),
				clue{strong, `\bspawn (?P<command>[^"'\n]+\.json) (?:EACCES|EFTYPE|UNKNOWN|ENOEXEC)`, nil},
				clue{certain, `\bspawn(?: \S+)? (?:Unknown system error -8|ENOEXEC|EACCES|EFTYPE|UNKNOWN)|(?i)exec format error|permission denied`, func(x *exam, m *match) bool {
					for _, word := range x.Command {
						if strings.HasSuffix(word, ".json") && !strings.HasPrefix(word, "-") && x.runner() != "node" {
							m.names = map[string]string{"command": word}
							return true
						}
					}
					return false
				}}),
			hides: []string{"wrong_cpu_arch", "missing_exec_bit", "access_denied"},
		},
		{
			name: "tilde_not_expanded", category: PathNotFound,
			explain: "The path {path|with ~} was used literally: only shells expand ~ and $HOME.",
			fix:     "Write the full path of your home directory instead of ~ or $HOME in the configuration.",
			clues: append(cannotFind(certain, func(_ *exam, command string) bool {
				return strings.HasPrefix(command, "~") || strings.HasPrefix(command, "$HOME") || strings.HasPrefix(command, "%USERPROFILE%")
			}),
				clue{certain, `(?i)(?:ENOENT|no such file or directory|cannot find|cannot access|not found|does not exist)[^\n]*?(?P<path>(?:/[\w./-]*)?(?:~|\$HOME|\$\{HOME\})/[\w./-]+)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.names["path"], "/.npm/") && !strings.Contains(m.names["path"], "node_modules") && !strings.Contains(m.names["path"], "/.cache/") // an abbreviated log
				}},
				clue{likely, `(?i)no such file or directory|cannot find module|ENOENT`, func(x *exam, m *match) bool {
					for _, word := range x.Command {
						if strings.HasPrefix(word, "~/") || strings.HasPrefix(word, "$HOME/") {
							m.names = map[string]string{"path": word}
							return true
						}
					}
					return false
				}},
				clue{certain, `(?P<path>(?:/[\w./-]*)?(?:~|\$HOME|\$\{HOME\}|\$\{userHome\}|%USERPROFILE%)[/\\][\w./\\-]+)[^\n]{0,60}(?i:no such file or directory|does not exist|not found|is not a directory)`, nil}),
			hides: []string{"data_file_missing", "wrong_directory_argument", "script_missing"},
		},
		{
			name: "windows_space_quoting", category: PathNotFound,
			explain: "A path that contains a space was split at the space: {command|its first part} is not a program. The client passed the path to the shell without quotes.",
			fix:     "Use the short form of the path (C:\\PROGRA~1\\...), or move the program to a directory without spaces in its path.",
			clues: append(cannotFind(certain, func(x *exam, command string) bool { return splitPath.MatchString(command) }),
				clue{strong, `(?:\b(?:ba|z|da)?sh(?:\.exe)?|bash\.exe): (?:line \d+: |\d+: )?(?P<command>Files(?: \(x86\))?[\\/][^\n:]+): (?i:no such file|command not found|not found)`, nil},
				clue{strong, `Cannot find module '(?P<command>[A-Za-z]:\\(?:Program|Users\\[^\\'\n]+))'`, nil},
				clue{strong, `(?:can't open file|No such file or directory:?|cannot find the path) '?(?P<command>[A-Za-z]:\\+(?:Program|Documents|Users\\+[^\\'"\n ]+))'?(?:$|[:\s])`, func(_ *exam, m *match) bool {
					return splitPath.MatchString(m.names["command"])
				}}),
			hides: []string{"gui_path_missing", "wrong_command_name", "broken_npm_install"},
		},
		{
			name: "posix_shell_on_windows", category: Crashed,
			explain: "The command line is for a Unix shell, but it runs on Windows: cmd.exe does not recognize {command|its first word}.",
			fix:     "Set variables under \"env\" in the server's entry and start the program directly, without sh, export, source or a leading NAME=value.",
			clues: append(cannotFind(certain, func(x *exam, command string) bool {
				return slices.Contains([]string{"export", "source", ".", "true", "cp", "rm", "mv", "chmod", "cat", "sed", "touch"}, command) && !strings.Contains(x.text, "bash:") && (x.windows() || strings.Contains(x.text, "recognized")) ||
					assignment.MatchString(command) && !isRunner(x, command) && (x.typing().Windows() || strings.Contains(x.text, "recognized"))
			}),
				clue{strong, `The syntax of the command is incorrect\.`, nil},
				clue{strong, `(?:\|\||&&|-c|\[|\S{1,20}) was unexpected at this time`, nil}),
			hides: []string{"wrong_command_name", "gui_path_missing"},
		},
		{
			name: "windows_cmd_shim", category: CommandNotFound,
			explain: "On Windows, {command|npx} is a script ({command|npx}.cmd). The client cannot start it without cmd.exe.",
			fix:     "Start {command|npx} with cmd.exe: `cmd /c {line|npx ...}`",
			instead: []advice{{when: func(_ *exam, m *match) bool { return strings.Contains(m.said, "ENOENT") },
				explain: "Either {command|npx} is not installed, or the client cannot start it: on Windows, it is a script ({command|npx}.cmd) that requires cmd.exe.",
				fix:     "If `{$which}` does not find it, {$install}, then restart the client. If the program is found, start it with cmd.exe: `cmd /c {line|npx ...}`"}},
			clues: []clue{
				{certain, `\bspawn(?:Sync)?(?: (?P<command>[^"'|\n]+?))? EINVAL\b`, nil},
				{likely, `\bspawn(?:Sync)?(?: (?P<command>[^"'|\n]+?))? UNKNOWN\b`, nil},
				{certain, `Windows requires 'cmd /c' wrapper to execute (?P<command>\w+)`, nil},
				{certain, `(?i)batch file arguments are invalid`, nil},
				{strong, `(?P<command>npx|npm|pnpm|yarn)\.ps1 cannot be loaded because running scripts is disabled`, nil},
				{certain, `\[WinError 193\]`, func(x *exam, _ *match) bool { return !strings.Contains(x.text, "DLL load failed") }},
				{strong, `%1 is not a valid Win32 application[^\n]{0,40}\(os error 193\)`, nil},
				{strong, `\bspawn (?P<command>npx|npm|pnpm|yarn|bunx|tsx) ENOENT\b`, func(x *exam, _ *match) bool { return !x.Live && x.typing().Windows() }}, // Node does not try .cmd; gauze does
			},
		},
		{
			name: "windows_dotted_script_name", category: CommandNotFound,
			explain: "uv installed the package, but on Windows it cannot start {command|a script} because the script's name contains dots: Windows reads the part after the last dot as the file type.",
			fix:     "Add .exe to the program's name: `uvx --from {pinned|PACKAGE} {package|PACKAGE}.exe`",
			clues: []clue{{certain, "Failed to spawn: `(?P<command>[\\w-]+(?:\\.[\\w-]+)+(?:@[\\w.]+)?)`[^\\n]*\\s+[^\\n]{0,120}program not found", func(_ *exam, m *match) bool {
				return !strings.HasSuffix(m.names["command"], ".exe") && noScript(nil, m)
			}}},
			hides: []string{"console_script_not_installed", "gui_path_missing", "wrong_command_name"},
		},
		{
			name: "wsl_boundary", category: CommandNotFound,
			explain: "{command|The program} is a Linux path (WSL), but the client runs on Windows, where it does not exist.",
			fix:     "Start the server inside WSL: `wsl.exe -e {line|COMMAND}`",
			clues: append(cannotFind(strong, func(x *exam, command string) bool {
				return strings.HasPrefix(command, "/home/") && windowsSigns.MatchString(x.text) || command == "/bin/bash" || command == "/bin/sh" || strings.HasPrefix(command, "/mnt/c/")
			}),
				clue{strong, `(?i)Windows Subsystem for Linux has no installed distributions`, nil},
				clue{strong, `(?i)WSL[^\n]{0,40}(?:ERROR_|not (?:installed|enabled))|Wsl/Service/`, nil}),
		},
		{
			name: "musl_vs_glibc", category: RuntimeTooOld,
			explain: "The server's binary exists but cannot be started: it was built for a different C library (glibc on Alpine/musl, or vice versa).",
			fix:     "Use an image with glibc (debian, or -slim instead of -alpine), or install the build for musl.",
			clues: append(cannotFind(certain, func(_ *exam, command string) bool { return platformBin.MatchString(command) }),
				clue{certain, `version ['` + "`" + `](?P<version>GLIBC(?:XX)?_[\d.]+)['’] not found`, nil},
				clue{certain, `(?:ld-linux[\w.-]*|ld-musl[\w.-]*)(?s:.{0,200}?)(?:No such file or directory|not found)|Error relocating [^\n]+: symbol not found`, nil},
				clue{strong, `\blibc\.musl-\w+\.so|libc\.so\.6: cannot open shared object`, nil}),
			hides: []string{"runtime_not_installed", "gui_path_missing", "command_path_missing", "shared_library_missing"},
		},
		{
			name: "runtime_not_in_image", category: CommandNotFound,
			explain: "The container image does not contain {command|the program}, so it cannot be started there.",
			fix:     "Use an image that contains the program, or one that starts the server by default.",
			clues: []clue{
				{certain, `OCI runtime (?:create|exec) failed[^\n]*exec: "(?P<command>[^"\n]+)": (?:executable file not found|stat [^\n]*no such file)`, nil},
				{strong, `exec: "(?P<command>[^"\n]+)": executable file not found in \$PATH: unknown`, nil},
				{strong, `runc (?:create|run) failed[^\n]*exec: "(?P<command>[^"\n]+)"[^\n]*not found`, nil},
			},
			hides: []string{"gui_path_missing", "wrong_command_name", "command_path_missing"},
		},
		{
			name: "helper_tool_not_on_path", category: CommandNotFound,
			explain: "{command|A helper program} is required to install or run the server, but it is not on the PATH that the client provides.",
			fix:     "Install {command|that program}, or add its directory to PATH under \"env\" in the server's entry.",
			clues: append(cannotFind(certain, func(x *exam, command string) bool {
				return slices.Contains(helpers, strings.ToLower(command)) && x.runner() != strings.ToLower(command)
			}),
				clue{strong, `(?:^|[\s:/])(?P<script>[\w.-]+): (?:line )?\d+: (?:exec: )?(?P<command>[\w@.+-]+): (?:command )?not found`, func(x *exam, m *match) bool {
					return x.ofScript(m.names["script"], m.names["command"])
				}},
				clue{likely, "", func(x *exam, m *match) bool {
					m.names["command"] = "A helper program that the script calls"
					return x.shell() && x.exited(m, 127) && !missingWord.MatchString(x.text)
				}},
				clue{certain, `Git executable not found`, func(_ *exam, m *match) bool { m.names = map[string]string{"command": "git"}; return true }},
				clue{certain, `npm (?:ERR!|error) (?:syscall spawn git|enoent An unknown git error|path git)`, func(_ *exam, m *match) bool { m.names = map[string]string{"command": "git"}; return true }}),
			hides: []string{"git_fetch_failed", "gui_path_missing", "wrong_command_name"},
		},
		{
			name: "python_vs_python3", category: CommandNotFound,
			explain: "The program \"python\" is not on the PATH that the client provides. On this system it is called python3, or Python is not installed.",
			fix:     "Use python3 instead of python as the command.",
			instead: []advice{{when: onWindows,
				explain: "Python is not installed, or its directory is not on the PATH that the client provides. The python.exe that comes with Windows only opens the Microsoft Store.",
				fix:     "If Python is installed, use py as the command. If not, {$install}, then restart the client to update its PATH."}},
			clues: append(cannotFind(strong, func(_ *exam, command string) bool { return command == "python" || command == "pip" }),
				clue{certain, `Python was not found; run without arguments to install from the Microsoft Store`, nil}),
		},
		{
			name: "runtime_not_installed", category: CommandNotFound,
			explain: "{command|The program} was not found on the client's PATH: it is not installed, or it is in a different directory.",
			fix:     "Install the program, or use its absolute path as the command. To find the path, run in a terminal: `{$which}`",
			clues: []clue{
				{certain, `Failed to spawn process: No such file or directory`, nil},
				{strong, `(?i)` + apart + `(?P<command>node(?:\.js)?|uv|python|docker|bun|java) (?:is|must be|needs to be) (?:not installed|installed first|required but not)`, nil},
				{likely, `(?:: |^)No such file or directory \(os error 2\)`, func(x *exam, m *match) bool {
					return !strings.Contains(m.said, "error: No such file") && !strings.Contains(x.line, "--directory")
				}},
				{likely, `The system cannot find the (?:file|path) specified\. \(os error [23]\)`, func(x *exam, m *match) bool { return !strings.Contains(x.line, "--directory") }},
				{guess, `(?m)^No such file or directory \(os error 2\)`, func(x *exam, m *match) bool { return !strings.Contains(x.line, "--directory") }},
			},
		},
		{
			name: "gui_path_missing", category: CommandNotFound,
			explain: "The client cannot find {command|the program}: it is not on the PATH that the client provides. Applications started from the desktop do not see what your shell adds to PATH (Homebrew, nvm, ~/.local/bin and so on).",
			fix:     "Use the program's absolute path as the command. To find it, run in a terminal: `{$which}`",
			instead: []advice{{when: onWindows,
				explain: "{$product|The program} is not installed, or its directory is not on the PATH that the client provides.",
				fix:     "If it is not installed, {$install}, then restart the client to update its PATH. If it is, use its absolute path as the command. To find it: `{$which}`"}},
			clues: append(cannotFind(strong, isRunner),
				clue{likely, "", func(x *exam, m *match) bool { // not for what a script calls
					return x.exited(m, 127, 9009) && !missingWord.MatchString(x.text) && !x.shell() && !inner.MatchString(m.said)
				}}),
			hides: []string{"companion_app_not_running"},
		},
		{
			name: "command_path_missing", category: CommandNotFound,
			explain: "The program {command|at the configured path} does not exist.",
			fix:     "Build or install the server if necessary, then correct the path in \"command\".",
			instead: []advice{{when: ofWindows("command"),
				explain: "{command|The program} is a path of Windows, but the server runs on a different system.",
				fix:     "Set \"command\" to the program's name or path on this system."}, {when: func(x *exam, m *match) bool {
				return x.Spawn.Of == "interpreter" || strings.Contains(m.said, "bad interpreter")
			},
				explain: "The first line of the script specifies an interpreter that does not exist: {command|its path is wrong}.",
				fix:     "Correct the first line of the script, or use an installed interpreter such as {$python} or node as the command, with the script as its first argument."}},
			clues: cannotFind(likely, func(x *exam, command string) bool {
				return isPath(command) && !strings.HasSuffix(command, ".exe.") && !platformBin.MatchString(command) && program(command) != "cmd"
			}),
		},
		{
			name: "wrong_command_name", category: CommandNotFound,
			explain: "The program {command|that is configured} is not on the PATH that the client provides.",
			fix:     "Check the program's name in the server's documentation. If the program is installed, use its absolute path as the command. To find it: `{$which}`",
			clues: cannotFind(likely, func(x *exam, command string) bool {
				return !isPath(command) && !isRunner(x, command) && program(command) != "cmd" && !strings.Contains(command, " ")
			}),
		},
		{
			name: "missing_exec_bit", category: PermissionDenied,
			explain: "{command|The program} exists but cannot be started: the file is not marked as executable.",
			fix:     "Start the file with its interpreter (`node FILE`, `python3 FILE`), or have the user mark it as executable if they trust it.",
			command: "chmod +x {command|FILE}",
			instead: []advice{{when: onWindows,
				explain: "Windows blocked {command|the program}: the file is not executable, its permissions do not allow execution, or antivirus software blocks it.",
				fix:     "Start the file with its interpreter (`node FILE`, `python FILE`), and check whether Windows Security blocked the file."}},
			clues: []clue{
				{certain, `\bspawn(?:Sync)? (?P<command>[^"'|\n]+?) EACCES\b`, nil},
				{certain, `fork/exec (?P<command>[^\n]+?): permission denied`, nil},
				{certain, `exec: "(?P<command>[^"\n]+)": permission denied`, nil},
				{certain, `\b(?:bash|zsh|sh|dash)(?:: line)?:? (?:\d+: )?(?P<command>/?[\w./-]+): (?i:permission denied)`, nil},
				{strong, `zsh: permission denied: (?P<command>\S+)`, nil},
				{strong, `PermissionError: \[Errno 13\] Permission denied: '(?P<command>[^'\n]*/bin/[\w.-]+|[^'\n]+\.(?:sh|py|js))'`, func(x *exam, m *match) bool { return strings.Contains(x.line, m.names["command"]) }},
				{strong, `(?i)failed to (?:spawn|start|run|execute)[^\n]*?permission denied \(os error 13\)`, nil},
				{likely, "", func(x *exam, m *match) bool { return x.exited(m, 126) }},
				{certain, "", func(x *exam, m *match) bool {
					if x.Spawn.Errno != "EACCES" || x.Spawn.Said != "" {
						return false
					}
					m.said, m.names["command"] = "spawn "+x.Spawn.Path+" EACCES", x.Spawn.Path
					return true
				}},
			},
			hides: []string{"access_denied"},
		},
		{
			name: "wrong_cpu_arch", category: RuntimeTooOld,
			explain: "A program that the server needs was built for a different processor architecture.",
			fix:     "Install the build for this machine's architecture (arm64 or x64).",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.container() }, explain: "The image was built for a different processor architecture.",
				fix: "Use the image's variant for this machine, or let Docker emulate the other architecture with an argument after \"run\": `--platform linux/amd64`"}},
			clues: []clue{
				{certain, `Bad CPU type in executable`, nil},
				{strong, `which (?:is|was built for a) newer than running OS|built for macOS [\d.]+ which is newer`, nil},
				{certain, `(?i)\bexec format error\b`, nil},
				{certain, `incompatible architecture \(have '(?P<version>[\w, ]+)', need`, nil},
				{certain, `\bspawn (?P<command>[^"'\n]+?) (?:ENOEXEC|EBADARCH)\b`, nil},
				{certain, `\bUnknown system error -(?:86|8)\b`, nil},
				{strong, `no matching manifest for (?P<version>\w+/[\w/]+)`, nil},
				{strong, `npm (?:ERR!|error) (?:code EBADPLATFORM|notsup Unsupported platform for (?P<command>\S+))`, nil},
				{strong, `(?i)cannot find module '?@(?:rollup/rollup|esbuild/|img/sharp|swc/core|lancedb/|biomejs/)[\w./-]*(?:darwin|linux|win32)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "optional dependencies")
				}},
				{strong, `You installed esbuild for another platform`, nil},
				{strong, `Could not load the "sharp" module using the (?P<version>[\w-]+) runtime`, nil},
				{strong, `(?i)This version of [^\n]+ is not compatible with the version of Windows`, nil},
				{likely, "", func(x *exam, m *match) bool {
					if !strings.EqualFold(x.Exit.Signal, "SIGILL") && !strings.EqualFold(x.Exit.Signal, "illegal instruction") {
						return false
					}
					m.said = x.Exit.Said
					return true
				}},
			},
			hides: []string{"npx_cache_corrupt"},
		},
	}
}
