package doctor

import "strings"

// stdoutCauses returns the causes about text on stdout, which is reserved for messages.
func stdoutCauses() []cause {
	return []cause{
		{
			name: "dotenv17_banner", category: StdoutPollution,
			explain: "The dotenv library (version 17) prints a banner to stdout, which is reserved for protocol messages.",
			fix:     "To disable the banner, add this under \"env\" in the server's entry: `\"DOTENV_CONFIG_QUIET\": \"true\"`",
			clues: []clue{
				{certain, `\[dotenv@\d+[.\d]*\]? ?(?:injecting env)?`, nil},
				{certain, `inject(?:ing|ed) env \(\d+\) from`, nil},
			},
			hides: []string{"stdout_log_pollution", "json_syntax", "server_bug_crash"},
		},
		{
			name: "stdout_log_pollution", category: StdoutPollution,
			explain: "The server writes text to stdout ({text|log lines or a banner}), which is reserved for protocol messages. The client cannot parse this text.",
			fix:     "Change the server to log to stderr, or let gauze filter the output: `gauze run -- {line|COMMAND}`",
			instead: []advice{{when: live, explain: "The server writes text to stdout, which is reserved for protocol messages. Gauze ignored it, but no message followed.",
				fix: "Check whether the server has an option for stdio or quiet mode. The text may be help output or a banner, and the server may expect input other than MCP."}},
			clues: []clue{
				{certain, `Unexpected token '?(?P<token>[^'\n]{1,4})'?, "(?P<text>[^"\n]{1,80}"?)[^\n]{0,20}is not valid JSON`, notHTML},
				{strong, `(?:Unexpected token [^\n]{1,20}|Unexpected (?:number|string)|Expected (?:',' or '[\]}]'|property name or '\}'|double-quoted property name)[^\n]{0,40}|No number after minus sign|Unterminated (?:string|fractional number)[^\n]{0,20}|Exponent part is missing[^\n]{0,20}|Bad control character in string literal)[^\n]{0,40}(?:in|after|is not valid) JSON`, notHTML},
				{strong, `Unexpected non-whitespace character after JSON at position \d`, notHTML},
				{strong, `Unexpected (?:token|number|string|identifier|non-whitespace character)[^\n]{0,80} in JSON at position \d`, notHTML},
				{strong, `Unexpected token [^\n]{0,12}in JSON at position \d`, notHTML},
				{strong, `Expected ',' or '[\]}]' after (?:array element|property value) in JSON at position`, nil},
				{certain, `(?i)Failed to parse (?:JSONRPC |JSON-RPC |JSON )?message(?: from server)?:? ?(?P<text>[^\n]{0,80})`, nil},
				{certain, `(?s)1 validation error for JSONRPCMessage\s+Invalid JSON: (?P<text>[^\n\[]{0,80})`, nil},
				{certain, `validation error for JSONRPCMessage`, func(x *exam, m *match) bool {
					return strings.Contains(x.text, "Invalid JSON") || strings.Contains(x.text, "json_invalid")
				}},
				{strong, `JSON Parse error: (?:Unexpected|Unrecognized|Expected)[^\n]{0,60}`, func(x *exam, m *match) bool { return !aboutConfig(x, m) }},
				{strong, `(?i)(?:failed|unable|could not|cannot|error)[^\n]{0,12}(?:to )?(?:pars|decod|deserializ)\w*[^\n]{0,30}(?:line|output|stdout|message|response)[^\n]{0,20}(?:JSON|stdio|server)`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && !x.remote() }},
				{strong, `(?i)(?:unpars\w+|unexpected|invalid|ignoring|stray|extra)[^\n]{0,30}(?:on|from|to) stdout`, nil},
				{strong, `(?i)(?:ignor|skipp|dropp|discard)\w+ (?:non-JSON|invalid|unparsable|malformed) (?:line|output|message)s?\b[^\n]{0,40}`, func(x *exam, m *match) bool { return !aboutConfig(x, m) }},
				{strong, `(?i)Invalid JSON-?RPC message: (?P<text>[A-Za-z\[>][^\n]{3,})`, nil},
				{strong, `(?i)(?:non-JSON|invalid JSON|not (?:valid )?JSON|garbage|unexpected (?:output|text))[^\n]{0,60}(?:on |from |to |in )?(?:server )?stdout`, nil},
				{strong, `(?i)stdout[^\n]{0,60}(?:non-JSON|not (?:valid )?JSON|polluted|corrupt|invalid JSON)`, nil},
				{strong, `\bJSONDecodeError: (?:Expecting value|Extra data)`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && strings.Contains(x.text, "stdio") }},
				{strong, `invalid character '[^'\n]{1,4}' (?:looking for beginning of value|in literal|after top-level value)`, func(x *exam, m *match) bool {
					return !aboutConfig(x, m) && !html.MatchString(x.text) && !strings.Contains(m.said, "'<'")
				}},
				{certain, `(?:JsonParseException|JsonReaderException|JsonException|JSONException|Jason\.DecodeError|JSON::ParserError|JsonDecodingException|JsonMappingException|StreamReadException)\b[^\n]{0,40}(?:Unrecognized token|Unexpected character|unexpected (?:byte|token)|is an invalid start of a value|Unexpected JSON token)[^\n]{0,20}`, func(x *exam, m *match) bool {
					return !aboutConfig(x, m) && !x.remote() && !html.MatchString(x.text)
				}},
				{strong, `(?i)Error processing inbound message(?: for line)?: ?(?P<text>[^\n{]{3,80})`, func(x *exam, _ *match) bool { return !x.remote() }},
				{strong, `'[^'\n]{1,6}' is an invalid start of a value|FormatException: Unexpected character \(at character 1\)|The given data was not valid JSON`, func(x *exam, m *match) bool {
					return !aboutConfig(x, m) && !x.remote() && !strings.Contains(m.said, "'<'")
				}},
				{strong, `serde_json|expected value at line 1 column 1|expected ident at line 1`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && !x.remote() }},
				{likely, "", func(x *exam, m *match) bool {
					if strings.TrimSpace(x.Stdout) == "" {
						return false
					}
					m.said, _, _ = strings.Cut(strings.TrimSpace(legible(x.Stdout)), "\n")
					return true
				}},
			},
		},
	}
}

func notHTML(x *exam, m *match) bool {
	return !strings.Contains(m.hit, "<!") && !strings.Contains(m.hit, "'<'") && !strings.Contains(m.hit, "token <") && !aboutConfigLine(x, m)
}

// aboutConfigLine reports whether the line itself is about a configuration: a log may mention one
// elsewhere.
func aboutConfigLine(_ *exam, m *match) bool { return configFile.MatchString(m.said) }

func protocolCauses() []cause {
	return []cause{
		{
			name: "version_not_negotiated", category: ProtocolMismatch,
			explain: "The client and the server have no common protocol version ({version|each supports only its own}).",
			fix:     "Update the client or the server, whichever is older.",
			instead: []advice{{when: live, fix: "Update the server. Gauze offered every protocol version in use, and the server supports none of them."}},
			clues: []clue{
				{certain, `(?i)(?:unsupported|incompatible|unknown|invalid|bad)[^\n]{0,20}protocol[- _]?version:? ?(?P<version>[\d-]{10})?`, nil},
				{certain, `(?i)protocol[- _]?version[^\n]{0,60}(?:not supported|unsupported|incompatible|mismatch|is invalid|does not match|not compatible)`, nil},
				{certain, `(?i)server's protocol version is not supported:? ?(?P<version>[\d-]{10})?`, nil},
				{certain, `UNSUPPORTED_PROTOCOL_VERSION|PROTOCOL_VERSION_INCOMPATIBLE`, nil},
				{strong, `(?i)MCP-Protocol-Version[^\n]{0,60}(?:header|missing|invalid|required|unsupported)`, nil},
			},
			hides: []string{"invalid_jsonrpc_message", "args_json_string_for_object"},
		},
		{
			name: "accept_header_incomplete", category: ProtocolMismatch,
			explain: "The server returned 406: it requires clients to accept both JSON and event streams, and this client accepts only one of them.",
			fix:     "Update the client, or connect through gauze, which accepts both: `gauze run --url {url|URL}`",
			instead: []advice{{when: live, explain: "The server returned 406, although gauze accepts both JSON and event streams.",
				fix: "Check the address: it is probably not the server's MCP endpoint (which often ends in /mcp or /sse)."}},
			clues: []clue{
				{certain, `(?i)client must accept (?:both )?(?:application/json|text/event-stream)`, nil},
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 406) && !strings.Contains(x.text, "SSE error:") }},
				{certain, `(?i)\bNot Acceptable\b|invalid accept header|accept header (?:must|should|does not)[^\n]{0,20}(?:include|contain|accept)`, nil},
			},
			hides: []string{"wrong_endpoint_path"},
		},
		{
			name: "content_type_refused", category: ProtocolMismatch,
			explain: "The server returned 415: it does not accept JSON at this address, or the client does not send a Content-Type header.",
			fix:     "Update the client, or connect through gauze, which sends the Content-Type header: `gauze run --url {url|URL}`",
			instead: []advice{{when: live, explain: "The server returned 415: it does not accept JSON at this address, and MCP requires JSON.",
				fix: "Check the address: it is probably not the server's MCP endpoint (which often ends in /mcp or /sse)."}},
			clues: []clue{
				{certain, "", func(x *exam, m *match) bool { return x.status(m, 415) }},
				{certain, `(?i)Unsupported Media Type|invalid content-type header|content-type (?:header )?must be '?"?application/json`, nil},
			},
			hides: []string{"wrong_endpoint_path"},
		},
		{
			name: "client_skips_initialize", category: ProtocolMismatch, passes: true,
			explain: "A request arrived before the handshake was complete: the client, or a proxy, did not wait for the response to initialize or did not send notifications/initialized.",
			fix:     "Update the client, or let gauze perform the handshake: `gauze run -- {line|COMMAND}`",
			instead: []advice{
				{when: live, fix: "Report this to the server's maintainers: gauze waited for the response to initialize, but the server rejected the next request as too early."},
				{when: atURL, fix: "Update the client, or let gauze perform the handshake: `gauze run --url {url|URL}`"}},
			clues: []clue{
				{certain, `(?i)Received\s+(?:\S+:\d+\s+)?request before\s+initialization|before initialization (?:was )?complete`, nil},
				{certain, `(?i)(?:server|client|connection) (?:is |was |has )?not (?:been )?(?:yet )?initiali[sz]ed`, func(x *exam, m *match) bool { return !x.status(&match{}, 404) }},
				{certain, `(?i)(?:expected|first (?:message|request) must be|must (?:send|call)|waiting for)[^\n]{0,20} ['"` + "`" + `]?initialize['"` + "`" + `]? (?:request|first|before|message)|expect initialized? (?:request|notification)`, func(x *exam, m *match) bool { return !strings.Contains(m.said, "Waiting for server to respond") }},
				{strong, `-32602[^\n]{0,40}Invalid request parameters|Invalid request parameters[^\n]{0,40}-32602`, func(x *exam, m *match) bool { return !strings.Contains(x.text, "tools/call") }},
				{strong, `(?i)(?:already|twice|second|duplicate)[^\n]{0,12} initiali[sz]e|Server already initialized`, nil},
			},
		},
		{
			name: "late_progress_notification", category: ProtocolMismatch, passes: true,
			explain: "The server sent a progress notification for a request that it had already answered, and the client treated it as a fatal error.",
			fix:     "Let gauze drop late notifications: `gauze run -- {line|COMMAND}`",
			instead: []advice{
				{when: live, fix: "Report this to the server's maintainers. Gauze drops late notifications, so there is nothing to do here."},
				{when: atURL, fix: "Let gauze drop late notifications: `gauze run --url {url|URL}`"}},
			clues: []clue{
				{certain, `(?i)progress notification for an unknown token`, nil},
				{certain, `(?i)Received a response for an unknown message ID`, nil},
				{strong, `(?i)unknown progress ?token|response (?:for|to) (?:an )?unknown (?:request|message|id)`, nil},
			},
		},
		{
			name: "optional_method_probed", category: ProtocolMismatch, passes: true,
			explain: "The client called {method|an optional method}, which the server does not support. The protocol allows this, but the client or the server treats it as a failure.",
			fix:     "This is usually harmless. If the client gives up because of it, let gauze answer such requests: `gauze run -- {line|COMMAND}`",
			instead: []advice{
				{when: live, fix: "Check that this is an MCP server and that it is up to date: it rejected a request that every MCP server must support."},
				{when: atURL, fix: "This is usually harmless. If the client gives up because of it, let gauze answer such requests: `gauze run --url {url|URL}`"}},
			clues: []clue{
				{strong, `(?i)method ['"` + "`" + `]?(?P<method>(?:prompts|resources|roots|logging|completion|sampling|ping|server|tools|notifications)(?:/[\w/]+)?)['"` + "`" + `]? (?:is )?not (?:found|supported|implemented)`, nil},
				{strong, `(?i)(?P<method>(?:prompts|resources|roots|logging|completion)/[\w/]+)[^\n]{0,80}(?:-32601|method not found|not supported|not implemented)`, nil},
				{strong, `(?i)(?:-32601|method not found)[^\n]{0,80}(?P<method>(?:prompts|resources|roots|logging|completion)/[\w/]+)`, nil},
				{strong, `(?i)(?:Server|Client) does not support (?P<method>[\w/]+)(?: \(required for [\w/]+\))?`, func(x *exam, m *match) bool { return !strings.Contains(m.said, "SSE") && !x.status(&match{}, 404, 405) }},
				{strong, "", func(x *exam, m *match) bool { return x.rpc(m, -32601) && !x.status(&match{}, 404, 405) }},
				{strong, `(?i)(?:unhandled|unknown|unsupported|unimplemented) method:? ['"` + "`" + `]?(?P<method>(?:prompts|resources|roots|logging|completion|ping|server|notifications)[\w/]*)`, nil},
				{likely, `(?i)(?:server|it) does not (?:support|implement|offer|provide) (?P<method>prompts|resources|logging|completions?|sampling|roots)`, nil},
				{likely, `(?i)['"]message['"]: ?['"](?:unsupported|unknown|unimplemented) method\b`, nil},
				{likely, `(?i)\bMethod not found\b`, func(x *exam, m *match) bool { return !x.status(&match{}, 404, 405) }},
			},
		},
		{
			name: "invalid_jsonrpc_message", category: ProtocolMismatch, passes: true,
			explain: "The server sent JSON that is not a valid protocol message ({text|a field is missing or of the wrong type}).",
			fix:     "Update the server. If that does not help, report the error to its maintainers.",
			clues: []clue{
				{strong, `(?s)(?:ZodError|invalid_union|unionErrors|invalid_type).*?(?:"jsonrpc"|"method"|"protocolVersion"|"serverInfo"|"capabilities"|"inputSchema"|"content")`, func(x *exam, m *match) bool { return !strings.Contains(x.text, "tools/call") }},
				{strong, `(?i)uncorrelated (?:error )?response|conflict initialize response id|missing field ` + "`(?:protocolVersion|capabilities|serverInfo|jsonrpc)`" + `|\bunknown notification:? `, nil},
				{certain, `(?i)\boutput ?schema\b[^\n]{0,60}(?:did not return|validation|no structured|does not match|mismatch)|structured ?content\b[^\n]{0,60}(?:does not match|did not match|is required|missing|output ?schema)`, nil},
				{strong, `(?i)invalid (?:result|response|reply) (?:for|to|from) (?:the )?(?:initialize|tools/list|prompts/list|resources/list)`, nil},
				{strong, `(?i)ZodError[^\n]{0,200}jsonrpc|Invalid literal value, expected "?2\.0`, nil},
				{strong, `(?i)unrecognized_keys(?s:.*?)(?:jsonrpc|result|error|id)\b`, nil},
				{strong, `(?i)invalid (?:JSON-?RPC|MCP) (?:message|request|response|version|object|format)`, nil},
				{strong, `(?i)validation errors? for (?P<text>JSONRPC\w+|InitializeResult|ListToolsResult|CallToolResult|ServerResult|ClientRequest|JSONRPCResponse)`, func(x *exam, m *match) bool {
					return !strings.Contains(x.text, "Invalid JSON") && !strings.Contains(x.text, "json_invalid")
				}},
				{strong, `(?i)(?:missing|invalid|unexpected|no) ["'` + "`" + `]?jsonrpc["'` + "`" + `]? (?:field|version|property)|data did not match any variant of untagged enum Json\w*`, nil},
				{strong, `(?i)(?:JSON-?RPC )?batch(?:es|ing)? (?:is |are |requests? )?not supported`, nil},
				{strong, `(?i)deserialize[^\n]{0,40}(?:JsonRpc|ServerJsonRpcMessage|CallToolResult|ListToolsResult|InitializeResult)|UnexpectedResponse|expect initialized? (?:result|response)`, nil},
				{strong, `(?i)invalid (?:response|result|reply) (?:to|for) (?:the )?(?:initialize|tools/list|handshake)`, nil},
				{likely, "", func(x *exam, m *match) bool { return x.rpc(m, -32600) && !x.status(&match{}, 404, 400) }},
				{strong, `(?i)(?:tools/list|initialize)[^\n]{0,40}(?:response|result)[^\n]{0,40}(?:invalid|malformed|missing|unexpected|did not match)`, nil},
			},
		},
		{
			name: "peer_too_old", category: ProtocolMismatch,
			explain: "The plugin, bridge or program that the server communicates with is too old for the server ({version|their versions do not match}).",
			fix:     "Update that plugin or program to the version that the server's documentation requires.",
			clues: []clue{
				{strong, `(?i)(?:plugin|addon|add-on|extension|bridge|app|client|server)(?: version)?[^\n]{0,30}(?:is )?(?:out ?of ?date|outdated|too old|needs? to be (?:updated|upgraded)|must be (?:updated|upgraded))`, nil},
				{strong, `(?i)(?:version mismatch|incompatible version|minimum (?:supported )?version|requires (?:plugin|extension|addon|server|client) version)[^\n]{0,60}`, func(x *exam, m *match) bool {
					return !otherVersions.MatchString(m.said)
				}},
			},
		},
	}
}

func schemaCauses() []cause {
	return []cause{
		{
			name: "tool_name_too_long", category: InvalidToolSchema,
			explain: "The model provider rejected a tool's name ({tool|see the error message}): the name is too long or contains characters that are not allowed.",
			fix:     "Shorten the server's name in the configuration (the client adds it as a prefix), or rename the tool. Use at most 64 letters, digits, _ and -.",
			clues: []clue{
				{certain, `(?i)tools?[.\[]\d+\]?[^\n]{0,40}\.name['"]?: (?:String should|string too long|Invalid|must|does not match)`, nil},
				{certain, `(?i)String should (?:match pattern '\^\[a-zA-Z0-9_|have at most (?:64|128) characters)`, nil},
				{certain, `(?i)Invalid 'tools\[\d+\][\w.]*name'|string too long\. Expected a string with maximum length (?:64|128)`, nil},
				{certain, `(?i)(?:tool|function) name[^\n]{0,60}(?:exceeds?|too long|longer than|at most|maximum|invalid|must match|must start|must be (?:alpha|unique)|contains? invalid|does not match)`, nil},
				{certain, `(?i)Invalid function name|tool names must be unique|duplicate (?:tool|function) (?:name|declaration)s?`, nil},
			},
			hides: []string{"schema_gemini_subset"},
		},
		{
			name: "schema_combinator_top_level", category: InvalidToolSchema,
			explain: "The model provider rejected the tool's schema: oneOf, allOf and anyOf are not allowed at the top level.",
			fix:     "Disable this tool in the client until its schema has a plain object at the top level.",
			clues: []clue{
				{certain, `(?i)input_schema does not support oneOf, allOf, or anyOf at the top level`, nil},
				{certain, `(?i)schema must have type 'object' and not have 'oneOf'/'anyOf'`, nil},
				{certain, `(?i)(?:oneOf|anyOf|allOf)['"]?[^\n]{0,60}(?:not (?:supported|allowed|permitted)|top[- ]level|at the root)`, nil},
			},
		},
		{
			name: "schema_gemini_subset", category: InvalidToolSchema,
			explain: "Gemini supports only a subset of JSON Schema, and a tool's schema goes beyond it ({field|an unsupported keyword}).",
			fix:     "Disable that tool in the client until the server simplifies its schema.",
			clues: []clue{
				{certain, `(?i)function_?declarations?[\[.]\d*[^\n]*?(?:should be non-empty|only allowed for|missing field|Cannot find field|Invalid value|required fields|must be|Unknown name|schema)`, nil},
				{certain, `Unknown name (?:\\?")?(?P<field>\$?\w+)(?:\\?")? at '(?:request\.)?tools`, nil},
				{certain, `(?i)GenerateContentRequest\.tools|Invalid JSON payload received\. Unknown name`, nil},
				{certain, `(?i)Invalid value at 'tools|tools\[\d+\]\.function_declarations`, nil},
				{certain, `(?i)\bfunction_?declaration\b[^\n]{0,120}\bschema\b|schema specified (?:incorrect|other)`, nil},
				{certain, `(?i)any_of must be the only field set|schema (?:didn't|did not) specify the schema type field`, nil},
			},
		},
		{
			name: "schema_not_parseable", category: InvalidToolSchema,
			explain: "A tool's schema is invalid ({tool|see the error message}), so the tool or the whole list was rejected.",
			fix:     "Report this to the server's maintainers, and disable that tool in the client for now.",
			clues: []clue{
				{certain, `(?i)tools?[.\[]\d+\]?[\w.]*(?:input_?schema|parameters|inputSchema)[\w.]*['"]?:? [^\n]*?`, func(x *exam, m *match) bool {
					return aboutValidity.MatchString(m.said)
				}},
				{certain, `(?i)Invalid schema for (?:function|tool) '(?P<tool>[^'\n]+)'`, nil},
				{certain, `(?i)(?:invalid|bad|malformed|unsupported|unparsable|cannot parse|failed to (?:parse|convert|compile|validate))[^\n]{0,30}(?:input[-_ ]?schema|tool schema|JSON schema|app-input-schema|parameters schema)`, nil},
				{certain, `(?i)(?:tool|function) ?(?:parameters?|schema)[^\n]{0,60}(?:array type must have items|is (?:invalid|not valid)|must be (?:of )?type|must have)`, nil},
				{certain, `(?i)(?:can't|cannot|could not|unable to) resolve reference [^\n]{0,60}(?:#|\$defs|definitions)|resolves to more than one schema|reference to undefined schema|PointerToNowhere|Unresolvable(?: JSON)? pointer|schema is invalid: data/|strict mode: unknown keyword`, nil},
				{certain, `(?i)(?:tool|function) ['"` + "`" + `]?(?P<tool>[\w.-]+)['"` + "`" + `]? (?:has|have) (?:an )?invalid (?:JSON )?(?:schema|parameters)`, nil},
				{strong, `(?i)failed to (?:convert|register|load|parse)[^\n]{0,30}tool[^\n]{0,40}schema|schema at path [^\n]{1,80} must|unsupported schema type`, nil},
				{certain, `(?i)array schema missing items|'additionalProperties' is required to be supplied and to be false|JSON schema is invalid`, nil},
			},
			hides: []string{"wrong_endpoint_path", "http_not_found", "invalid_jsonrpc_message"},
		},
		{
			name: "args_json_string_for_object", category: ToolArgumentsInvalid, passes: true,
			explain: "The model called the tool with arguments of the wrong type ({text|see the server's error}). The server itself works.",
			fix:     "Let gauze repair unambiguous mistakes (such as a number or an object sent as a string) and explain the rest to the model: `gauze run -- {line|COMMAND}`",
			instead: []advice{
				{when: live, fix: "Have the model call the tool again with the arguments that the server's error asks for."},
				{when: atURL, fix: "Let gauze repair unambiguous mistakes (such as a number or an object sent as a string) and explain the rest to the model: `gauze run --url {url|URL}`"}},
			clues: []clue{
				{certain, `(?i)Invalid arguments for (?:tool )?(?P<tool>[\w.-]+)`, nil},
				{certain, `(?i)Input validation error:? ?(?P<text>[^\n]{0,80})`, nil},
				{certain, `(?i)validation errors? for (?P<tool>(?:call\[)?\w+(?:Arguments|Args|Params|Input)\b)`, nil},
				{strong, `(?i)(?:expected|must be|should be)(?: an?| of type)? (?:valid )?(?:object|array|number|integer|boolean|string|list|dict\w*)\b,? ?(?:received|but (?:got|received)|not|got)?[^\n]{0,40}`, aboutCall},
				{strong, `(?i)(?:parameter|argument|field|property|Invalid) ['"` + "`" + `]?\w+['"` + "`" + `]?:? must be (?:an? )?(?:number|integer|string|boolean|array|object)`, nil},
				{certain, `\bInputValidationError\b`, nil},
				{certain, `(?i)failed to deserialize (?:tool )?(?:parameters|arguments|params|input)|arguments dictionary is missing a value for the required parameter|cannot unmarshal \w+ into Go struct field \w*(?:Args|Arguments|Params|Input|Request)\.`, nil},
				{certain, `\b\w+\(\) (?:missing \d+ required (?:positional|keyword-only) argument|got an unexpected keyword argument)`, func(x *exam, _ *match) bool { return ofACall.MatchString(x.text) }},
				{strong, `(?i)missing required parameters?:? ['"` + "`" + `]?[a-z]\w*\b|\bparameter ['"` + "`" + `]?\w+['"` + "`" + `]? (?:is not of type|is required|must be (?:of type|an?)) `, func(_ *exam, m *match) bool { return bareParameter.MatchString(m.said) }},
				{strong, `(?i)expected (?:object|array|record|number|string|boolean|integer|map),? but (?:received|got) \w+`, func(x *exam, m *match) bool { return !aboutConfig(x, m) }},
				{strong, `(?i)\bmust have required property '|'\w+' is a required property|Additional properties are not allowed \(|must NOT have additional properties`, func(x *exam, m *match) bool {
					return !aboutConfig(x, m) && !strings.Contains(m.said, "ervers/") && notResult(x, m)
				}},
				{likely, `-32602\b[^\n]{0,60}\b(?:missing|required|unknown|unexpected|must)\b`, nil},
				{strong, `(?i)expected (?:object|array|record|number|string|boolean|integer|map), (?:received|got) (?:string|number|array|object|undefined|null|boolean)`, func(x *exam, m *match) bool { return !aboutConfig(x, m) && !strings.Contains(x.text, "mcpServers") }},
				{strong, "(?i)the required parameter `?\\w+`? is missing|An unexpected parameter `?\\w+`? was provided", nil},
				{strong, `(?i)Input should be a valid (?:dictionary|list|integer|number|boolean|string)`, notResult},
				{strong, `(?i)(?:missing|unexpected) (?:\d+ )?required (?:positional |keyword-only )?(?:argument|parameter|property|propert)[^\n]{0,60}`, func(x *exam, m *match) bool {
					return aboutCall(x, m) && !asksForWords(x, m) || ofACall.MatchString(x.text)
				}},
				{strong, `(?i)(?:tool|function)[ -]?(?:call )?(?:arguments|parameters|input)[^\n]{0,40}(?:invalid|not valid|malformed|could not be parsed|failed validation)`, nil},
				{strong, `(?i)is not (?:of type|a valid) ['"](?:object|array|number|integer|boolean|string)['"]`, nil},
				{likely, "", func(x *exam, m *match) bool { return x.rpc(m, -32602) && notResult(x, m) }},
			},
			hides: []string{"invalid_jsonrpc_message", "required_argument_missing"},
		},
	}
}

func aboutCall(x *exam, m *match) bool {
	return aboutACall.MatchString(x.text) && !aboutConfigLine(x, m)
}

// Patterns for the conditions of clues.
var (
	otherVersions = &wording{source: `(?i)node|python|npm|java|ABI`}
	aboutValidity = &wording{source: `(?i)invalid|not valid|must|required|should|does not|unsupported|missing`}
	ofACall       = &wording{source: `(?i)\b(?:executing|calling|invoking|execute|call|invoke) (?:the )?(?:MCP )?tool\b|tools/call|tool (?:call|execution)|deserialize (?:tool )?(?:parameters|arguments|params)`}
	bareParameter = &wording{source: `\b(?i:parameters?):? ['"` + "`" + `]?[a-z]\w*['"` + "`" + `]?(?:\s*$|\s+(?:is|must)\b|[.,;)}])`}
	aboutACall    = &wording{source: `(?i)-32602|tools?/call|calling tool|tool call|arguments|InputValidationError|invalid_type|\binput\b|\btool\b`}
)
