package doctor

// clientClues returns how clients complain about their own configuration: the path of an entry with
// the complaint of a validator, or a sentence that lists the forms of an entry.
func clientClues() map[string][]clue {
	return map[string][]clue{
		"entry_shape_wrong": {
			// serde, zod, pydantic, ajv and editors name the path
			{strong, "(?i)\\bin `(?:mcp_servers|mcpServers|servers|context_servers)\\.(?P<option>[\\w.-]+)`", nil},
			{strong, `(?i)\b(?:mcpServers|mcp_servers|context_servers|mcp\.servers)(?: ?(?:->|→|›|»|/|\.|\[) ?['"]?)(?P<option>[\w-]+)[^\n]{0,120}\b(?:expected|required|invalid|missing|unknown|unrecognized|must be|not allowed|incorrect|should be)\b`, nil},
			{strong, `(?i)(?:Incorrect type\. Expected|Missing property|Value is not accepted|is not allowed)[^\n]{0,80}\b(?:mcp|servers)\b`, nil},
			{strong, `(?i)\b(?:server|entry|servers)\b[^\n]{0,60}\b(?:config(?:uration)?|entry|definition|settings)\b[^\n]{0,30}\b(?:is|are|was|were) (?:invalid|malformed|incomplete|not valid|unsupported)\b`, notOwnFile},
			{strong, `(?i)\b(?:invalid|malformed|incomplete|unsupported|bad) (?:MCP )?(?:server )?(?:config(?:uration)?|entry|definition|settings)\b[^\n]{0,80}`, ofAServer},
			{strong, `(?i)\b(?:must|should|needs? to|has to) (?:have|include|contain|specify|provide|define|set|be given) (?:either |one of |exactly one of )?(?:a |an |the )?['"` + "`" + `]?(?:command|url|httpUrl|serverUrl|type|transport)['"` + "`" + `]?(?: \([^)\n]{0,40}\))?,? (?:or|and|for)\b`, nil},
			{strong, `(?i)\bmissing (?:['"` + "`" + `]?(?:command|url|httpUrl|serverUrl|type|transport|args)['"` + "`" + `]?(?: \([^)\n]{0,40}\))?(?:,? (?:and|or) |, )?){2,}`, nil},
			{strong, `(?i)\b(?:servers?|entr(?:y|ies))\b[^\n]{0,60}\b(?:skipped|ignored|invalid|not loaded|rejected)\b[^\n]{0,80}\b(?:missing|expected|required|unknown|unsupported) ['"` + "`" + `]?(?:command|url|type|transport|field|key|property)`, nil},
			{strong, `(?i)\b(?:env|headers)\.[\w-]+: (?:invalid input: )?expected string|\bexpected string, received (?:number|boolean)\b[^\n]{0,80}(?:mcp|config|settings)[\w.-]*\.json`, nil},
			{strong, `(?i)\b(?:url|headers|bearer_token|env|cwd|args|command|type)\b is not (?:supported|allowed|valid) (?:for|in|with) (?:stdio|sse|http|streamable|this)`, nil},
			{strong, `(?i)\b(?:unknown|unrecognized|unexpected|invalid) (?:key|field|property|option|attribute)s?\b[^\n]{0,40}\b(?:in|for|of) (?:the )?(?:MCP )?server\b`, nil},
			{strong, `(?i)\b(?:settings|config(?:uration)?)(?: file)?\b[^\n]{0,80}\bhas (?:errors|an error|invalid)|\bfailed to deserialize\b[^\n]{0,40}\b(?:settings|config\w*|mcp_servers|mcpServers)\b`, notOwnFile},
			{strong, `(?i)\bexpected one of\b[^\n]{0,60}\b(?:stdio|sse|streamable[-_ ]?http|http)\b|\b(?:server|transport) type\b[^\n]{0,40}\b(?:must be|should be|invalid|unknown|unsupported|not recognized)|\bInvalid enum value\. Expected[^\n]{0,60}'(?:stdio|sse|http)'`, nil},
			{strong, `(?i)\b(?:server|MCP server)(?: named)? ['"` + "`" + `]?(?P<option>[\w.-]+)['"` + "`" + `]? (?:already exists|is already (?:configured|defined|registered))`, nil},
		},
		"args_not_array": {
			{certain, `(?i)\bargs\b[^\n]{0,30}\bmust be (?:an? )?(?:array|list)|\bargs:? Input should be a valid list|\bIncorrect type\. Expected "array"\.?[^\n]{0,60}\bargs\b`, nil},
		},
		"json_syntax": {
			{strong, `(?i)(?:mcp|config|settings|claude)[\w.-]*\.jsonc?\b[^\n]{0,80}\b(?:syntax error|parse error|unexpected (?:token|end|character|eof)|trailing comma|not valid JSON|invalid JSON|malformed|unterminated|expected (?:comma|value|property|,))`, nil},
			{strong, `(?i)\b(?:invalid|malformed) JSON\b[^\n]{0,80}(?:mcp|config|settings)[\w.-]*\.jsonc?\b`, nil},
			{strong, `(?i)\b(?:config(?:uration)?|settings)(?: file)?\b[^\n]{0,60}\b(?:could not be parsed|cannot be parsed|failed to parse|is not valid (?:JSON|TOML|YAML)|contains invalid (?:JSON|TOML|YAML)|syntax error)`, notOwnFile},
		},
		"wrong_top_level_key": {
			{strong, `(?i)\b(?:unrecognized|unknown|unexpected) (?:key|field|property)s?(?:\(s\))?[^\n]{0,30}\b(?P<option>mcpServers|mcp_servers|context_servers)\b|\b(?P<listed>mcpServers|mcp_servers|servers)\b (?:key |section |object |field )?(?:is |was )?(?:missing|not found|required) in\b`, nil},
		},
	}
}

// ofAServer reports whether an invalid configuration is that of an MCP server in a client's file.
func ofAServer(x *exam, m *match) bool {
	return notOwnFile(x, m) && serverWord.MatchString(m.said) && !aboutCallLine(m) && !connectionWord.MatchString(m.said)
}

var connectionWord = &wording{source: `(?i)not connected|connection|spawn|ENOENT|timed? ?out|exited|refused`}

var serverWord = &wording{source: `(?i)\b(?:mcp|mcpServers|server|servers)\b`}

func aboutCallLine(m *match) bool { return ofACall.MatchString(m.said) }
