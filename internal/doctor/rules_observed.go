package doctor

import (
	"slices"
	"strings"
)

// observedCauses returns the causes that only the course of events shows.
func observedCauses() []cause {
	return []cause{{
		name: "ipv6_only_listener", category: ConnectionRefused,
		explain: "The server listens on port {port|of the address} by IPv6 only, but the client connects by IPv4.",
		fix:     "Use [::1] instead of 127.0.0.1 in the address, or let the server listen on 127.0.0.1.",
		clues: []clue{
			{likely, `(?i)\bIPv6\b[^\n]{0,60}\bTCP\b[^\n]{0,20}?(?:\*|\[::1?\]):(?P<port>\d{2,5})\b`, func(x *exam, m *match) bool {
				address := "127.0.0.1:" + m.names["port"]
				return (strings.Contains(x.line, address) || strings.Contains(x.text, address)) && !ipv4Listener.MatchString(x.text)
			}},
		},
	}, {
		name: "stdio_server_called_over_http", category: TransportMismatch,
		explain: "The server uses stdio, but the requests are sent to it over HTTP: it does not listen on a port.",
		fix:     "Let the client start the server by \"command\" and \"args\". If it must be reached by URL, start it with an HTTP transport.",
		clues: []clue{
			{likely, `(?i)(?:^|[\s$>])curl\b[^\n]{0,80}\bhttps?://\[?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\S*`, func(x *exam, _ *match) bool { return onStdio.MatchString(x.text) }},
			{strong, "", func(x *exam, m *match) bool {
				where := onStdio.FindStringIndex(x.text)
				if where == nil || !x.remote() || x.bridge() || !local.MatchString(x.address()) {
					return false
				}
				m.said = x.page.line(where[0])
				return true
			}},
		},
		hides: []string{"local_http_server_not_running", "stdin_not_connected", "request_not_sent"},
	}}
}

// observedClues returns clues that rest on what a report shows besides an error message: access
// logs, listening sockets, the path of the program that was started, error identifiers that do not
// depend on the language, and the shape of the entry.
func observedClues() map[string][]clue {
	return map[string][]clue{
		"wrong_top_level_key": {
			// in TOML, the tables are [mcp_servers.NAME]
			{certain, `(?m)^[ \t]*\[(?P<option>mcp\.servers|mcpServers|mcp-servers|mcp_server|context_servers)\.["\w]`, nil},
		},
		"unknown_cli_option": {
			{strong, "", func(x *exam, m *match) bool {
				at := slices.IndexFunc(x.Command, func(word string) bool { return pathAsOption.MatchString(word) })
				if at < 1 {
					return false
				}
				m.said, m.names["option"] = x.Command[at], x.Command[at]
				return true
			}},
		},
		"cwd_does_not_exist": {
			// spawn reports a missing cwd as a missing program
			{certain, `"cwd"\s*:\s*"(?P<path>\.{1,2}/[^"\n]*)"[^\n]*\n[^\n]{0,40}\bspawn [\w.-]+ ENOENT`, nil},
			{strong, `\bspawn (?P<command>[\w.-]+) ENOENT`, func(x *exam, m *match) bool {
				at := relativeCwd.FindStringSubmatch(x.text)
				if at == nil || !x.runs(m.names["command"]) {
					return false
				}
				m.names["path"] = at[1]
				return true
			}},
		},
		"old_node_first_in_path": {
			{likely, `(?i)\bcommand:? ['"]?\S*(?:versions[/\\]node[/\\]|node-versions[/\\]|installs[/\\]node(?:js)?[/\\]|[/\\]nvm[/\\])v?(?P<version>\d{1,2})[\d.]*[/\\]\S*`, func(_ *exam, m *match) bool {
				return belowSupported(m.names["version"])
			}},
		},
		"version_manager_path": {
			// the directories of fnm exist only in shells that it has set up
			{certain, `\bspawn (?:npx|node|npm) ENOENT`, func(x *exam, _ *match) bool { return ofFnm.MatchString(x.line) || ofFnm.MatchString(x.text) }},
			{certain, `fnm_multishells[^\n]{0,80}(?:ENOENT|(?i:no such file|not found|does not exist))`, nil},
			{certain, `(?i:ENOENT|no such file or directory|not found)[^\n]{0,60}fnm_multishells`, nil},
		},
		"sse_vs_streamable": {
			// clients of streamable HTTP begin with POST, those of SSE with GET
			{strong, `\bGET (?:https?://[^\s/]+)?/[\w./-]*mcp/?(?: HTTP/[\d.]+"?| "HTTP/[\d.]+)? ?[-–>→]{0,2} ?(?P<status>400|405)\b`, func(x *exam, _ *match) bool { return !postedMCP.MatchString(x.text) }},
		},
		"wrong_directory_argument": {
			{likely, `(?i:\bStart-Process\b)[^\n]{0,40}?['"](?P<path>[^'"\n]+)(?s:.{0,800})InvalidOperationException,Microsoft\.PowerShell\.Commands\.StartProcessCommand`, nil},
			{strong, `\bFullyQualifiedErrorId ?: ?PathNotFound,Microsoft\.PowerShell`, nil},
		},
		"data_file_missing": {
			{likely, `\b(?:open|stat|read|lstat) (?P<path>[^\s:]*[/\\.][^\s:]*): no such file\s+or\s+directory`, nil}, // also wrapped
		},
		"stdout_log_pollution": {
			{strong, `Unexpected token ['"“]?[^\s<]['"”]?, ['"“][^\n<]{1,40}\.\.\.`, func(x *exam, m *match) bool { return notHTML(x, m) && !x.remote() && !aboutConfig(x, m) }},
			{likely, `(?i)\bserver (?:sent|wrote|printed|returned|output) (?:invalid|malformed|non-?) ?JSON\b|(?:\bconsole\.log\b|\bprint\(\)|\bstdout\b)[^\n]{0,60}\b(?:breaks?|corrupts?|pollutes?|is not valid JSON)\b`, func(x *exam, m *match) bool { return !x.remote() && !aboutConfigLine(x, m) }},
		},
		"entry_shape_wrong": {
			{strong, `(?i)\bfailed to (?:parse|load|validate)\b[^\n]{0,80}\b(?:invalid (?:input|block|entry|value|schema)|required|expected)\b[^\n]{0,80}mcp[^\n]{0,60}\.(?:ya?ml|jsonc?|toml)\b`, nil},
			{strong, `(?i)\b(?:cannot|can['’]t|must not|may not) (?:use|specify|set|have|contain|define) both ['"` + "`" + `]?(?:url|command|args)['"` + "`" + `]? and ['"` + "`" + `]?(?:url|command|args)\b`, nil},
		},
		"json_syntax": {
			// a message is one line
			{certain, `Expected (?:',' or '[}\]]'|double-quoted property name|':')[^\n]{0,40} in JSON at position \d+ \(line (?:[2-9]|\d{2,}) `, func(x *exam, _ *match) bool { return !x.remote() }},
			{likely, `JSON ?(?:格式|语法|語法)(?:错误|錯誤|有误|不正确|无效)`, nil},
		},
		"setting_value_invalid": {
			{guess, `(?i)(?:strategy|mode|provider|setting|option|backend|driver)\b[^\n]{0,30}\b(?:is|are) (?:invalid|not (?:valid|supported|allowed)|unsupported) (?:for|in|with|on)\b`, complained},
		},
		"url_in_stdio_only_client": {
			{certain, `(?i)\b(?:requires?|needs?|expects?|must have|must contain|wants)\b[^\n]{0,20}['"` + "`" + `]command['"` + "`" + `]`, urlEntry},
		},
		"request_not_sent": {
			// a server on this machine that called its service
			{guess, `(?i)\bfetch failed\b`, func(x *exam, m *match) bool {
				return len(x.Command) > 0 && !x.remote() && isProgramWord(x.Command[0]) && !local.MatchString(m.said) && serving.MatchString(x.text)
			}},
		},
		"second_instance_running": {
			{certain, `(?i)\bcontainer name "?/?(?P<path>[\w.-]+)"? is already in use\b`, nil},
		},
		"runtime_not_installed": {
			{strong, `(?i)\bOs \{ code: 2, kind: NotFound\b|\bspawn[^\n]{0,40}: NotFound\b`, func(x *exam, m *match) bool {
				doing, _, _ := strings.Cut(m.said, "Os {")
				return startWord.MatchString(doing) && !fileNoun.MatchString(doing)
			}},
			{likely, `(?i:no puede encontrar el archivo especificado|impossibile trovare il file specificato|kan het opgegeven bestand niet vinden)[^\n]{0,4}\(os error 2\)`, func(x *exam, m *match) bool { return !strings.Contains(x.line, "--directory") }},
		},
		"accept_header_incomplete": {
			{strong, `(?i)\b(?:missing|invalid|no) Accept header\b`, nil},
		},
		"client_skips_initialize": {
			{likely, `(?i)\bunexpected (?:notification|message|request) ['"` + "`" + `]?(?:notifications/)?initiali[sz]ed?\b`, nil},
		},
		"rate_limit": {
			{strong, `(?:频率|頻率|次数|次數|请求数|流量)(?:已)?(?:超限|超出|过高|過高|达到上限|超过限制)|请求过于频繁|請求過於頻繁|リクエストが多すぎ|レート制限`, nil},
		},
		"too_many_tools": {
			{likely, `(?i)\bcontext (?:limit|window)\b[^\n]{0,40}\btools?\b[^\n]{0,20}\btokens\b`, complained},
		},
		"oauth_client_not_registered": {
			{likely, `(?i)\b\w*Error: invalid[_ ]client\b`, func(x *exam, _ *match) bool { return x.remote() }},
		},
		"session_expired_no_reinit": {
			{likely, `(?i)\b(?:idle|inactiv\w+)\b[^\n]{0,60}\b(?:404|400|session|not found)\b|\b(?:old|stale|previous) session(?:[ -]?id)?\b`, func(x *exam, m *match) bool { return x.remote() && notBrowserSession(x, m) && complained(x, m) }},
		},
		"shared_library_missing": {
			{strong, `(?i)\b(?:failed to|cannot|could not|unable to) load (?:the )?native (?:module|binding|addon|library)\b`, nil},
		},
		"token_scope_insufficient": {
			{strong, `(?i)\b(?:token|key|app|method|call|request)\b[^\n]{0,30}\b(?:lacks?|requires? (?:additional|more|further|extra)|is missing|needs?)\b[^\n]{0,20}\bscopes?\b`, nil},
		},
		"npx_cold_start_timeout": {
			{guess, `(?i)\b(?:server|process|startup|initiali[sz]ation|handshake)\b[^\n]{0,20}\b(?:took too long|(?:did not|didn['’]t|failed to) (?:respond|start|answer|reply|initiali[sz]e) in time)\b`, func(x *exam, _ *match) bool { return !x.remote() }},
			{strong, `(?i)\b(?:timed out|timeout)\b[^\n]{0,40}\b(?:pulling|downloading|installing)\b|\b(?:pulling|downloading|installing)\b[^\n]{0,60}\b(?:timed out|timeout)\b`, func(x *exam, m *match) bool { return x.downloads() && !ofRegistry.MatchString(m.said) }},
		},
		"node_engine_too_old": {
			{likely, `(?i)\byou(?:['’]re| are) (?:using|running|on) (?:node(?:\.js)?|python|java|npm) v?\d[\d.]*\.? (?:please )?(?:upgrade|update)\b`, nil},
		},
	}
}

var (
	pathAsOption = &wording{source: `^--?(?:/|[A-Za-z]:\\)\S*[/\\]`}
	relativeCwd  = &wording{source: `"?\bcwd"?\s*[:=]\s*"(\.{1,2}[/\\][^"\n]*)"`}
	ofFnm        = &wording{source: `\bfnm(?:_multishells)?\b`}
	postedMCP    = &wording{source: `\bPOST (?:https?://[^\s/]+)?/`}
	ipv4Listener = &wording{source: `(?i)\bIPv4\b[^\n]{0,60}\bTCP\b`}
	serving      = &wording{source: `(?i)\b(?:running|connected|started|listening|established)\b|\btool\b|\bAPI\b`}
)
