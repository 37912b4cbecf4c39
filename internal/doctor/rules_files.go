package doctor

import (
	"path"
	"slices"
	"strings"
)

// scriptTail is the end of a path to a script.
var scriptTail = &wording{source: `^[^-/][^\n]*/[^/\n]+\.(?:py|[cm]?js|ts|jar)$|^[^-/][^/\n]*\.(?:py|[cm]?js|ts|jar)$`}

// fileCauses are about paths that are not there, or that may not be touched.
func fileCauses() []cause {
	return []cause{
		{
			name: "windows_env_stripped", category: PathNotFound,
			explain: "The client starts the server without Windows' own variables ({variable|APPDATA, SystemRoot}), so paths made of them lead nowhere.",
			fix:     "Add them to the \"env\" part of the entry: \"APPDATA\": \"C:\\\\Users\\\\YOU\\\\AppData\\\\Roaming\", \"SystemRoot\": \"C:\\\\Windows\".",
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
			explain: "The working folder {path|of the server} does not exist.",
			fix:     "Correct \"cwd\" in the server's entry, or leave it out.",
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
			explain: "Docker cannot mount {path|a folder} into the container: it does not exist on this machine, or Docker may not see it.",
			fix:     "Correct the path in front of the colon behind -v (or behind source=): an absolute path that exists; on a Mac or Windows also one that Docker Desktop shares (Settings, Resources, File sharing).",
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
			explain: "The folder {path|given to the server} does not exist or is not what the server expects there.",
			fix:     "Correct the path in the arguments: it has to be absolute and has to exist.",
			clues: []clue{
				{strong, `error: No such file or directory \(os error 2\)`, func(x *exam, _ *match) bool {
					return x.runs("uv", "uvx") || x.has("--directory", "--project")
				}},
				{strong, `(?:No such file or directory|The system cannot find the (?:file|path) specified\.?) \(os error [23]\)`, func(x *exam, _ *match) bool {
					return x.has("--directory", "--project", "--from")
				}},
				{certain, "error: (?:Failed to (?:change|set)[^\\n]{0,40}director|Project directory `(?P<path>[^`\\n]+)` does not exist|No `pyproject\\.toml` found in)", nil},
				{certain, `(?i)(?:Error accessing|Invalid|Could not access|Cannot access) (?:allowed )?(?:directory|folder|path|vault|repository|repo)(?: path)?:? ['"]?(?P<path>(?:[A-Za-z]:)?[~/\\\w][^\n'":]*)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "EPERM") && !strings.Contains(m.said, "EACCES") && !strings.Contains(m.said, "ermission denied")
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
			explain: "The server's own file {path|or program} does not exist: the path is wrong, relative to another folder, or the project was never built.",
			fix:     "Use the absolute path; if it is built from source, build it first (npm install, then npm run build).",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.runs("uv", "uvx") },
				fix: "Clients start servers in a folder of their own: give the script's absolute path, or its folder in front of run: uv --directory {$path project} run SCRIPT"},
				{when: func(x *exam, _ *match) bool { return x.runs("python", "python3", "deno", "ruby", "bash", "sh", "java") },
					fix: "Clients start servers in a folder of their own: give the absolute path of the file, or set \"cwd\" to its folder."}},
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
			explain: "A path with a space was taken apart at the space: {path|its first half} does not exist.",
			fix:     "Give the path as one entry of \"args\", without quotes or backslashes of its own.",
			clues: []clue{
				{strong, `(?i)(?:ENOENT|no such file|not found|does not exist|cannot access)[^\n]{0,80}['"` + "`" + `](?P<path>(?:/Users/[^/\n'"]+/Library/Mobile|/Users/[^/\n'"]+/Library/Application|[A-Za-z]:\\Program|[^'"\n]*/(?:Google|One|Visual|Application))['"` + "`" + `])`, nil},
				{strong, `(?i)no such file or directory[^\n]{0,60}\\ `, nil},
				{certain, `(?:Cannot find module|can't open file|No such file or directory:?) '(?P<path>/[^'\n]+)'`, func(x *exam, m *match) bool {
					at := slices.Index(x.Command, m.names["path"]) // a path without an ending, and the rest of it is the next argument
					return at > 0 && at+1 < len(x.Command) && !strings.Contains(path.Base(m.names["path"]), ".") && scriptTail.MatchString(x.Command[at+1])
				}},
			},
			hides: []string{"data_file_missing", "wrong_directory_argument", "script_missing", "broken_npm_install"},
		},
		{
			name: "binary_download_incomplete", category: PathNotFound,
			explain: "The package is only a shell around a binary that was never downloaded: {path|the binary} is missing.",
			fix:     "Install it again with its install scripts allowed (no --ignore-scripts) and the network open.",
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
			explain: "The server wanted a file that does not exist: {path|see the line below}.",
			fix:     "Create it, or correct the path to it in the server's arguments or variables.",
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
			explain: "npm may not write into its own cache ({path|~/.npm}): some of it belongs to root, from an earlier run with sudo.",
			fix:     "The user has to become the owner of npm's cache, ~/.npm, again.",
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
			name: "deno_permission", category: PermissionDenied,
			explain: "Deno does not let the server do this: it was started without the permission for it ({flag|see the line below}).",
			fix:     "The user decides whether the server may do that: the permission is an argument after \"run\".",
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
			explain: "You may not talk to Docker's daemon: the socket {path|/var/run/docker.sock} is not open to this user.",
			fix:     "The user has to get access to Docker, in the way Docker's documentation names for this system, and log in again.",
			command: "sudo usermod -aG docker $USER",
			instead: []advice{{when: onWindows, fix: "The user has to become a member of the group docker-users, and log in again."}},
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
			explain: "macOS keeps the client out of {path|a protected folder}: Documents, Desktop, Downloads, and other programs need a permission of their own.",
			fix:     "Allow the client in System Settings → Privacy & Security (Files and Folders, Full Disk Access or Automation), or move the server out of that folder.",
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
			explain: "A file or folder in the shared temporary folder ({path|/tmp}) belongs to another user.",
			fix:     "Give the server a temporary folder of its own: set TMPDIR in the \"env\" part of its entry.",
			clues: []clue{
				{certain, `(?:EACCES|EPERM)[^\n]{0,80}['" ](?P<path>(?:/private)?/(?:var/)?tmp/[^\s'"]+)`, nil},
				{certain, `(?i)permission denied:? ['"]?(?P<path>(?:/private)?/(?:var/)?tmp/[^\s'"]+)`, nil},
				{strong, `(?P<path>/tmp/[^\s'":]+): (?i:permission denied)`, nil},
			},
			hides: []string{"access_denied", "cache_dir_not_writable"},
		},
		{
			name: "cache_dir_not_writable", category: PermissionDenied,
			explain: "The server may not write to {path|a folder it needs}: the folder is read-only or belongs to somebody else.",
			fix:     "Point it to a folder you own (a variable of the server, XDG_CACHE_HOME or HOME), or start it in one with \"cwd\".",
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
			explain: "The operating system refused access to {path|something the server needs}.",
			fix:     "See who may use it (ls -l), and start the server as that user or give it another path. Do not run it as root.",
			instead: []advice{{when: saying("listen EACCES", "bind: permission", "bind on address"), explain: "The server may not listen on that port: those below 1024 are for the system.",
				fix: "Give the server a port above 1023."}},
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

// notOurPermission are refusals of a service, not of the operating system.
var notOurPermission = &wording{source: `(?i)publickey|for user|for (?:table|schema|relation|database)|pull access|403|401|API|token|scope|PERMISSION_DENIED`}
