package doctor

import (
	"slices"
	"strings"
)

func limitCauses() []cause {
	return []cause{
		{
			name: "credit_exhausted", category: RateLimited,
			explain: "The account has no credit left, or its plan does not include this feature. The key itself is valid.",
			fix:     "Add credit to the account, change its plan, or use a key from a different account.",
			clues: []clue{
				{certain, `(?i)(?:credit|account|prepaid) balance (?:is )?(?:too low|insufficient|not enough|exhausted)|insufficient (?:account )?(?:balance|credits?|funds)\b|\b(?:out of|no(?: more)?|not enough|zero) credits?\b(?: (?:left|remaining|available))?|credits? (?:have been |has been |are |is )?(?:exhausted|used up|depleted|expired)`, complained},
				{certain, `\binsufficient_quota\b|billing_hard_limit_reached|billing_not_active|(?i)check your plan and billing details|requires? (?:a |an )?(?:active |paid )(?:plan|subscription|account)|billing (?:account )?(?:is )?(?:not (?:active|enabled)|disabled|past due)|(?:free )?trial (?:period )?(?:has )?(?:ended|expired)|subscription (?:has )?(?:expired|lapsed|ended|is inactive)|payment (?:is )?(?:required|overdue|past due)`, complained},
				{strong, "", func(x *exam, m *match) bool { return x.status(m, 402) }},
			},
			hides: []string{"rate_limit", "http_forbidden", "http_unauthorized", "invalid_api_key", "token_scope_insufficient"},
		},
		{
			name: "rate_limit", category: RateLimited, passes: true,
			explain: "The service's rate limit has been reached.",
			fix:     "Wait, then send fewer requests. Your own key or a larger plan may have a higher limit.",
			clues: []clue{
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 429) }},
				{certain, `(?i)\brate[- _]?limit(?:s|ing)?\b[^\n]{0,40}(?:exceeded|reached|\bhit\b|error|too many|retry|try again|wait)|(?:exceed\w*|reached|\bhit|over|due to|because of|error:?|got|been)\b[^\n]{0,40}\brate[- _]?limit|\brate[-_]limit(?:ed|_exceeded|_error|_reached)\b|rate limit(?:ed\b|_exceeded|_error)`, complained},
				{certain, `(?i)too many requests|\bquota (?:has been )?(?:exceeded|reached|exhausted)|exceeded (?:your|the)[^\n]{0,20} (?:quota|limit)|RESOURCE_EXHAUSTED|rate_limit_error|RateLimitError|ThrottlingException|TooManyRequests|usage limit[^\n]{0,20}(?:reached|exceeded|hit)|(?:reached|exceeded|hit)[^\n]{0,20}usage limit|\b(?:API|request|daily|monthly|hourly|call)s? (?:call |request )?limit (?:reached|exceeded|hit)|Rate exceeded|\b(?:was|were|been|being|is|are|request) throttled`, complained},
				{strong, `(?i)\brate[- ]limit(?:s|ing)?\b[.:!]?$|^[^\n]{0,40}\b(?:error|failed)[^\n]{0,40}(?:\busage limit|\bthrottl(?:ed|ing))\b`, complained},
				{certain, `速率限制|请求频率|频率限制|请求过于频繁|レート制限`, nil},
			},
			hides: []string{"http_forbidden", "http_unauthorized"},
		},
		{
			name: "too_many_tools", category: ResourceExhausted,
			explain: "The configured servers offer more tools in total than the model provider accepts (at most {limit|a fixed number}).",
			fix:     "In the client, disable servers or tools that you do not need.",
			clues: []clue{
				{certain, `(?i)(?:more than|maximum of|at most|limit of|up to|exceed\w*(?: the)?(?: maximum| limit)?(?: of)?) (?P<limit>\d+) tools|too many tools|(?:maximum|max|total)(?: number)?(?: of)? tools[^\n]{0,40}(?:exceed|reached|limit|too)`, nil},
				{certain, `(?i)Invalid 'tools': array too long|tools: (?:array|list) (?:too long|should have at most)|'?tools'?[^\n]{0,30}maximum length (?P<limit>\d+)`, nil},
				{certain, `(?i)(?:exceed\w*|over|above)[^\n]{0,30}tools? limit|tool limit (?:exceeded|reached)|total tools[^\n]{0,40}(?:exceed|limit|too many)`, nil},
				{certain, `(?i)prompt is too long|maximum context length|context[ _](?:length|window)[ _]exceeded|context_length_exceeded|exceeds maximum allowed tokens|(?:response|result|output|payload|request (?:entity|body)|message)[^\n]{0,30}(?:is )?(?:too large|exceeds? (?:the )?(?:maximum|max|limit|size))`, nil},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 413) }},
			},
			hides: []string{"rate_limit"},
		},
		{
			name: "node_heap_oom", category: ResourceExhausted, passes: true,
			explain: "The server ran out of memory.",
			fix:     "Give the server less work at a time, or run it on a machine with more memory.",
			instead: []advice{
				{when: func(x *exam, _ *match) bool { return x.container() }, fix: "Give the container more memory with an argument after \"run\": `-m 2g`"},
				{when: func(x *exam, m *match) bool { return strings.Contains(m.said, "heap") && !x.remote() }, fix: "To give Node more memory, add this under \"env\" in the server's entry: `\"NODE_OPTIONS\": \"--max-old-space-size=4096\"`"},
			},
			clues: []clue{
				{certain, `(?i:JavaScript heap out of memory)|<--- Last few GCs --->|FATAL ERROR: [^\n]{0,80}Allocation failed|Reached heap limit|Ineffective mark-compacts near heap limit`, nil},
				{likely, `(?m)(?:^|\s)Killed(?:: 9)?(?:$|\s)`, nil},
				{certain, `\bOOMKilled\b|Out of memory: Killed process|java\.lang\.OutOfMemoryError|MemoryError\b|std::bad_alloc|fatal error: runtime: out of memory|memory allocation of \d+ bytes failed|CUDA out of memory|(?i:\bout of memory\b)|Cannot allocate memory|\bENOMEM\b|(?i:\boom[- ]?kill(?:er|ed|s)?\b)|Resource-Exhaustion-Detector`, nil},
				// A log that ends like this is about a memory limit of the kernel or a container. A
				// server that gauze watches may have been killed by anything.
				{strong, "", func(x *exam, m *match) bool { return !x.Live && x.exited(m, 137) }},
				{likely, "", func(x *exam, m *match) bool {
					if x.Live || x.Exit.Signal != "SIGKILL" && x.Exit.Signal != "killed" {
						return false
					}
					m.said = x.Exit.Said
					return true
				}},
			},
		},
		{
			name: "disk_full", category: ResourceExhausted,
			explain: "The disk is full.",
			fix:     "Free up disk space, then start the server again. The npm and uv caches can be cleaned (`npm cache clean --force`, `uv cache prune`).",
			clues: []clue{
				{certain, `\bENOSPC\b|(?i)no space left on device|not enough space on the disk|\[Errno 28\]|os error 28\b|disk quota exceeded|SQLITE_FULL`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "watchers") && !strings.Contains(m.said, "inotify")
				}},
			},
		},
		{
			name: "too_many_watchers", category: ResourceExhausted,
			explain: "The server cannot watch more files: the system's limit on watched files has been reached.",
			fix:     "Point the server to a smaller directory, or have the user raise the system's limit on watched files.",
			command: "sudo sysctl fs.inotify.max_user_watches=524288",
			clues: []clue{
				{certain, `System limit for number of file watchers reached|(?i)inotify[^\n]{0,40}(?:limit|No space left)|max_user_watches`, nil},
			},
		},
		{
			name: "too_many_open_files", category: ResourceExhausted, passes: true,
			explain: "The process or the system has reached its limit on open files or processes.",
			fix:     "Stop leftover server processes. If the limit is low, raise it (`ulimit -n`).",
			instead: []advice{{when: onWindows, fix: "Stop leftover server processes."}},
			clues: []clue{
				{certain, `\bEMFILE\b|\bENFILE\b|(?i)too many open files|\[Errno 24\]|os error 24\b`, nil},
				{certain, `(?i)fork: (?:retry: )?Resource temporarily unavailable|can't start new thread|pthread_create failed|\bspawn (?:[^\n]{0,80} )?(?:EAGAIN|E2BIG)\b|Resource temporarily unavailable \(os error (?:11|35)\)|(?i:argument list too long)`, nil},
			},
		},
		{
			name: "orphan_processes", category: ResourceExhausted, passes: true,
			explain: "Old server processes were never stopped and have accumulated, each with its own memory and connections.",
			fix:     "Stop the old processes and close duplicate clients. To clean up leftover processes automatically, start the server with gauze: `gauze run -- {line|COMMAND}`",
			instead: []advice{{when: live, fix: "Stop the old processes and close duplicate clients."}},
			clues: []clue{
				{strong, `(?i)(?:orphan(?:ed)?|zombie|leaked|leftover|dangling|stale)[^\n]{0,20}(?:process|container|instance|node|server)e?s`, nil},
				{strong, `(?i)\b(?:\d{2,}) (?:containers|processes|instances|copies)[^\n]{0,20}(?:total|running|alive|left|found)`, nil},
				{strong, `(?s)CONTAINER ID\s+IMAGE.{0,700}Up \d+ hours?.*?Up \d+ hours?`, nil},
				{strong, "", manyProcesses},
				{strong, `\b(?:ps|pgrep|tasklist|docker ps)\b[^\n]*\| ?wc -l\s+\d{2,}\b`, nil},
				{strong, `(?i)remaining connection slots are reserved|too many (?:clients|connections) already|Too many connections|max(?:imum)? (?:number of )?(?:clients|connections|sessions) reached`, nil},
			},
		},
	}
}

// processLine matches a line of ps.
var processLine = &wording{source: `(?m)^\S+\s+\d+\s+[\d.]+\s+[\d.]+\s+.*(?:node|python|npx|uv|mcp)|^\s*\d+\s+\?*\S*\s+\d+:\d\d\S*\s+.*(?:node|python|npx|uv|mcp)`}

// manyProcesses reports whether the output of ps shows the same program many times.
func manyProcesses(x *exam, m *match) bool {
	lines := processLine.FindAllString(x.text, 8)
	if len(lines) < 4 {
		return false
	}
	m.said = lines[0]
	return true
}

func timeoutCauses() []cause {
	return []cause{
		{
			name: "npx_stdin_deadlock", category: Timeout,
			explain: "{command|The package runner} hangs before it starts the server: it waits for input on stdin, such as the answer to a prompt.",
			fix:     "Add -y to suppress the prompt (`npx -y`), or run the installed program directly: `node {$path server.js}`",
			clues: []clue{
				{certain, `(?i)Need to install the following packages:?(?s:.*?)Ok to proceed\?`, nil},
				{strong, `(?i)\b(?:npx|npm|uvx)\b[^\n]{0,20} (?:hung|hangs|is hanging|stuck|froze)`, nil},
				{strong, `Ok to proceed\? \(y\)`, nil},
			},
			hides: []string{"npx_cold_start_timeout"},
		},
		{
			name: "npx_cold_start_timeout", category: Timeout, passes: true,
			explain: "The server was not ready in time: {command|the package runner} downloads or builds it first, which takes longer than the client allows ({limit|its startup timeout}).",
			fix:     "Before you start the server from the client again, run the command once in a terminal to fill the cache: `{line|COMMAND}`",
			instead: []advice{{when: liveURL, fix: "Try again later. If the server is only slow, raise the timeout with `--start-timeout 3m` (or `--timeout 3m` in a test)."}},
			clues: []clue{
				{certain, `(?is)(?:Downloading|Downloaded|Building|Updating|Preparing packages|Resolved \d+ packages|Pulling|Pull complete|reify:|idealTree)\b.{0,700}(?:timed out|timeout|-32001|deadline exceeded|cancelled)`, nil},
				{strong, `(?i)(?:timed out|timeout)[^\n]{0,40} after (?P<limit>[\d.]+ ?(?:s\b|sec\w*|ms\b|milli\w*|min\w*))`, atStart},
				{strong, `startup_timeout_(?:sec|ms)`, nil},
				{strong, `(?i)(?:timeout|timed out)[^\n]{0,40}(?:waiting for|during)[^\n]{0,40}(?:initiali[sz]\w*|handshake|server to (?:start|respond|be ready)|startup|connect)`, atStart},
				{strong, `(?i)(?:initiali[sz]\w*|handshake|startup|failed to start|start(?:ing)? (?:the )?server|connect(?:ion|ing)?\b)[^\n]{0,80}(?:timed out|timeout|deadline exceeded|did not (?:complete|respond|finish))`, atStart},
				{strong, `(?i)(?:server|it|process) did not (?:respond|start|answer|initiali[sz]e|become ready)[^\n]{0,20} (?:with)?in (?P<limit>[\d.]+ ?\w+)`, nil},
				{strong, `(?i)(?:connect|start|respond|ready|initiali[sz]e)\w* within (?P<limit>[\d.]+ ?(?:s\b|sec\w*|ms\b|min\w*))`, atStart},
				{strong, `(?i)(?:deadline exceeded|timed out|timeout)[^\n]{0,20}(?:while |when )?waiting for[^\n]{0,20}(?:initiali[sz]e|server|handshake|start)`, atStart},
				{strong, `(?s)timed out.*?(?:Prepared|Resolved|Installed|Audited) \d+ packages?`, nil},
				{strong, `Timed out while waiting for response to \w*Request\. Waited (?P<limit>[\d.]+ seconds)`, atStart},
				{strong, `(?i)\bnpm warn exec The following packages? (?:was|were) not found and will be installed`, func(x *exam, _ *match) bool { return timedOut.MatchString(x.text) }},
				{strong, "", func(x *exam, m *match) bool {
					if !x.Limit.Passed || !x.Limit.Downloading {
						return false
					}
					m.said = "the server was still being downloaded when the timeout expired"
					return true
				}},
				{guess, "", func(x *exam, m *match) bool {
					if !x.Limit.Passed || !x.Limit.Alive || !x.downloads() {
						return false
					}
					m.said = "the server was still running when the timeout expired, and had written nothing"
					return true
				}},
			},
		},
		{
			name: "slow_tool_call", category: Timeout, passes: true,
			explain: "A request exceeded its timeout. The server may still be processing it, or may be waiting for something.",
			fix:     "Raise the client's timeout for this server, or set a timeout for one tool: `gauze run --tool NAME:timeout=5m -- {line|COMMAND}`",
			instead: []advice{{when: atURL, fix: "Raise the client's timeout for this server, or set a timeout for one tool: `gauze run --tool NAME:timeout=5m --url {url|URL}`"}},
			clues: []clue{
				{guess, `(?i)(?:tools?/call|tool (?:call|execution|invocation)|calling tool|call_tool)[^\n]*?(?:timed out|timeout|-32001)`, func(x *exam, m *match) bool { return withDuration.MatchString(m.said) }},
				{guess, "", func(x *exam, m *match) bool { // a bare report of a timeout
					text := strings.TrimSpace(x.text)
					m.said = text
					return bareTimeout.MatchString(text)
				}},
			},
		},
	}
}

var (
	announced   = &wording{source: `(?i)with (?:a )?timeout (?:of|:)|timeout=|timeout: \d`}
	timedOut    = &wording{source: `(?i)timed out|timeout|-32001|deadline exceeded`}
	bareTimeout = &wording{source: `(?i)^(?:(?:MCP )?error(?: -32001)?: )?(?:request timed out|TimeoutError|request timeout|(?:operation|call|connection) timed out|timeout connecting to [^\n]*)\.?(?:: [^\n]{0,60})?$|^Timeout connecting to [^\n]+$|^[\w :'"()-]{0,60}(?:request|connection|server|initiali[sz]ation|operation|startup) (?:timeout|timed out)(?: after [\w. ]+)?[.!]?$`}
)

// atStart reports whether a start timed out that may include a download, or that a client reports
// as a start.
func atStart(x *exam, m *match) bool {
	if strings.Contains(m.said, "tools/call") || announced.MatchString(m.said) {
		return false // the limit, not the time it took
	}
	return x.downloads() || len(x.Command) == 0 || starting.MatchString(m.said) && !x.remote()
}

func crashCauses() []cause {
	return []cause{
		{
			name: "windows_stdio_codepage", category: Crashed,
			explain: "The server crashed when it printed a character that the console's code page ({codec|such as cp1252}) does not contain.",
			fix:     "To switch Python to UTF-8, add this under \"env\" in the server's entry: `\"PYTHONUTF8\": \"1\", \"PYTHONIOENCODING\": \"utf-8\"`",
			clues: []clue{
				{certain, `'(?P<codec>[\w-]{2,16})' codec can't (?:en|de)code (?:byte|character|bytes|characters)`, nil},
				{certain, `(?:illegal multibyte sequence|character maps to <undefined>|stream did not contain valid UTF-8|surrogates not allowed|invalid utf-8 sequence|MalformedInputException|Invalid byte \d of \d-byte UTF-8)`, nil},
				{strong, `\bUnicode(?:Decode|Encode)Error\b`, nil},
				{strong, `SyntaxError: \(unicode error\)|SyntaxError: Non-UTF-8 code starting with`, nil},
			},
			hides: []string{"server_bug_crash", "stdout_log_pollution"},
		},
		{
			name: "module_type_missing", category: Crashed,
			explain: "Node loaded {path|the server's file} as the wrong kind of module: it uses import or export where Node expects require, or vice versa.",
			fix:     "Rebuild the server as its documentation describes. If the file is your own, set \"type\": \"module\" in its package.json, or use the extension .mjs (.cjs if the file uses require).",
			clues: []clue{
				{strong, `SyntaxError: (?:Cannot use import statement outside a module|Cannot use 'import\.meta' outside a module|Unexpected token 'export')`, func(x *exam, _ *match) bool { return !x.nodeBelow(18) }},
				{certain, `ReferenceError: (?:require|exports|module|__dirname|__filename) is not defined in ES module scope`, nil},
				{strong, `To load an ES module, set "type": "module" in the package\.json or use the \.mjs extension`, func(x *exam, _ *match) bool { return !x.nodeBelow(18) }},
			},
			hides: []string{"server_bug_crash", "old_node_first_in_path"},
		},
		{
			name: "server_bug_crash", category: Crashed, passes: true,
			explain: "The server crashed with an internal error: {text|see its output}.",
			fix:     "Try the latest version of the server. If it also crashes, report the error to the server's maintainers.",
			clues: []clue{
				{likely, `(?s)File "[^"\n]+", line \d+\n.{0,300}?(?P<text>(?:SyntaxError|IndentationError|TabError): [^\n]+)`, nil},
				{likely, `(?s)\.[cm]?[jt]s:\d+\n.{0,400}?(?P<text>SyntaxError: [^\n]+)\n(?:at |\s*Node\.js)`, notJSONNoise},
				{likely, `(?s)Traceback \(most recent call last\):.*?\n(?P<text>[A-Za-z_][\w.]*(?:Error|Exception|Exit|UnsupportedOperation)\b[^\n]*)`, nil},
				{likely, `(?m)(?:^|\s)(?P<text>panic: [^\n]+|thread '[^'\n]+' (?:\(\d+\) )?panicked at [^\n]+|fatal error: [^\n]+)`, nil},
				{likely, `(?P<text>Segmentation fault|SIGSEGV|SIGABRT|SIGBUS|Unhandled exception\. [^\n]+|Exception in thread "main" [^\n]+|Fatal Python error: [^\n]+|core dumped)`, nil},
				{likely, "", func(x *exam, m *match) bool { return x.exited(m, 139, 134, 3221225477, -1073741819, 3221226505) }},
				{likely, "", func(x *exam, m *match) bool { // a crash, not a kill from outside
					m.said = x.Exit.Said
					return slices.Contains([]string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "segmentation fault", "aborted", "bus error"}, x.Exit.Signal)
				}},
				{guess, `(?m)(?:Uncaught |Unhandled )?(?P<text>(?:TypeError|ReferenceError|RangeError|AssertionError): [^\n]+)`, func(x *exam, m *match) bool {
					return !strings.Contains(m.said, "fetch failed") && !strings.Contains(m.said, "terminated")
				}},
				{guess, `(?i)(?:UnhandledPromiseRejection|unhandledRejection|uncaughtException|triggerUncaughtException)[^\n]*?`, nil},
				{guess, `Maximum call stack size exceeded|\b(?:RecursionError|IndentationError|TabError|BrokenResourceError|ClosedResourceError|StackOverflow(?:Error|Exception)|NullReferenceException|event loop is (?:already running|closed))\b|unhandled errors in a TaskGroup`, func(x *exam, m *match) bool {
					// at a URL, and with a closed connection, it is the client's own
					return !strings.Contains(m.hit, "TaskGroup") || !x.remote() && !x.shows(connectionLost)
				}},
				{guess, `(?i)-32603[^\n]{0,40}(?P<text>Cannot read propert(?:ies|y) of (?:undefined|null)[^\n]*|'NoneType' object [^\n]+|nil pointer dereference)`, nil},
			},
		},
	}
}

// Patterns for the conditions of clues.
var (
	withDuration = &wording{source: `\d ?(?:s|ms|sec|min)`}
	starting     = &wording{source: `(?i)start|initiali|handshak`}
)
