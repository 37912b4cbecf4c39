package doctor

import (
	"slices"
	"strconv"
	"strings"
)

// newInNode are functions that older versions of Node lack.
var newInNode = []string{"at", "findLast", "findLastIndex", "toSorted", "toReversed", "toSpliced", "with", "hasOwn", "replaceAll", "withResolvers", "structuredClone",
	"getRandomValues", "randomUUID", "any", "allSettled", "matchAll", "groupBy", "fromAsync", "fromEntries", "getSetCookie", "canParse", "parseEnv", "styleText", "isSubsetOf", "union", "intersection", "try", "timeout", "enableCompileCache", "loadEnvFile", "asyncDispose"}

// newerPython reports whether a module was added in a later Python, or removed in one.
func newerPython(module string) bool {
	return slices.Contains([]string{"tomllib", "zoneinfo", "graphlib", "_typeshed", "imp", "asynchat", "cgi"}, module)
}

// runtimeCauses returns the causes about interpreters that are too old, too new or built for
// something else.
func runtimeCauses() []cause {
	return []cause{
		{
			name: "old_node_first_in_path", category: RuntimeTooOld,
			explain: "The Node version {version|in use} is too old for the server: this version does not support {hit|a newer syntax or function}. If several versions are installed, clients often use the first one they find.",
			fix:     "Use the absolute path of a newer node or npx as the command, and put its directory first on PATH. To see which version is used: `node --version`",
			clues: []clue{
				{certain, `SyntaxError: Unexpected token '?(?P<hit>\?\?=|&&=|\|\|=|\?\?|\?\.|\?|\.|\(|\{|=|\*|\.\.\.|import|export|static|#\w*|with)'?(?:$|\s)`, oldSyntax},
				{certain, `SyntaxError: (?:Unexpected (?:identifier|string|number|template string|reserved word|strict mode reserved word|private field)|Invalid regular expression flags|missing \) after argument list)`, oldSyntax},
				{strong, `ERROR: You must supply a command\.`, nil},
				{certain, `(?s)npx: installed \d+ in [\d.]+s.{0,200}Unexpected (?:token|identifier)`, nil},
				{strong, `(?m)^Unexpected token '?[({.?=*]'?$`, nil},
				{certain, `(?:ReferenceError: |^|\n|\s)(?P<hit>File|fetch|Headers|Request|Response|FormData|Blob|structuredClone|ReadableStream|WritableStream|TransformStream|crypto|WebSocket|CustomEvent|AbortController|BroadcastChannel|DOMException|EventSource|Iterator|navigator|TextDecoderStream|globalThis|AggregateError|WeakRef|FinalizationRegistry|performance|queueMicrotask|MessageChannel) is not defined`, func(x *exam, _ *match) bool { return x.nodeBelow(22) }},
				{certain, `(?:No such built-in module|Cannot find module|Unknown (?:builtin )?module:?):? '?(?P<hit>node:[\w/]+)`, nil},
				{certain, `ERR_UNKNOWN_BUILTIN_MODULE`, nil},
				{certain, `npm v(?P<hit>[\d.]+) is known not to run on Node\.js v(?P<version>[\d.]+)`, nil},
				{certain, `npm does not support Node\.js v(?P<version>[\d.]+)`, nil},
				{strong, `\bnode: bad option: (?P<hit>\S+)`, nil},
				{strong, `ERR_UNKNOWN_FILE_EXTENSION|Unknown file extension "(?P<hit>\.tsx?)"`, func(x *exam, _ *match) bool { return x.nodeBelow(24) }}, // newer versions run TypeScript
				{strong, `ERR_REQUIRE_ESM|require\(\) of ES Module [^\n]+ not supported`, func(x *exam, _ *match) bool { return x.nodeBelow(23) }},
				{strong, `SyntaxError: Cannot use import statement outside a module`, notCurrentNode},
				{certain, `TypeError: (?:[\w.$\[\]]+\.)?(?P<hit>\w+) is not a function`, func(x *exam, m *match) bool {
					return x.nodeBelow(22) && (slices.Contains(newInNode, m.names["hit"]) && !slices.Contains([]string{"with", "any", "at", "try", "timeout", "union"}, m.names["hit"]) || strings.Contains(m.hit, ".at is") || strings.Contains(m.hit, "AbortSignal"))
				}},
				{strong, `SyntaxError: (?:await is only valid in async function|Invalid or unexpected token|Unexpected eval or arguments)`, oldSyntax},
				{certain, `ReferenceError: \w+ is not defined(?s:.*?)Node\.js v(?P<version>1[0-8]\.[\d.]+)`, nil},
				{strong, `(?s)(?:SyntaxError|TypeError|ReferenceError)\b.{0,700}Node\.js v(?P<version>(?:[4-9]|1[0-7])\.[\d.]+)`, nil},
				{likely, `(?s)(?:SyntaxError|TypeError|ReferenceError)\b.{0,700}Node\.js v(?P<version>1[89]\.[\d.]+)`, nil},
				{likely, `(?s)\b(?:v|node/|node@)(?P<version>(?:[4-9]|1[0-6])\.\d+\.\d+)/(?:lib|bin)/.*?(?:SyntaxError|TypeError|ReferenceError)`, nil},
				{strong, `(?i)import attributes?[^\n]{0,40}not supported|ERR_IMPORT_ASSERTION_TYPE_MISSING|ERR_IMPORT_ATTRIBUTE_MISSING`, nil},
			},
			hides: []string{"stdout_log_pollution", "broken_npm_install", "server_bug_crash", "dependency_version_drift"},
		},
		{
			name: "node_engine_too_old", category: RuntimeTooOld,
			explain: "The server does not support the Node version that runs it: it requires {version|a newer one}.",
			fix:     "Install a current Node, or use the absolute path of a newer one that is already installed. To see which version is used: `node --version`",
			clues: []clue{
				{likely, `npm (?:WARN|warn) (?:notsup|EBADENGINE) Unsupported engine`, nil},
				{certain, `npm (?:ERR!|error) code EBADENGINE|npm (?:ERR!|error) engine Unsupported engine`, nil},
				{certain, `ERR_PNPM_UNSUPPORTED_ENGINE`, nil},
				{certain, `The engine "node" is incompatible with this module\. Expected version "(?P<version>[^"\n]+)"`, nil},
				{certain, `(?i)(?:requires?|needs?|supports? only|must be running|minimum)[^\n]{0,40}\bNode(?:\.?js)?(?: version)?:? ?(?:version )?v?(?P<version>[>=^~ ]*\d[\d.x]*)[^\n]{0,80}`, nil},
				{certain, `(?i)\bNode(?:\.?js)?(?: version)? v?(?P<version>[\d.]+(?:\+| or (?:higher|newer|later|above)))[^\n]{0,20}(?:is )?(?:required|needed)?`, nil},
				{certain, `(?i)supports? Node(?:\.?js)? (?P<version>v?\d[\d.x]*)|Node(?:\.?js)? (?:version )?(?:must be|should be|needs to be)|unsupported Node(?:\.?js)?(?: version)?|outdated (?:version of )?Node|upgrade (?:your )?Node`, nil},
				{certain, `(?i)Node(?:\.?js)? (?:version )?v?[\d.]+ (?:is not supported|is too old|is no longer supported|does not meet)`, nil},
				{certain, `(?i)does not support Node(?:\.js)? v?(?P<version>[\d.]+)`, nil},
			},
			hides: []string{"server_bug_crash"},
		},
		{
			name: "native_module_abi", category: RuntimeTooOld,
			explain: "A compiled part of the server ({module|a native module}) was built for a different version of Node.",
			fix:     "Run the server with the Node version it was installed with, or rebuild it for this one: `npm rebuild`",
			clues: []clue{
				{certain, `NODE_MODULE_VERSION \d+`, nil},
				{strong, `Module did not self-register`, nil},
				{certain, `was compiled against a different Node\.js\s+version`, nil},
				{strong, `ERR_DLOPEN_FAILED`, nil},
				{strong, `invalid ELF header`, nil},
				{strong, `Module did not self-register: '(?P<module>[^'\n]+)'`, nil},
				{strong, `is not a valid Win32 application\.?\s+[^\n]{0,40}\.node`, nil},
				{strong, `ImportError: [^\n]*(?:numpy\.core\.multiarray|_C_API|incompatible (?:numpy|ABI))|numpy\.dtype size changed`, nil},
			},
			hides: []string{"wrong_cpu_arch", "native_build_failed", "broken_npm_install"},
		},
		{
			name: "python_too_old", category: RuntimeTooOld,
			explain: "The server does not support the Python version that runs or installs it: it requires {version|a newer one}.",
			fix:     "Use the absolute path of a newer Python as the command. To find one: `uv python find {python|3.12}`",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.runs("uvx", "uv") }, fix: "Let uv use a newer Python: `{withpython|uvx --python 3.12 PACKAGE}`"},
				{when: func(x *exam, _ *match) bool { return x.runs("pipx") }, fix: "Let pipx use a newer Python: `pipx run --python {python|3.12} {pinned|PACKAGE}`"}},
			clues: []clue{
				{certain, `does(?: not|n't) satisfy Python ?(?P<version>[<>=~!][^\s,]*)`, nil},
				{certain, `requires a different Python: [\d.]+ not in '(?P<version>[^'\n]+)'`, nil},
				{certain, `Requires-Python (?P<version>[<>=~!][^\s;]*)`, nil},
				{certain, `Ignored the following versions that require a different python version`, nil},
				{certain, `(?i)requires Python (?:version )?['"]?(?P<version>[<>=~! ]*3[\d.]*)`, nil},
				{certain, `(?i)Python (?P<version>3\.\d+(?:\+| or (?:higher|newer|later|above)))[^\n]{0,20}(?:is )?(?:required|needed)`, nil},
				{certain, `No interpreter found for Python (?P<version>[^\n]+?) in`, nil},
				{certain, `(?i)No (?:download found|Python at|suitable Python)[^\n]{0,60}`, func(x *exam, _ *match) bool { return !ofVenv.MatchString(x.line) }},
				{certain, `TypeError: unsupported operand type\(s\) for \|: '(?:type|_GenericAlias|NoneType|ModelMetaclass|ABCMeta|EnumMeta)'`, nil},
				{certain, `TypeError: 'type' object is not subscriptable|TypeError: 'ABCMeta' object is not subscriptable`, nil},
				{certain, `cannot import name '(?P<module>\w+)' from '(?:typing|datetime|enum|asyncio|collections|importlib|types|functools|dataclasses)'`, nil},
				{certain, `module 'asyncio' has no attribute '(?P<module>run|timeout|TaskGroup|Runner|to_thread|coroutine|get_running_loop)'`, nil},
				{certain, `No module named '(?P<module>tomllib|zoneinfo|graphlib|imp|asynchat|cgi)'`, nil},
				{certain, `(?:^|\n|File "[^\n]*?)(?P<code>[^\n]*)\n?[ ^~]*\n?[ ^~]*SyntaxError: (?:invalid syntax|expected |cannot assign to|unmatched|EOL while|unterminated)`, func(_ *exam, m *match) bool { return newSyntax.MatchString(m.names["code"]) }},
				{strong, `SyntaxError: (?:f-string: (?:unmatched|expecting|invalid|unterminated)|f-string expression part cannot include|(?:Variable annotation|positional-only|Parenthesized context managers|Pattern matching|Exception groups|Type (?:parameter|alias)|Assignment expressions)[^\n]*(?:only supported|supported) in Python)`, nil},
				{certain, `requires-python|incompatible with the project's Python requirement`, nil},
				{certain, `(?i)you(?:'re| are) (?:using|running) Python (?:version )?(?P<version>[23]\.\d+)`, nil},
			},
			hides: []string{"dependency_version_drift", "venv_not_used", "version_not_published", "wrong_package_name"},
		},
		{
			name: "version_manager_path", category: RuntimeTooOld,
			explain: "The program is managed by a version manager ({command|nvm, asdf, mise, pyenv, volta}), but no version is selected or installed where the client starts it.",
			fix:     "Select a default version (`asdf set -u`, `mise use -g`, `nvm alias default`, `pyenv global`), or use the absolute path of the real program.",
			clues: []clue{
				{certain, `(?P<command>asdf): No (?:version|preset version) (?:is set|installed) for command|No version is set for command|unknown command: \S+\. Perhaps you have to reshim`, nil},
				{certain, `No preset version installed for command (?P<version>\S+)`, nil},
				{certain, `(?P<command>pyenv): (?:version ` + "[`']" + `(?P<version>[^'\n]+)' is not installed|[\w.]+: command not found)`, nil},
				{certain, `(?P<command>Volta) error: (?:Node|Could not)|(?i)volta[^\n]{0,20}is not available`, nil},
				{certain, `(?P<command>mise)\b (?:ERROR|WARN)[^\n]*?(?:not installed|No version is set|missing:|not found|not trusted)`, nil},
				{certain, `(?P<command>nodenv|rbenv): (?:version|\S+: command not found)`, nil},
				{certain, `N/A: version "(?P<version>[^"\n]+)" is not yet installed|nvm: command not found`, nil},
				{certain, `(?P<command>fnm)\b[^\n]{0,40}(?:Can't find an installed Node version|error: )`, nil},
				{strong, `rustup could not choose a version of (?P<version>\w+) to run`, nil},
			},
			hides: []string{"gui_path_missing", "wrong_command_name"},
		},
		{
			name: "dotnet_runtime_missing", category: RuntimeTooOld,
			explain: "The .NET runtime that the server requires ({version|see the server's output}) is not installed.",
			fix:     "Install that version of .NET. To list the installed ones: `dotnet --list-runtimes`",
			clues: []clue{
				{certain, `You must install (?:or update )?\.NET(?: Desktop Runtime)? to run this application`, nil},
				{certain, `The framework '(?P<framework>[^'\n]+)', version '(?P<version>[^'\n]+)'[^\n]* was not found`, nil},
				{certain, `It was not possible to find any compatible framework version`, nil},
				{certain, `No \.NET SDKs were found|A compatible \.NET SDK was not found|compatible installed \.NET SDK[^\n]{0,60}not found`, nil},
				{certain, `NETSDK1045|The current \.NET SDK does not support targeting (?P<version>[^\n.]+)`, nil},
				{certain, `hostfxr|Microsoft\.NETCore\.App|\.NET location: Not found|App host version:|aka\.ms/dotnet`, nil},
				{strong, "", func(x *exam, m *match) bool {
					return x.exited(m, 131, 150, 2147516566, -2147516566, 2147516547, -2147516547, -2147450730, -2147450749)
				}},
				{strong, `(?i)dnx[^\n]{0,40}(?:unknown|not recognized|requires \.NET 10)`, nil},
			},
		},
		{
			name: "java_too_old", category: RuntimeTooOld,
			explain: "The server requires a newer Java ({version|see the server's output}) than the one installed, or Java is not installed.",
			fix:     "Install a newer Java and use its absolute path as the command. To see which version is used: `java -version`",
			clues: []clue{
				{certain, `UnsupportedClassVersionError`, nil},
				{certain, `compiled by a more recent version of the Java Runtime(?: \(class file version (?P<classes>[\d.]+)\))?`, nil},
				{certain, `(?i)invalid (?:source|target) release: (?P<version>\d+)|release version (?P<release>\d+) not supported`, nil},
				{certain, `Unable to locate a Java Runtime|JAVA_HOME is (?:not set|set to an invalid directory)`, nil},
				{certain, `(?i)requires (?:at least )?(?:Java|JDK|JVM)(?: runtime| version)? (?P<version>\d+)`, nil},
				{strong, `Unrecognized option: --(?:enable-native-access|add-opens|enable-preview|sun-misc)`, nil},
			},
			hides: []string{"env_not_set"},
		},
		{
			name: "uv_too_old", category: RuntimeTooOld,
			explain: "The installed uv is too old: it does not support {option|an option in the command}.",
			fix:     "Update uv in the same way as it was installed. If that was its own installer: `uv self update`",
			clues: []clue{
				{certain, "(?s)error: (?:unexpected argument|unrecognized subcommand) '(?P<option>[^'\\n]+)'.*?Usage: uvx? ", nil},
				{certain, "Required uv version `(?P<version>[^`\\n]+)` does not match the running version", nil},
				{strong, `(?s)error: (?:unexpected argument|unrecognized subcommand) '(?P<option>--directory|--from|--with|--python|tool|run)'`, func(x *exam, _ *match) bool { return x.runs("uv", "uvx") }},
				{strong, "TOML parse error(?s:.*?)unknown field `(?P<option>[^`\\n]+)`", func(x *exam, _ *match) bool { return x.runs("uv", "uvx") }},
			},
			hides: []string{"unknown_cli_option"},
		},
		{
			name: "docker_plugin_missing", category: RuntimeTooOld,
			explain: "The installed docker does not support {option|the command}: the plugin for it is missing, or Docker is too old.",
			fix:     "Update Docker Desktop, or install the plugin (docker compose, docker mcp).",
			clues: []clue{
				{certain, `docker: '(?P<option>[\w-]+)' is not a docker command`, nil},
				{certain, `docker: unknown command: docker (?P<option>[\w-]+)`, nil},
				{certain, `unknown shorthand flag: '\w' in -\w\s+(?s:.{0,80})docker`, nil},
				{certain, `client version (?P<version>[\d.]+) is too (?:old|new)\. (?:Minimum|Maximum) supported API version`, nil},
			},
			hides: []string{"unknown_cli_option"},
		},
		{
			name: "toolchain_too_old", category: RuntimeTooOld,
			explain: "The compiler or runtime is too old for the server, which requires {version|a newer one}.",
			fix:     "Update the compiler or runtime (`rustup update`, `bun upgrade`, `deno upgrade`, or install a newer Go), or use a prebuilt binary of the server.",
			clues: []clue{
				{certain, `requires go ?>= ?(?P<version>[\d.]+)|invalid go version '(?P<invalid>[^'\n]+)'|toolchain not available`, nil},
				{certain, `requires rustc (?P<version>[\d.]+) or newer|is not supported by the following package|feature ` + "`edition2024`" + ` is required`, nil},
				{strong, `(?i)requires (?:bun|deno|ruby|php) (?:version )?(?P<version>[<>=^~ v]*\d[\d.]*)`, nil},
			},
		},
	}
}

// newSyntax matches code that only later versions of Python can parse: match, :=, except*, type
// aliases and parameters, f-strings, parenthesised with, positional-only parameters, async.
var newSyntax = &wording{source: `^\s*(?:match\s+[^=(\s][^=]*:|case\s+\S.*:|type\s+\w+(?:\[[^\]]*\])?\s*=|except\s*\*|(?:async\s+)?with\s*\(|async\s|(?:def|class)\s+\w+\[|(?:async\s+)?def\s+\w+\(.*(?:,\s*/\s*[,)]|->)|\w+:\s*[\w\[\], .|]+\s=\s)|\bmatch\s+\w+:|[(\s]\w+\s*:=|\bawait\s|(?:^|[\s(,=+])[rR]?[fF]["']|\bnonlocal\s|\byield from\s|\braise\s.+\sfrom\s`}

// nodeBelow reports whether the Node that ran the server is, or may be, older than a version: Node
// 17 and later print their version when they crash.
func (x *exam) nodeBelow(version int) bool {
	m := nodeVersion.FindStringSubmatch(x.text)
	if m == nil {
		m = nodeInPath.FindStringSubmatch(x.line)
	}
	if m == nil {
		return true
	}
	major, _ := strconv.Atoi(m[1])
	return major < version
}

var nodeVersion = &wording{source: `(?m)^Node\.js v(\d+)\.`}

func notCurrentNode(x *exam, _ *match) bool { return x.nodeBelow(18) }

// oldSyntax reports whether a syntax error is one that an old Node reports for valid code.
func oldSyntax(x *exam, m *match) bool { return x.nodeBelow(20) && notJSONNoise(x, m) }

// notJSONNoise reports whether a syntax error is in a program and not in a message: JSON parsers
// say so.
func notJSONNoise(x *exam, m *match) bool {
	at := strings.Index(x.text, m.hit)
	rest := x.text[max(at, 0):]
	rest, _, _ = strings.Cut(rest[min(len(m.hit), len(rest)):], "\n")
	return !strings.Contains(m.said, "is not valid JSON") && !strings.Contains(m.said, "in JSON at position") && !strings.Contains(rest, "JSON")
}
