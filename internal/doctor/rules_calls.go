package doctor

// callClues returns how SDKs and clients report a call that the tool rejected, or a result that the
// client rejected.
func callClues() map[string][]clue {
	return map[string][]clue{
		"args_json_string_for_object": {
			{strong, `\b(?:ToolInput\w*(?:Exception|Error)|\w*InvalidToolArguments?\w*|\w*InvalidToolInput\w*|\w*NoSuchToolError|ToolNotFound\w*|unexpected_keyword_argument|missing_argument)\b|(?i)\btool input did not match\b`, notResult},
			{likely, `(?im)\binvalid (?:arguments|params|parameters): ['"` + "`" + `]?[a-z]\w*`, notResult},
			{strong, `(?i)\brequired (?:parameter|argument|field|property) ['"` + "`" + `][a-z]\w*['"` + "`" + `] (?:is |was )?(?:missing|not provided|not set)`, func(x *exam, m *match) bool {
				return !aboutConfigLine(x, m) && notResult(x, m)
			}},
		},
		"invalid_jsonrpc_message": {
			{strong, `(?i)\bexpected (?:an? )?(?:InitializeResult|CallToolResult|ListToolsResult|JSONRPC\w*)\b|\bunexpected (?:response|result|message) type\b`, nil},
		},
		"optional_method_probed": {
			{strong, `(?i)\b(?P<method>sampling|elicitation|roots|logging|completions?) (?:is|are) not supported\b`, nil},
		},
		"entry_shape_wrong": {
			{strong, `(?i)['"` + "`" + `](?P<option>command|url|args|env|type|headers|transport)['"` + "`" + `] (?:must|should|has to) be (?:an? )?(?:string|array|list|object|map)`, notOwnFile},
			{strong, `(?i)\bneither ['"` + "`" + `]?(?:command|url)['"` + "`" + `]? nor ['"` + "`" + `]?(?:command|url)\b`, nil},
			{strong, `(?i)\binvalid (?:value (?:for|of) )?['"` + "`" + `]?(?P<option>type|transport|command|url|args|env)['"` + "`" + `]? (?:in|for|of) (?:the )?(?:MCP )?server\b`, nil},
		},
		"setting_value_invalid": {
			{strong, `\b(?i:invalid|malformed) (?P<option>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, func(x *exam, m *match) bool { return !isCode(m.names["option"]) && !x.remote() }},
			{strong, `invalid literal for int\(\)[^\n]{0,60}\b(?P<option>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, nil},
		},
		"http_server_run_as_stdio": {
			{strong, `(?i)(?:listening|running|serving)[^\n]{0,40} (?:on:?|at:?|addr=) ?(?:port )?(?P<port>https?://\S+|:?\d{4,5}\b|(?:localhost|0\.0\.0\.0|127\.0\.0\.1):\d+)`, func(x *exam, m *match) bool {
				return x.container() && unanswered.MatchString(x.text) && !brokeOff.MatchString(x.text)
			}},
		},
		"session_expired_no_reinit": {
			{strong, `(?i)\bstale session\b`, notBrowserSession},
		},
		"slow_tool_call": {
			{faint, `(?i)\bClient\.Timeout exceeded\b|\bdeadline exceeded (?:while|when|waiting)\b`, complaint},
		},
	}
}

// notResult reports whether a complaint is about a call's arguments and not about its result.
func notResult(x *exam, _ *match) bool { return !ofAResult.MatchString(x.text) }

var ofAResult = &wording{source: `(?i)\boutput ?schema\b|\bstructured ?content\b|\berrors? for (?:CallTool|ListTools|Initialize|Server)Result\b`}
