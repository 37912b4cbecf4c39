package doctor

import (
	"path"
	"slices"
	"strings"
)

// scriptTail matches the end of a path to a script.
var scriptTail = &wording{source: `^[^-/][^\n]*/[^/\n]+\.(?:py|[cm]?js|ts|jar)$|^[^-/][^/\n]*\.(?:py|[cm]?js|ts|jar)$`}

// fileCauses returns the causes about paths that do not exist or are not accessible.
func fileCauses() []cause {
	return []cause{
		{
			name: "windows_env_stripped", category: PathNotFound,
			explain: "The client starts the server without the standard Windows variables ({variable|APPDATA, SystemRoot}), so paths built from them do not exist.",
			fix:     "Set these variables under \"env\" in the server's entry: `\"APPDATA\": \"C:\\\\Users\\\\YOU\\\\AppData\\\\Roaming\", \"SystemRoot\": \"C:\\\\Windows\"`",
			clues: []clue{
				{certain, `[\\/]\$\{(?P<variable>APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMDATA|HOME)\}`, nil},
				{certain, `[\\/]?%(?P<variable>APPDATA|LOCALAPPDATA|USERPROFILE|SystemRoot|PROGRAMFILES|HOMEDRIVE)%[\\/]`, nil},
				{certain, `(?i)ENOENT[^\n]{0,60}(?:lstat|stat|mkdir|scandir|open) '[^'\n]*AppData[\\/]+Roaming[\\/]+npm'`, nil},
				{certain, `npm (?:ERR!|error) path [A-Za-z]:\\Users\\[^\\\n]+\\AppData\\Local\\\w+\\app-[\d.]+\\`, nil},
				{certain, `Assertion failed: (?:ncrypto|crypto)::CSPRNG|\bCSPRNG\(nullptr`, nil},
				{strong, `The "(?:path|paths\[0\])" argument must be of type string\. Received undefined`, func(x *exam, _ *match) bool { return x.windows() }},
				{strong, `(?i)ENOENT[^\n]{0,80}[\\/]undefined[\\/]`, nil},
				{strong, `(?i)(?:could not|failed to|unable to|cannot) (?:determine|find|locate|get|resolve)[^\n]{0,20} (?:home|cache|data|config|app ?data|roaming) (?:directory|folder|dir)`, nil},
				{certain, `_Py_HashRandomization_Init: failed to get random numbers`, nil},
				{certain, `\[WinError (?:10106|10107)\]|WSAStartup failed|\(os error 10106\)`, nil},
				{strong, `\bspawn (?:[A-Za-z]:\\Windows\\system32\\)?cmd(?:\.exe)? ENOENT`, nil},
				{strong, `Could not determine (?:the )?home directory|RuntimeError: Can't determine home directory`, func(x *exam, _ *match) bool { return x.windows() }},
				{strong, `(?i)(?P<variable>APPDATA|LOCALAPPDATA|SystemRoot|ProgramFiles|USERPROFILE|windir)\b[^\n]{0,40}(?:is not (?:set|defined)|undefined|not found in environment|missing)`, nil},
				{strong, `KeyError: '(?P<variable>APPDATA|LOCALAPPDATA|SYSTEMROOT|SystemRoot|USERPROFILE|PROGRAMDATA|ProgramFiles)'`, nil},
			},
			hides: []string{"data_file_missing", "env_not_set", "env_placeholder_not_expanded", "command_path_missing", "tilde_not_expanded"},
		},
		{
			name: "cwd_does_not_exist", category: PathNotFound,
			explain: "The working directory {path|of the server} does not exist.",
			fix:     "Correct or remove \"cwd\" in the server's entry.",
			clues: []clue{
				{certain, `\bchdir (?P<path>[^\n]+?): no such file or directory`, nil},
				{certain, `\bspawn [^"'\n]+ ENOTDIR`, nil},
				{certain, `(?i)(?:working directory|cwd)\b[:=]? ?['"` + "`" + `]?(?P<path>[^\s'"` + "`" + `]*)['"` + "`" + `]? (?:does not exist|not found|doesn't exist|is not a directory|is invalid)`, nil},
				{certain, `Starting directory \(cwd\) "?(?P<path>[^"\n]+)"? does not exist`, nil},
				{certain, `(?i)The directory name is invalid\.? \(os error 267\)|\[WinError 267\]`, nil},
				{certain, `\bENOENT: no such file or directory, (?:uv_cwd|process\.chdir|chdir)(?: '(?P<path>[^'\n]+)')?`, nil},
				{certain, `shell-init: error retrieving current directory|getcwd: cannot access parent directories`, nil},
				{certain, "", func(x *exam, m *match) bool {
					if x.Spawn.Of != "cwd" {
						return false
					}
					m.said, m.names["path"] = "chdir "+x.Spawn.Path+": no such file or directory", x.Spawn.Path
					return true
				}},
			},
			hides: []string{"gui_path_missing", "command_path_missing"},
		},
		{
			name: "docker_mount_missing", category: PathNotFound,
			explain: "Docker cannot mount {path|a directory} into the container: the path does not exist on this machine, or Docker cannot access it.",
			fix:     "Correct the host path (before the colon in -v, or after source=). It must be an absolute path that exists. On macOS and Windows, Docker Desktop must also share it (Settings → Resources → File sharing).",
			clues: []clue{
				{certain, `error while creating mount source path '(?P<path>[^'\n]+)'`, nil},
				{certain, `bind source path does not exist: (?P<path>[^\n]+)`, nil},
				{certain, `(?i)Mounts denied|The path (?P<path>\S+) is not shared from (?:the host|OS X)|is not known to Docker|drive (?:has not been|is not) shared`, nil},
				{certain, `invalid mount (?:config|path)[^\n]*|invalid volume specification|(?P<path>\S+) includes invalid characters for a local volume name`, nil},
				{certain, `Error: statfs (?P<path>[^\n:]+): no such file or directory`, nil}, // podman
			},
			hides: []string{"cache_dir_not_writable", "access_denied", "data_file_missing", "bad_generated_args", "docker_daemon_down"},
		},
		{
			name: "wrong_directory_argument", category: PathNotFound,
			explain: "The directory {path|given to the server} does not exist or is not what the server expects.",
			fix:     "Correct the path in the arguments. It must be an absolute path that exists.",
			instead: []advice{{when: windowsArgument,
				explain: "The argument {argument|of the server} is a path of Windows, but the server runs on a different system.",
				fix:     "Replace the argument with a path on this system."}},
			clues: []clue{
				{strong, `error: No such file or directory \(os error 2\)`, func(x *exam, _ *match) bool {
					return x.runs("uv", "uvx") || x.has("--directory", "--project")
				}},
				{strong, `(?:No such file or directory|The system cannot find the (?:file|path) specified\.?) \(os error [23]\)`, func(x *exam, _ *match) bool {
					return x.has("--directory", "--project", "--from")
				}},
				{certain, "error: (?:Failed to (?:change|set)[^\\n]{0,40}director|Project directory `(?P<path>[^`\\n]+)` does not exist|No `pyproject\\.toml` found in)", nil},
				{certain, `(?i)(?:Error accessing|Invalid|Could not access|Cannot access) (?:allowed )?(?:directory|folder|path|vault|repository|repo)(?: path)?:? ['"]?(?P<path>(?:[A-Za-z]:)?[~/\\\w][^\n'":]*)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "EPERM") && !strings.Contains(m.said, "EACCES") && !strings.Contains(m.said, "ermission denied") && !strings.Contains(m.said, "not allowed")
				}},
				{certain, `\bcd: (?:line \d+: )?(?:can't cd to )?(?P<path>[~/.$\w][^\n:]*): (?:No such file|Not a directory|not found)`, nil},
				{certain, `\bcd:(?:\d+:)? (?:can't cd to |no such file or directory: |not a directory: |string not in pwd: )(?P<path>[^\n]+)`, nil},
				{certain, `cd: The directory '(?P<path>[^'\n]+)' does not exist|Set-Location ?: Cannot find path '(?P<place>[^'\n]+)'`, nil},
				{certain, `(?i)(?:directory|folder|vault|repository|path|repo)(?: path)? ['"` + "`" + `]?(?P<path>(?:[A-Za-z]:)?[~/\\][^\n'"` + "`" + `]{0,200}?)['"` + "`" + `]? (?:does not exist|doesn't exist|not found|is not a directory|is not accessible|is not a valid git repository)`, nil},
				{certain, `\bgit\.exc\.(?:InvalidGitRepositoryError|NoSuchPathError):? ?(?P<path>[^\n]*)|(?i)is not a (?:valid )?git repository|not a git repository \(or any of the parent`, nil},
				{strong, `npm (?:ERR!|error) (?:enoent )?Could not read package\.json|npm (?:ERR!|error) path (?P<path>[^\n]+)package\.json`, nil},
				{strong, `(?i)\bENOTDIR\b[^\n]{0,40}'(?P<path>[^'\n]+)'`, nil},
				{strong, `(?i)(?:path|argument)? ?is not a directory:? ['"]?(?P<path>[/~\\.\w][^\n'"]*)`, nil},
				{strong, `(?i)None of the specified directories are accessible`, nil},
				{strong, `\[Errno 20\] Not a directory: '(?P<path>[^'\n]+)'|NotADirectoryError: [^\n]{0,40}'(?P<path2>[^'\n]+)'`, nil},
			},
			hides: []string{"data_file_missing", "runtime_not_installed", "gui_path_missing"},
		},
		{
			name: "script_missing", category: PathNotFound,
			explain: "The server's file {path|or program} does not exist. The path is wrong or relative to a different directory, or the project has not been built.",
			fix:     "Use the absolute path. If the server is built from source, build it first (`npm install`, then `npm run build`).",
			instead: []advice{{when: ofWindows("path"),
				explain: "{path|The server's file} is a path of Windows, but the server runs on a different system.",
				fix:     "Replace the path with one on this system."}, {when: notBuilt("path"),
				explain: "The server's file {path|or program} does not exist. It is the output of a build, so the project has not been built, or the path is wrong.",
				fix:     "Build the project in its directory, then start the server again: `npm install`, then `npm run build`"}, {when: func(x *exam, _ *match) bool { return x.runs("uv", "uvx") },
				fix: "Clients start servers in a working directory that the client chooses. Use the script's absolute path, or pass its directory before \"run\": `uv --directory {$path project} run SCRIPT`"},
				{when: func(x *exam, _ *match) bool { return x.runs("python", "python3", "deno", "ruby", "bash", "sh", "java") },
					fix: "Clients start servers in a working directory that the client chooses. Use the file's absolute path, or set \"cwd\" to its directory."}},
			clues: []clue{
				{certain, `can't open file '(?P<path>[^'\n]+)': \[Errno 2\]`, nil},
				{certain, `(?:Error: )?Cannot find module '(?P<path>(?:/|[A-Za-z]:\\)[^'\n]+)'(?s:.*?)requireStack: \[\]`, func(_ *exam, m *match) bool { return !strings.Contains(m.names["path"], "node_modules") }},
				{strong, `(?:Error: )?Cannot find module '(?P<path>(?:/|[A-Za-z]:\\)[^'\n]+)'`, func(x *exam, m *match) bool {
					return !strings.Contains(m.names["path"], "node_modules") && !strings.Contains(x.text, "imported from") && x.runs("node", "bun", "tsx", "ts-node")
				}},
				{strong, `error: (?:Module not found|script not found) "?(?P<path>[^"\n]+)`, nil},
				{strong, `error: Failed to spawn: ` + "`(?P<path>[^`\\n]*[/\\\\][^`\\n]*)`" + `[^\n]*\s+[^\n]{0,60}No such file or directory`, nil},
				{strong, "error: Failed to spawn: `(?P<path>[^`\\n]*[/\\\\][^`\\n]*)`", nil},
				{certain, "error: Failed to spawn: `(?P<path>[\\w.-]+\\.(?:pyw?|sh|[cm]?[jt]s|rb))`", nil},
				{strong, `Error: Unable to access jarfile (?P<path>[^\n]+)`, nil},
				{strong, `(?:^|\s)(?:bash|sh|zsh): (?:line \d+: |\d+: )?(?P<path>[./~][\w./-]+): No such file or directory`, nil},
				{strong, `python[\d.]*(?:\.exe)?: (?:Error while finding module specification|No module named (?P<path>\S+\.py))`, nil},
				{strong, `Could not find (?:a |the )?(?:project|csproj)[^\n]{0,80}|MSBUILD : error MSB1009|Couldn't find a project to run`, nil},
			},
			hides: []string{"data_file_missing", "broken_npm_install", "gui_path_missing", "command_path_missing", "wrong_command_name", "runtime_not_installed"},
		},
		{
			name: "space_in_path_argument", category: PathNotFound,
			explain: "A path that contains a space was split at the space: {path|its first part} does not exist.",
			fix:     "Write the path as a single element of \"args\", without extra quotes or backslashes.",
			clues: []clue{
				{strong, `(?i)(?:ENOENT|no such file|not found|does not exist|cannot access)[^\n]{0,80}['"` + "`" + `](?P<path>(?:/Users/[^/\n'"]+/Library/Mobile|/Users/[^/\n'"]+/Library/Application|[A-Za-z]:\\Program|[^'"\n]*/(?:Google|One|Visual|Application))['"` + "`" + `])`, nil},
				{strong, `(?i)no such file or directory[^\n]{0,60}\\ `, nil},
				{certain, `(?:Cannot find module|can't open file|No such file or directory:?) '(?P<path>/[^'\n]+)'`, func(x *exam, m *match) bool {
					at := slices.Index(x.Command, m.names["path"]) // a path without an extension whose rest is the next argument
					return at > 0 && at+1 < len(x.Command) && !strings.Contains(path.Base(m.names["path"]), ".") && scriptTail.MatchString(x.Command[at+1])
				}},
			},
			hides: []string{"data_file_missing", "wrong_directory_argument", "script_missing", "broken_npm_install"},
		},
		{
			name: "binary_download_incomplete", category: PathNotFound, passes: true,
			explain: "The package is a launcher for a binary that was not downloaded: {path|the binary} does not exist.",
			fix:     "Reinstall the package with install scripts enabled (without --ignore-scripts) and with network access.",
			clues: []clue{
				{strong, `(?i)(?:binary|executable) (?:file )?(?:not found|is missing|does not exist|missing)(?: at| in|:) ?['"]?(?P<path>[^\n'"]+)`, func(x *exam, m *match) bool {
					return !strings.Contains(x.text, "ms-playwright") && !strings.Contains(m.said, "PATH") && strings.ContainsAny(m.names["path"], `/\\.`)
				}},
				{strong, `(?i)(?:failed to|could not|error) download(?:ing)? (?:the )?(?:\w+ )?binary`, nil},
				{strong, `(?i)ENOENT[^\n]{0,60}(?:spawn|open|access|chmod) '?(?P<path>[^'\n]*node_modules[^'\n]*(?:[\\/]bin[\\/]|\.exe)[^'\n]*)`, nil},
				{strong, `Did postinstall run\?|postinstall script (?:was not run|did not run|failed)`, nil},
			},
			hides: []string{"data_file_missing"},
		},
		{
			name: "data_file_missing", category: PathNotFound,
			explain: "The server requires a file that does not exist ({path|see the server's output}).",
			fix:     "Create the file, or correct its path in the server's arguments or variables.",
			clues: []clue{
				{likely, `ENOENT: no such file or directory,? (?:open|stat|lstat|scandir|access|readlink|mkdir|rename|unlink|copyfile|realpath|watch) '(?P<path>[^'\n]+)'?`, nil},
				{likely, `FileNotFoundError: (?:\[Errno 2\] No such file or directory: )?['"]?(?P<path>[^\s'"]*[./\\][^\n'"]*)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.names["path"], "/bin/") && !strings.Contains(m.names["path"], "WinError")
				}},
				{likely, `(?:open|stat|lstat|read) (?P<path>[/~.\w][^\n:]{1,200}): no such file or directory`, nil},
				{likely, `(?i)could not find (?:file|a part of the path) '(?P<path>[^'\n]+)'`, nil},
				{likely, `(?i)(?:sqlite3\.OperationalError: |SQLITE_CANTOPEN: ?)unable to open database file`, nil},
				{guess, `(?i)(?:file|path) not found:? ['"]?(?P<path>[/~.\w][^\n'"]*\.\w{1,5})\b`, nil},
				{likely, `\[Errno 2\] No such file or directory: ['"](?P<path>[^'"\n]*[/\\.][^'"\n]*)['"]`, func(_ *exam, m *match) bool { return !strings.Contains(m.names["path"], "/bin/") }},
				{guess, `(?i)(?:file|path|directory|folder|config|database|script) (?:not found|does not exist|doesn't exist)(?:: | at )['"]?(?P<path>[/~.\w][^\n'"]*)`, nil},
				{guess, `FileNotFound\w*:? ['"](?P<path>[^'"\n]*[/\\.][^'"\n]*)['"]`, nil},
				{guess, `The system cannot find the path specified\.`, nil},
				{likely, `\b(?:mkdir|touch|cp|mv|ls|cat|cd|tee|ln|source|stat|chmod): (?:can(?:no|')t \w+(?: \w+)? )?['‘` + "`" + `"]?(?P<path>[^'’\n"]+?)['’"]?: No such file or directory`, nil},
				{guess, `(?i)\bconfig(?:uration)?(?: file)? (?:was )?not found\b`, nil},
				{guess, `kind: NotFound, message: "(?:No such file or directory|The system cannot find)`, nil},
			},
		},
		{
			name: "npm_cache_root_owned", category: PermissionDenied,
			explain: "npm cannot write to its cache ({path|~/.npm}): some of the cached files belong to root, because npm was once run with sudo.",
			fix:     "The user must make their own account the owner of npm's cache, ~/.npm.",
			command: "sudo chown -R $(id -u):$(id -g) ~/.npm",
			clues: []clue{
				{certain, `Your cache folder contains root-owned files`, nil},
				{strong, "", func(x *exam, m *match) bool { return x.npmExit(m, eacces) }},
				{certain, `sudo chown -R \d+:\d+ "?(?P<path>[^"\n]*\.npm)`, nil},
				{certain, `(?:EACCES|EPERM)[^\n]*?['"]?(?P<path>[^\s'"]*\.npm/(?:_cacache|_logs|_npx|_locks)[^\s'"]*)`, nil},
				{certain, `npm (?:ERR!|error) (?:code )?EACCES(?s:.*?)(?P<path>[^\s'"]*/\.npm)\b`, nil},
			},
			hides: []string{"npx_cache_corrupt", "access_denied", "missing_exec_bit", "env_placeholder_not_expanded"},
		},
		{
			name: "npm_prefix_not_writable", category: PermissionDenied,
			explain: "npm cannot install global packages: its global directory ({path|lib/node_modules}) belongs to a different user.",
			fix:     "Start the package with npx, which needs no global installation, or let npm use a directory of your own: `npm config set prefix {$home .local}`",
			clues: []clue{
				{certain, `npm (?:ERR!|error) (?:path|dest) (?P<path>[^\n]*/lib/node_modules)\b`, func(x *exam, _ *match) bool { return npmDenied.MatchString(x.text) }},
				{certain, `npm (?:ERR!|error) [^\n]{0,40}(?:EACCES|EPERM)[^\n]*?['"](?P<path>[^'"\n]*/lib/node_modules)\b`, nil},
			},
			hides: []string{"npm_cache_root_owned", "access_denied", "cache_dir_not_writable", "missing_exec_bit", "broken_npm_install", "wrong_directory_argument"},
		},
		{
			name: "deno_permission", category: PermissionDenied,
			explain: "Deno blocked the server: it was started without the required permission ({flag|see Deno's output}).",
			fix:     "The user decides whether to grant this permission. To grant it, add an argument after \"run\".",
			command: "{flag|--allow-PERMISSION}",
			clues: []clue{
				{certain, `(?:NotCapable|PermissionDenied): Requires \w+ access(?: to [^\n]+?)?, (?:run again|specify)(?: with)? the (?P<flag>--allow-\w+)(?: flag)?`, nil},
				{certain, `(?:NotCapable|PermissionDenied): Requires \w+ access`, nil},
				{strong, `run again with the (?P<flag>--allow-(?:env|net|read|write|run|ffi|sys|import)) flag`, nil},
			},
			hides: []string{"access_denied", "env_not_set", "server_bug_crash"},
		},
		{
			name: "docker_socket_permission", category: PermissionDenied,
			explain: "The current user cannot access the Docker daemon's socket, {path|/var/run/docker.sock}.",
			fix:     "The user must be given access to Docker, as Docker's documentation describes for this system, and then log in again.",
			command: "sudo usermod -aG docker $USER",
			instead: []advice{{when: onWindows, fix: "The user must be added to the docker-users group, and then log in again."}},
			clues: []clue{
				{certain, `(?i)permission denied while trying to connect to the docker (?:daemon socket|API)(?: at (?P<path>\S+))?`, nil},
				{certain, `dial unix (?P<path>\S*docker\.sock): connect: permission denied`, nil},
				{certain, `connect EACCES (?P<path>\S*docker\.sock)`, nil},
				{certain, `docker_?[eE]ngine: Access is denied`, nil},
			},
			hides: []string{"docker_daemon_down", "access_denied"},
		},
		{
			name: "macos_tcc", category: PermissionDenied,
			explain: "macOS blocks the client's access to {path|a protected directory or application}. Reading Documents, Desktop or Downloads and controlling other applications require the user's permission.",
			fix:     "Allow the client in System Settings → Privacy & Security (Files and Folders, Full Disk Access or Automation), or move the server out of that directory.",
			clues: []clue{
				{certain, `PermissionError: \[Errno 1\](?: Operation not permitted(?:: '(?P<path>[^'\n]+)')?)?`, nil},
				{certain, `(?i)operation not permitted[^\n]{0,80}(?P<path>/Users/[^/\n]+/(?:Documents|Desktop|Downloads|Library)[^\n'"]*)`, nil},
				{certain, `(?P<path>/Users/[^/\n]+/(?:Documents|Desktop|Downloads|Library)[^\n'"]*)[^\n]{0,30}(?i:operation not permitted)`, nil},
				{strong, `\bEPERM: operation not permitted,? \w+ '(?P<path>/Users/[^'\n]+)'`, func(_ *exam, m *match) bool { return !strings.Contains(m.names["path"], "/.npm") }},
				{certain, `(?i)not (?:authorized|allowed) to send Apple ?events|\(-1743\)|AXIsProcessTrusted|osascript is not allowed assistive access`, nil},
				{certain, `authorization denied \(code: 23\)|(?i:grant|enable|requires?|needs?) Full Disk Access`, nil},
				{strong, `(?i)(?:screen recording|accessibility) permission(?:s)? (?:is |are |not |has |was )*(?:required|granted|denied|missing)`, nil},
			},
			hides: []string{"access_denied", "cache_dir_not_writable"},
		},
		{
			name: "shared_tmp_owned_by_other_user", category: PermissionDenied,
			explain: "A file or directory in the shared temporary directory ({path|/tmp}) belongs to a different user.",
			fix:     "Give the server its own temporary directory: set TMPDIR under \"env\" in the server's entry.",
			clues: []clue{
				{certain, `(?:EACCES|EPERM)[^\n]{0,80}['" ](?P<path>(?:/private)?/(?:var/)?tmp/[^\s'"]+)`, nil},
				{certain, `(?i)permission denied:? ['"]?(?P<path>(?:/private)?/(?:var/)?tmp/[^\s'"]+)`, nil},
				{strong, `(?P<path>/tmp/[^\s'":]+): (?i:permission denied)`, nil},
			},
			hides: []string{"access_denied", "cache_dir_not_writable"},
		},
		{
			name: "cache_dir_not_writable", category: PermissionDenied,
			explain: "The server cannot write to {path|a directory that it needs}: the directory is read-only or belongs to a different user.",
			fix:     "Point the server to a directory that you own: use the server's own setting, XDG_CACHE_HOME, HOME, or \"cwd\" in the server's entry.",
			clues: []clue{
				{strong, `(?i)attempt to write a readonly database`, nil},
				{certain, `(?i)(?:EROFS|read-only file system)[^\n]{0,20}(?:[:,] ?(?:mkdir|open)? ?['"]?(?P<path>/[^\s'"]*))?`, nil},
				{strong, `(?:EACCES|EPERM): (?:permission denied|operation not permitted), (?:mkdir|open|unlink|rename|copyfile|rmdir) '(?P<path>[^'\n]+)`, nil},
				{strong, `PermissionError: \[(?:Errno 13|WinError 5)\] [^\n:]+: '(?P<path>[^'\n]+)'`, nil},
				{strong, `(?i)(?:mkdir|open|create|write)[^\n]{0,40} ['"]?(?P<path>/[^\s'":]+)['"]?: permission denied`, nil},
				{strong, "(?i)failed to (?:initialize cache|create directory|open file|write)[^\\n]{0,40}`?(?P<path>/[^`\\n:]+)`?(?s:.{0,80})permission denied \\(os error 13\\)", nil},
			},
			hides: []string{"access_denied"},
		},
		{
			name: "access_denied", category: PermissionDenied,
			explain: "The operating system denied access to {path|a file or resource that the server needs}.",
			fix:     "Check who has access (`ls -l`), then run the server as that user or use a different path. Do not run it as root.",
			instead: []advice{{when: lineContains("listen EACCES", "bind: permission", "bind on address"), explain: "The server is not allowed to listen on that port: ports below 1024 are reserved for the system.",
				fix: "Configure the server to use a port above 1023."}},
			clues: []clue{
				{likely, `\b(?:EACCES|EPERM)\b`, nil},
				{likely, `\[(?:Errno 13|WinError 5)\]`, nil},
				{likely, `(?i)cannot be loaded because running scripts is disabled|blocked by (?:group policy|your administrator|antivirus)|is not (?:digitally )?signed|cannot be opened because|developer cannot be verified|code signature invalid|cannot verify that this app|is damaged and can.t be opened|blocked by (?:policy|Gatekeeper|Windows Defender|SmartScreen)|Operation did not complete successfully because the file contains a virus`, nil},
				{guess, `\bPermissionError\b: [^\n]{8,}`, nil},
				{likely, `(?i)(?:is not writable|not writable by|cannot write to|no write (?:access|permission)|is owned by)[^\n]{0,80}`, nil},
				{likely, `The operation was rejected by your operating system|\bUnauthorizedAccessException\b|Access to the path '(?P<path>[^'\n]+)' is denied|java\.nio\.file\.AccessDeniedException|forbidden by its access permissions|访问权限不允许的方式|(?i)code signature|\bSIGKILL \(Code Signature Invalid\)`, nil},
				{likely, `(?i)operation not permitted \(os error 1\)|permission denied \(os error 13\)|access is denied\.? \(os error 5\)`, nil},
				{likely, `(?m)(?i:^|[:\s])(?:P|p)ermission denied(?:$|[\s.:,(])`, func(x *exam, m *match) bool {
					return !notOurPermission.MatchString(m.said) && complained(x, m)
				}},
				{guess, `(?i)\baccess is denied\b|\baccess denied\b`, func(x *exam, m *match) bool { return !notOurPermission.MatchString(m.said) && complained(x, m) }},
			},
		},
	}
}

// notOurPermission matches failedResponses by a service, not by the operating system.
var notOurPermission = &wording{source: `(?i)publickey|for user|for (?:table|schema|relation|database)|pull access|403|401|API|token|scope|PERMISSION_DENIED`}

// windowsArgument reports whether one of the server's arguments is a path of Windows, but gauze
// itself saw the failure on a different system.
func windowsArgument(x *exam, m *match) bool {
	at := slices.IndexFunc(x.Command, windowsPath.MatchString)
	if at < 1 || !x.Live || x.typing().Windows() {
		return false
	}
	m.names = map[string]string{"argument": x.Command[at]}
	return true
}

// notBuilt returns a condition: what was captured is a file that a build of the server's own project
// writes.
func notBuilt(key string) func(*exam, *match) bool {
	return func(_ *exam, m *match) bool {
		file := m.names[key]
		return buildOutput.MatchString(file) && !strings.Contains(file, "node_modules")
	}
}

var buildOutput = &wording{source: `(?:^|[/\\])(?:dist|build|out|lib|\.output|target)[/\\].*\.[cm]?js$`}

// npmDenied matches npm's report that it lacks a permission.
var npmDenied = &wording{source: `npm (?:ERR!|error) (?:code |errno )?(?:EACCES|EPERM|-13\b|-1\b)`}
