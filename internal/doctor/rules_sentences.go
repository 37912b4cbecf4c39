package doctor

import "strings"

// starters are the programs that clients name in their own sentences.
const starters = `(?:npx|npm|node|uvx?|pipx?|python3?|docker|podman|bunx?|deno|java|dotnet|pnpm)`

// notFoundToo is how clients report a missing program in other word orders and languages.
var notFoundToo = []string{
	`(?i)no such file or directory,? (?:posix_spawnp?|uv_spawn|spawn|execv\w*) ['"]?(?P<command>[^'"\s,]+)`,
	`(?i)\b(?:command|executable|binary|program) ?['"‘` + "`" + `](?P<command>[\w@./\\:+-]+)['"’` + "`" + `] ?(?:is |was )?(?:notfound|does not exist|doesn['’]t exist|missing)`,
	`(?i)\b(?:requires?|needs?|expects?) (?:the )?['"` + "`" + `]?(?P<command>` + starters + `)['"` + "`" + `]?,?(?: which| that| but it)? (?:is|was) not (?:installed|found|available)`,
	`(?i)\bexec\w* ['"` + "`" + `]?(?P<command>` + starters + `)['"` + "`" + `]?[^\n]{0,20}: (?:No such file or directory|os error 2\b)`,
	`\b(?:ba|z|da|a)?sh: (?:line )?(?:\d+: )?(?P<command>` + starters + `): No such file or directory`,
	`(?:找不到|未找到|没有找到|沒有找到|缺少|未安装|未安裝|無法找到|无法找到)(?:命令|程序|程式|可执行文件|執行檔)?[：: ]*['"“「]?(?P<command>` + starters + `)\b`,
	`\b(?P<command>` + starters + `)['"”」]? ?(?:命令|程序|コマンド|명령)?(?:未找到|不存在|没有找到|找不到|未安装|がインストールされていません|が見つかりません|을 찾을 수 없|를 찾을 수 없)`,
	`(?i)\b(?:couldn['’]t|could not|cannot|can['’]t|unable to|failed to) (?:start|launch|run|execute|spawn) ['"` + "`" + `]?(?P<command>[\w./-]+)['"` + "`" + `]?: (?:The system cannot find the file|No such file)`,
	`(?i)\b(?:install|add) (?:the )?(?P<command>` + starters + `) CLI\b`,
	`(?i)\b(?P<command>` + starters + `)['"` + "`" + `”»]? ?: (?:no se encontr(?:ó|o) (?:el comando|la orden)|orden no encontrada|comando (?:n(?:ã|a)o|non) (?:encontrado|trovato)|commande (?:introuvable|inconnue)|Befehl (?:wurde )?nicht gefunden|команда не найдена|komut bulunamad)`,
	`(?i)(?:impossible de trouver|ne trouve pas|\bse encontr[óo]|\bpuede encontrar|poss[íi]vel encontrar|impossibile trovare)(?: la commande| el comando| o comando| il comando)? ['"` + "`" + `«“]?(?P<command>` + starters + `)\b`,
	`(?i)\b(?P<command>` + starters + `)['"` + "`" + `]? (?:is ?n['’]t|is not) (?:available on (?:your|this|the) (?:machine|system|computer)|recognized)|\b(?P<missing>` + starters + `)['"` + "`" + `]? (?:can['’]t|cannot|can not) be found\b`,
}

// sentenceClues returns how clients word a failure without quoting the runtime, and what runtimes
// print in place of the sentence that the other rules know.
func sentenceClues() map[string][]clue {
	const fails = `(?:failed|error|disconnected|not connected|could not|cannot|unable|incomplete)`
	return map[string][]clue{
		"wrong_top_level_key": {
			// the key of the list was read as the name of a server
			{strong, `(?i)\b` + fails + `\b[^\n]{0,60}[^\w"./-](?P<option>mcpServers|mcp_servers|context_servers)(?:[^\w".=:\[-]|$)`, keyAsServer},
			{strong, `(?i)(?:^|[^\w"./-])(?P<option>mcpServers|mcp_servers|context_servers)['` + "`" + `]?[:) -]{0,3} ?` + fails, keyAsServer},
			{strong, `(?s)Cannot (?:convert undefined or null to object|read properties of (?:undefined|null)).{0,300}?\bat [^\n]{0,80}(?i:mcp\w*config|config\w*mcp|load\w*config|read\w*config|parse\w*config|mcpservers)`, nil},
		},
		"config_in_wrong_file": {
			{strong, `(?i)\bMCP servers? (?:should|must|can|may|need to) (?:not |no longer |only )?be (?:configured|defined|placed|added|declared) in\b|\bUse the dedicated MCP configuration\b`, nil},
			{likely, `(?i)\b(?:unknown|undefined|unregistered|no such) MCP server\b|\bno (?:MCP )?server (?:found |registered |configured )?(?:named|called|with (?:the |that )?(?:name|id))\b`, ownSentence},
			{likely, `(?i)\b(?:MCP )?server ['"` + "`" + `‘“]?[\w.@/-]+['"` + "`" + `’”]? (?:is |was )?not (?:configured|registered|defined|known)\b|\bMCP server ['"` + "`" + `‘“][\w.@/-]+['"` + "`" + `’”] (?:was |is )?(?:not found|does not exist)\b`, ownSentence},
			{likely, `(?i)\bno (?:MCP )?(?:configuration|config|settings) file (?:was |is )?(?:provided|found|specified|loaded)\b`, func(x *exam, m *match) bool { return strings.Contains(strings.ToLower(x.text), "mcp") }},
		},
		"entry_shape_wrong": {
			{strong, `The "(?:cwd|file|args|options\.\w+|env)" (?:argument|property) must be (?:of type|an instance of)`, nil},
			{strong, `(?:配置|设置|設定)(?:文件)?(?:的)?(?:格式|结构|内容)?(?:错误|有误|不正确|无效|不合法|エラー)|設定ファイル[^\n]{0,20}(?:エラー|無効|不正)`, nil},
		},
		"shell_reads_messages": {
			{certain, `\b(?:ba|z|da|a)?sh: (?:(?:line )?\d+: )?['"]?"?(?:method|jsonrpc|params|id)"?:[^\n]{0,80}(?:command )?not found`, nil},
		},
		"unknown_cli_option": {
			{certain, `(?i)error: argument -{1,2}[\w/, -]+: (?:expected|not allowed|ignored explicit)`, nil},
		},
		"url_in_stdio_only_client": {
			{certain, `(?i)\bnot valid MCP server configurations?\b|\bskipped invalid MCP server config`, urlEntry},
			{certain, `(?m)missing field ` + "`" + `command` + "`" + `|KeyError: ['"]command['"]|(?:^|[\s,，:：])['"]command['"][ \t]*$|['"` + "`" + `]command['"` + "`" + `] (?:is |was )?(?:missing|required|not (?:found|set|specified)|undefined)`, urlEntry},
			{certain, `\bos error 123\b|\[WinError 123\]|CreateProcess error=123\b`, urlEntry},
		},
		"command_and_args_in_one_string": {
			{likely, `\bCreateProcess error=123\b|\[WinError 123\]|\bos error 123\b`, func(x *exam, m *match) bool {
				return len(x.Command) > 0 && !x.remote() && startWord.MatchString(m.said)
			}},
		},
		"runtime_not_installed": {
			// the sentence before the number is in the system's language
			{strong, `[^\n]*\bos error 2\b`, func(x *exam, m *match) bool {
				return startWord.MatchString(m.said) && !fileNoun.MatchString(m.said) && !strings.Contains(x.line, "--directory") && len(x.Command) > 0
			}},
			{likely, `[^\x00-\x7F][^\n]{0,40}\(os error 2\)`, func(x *exam, m *match) bool {
				return !fileNoun.MatchString(m.said) && !strings.Contains(x.line, "--directory")
			}},
		},
		"windows_cmd_shim": {
			{strong, `\bos error 193\b`, func(x *exam, m *match) bool { return !strings.Contains(x.text, "DLL") }},
		},
		"missing_exec_bit": {
			{strong, `\bos error 5\b`, func(_ *exam, m *match) bool {
				return startWord.MatchString(m.said) && !fileNoun.MatchString(m.said)
			}},
		},
		"cwd_does_not_exist": {
			{strong, `\bos error 267\b|\[WinError 267\]`, nil},
		},
		"venv_not_used": {
			{strong, `(?i)['"` + "`" + `“](?P<module>[a-z_][\w.]*)['"` + "`" + `”] (?:python )?(?:module|package|library) (?:is ?n['’]o?t|was ?n['’]o?t|is not|was not|not|could not be|is) (?:found|missing|installed|available)`, notNode},
			{strong, `(?i)\b(?:can['’]t|cannot|could not|couldn['’]t|unable to) (?:find|locate|load) the (?:python )?(?:module|package|library) ['"` + "`" + `]?(?P<module>[a-z_][\w.]*)`, notNode},
		},
		"registry_unreachable": {
			{likely, `(?i)\b(?:unable to|could not|couldn['’]t|cannot|failed to) (?:download|fetch|install) (?:the |this |your )?(?:extension|package|server|dependenc\w+)\b[^\n]{0,60}\b(?:VPN|WARP|network|internet|connection|proxy|offline)\b`, nil},
		},
		"env_placeholder_not_expanded": {
			{certain, `(?i)\b(?:mcpServers|servers|mcp_servers)\.[\w.-]+\b[^\n]{0,20}\bmissing environment variables?: ['"]?(?P<variable>[A-Za-z_]\w*)`, nil},
		},
		"env_not_set": {
			{guess, `The "path(?:s\[\d\])?" argument must be of type string\. Received undefined`, nil},
			{certain, `Registry request failed with status 400[^\n]{0,300}required property '(?P<variable>\w+)'`, nil},
		},
		"session_expired_no_reinit": {
			{certain, `(?i)\bno active (?:(?:SSE|MCP|HTTP|streaming|client) )?(?:connection|transport|stream)s?\b|\b(?:SSE )?(?:connection|transport|stream) (?:was |is )?not found for (?:the )?session`, func(x *exam, m *match) bool {
				return (x.remote() || len(x.Command) == 0 || strings.Contains(strings.ToLower(m.said), "session")) && notBrowserSession(x, m)
			}},
			{likely, `(?i)\b(?:after|when|once|if|every time|each time|whenever)\b[^\n]{0,40}\b(?:server|pod|container|backend|gateway)\b[^\n]{0,30}\b(?:restart|reboot|redeploy|re-deploy)\w*[^\n]{0,160}\b(?:404|400|session|stale|reconnect\w*|not connected|disconnected)\b`, nil},
			{likely, `(?i)\b(?:restart|reboot|redeploy)(?:ing|ed|s) (?:of )?(?:the )?(?:\w+ )?(?:server|pod|container|backend|gateway)\b[^\n]{0,160}\b(?:404|400|session|stale|reconnect\w*|not connected|disconnected)\b`, nil},
			{likely, `(?i)\b(?:connection|stream|session|tools?)\b[^\n]{0,60}\b(?:lost|dropped|stale|stops?|stopped)\b[^\n]{0,60}\b(?:until|unless)\b[^\n]{0,40}\b(?:restart|reconnect|reload)\w*`, func(x *exam, _ *match) bool { return x.remote() || len(x.Command) == 0 }},
		},
		"sse_vs_streamable": {
			{strong, `(?i)\blegacy SSE (?:server|transport|endpoint)\b`, nil},
		},
		"schema_not_parseable": {
			{strong, `(?i)\bmissing types? in (?:its|the|their) (?:parameter |input )?schema|\b(?:skipping|ignoring|excluding) tool\b[^\n]{0,120}\bschema\b`, nil},
			{certain, `"loc"\s*:\s*\[\s*"body",\s*"(?:tools|functions)"`, nil},
			{strong, `(?i)\b(?:tools|functions)\[\d+\]`, func(_ *exam, m *match) bool {
				return aboutValidity.MatchString(m.said) && schemaWord.MatchString(m.said)
			}},
			{strong, `(?i)\bschema (?:for|of) (?:the )?(?:tool|function)\b[^\n]{0,80}\b(?:unsupported|invalid|not (?:supported|valid|allowed)|rejected)\b|\btool\b[^\n]{0,60}\buses (?:an? )?unsupported (?:keyword|type|format|field|schema)`, nil},
		},
		"companion_app_not_running": {
			{strong, `(?:\b(?i:no) )(?i:running |active |working |open |valid )?(?:[A-Z][\w.]*(?: [A-Z]\w*)? )?(?i:editor |IDE |browser |plugin )?(?i:instance|endpoint|editor|IDE|plugin|project)s? (?i:was |were |is |are |could be )?(?i:found|available|connected|detected|running|reachable)\b`, func(_ *exam, m *match) bool {
				return !strings.Contains(m.said, "404") && !strings.Contains(strings.ToLower(m.hit), "mcp server") && (properName.MatchString(m.hit) || appWord.MatchString(m.hit))
			}},
			{strong, `(?i)\b(?:please )?(?:ensure|make sure)(?: that)? (?:the |your )?(?P<host>[A-Za-z][\w ]{2,30}?) is (?:running|open|started|launched)\b`, func(_ *exam, m *match) bool {
				lower := strings.ToLower(m.said)
				return !strings.Contains(lower, "docker") && !strings.Contains(lower, "mcp server is") && !strings.Contains(lower, "ensure the server") && !strings.Contains(lower, "sure the server") && !strings.Contains(lower, "your mcp")
			}},
			{strong, `(?i)\bfetch browser webSocket URL\b|\bwebSocketDebuggerUrl\b`, complained},
			{strong, `(?i)\bno connection to (?:the |your )?(?:[\w-]+ )?(?:extension|plugin|browser|editor|app|bridge|device|add-?on)\b`, nil},
		},
		"local_http_server_not_running": {
			{likely, `(?i)\b(?:max(?:imum)?|too many) (?:number of )?(?:retries|attempts)\b[^\n]{0,40}\bhttps?://\[?(?:localhost|127\.0\.0\.1|::1)\]?:(?P<port>\d{2,5})`, func(x *exam, m *match) bool { return len(x.HTTP) == 0 && !timedOut.MatchString(m.said) }},
			{likely, `(?i)\b(?:unable|failed|could not|couldn['’]t|cannot) (?:to )?connect to (?:https?://)?\[?(?:localhost|127\.0\.0\.1|::1)\]?:(?P<port>\d{2,5})`, func(x *exam, m *match) bool {
				return x.remote() && !x.bridge() && len(x.HTTP) == 0 && !timedOut.MatchString(m.said)
			}},
		},
		"http_server_run_as_stdio": {
			{strong, `(?i)(?:listening|running|serving|started|available)[^\n]{0,40} (?:on:?|at:?|addr=) ?(?:port )?(?P<port>https?://\S+|:?\d{4,5}\b|(?:localhost|0\.0\.0\.0|127\.0\.0\.1):\d+)`, func(x *exam, m *match) bool {
				return x.container() && timedOut.MatchString(x.text) && !brokeOff.MatchString(x.text) && !strings.Contains(strings.ToLower(m.said), "stdio")
			}},
		},
		"npx_cold_start_timeout": {
			{guess, `(?i)\b(?:get|list|fetch|load|retriev|discover)\w*(?: the)?(?: \w+)? tools\b[^\n]{0,160}(?:timed out|timeout|-32001)`, func(x *exam, m *match) bool { return !x.remote() && !announced.MatchString(m.said) }},
			{guess, `(?:启动|初始化|加载|啟動)[^\n]{0,14}(?:超时|逾時)|(?:MCP|服务器?|伺服器)[^\n]{0,12}(?:超时|逾時)|起動[^\n]{0,10}タイムアウト`, nil},
		},
		"stdout_log_pollution": {
			{strong, `(?i)\bunexpected token\b[^\n]{1,60}\bis not valid\b`, func(x *exam, m *match) bool { return notHTML(x, m) && !x.remote() }},
			{strong, `(?i)\b(?:message|stdout|line|output)\b[^\n]{0,40}Expecting value: line 1 column 1`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && !x.remote() }},
		},
		"optional_method_probed": {
			{strong, `(?i)\bdoes(?:n['’]t| not) implement (?:our|the) (?:MCP )?specification\b`, nil},
		},
		"invalid_jsonrpc_message": {
			{strong, "unknown variant `[a-z]+/[\\w/]+`", nil},
			{strong, `(?i)\bresponse should contain RPC id\b|\b(?:missing|no|without)(?: an?)? (?:JSON-?)?RPC id\b`, nil},
		},
	}
}

// keyAsServer reports whether a line is about a server of that name and not about the key itself.
func keyAsServer(_ *exam, m *match) bool {
	return !configFile.MatchString(m.said) && !strings.Contains(m.said, `"mcpServers"`) && !keyComplaint.MatchString(m.said)
}

// parseComplaint reports whether the token in a line is one of JSON and no credential.
func parseComplaint(m *match) bool {
	return strings.Contains(m.said, "JSON") || strings.Contains(strings.ToLower(m.said), "unexpected token")
}

// ownSentence reports whether a line is the client's own and not a response from a registry.
func ownSentence(x *exam, m *match) bool {
	return !strings.Contains(strings.ToLower(m.said), "registry") && !strings.Contains(x.line, "smithery") && !strings.Contains(m.said, "not registered with")
}

// urlEntry reports whether the entry is a URL and not a program.
func urlEntry(x *exam, _ *match) bool {
	return x.address() != "" && !x.bridge() && (x.URL != "" || webAddress.MatchString(x.Command[0]) || !isProgramWord(x.Command[0]))
}

// isProgramWord reports whether a word can be a configured program that starts servers.
func isProgramWord(word string) bool {
	return isRunner(nil, program(word)) || isPath(word) || program(word) == "cmd"
}

// notNode reports whether a missing module is one of Python.
func notNode(x *exam, m *match) bool {
	return !x.runs("node", "npx", "bun", "deno") && !newerPython(m.names["module"])
}

var (
	keyComplaint = &wording{source: `(?i)\b(?:key|field|property|section|unrecognized|expected|required|missing|invalid|schema|pars\w+)\b`}
	startWord    = &wording{source: `(?i)\b(?:start|spawn|launch|execut|initiali|activat)|启动|啟動|起動|iniciar|inicializ|démarr|lancer|starten|gestartet|avviar|запус|시작`}
	fileNoun     = &wording{source: `(?i)\b(?:read|open|load|stat|writ|config|mkdir|director|toml|json|lock|cwd|venv|interpreter)`}
	schemaWord   = &wording{source: `(?i)parameters|schema|function|name|description|propert|type`}
	properName   = &wording{source: `\b(?i:no) (?:running |active |working |open )?[A-Z]`}
	appWord      = &wording{source: `(?i)editor|IDE\b|plugin|browser`}
)
