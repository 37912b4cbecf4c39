package doctor

import "strings"

// configFile matches the names of files in which clients configure servers.
var configFile = &wording{source: `(?i)\b(?:claude_desktop_config|mcp_config|mcp[-_]?settings|cline_mcp_settings|mcp|settings|config|opencode|\w+[-_]?config)\.(?:jsonc?|toml|ya?ml)\b|\.mcp\.json|\.claude\.json|\bMCP config|configuration file|config file`}

// aboutConfig reports whether a parse error is about a configuration and not about a message: both
// are JSON, but only a configuration has a file name.
func aboutConfig(x *exam, _ *match) bool {
	return configFile.MatchString(x.text) || configFile.MatchString(x.line)
}

// sdkModule matches modules of the Python SDK, which appear in its logs.
var sdkModule = &wording{source: `^(?:client|server|shared|types|cli|os)\b`}

func configCauses() []cause {
	return []cause{
		{
			name: "json_syntax", category: ConfigMalformed,
			explain: "The configuration {path|file} contains a syntax error.",
			fix:     "At the position given in the error, look for an extra comma, a missing quote or bracket, or a second object pasted after the first.",
			clues: []clue{
				{certain, `(?i)(?:Expected (?:double-quoted property name|property name or '\}'|',' or '[\]}]'[^\n]{0,30}|':' after property name)|Unexpected (?:token|string|number|end of JSON input|non-whitespace character)|Bad (?:control|escaped) character|Unterminated string|Invalid (?:escape|control) character)[^\n]*?`, func(x *exam, m *match) bool {
					return aboutConfig(x, m) && (strings.Contains(m.said, "JSON") || strings.Contains(m.said, "json"))
				}},
				{certain, `(?i)(?:error (?:reading|parsing|loading)|failed to (?:parse|load|read)|could not (?:parse|load|read)|cannot (?:parse|read)|unable to (?:parse|read))[^\n]{0,60}(?P<path>[\w./\\~:-]*\.(?:jsonc?|toml|ya?ml))[^\n]*?(?:JSON|position|line \d|column|token|syntax|expected)`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "package.json") }},
				{certain, `(?i)(?:config|configuration|settings)[^\n]{0,40}(?:is not (?:a )?valid|is invalid|invalid|malformed|contains? (?:a )?syntax errors?)[^\n]{0,10} JSON`, nil},
				{certain, `(?i)invalid JSON (?:in|syntax in|format in)[^\n]{0,40}(?P<path>[\w./\\~-]+\.jsonc?|config|settings)`, nil},
				{certain, `TOML parse error at line \d+|toml: line \d+|tomllib\.TOMLDecodeError|TomlError`, func(x *exam, _ *match) bool { return !strings.Contains(x.text, "unknown field") }},
				{certain, `yaml: (?:line \d+|unmarshal errors)|YAMLException|yaml\.(?:scanner|parser)\.\w+Error|YAMLParseError`, nil},
				{strong, `(?:PropertyNameExpected|CommaExpected|ValueExpected|CloseBraceExpected|InvalidSymbol|EndOfFileExpected) `, nil},
				{strong, `json\.decoder\.JSONDecodeError`, aboutConfig},
				{strong, `Expecting (?:property name enclosed in double quotes|',' delimiter|':' delimiter): line \d`, nil},
				{strong, `(?i)must be (?:a )?valid JSON(?: string| object)?`, nil},
				{strong, `(?:JSON Parse error|JSON5|JSONC?): (?:Expected|Unexpected|Unrecognized|Unterminated|Unable|invalid)[^\n]{0,80}`, aboutConfig},
				{strong, `invalid character '[^'\n]{1,4}' (?:looking for beginning of|after)[^\n]{0,60}`, aboutConfig},
				{likely, `(?i)(?:could not|failed to|error|unable to|cannot)[^\n]{0,20}(?:pars|load|read)\w*[^\n]{0,30}(?P<path>[\w./\\~-]*(?:mcp|config|settings)[\w-]*\.jsonc?)`, nil},
				{certain, `(?i)duplicate (?:key|field|entry|mapping key)s?:? ?[` + "`" + `'"]?(?P<option>[\w.]+)`, aboutConfig},
				{strong, `The data couldn.t be read because it isn.t in the correct format`, nil},
				{strong, `Expected double-quoted property name in JSON at position \d+ \(line (?P<position>[2-9]|\d{2,})\b`, nil}, // messages are one line
			},
			hides: []string{"stdout_log_pollution"},
		},
		{
			name: "wrong_top_level_key", category: ConfigMalformed,
			explain: "The client does not recognize the key {option|that is used} in its configuration. Each client has its own name for the list of servers.",
			fix:     "Use the client's own key: mcpServers (Claude, Cursor, Windsurf), servers (VS Code), mcp (OpenCode), context_servers (Zed) or mcp_servers (Codex).",
			clues: []clue{
				{certain, `(?i)(?:unrecognized|unknown|unexpected|invalid|extra)[^\n]{0,30}\b(?:key|field|property|option)s?\b[^\n]{0,30}['"` + "`" + `](?P<option>mcpServers|mcp_servers|servers|mcp|context_servers|mcp\.servers)['"` + "`" + `]`, nil},
				{certain, `(?i)['"` + "`" + `]?(?P<option>mcpServers|mcp_servers|servers)['"` + "`" + `]?:? (?:Required|is required|must be an object|expected object|is missing|not found in)`, nil},
				{strong, `Property (?P<option>mcpServers|servers) is not allowed`, nil},
				{strong, `(?i)no (?:"|')?(?P<option>mcpServers|servers|mcp)(?:"|')? (?:key|section|property|entry|field)`, nil},
			},
		},
		{
			name: "config_in_wrong_file", category: ConfigMalformed,
			explain: "The client does not know this server: its entry is in a file that the client does not read, or under a different name.",
			fix:     "Move the entry to the file that this client reads, then restart the client.",
		},
		{
			name: "args_not_array", category: ConfigMalformed,
			explain: "\"args\" in the server's entry is not a list. The client expects a list with one string for each argument.",
			fix:     "Write \"args\" as a list: `\"args\": [\"-y\", \"PACKAGE\"]`",
			clues: []clue{
				{certain, `(?i)\bargs\b['"]?[^\n]{0,40}(?:expected (?:an )?array|must be an? (?:array|list|sequence)|is not (?:iterable|an array|a list)|should be a(?:n array| valid list)|expected a sequence|Expected array, received string)`, nil},
				{certain, `Spread syntax requires \.\.\.iterable|args(?:\.\w+)? is not (?:a function|iterable)|spawnargs[^\n]{0,40}not iterable`, nil},
				{certain, `The "args" argument must be (?:of type object|an instance of Array)`, nil},
				{certain, `invalid type: (?:string|map|boolean)[^\n]{0,60}, expected a sequence`, nil},
				{strong, `cannot unmarshal string into Go struct field [\w.]+\.args of type \[\]string`, nil},
			},
		},
		{
			name: "entry_shape_wrong", category: ConfigMalformed,
			explain: "The server's entry does not have the form that this client expects ({option|a field is missing, unknown or of the wrong type}).",
			fix:     "Compare the entry with an example for this client. Other clients use different fields.",
			clues: []clue{
				{strong, `(?s)"path": ?\[\s*"(?:mcpServers|servers)",\s*"(?P<option>[^"\n]+)"`, nil},
				{strong, `(?i)does not adhere to (?:the )?MCP server configuration schema`, nil},
				{strong, `(?i)\b(?:mcpServers|servers|mcp_servers|mcp)\.(?P<option>[\w.-]+)[^\n]{0,60}(?:expected|required|invalid|missing|unknown|unrecognized|must be)`, func(x *exam, m *match) bool {
					return !strings.Contains(x.text, "//mcp."+m.names["option"]) && !strings.Contains(x.text, "lookup mcp."+m.names["option"]) && // a host name
						!sdkModule.MatchString(m.names["option"])
				}},
				{strong, `(?i)(?:invalid|bad) (?:MCP )?(?:server )?config(?:uration)?[^\n]{0,60}(?:missing|expected|must|required|either|unknown|unrecognized)`, notOwnFile},
				{strong, `(?i)must (?:have|specify|provide|contain|include) (?:either )?(?:a |an )?['"` + "`" + `]?(?:command|url|type)['"` + "`" + `]? (?:or|and|field)`, nil},
				{strong, `(?i)\beither\s+['"` + "`" + `]?(?:base_?url|url|command|http_?url|server_?url|type)['"` + "`" + `]?\s+or\s+['"` + "`" + `]?(?:a )?(?:base_?url|url|command|http_?url|server_?url|transport)['"` + "`" + `]?\s+(?:must|is|has|should|needs?)\b`, nil},
				{strong, `(?i)missing (?:required )?(?:field|property|key):? ['"` + "`" + `]?(?P<option>command|type|url|transport|args)\b`, nil},
				{strong, `(?i)(?:unknown|invalid|unsupported) (?:transport|server)(?: type)?:? ['"` + "`" + `]?(?P<option>[\w-]+)`, nil},
				{strong, "(?i)unknown (?:variant|field) `(?P<option>[^`\\n]+)`, expected|invalid type: \\w+[^\\n]{0,40}, expected", func(_ *exam, m *match) bool {
					return !ofACall.MatchString(m.said) && !strings.Contains(m.names["option"], "/")
				}},
				{strong, `(?i)error decoding '(?P<option>[^'\n]+)'|\bProperty (?P<property>\w+) is not allowed\b|got unconvertible type`, nil},
				{strong, `(?i)server name (?P<option>\S+ )?(?:must|may|can) (?:only )?contain|invalid (?:MCP )?server name`, nil},
				{strong, `cannot unmarshal \w+ into Go (?:struct field|value)[^\n]{0,60}(?i:mcp|server|config)`, nil},
				{strong, `(?i)Configuration is invalid at|Unrecognized key(?:\(s\))?:? `, aboutConfig},
				{strong, `The "file" argument must be of type string\. Received (?:undefined|null|an instance of Array)`, nil},
				{strong, `\[ERR_INVALID_ARG_(?:TYPE|VALUE)\]: The (?:"file"|argument 'file')`, nil},
				{strong, `(?i)invalid (?:MCP )?(?:server )?(?:settings|configuration|config) (?:schema|format|structure|shape)\b`, nil},
				{strong, `(?i)(?:Connection state: Error|Invalid config\w*[^\n]{0,40}:) Cannot read propert(?:ies|y) of undefined`, nil}, // the client parses an entry
				{strong, `(?i)failed to get server instance: server name (?P<option>[\w.-]+) not found|server ['"` + "`" + `]?(?P<named>[\w.-]+)['"` + "`" + `]? (?:is )?not (?:found|defined|configured|listed) in (?:the |your )?(?:[\w.]*config\w*|settings|mcp\.json|mcpServers)`, nil},
				{strong, `(?i)(?:environment|env) (?:variables?|entries|must|should)[^\n]{0,40}(?:be (?:added|given|written|specified|passed) as|in the form(?:at)?(?: of)?|format)[: ]+['"` + "`" + `]?(?:-e )?[A-Z]\w*=`, nil},
			},
		},
		{
			name: "server_config_invalid", category: ConfigMalformed,
			explain: "The server rejected its own configuration file ({path|see the server's output}).",
			fix:     "Correct the server's configuration file at the position given in its error. The client's configuration is not the problem.",
			clues: []clue{
				{strong, `(?i)(?:invalid|bad|malformed|unknown|unrecognized|unexpected)[^\n]{0,40} (?:in|of|at|from) (?:file )?['"` + "`" + `]?(?P<path>[\w./\\~-]*\.(?:toml|ya?ml|ini|cfg|conf|json5?))\b`, ownFile},
				{strong, `(?i)['"` + "`" + `]?(?P<path>[\w./\\~-]*\.(?:toml|ya?ml|ini|cfg|conf))['"` + "`" + `]?(?::\d+(?::\d+)?)?:? (?:is invalid|invalid|unknown|unrecognized|unexpected) (?:key|field|option|setting|section|value|property|configuration)`, ownFile},
				{strong, `(?i)(?:error|failed|problem)[^\n]{0,30} (?:in|loading|reading|validating) (?:the )?(?:config(?:uration)?|settings)(?: file)? ['"` + "`" + `]?(?P<path>[\w./\\~-]*\.(?:toml|ya?ml|ini|cfg|conf))['"` + "`" + `]?: (?:unknown|missing|invalid|unrecognized|unexpected)`, ownFile},
			},
			hides: []string{"entry_shape_wrong", "setting_value_invalid", "server_bug_crash"},
		},
		{
			name: "database_missing", category: ConfigMalformed,
			explain: "The database server has no database {option|with the configured name}.",
			fix:     "Correct the database name at the end of the connection string, or create the database first.",
			clues: []clue{
				{certain, `\bdatabase "(?P<option>[^"\n]+)" does not exist|\b3D000\b`, nil},
				{certain, `Unknown database '(?P<option>[^'\n]+)'|ER_BAD_DB_ERROR`, nil},
				{certain, `Cannot open database "(?P<option>[^"\n]+)" requested by the login`, nil},
				{certain, `ORA-12514|ORA-12505|(?i:keyspace|catalog) ['"](?P<option>[^'"\n]+)['"] does not exist`, nil},
				{certain, `(?i)database ['"](?P<option>[^'"\n/\\]+)['"] (?:was |is )?not found on (?:the )?server`, nil},
			},
			hides: []string{"data_file_missing", "server_bug_crash", "db_grant_missing"},
		},
		{
			name: "setting_value_invalid", category: ConfigMalformed,
			explain: "The server rejected a setting: {option|its value is not valid}.",
			fix:     "Correct the value under \"args\" or \"env\". In a URL, percent-encode special characters in the password: @ as %40, : as %3A, % as %25.",
			instead: []advice{{when: atURL, fix: "Correct the URL. Percent-encode special characters in the password: @ as %40, : as %3A, % as %25."}},
			clues: []clue{
				{strong, `(?i)invalid (?P<option>dsn|connection (?:string|uri|url)|database url|percent-encoded token|URI "[^"\n]{0,40})`, nil},
				{strong, `(?i)(?:could not|cannot|failed to|unable to|error) pars\w+ (?:the )?(?P<option>(?:rfc1738 )?(?:url|uri|dsn|connection string|database url))\b`, nil},
				{strong, `Invalid scheme, expected connection string to start with|MongoParseError|(?i)no scheme (?:was )?(?:supplied|provided)|unsupported URL scheme|missing protocol scheme|first path segment in URL cannot contain colon|URI malformed|relative URL without a base`, nil},
				{strong, `(?i)(?:TypeError|ERR_INVALID_URL|ValueError)\b[^\n]{0,12}: Invalid URL|Request URL is missing an 'http://' or 'https://' protocol|Only absolute URLs are supported|Failed to parse URL from`, nil},
				{strong, `(?s)validation errors? for \w*(?:Settings|Config|Env)\w*\s+(?P<option>\w+)\s+(?:Input should be '|Value error|Input should be a valid (?:URL|integer|boolean|number)|URL)`, nil},
				{strong, `(?i)(?:invalid|unknown|unsupported|bad|unrecognized) (?:value for |value of )?['"` + "`" + `]?(?P<option>log[ _-]?level|transport(?: mode)?|timezone|time zone|port(?: number)?|region|locale|mode)['"` + "`" + `]?[:= ]+['"` + "`" + `]?\S+`, func(x *exam, m *match) bool {
					return !x.remote() && !strings.Contains(m.said, "in use")
				}},
				{certain, `Non-HTTPS URLs are only allowed for localhost`, nil},
				{strong, `ZoneInfoNotFoundError|UnknownTimeZoneError|(?i)invalid timezone`, nil},
			},
			hides: []string{"server_bug_crash", "dependency_version_drift", "env_not_set"},
		},
		{
			name: "unknown_cli_option", category: ConfigMalformed,
			explain: "The program does not accept the argument {option|that it was given}. The argument is mistyped, or it belongs to a different version of the program.",
			fix:     "Remove the argument from \"args\", or correct it as shown in the server's documentation.",
			clues: []clue{
				{certain, `(?i)error: (?:unknown|unrecognized|unrecognised) option:? ['"` + "`" + `]?(?P<option>-{1,2}[\w=.-]+)`, nil},
				{certain, `(?i)\bunknown (?:option|flag|argument|arguments|command line flag|command-line option|switch)s?:? ?['"` + "`" + `]?(?P<option>-{0,2}[\w=.-]+)`, nil},
				{certain, `(?i)unsupported option name \(?['"]?(?P<option>-{1,2}[\w-]+)`, nil},
				{certain, `error: unrecognized arguments: (?P<option>[^\n]+)`, nil},
				{certain, `error: unexpected argument '(?P<option>[^'\n]+)' found`, nil},
				{certain, `flag provided but not defined: (?P<option>\S+)`, nil},
				{certain, `unknown (?:shorthand )?flag: (?P<option>\S+)`, nil},
				{certain, `(?:Error: )?[Nn]o such (?:option|command):? ['"]?(?P<option>[\w-]+)`, nil},
				{certain, `(?i)unexpected extra arguments? \(?(?P<option>[^)\n]+)|a value is required for '(?P<value>[^'\n]+)'|zsh: no matches found: (?P<word>\S+)|\b(?:invalid|illegal|unsupported|bad) (?:option|flag|switch)s?:? -{0,2}(?P<flag>[\w-]+)`, nil},
				{certain, `(?i)\bunknown command ['"]?(?P<option>[\w-]+)['"]? for\b`, nil},
				{certain, `There are no commands defined in the "(?P<option>[\w:-]+)" namespace|Command "(?P<name>[\w:-]+)" is not defined`, nil},
				{certain, `(?i)\binvalid choice: ['"]?(?P<option>[\w-]+)|too many arguments\b|invalid value '(?P<value>[^'\n]+)' for '`, nil},
				{certain, `error: unknown command '?(?P<option>[\w-]+)`, nil},
				{certain, `error: unrecognized subcommand '(?P<option>[^'\n]+)'`, nil},
				{strong, `Unknown arguments?: (?P<option>[\w-]+)`, nil},
				{certain, `error: (?:argument |invalid value |option )[^\n]*?(?:invalid choice|argument missing|requires an argument|isn't valid|for '[^'\n]+')`, nil},
				{certain, `npm (?:ERR!|error) (?:Unknown command|Missing script): "?(?P<option>[\w:-]+)`, nil},
			},
			hides: []string{"stdout_log_pollution", "required_argument_missing"},
		},
		{
			name: "required_argument_missing", category: ConfigMalformed,
			explain: "The server requires an argument that was not passed ({option|see the server's output}).",
			fix:     "Add the missing argument to \"args\", as shown in the server's documentation.",
			clues: []clue{
				{certain, `error: the following arguments are required: (?P<option>[^\n]+)`, nil},
				{certain, `(?s)error: the following required arguments were not provided:\s+(?P<option>[^\n]+)`, nil},
				{certain, `(?i)error: (?:required option|missing required (?:argument|option))s? ['"` + "`" + `]?(?P<option>[^'"\n]+)`, nil},
				{certain, `(?i)missing required (?:command[- ]line )?(?:argument|option|parameter|flag|positional argument)s?:? ?['"` + "`" + `]?(?P<option>[^'"\n]{1,60})`, func(x *exam, m *match) bool {
					return !strings.Contains(x.text, "tools/call") && !strings.Contains(x.text, "-32602") && !bareParameter.MatchString(m.said)
				}},
				{certain, `Error: Missing (?:argument|option|parameter|command) ['"]?(?P<option>[^'"\n.]+)`, nil},
				{certain, `required flag\(s\) (?P<option>"[^\n]+") not set`, nil},
				{likely, `(?i)at least one (?P<option>[\w -]{2,40}) (?:must be|is required|has to be)`, func(x *exam, _ *match) bool { return !strings.Contains(x.text, "tools") }},
				{strong, `(?m)(?:^|stderr\] |stderr: )Usage: (?:node |npx |uvx |python3? |[\w.-]*(?:mcp|server)[\w./-]*) ?[^\n]*[<\[]`, func(x *exam, m *match) bool { return !strings.Contains(m.said, "docker") }},
			},
			hides: []string{"stdout_log_pollution"},
		},
	}
}

// clientFile matches a file in which a client configures servers.
var clientFile = &wording{source: `(?i)claude|cursor|mcp|cline|windsurf|codex|opencode|zed|vscode|goose|continue`}

// ownFile reports whether a line is about the server's own file, which the running server reads. A
// client's files are known by their names.
func ownFile(x *exam, m *match) bool {
	return len(x.Command) > 0 && x.URL == "" && !clientFile.MatchString(m.names["path"]) && !strings.Contains(m.said, "mcpServers") && !packageFile.MatchString(m.names["path"])
}

var packageFile = &wording{source: `(?:pyproject|Cargo|uv|bunfig)\.toml$|(?:docker-)?compose[\w.-]*\.ya?ml$|package(?:-lock)?\.json$|tsconfig[\w.]*\.json$`}

func notOwnFile(_ *exam, m *match) bool {
	return !fileNamed.MatchString(m.said) || clientFile.MatchString(m.said)
}

var fileNamed = &wording{source: `(?i)\b(?:in|of|from) ['"]?[\w./\\~-]+\.(?:toml|ya?ml|ini|cfg|conf)\b`}
