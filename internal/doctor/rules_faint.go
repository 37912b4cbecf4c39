package doctor

import "strings"

// faintClues returns words that only suggest a cause: a technical term and a complaint in one line.
// They count only if nothing else was found, never against a clue that knows a tool's output.
func faintClues() map[string][]clue {
	const fails = `(?:fail\w*|error|could ?n[o'’]t|couldn['’]t|cannot|can['’]t|unable|invalid|denied|reject\w*|refus\w*|issue|problem)`
	clues := map[string][]string{
		"oauth_not_completed": {
			`(?i)\b(?:oauth\w*|sign-?in|signed in|logged in|log-?in)\b[^\n]{0,80}\b` + fails,
			`(?i)\b` + fails + `\b[^\n]{0,80}\b(?:oauth\w*|sign-?in service|sign-?in|log-?in)\b`,
			`(?i)\bno (?:saved |stored )?oauth (?:state|tokens?|credentials?|client)\b`,
			`(?i)\b(?:isn['’]t|is not|not|never) (?:been )?authenticated\b`,
			`(?i)(?:fetch|load|discover)\w* (?:the )?(?:protected )?resource metadata|does not implement OAuth|OAuth (?:Protected Resource |Authorization Server )?metadata`,
		},
		"invalid_api_key": {
			`(?i)\b(?:invalid|denied|rejected|wrong|expired|revoked|problem with|issue with|check|verify)\b[^\n,]{0,30}\b(?:credentials?|authentication|authorization|access token|bearer token|api key|api token)\b`,
			`(?i)\b(?:credentials?|authentication|authorization|access token|bearer token|api key|api token|login)s?\b[^\n,]{0,30}\b(?:` + fails + `|expired|revoked)`,
			`(?i)\brequires? (?:a |an )?(?:valid |personal |user )?(?:access |api |auth\w* |bearer )?token\b`,
			`(?i)\b(?:tenant|user|account|role)(?: or user)? not found\b`,
		},
		"env_not_set": {
			`(?i)\b(?:client|service|provider|integration|backend|credentials?|settings?|connection|server url|base url|host|account)s? (?:is |are |was |were )?not (?:properly |correctly |fully )?(?:configured|set up|provided|specified)\b`,
			`(?i)\bno (?:\w+ ){0,2}(?:credentials?|api keys?|tokens?|url|host|database|account|project)(?: is| are| was| were)? (?:configured|provided|specified|set|given)\b`,
			`(?i)\b(?:configuration|settings) (?:is |are )?(?:missing|incomplete)\b`,
			`(?i)\bmissing (?:required )?(?:configuration|config|setting|credential)s?: ?\w`,
			`\b[a-z]+(?:Url|URL|Key|Token|Secret|Password|Host|Id)\b (?i:is|are) (?i:required|missing|undefined|not set)\b`,
		},
		"required_argument_missing": {
			`(?i)\bmissing (?:\w+ ){0,2}(?:argument|parameter|option|flag)\b`,
		},
		"setting_value_invalid": {
			`(?i)\b(?:invalid|malformed|unsupported|unrecognized|unexpected) (?:\w+ ){0,2}(?:configuration|config|setting|parameter|option|argument|flag)s?\b`,
			`(?i)\b(?:use|expected|must be|should be|in the form)[^\n]{0,20}\b(?:key|name)=value\b`,
		},
		"entry_shape_wrong": {
			`(?i)\bmust (?:specify|have|contain|define|provide) (?:a |an |the )?['"` + "`" + `]?(?:command|url|args|type|transport)\b`,
		},
		"wrong_top_level_key": {
			`(?i)\bno MCP servers? (?:are |is |were )?(?:configured|found|defined|registered|loaded)\b`,
		},
		"companion_app_not_running": {
			`(?i:could not|couldn['’]t|cannot|can['’]t|unable to|failed to) (?i:connect to|talk to|reach) (?i:the )?(?:[A-Z][\w.-]+|\w+ (?:daemon|database|bridge|instance|app|application|editor|socket|device|browser))\b`,
			`(?i)\b(?:daemon|bridge|backend|database|editor|device|emulator|simulator|browser)\b[^\n]{0,40}\b(?:not (?:running|reachable|available|connected|responding)|is down|unreachable)\b`,
			`(?i)\bis (?:the |your )?[\w ]{2,30} running\?`,
			`(?i:not connected to) (?:the )?[A-Z]\w+`,
		},
		"tls_handshake_failed": {
			`(?i)did not receive a valid HTTP response|\b(?:ssl|tls|certificate)\b[^\n]{0,60}\b` + fails + `|\b` + fails + `\b[^\n]{0,60}\b(?:ssl|tls|certificate)\b`,
		},
		"data_file_missing": {
			`(?i)\b(?:file|directory|folder|path|project|workspace|database|vault|repository|["']?[\w./\\-]+\.(?:json|ya?ml|toml|db|py|js|ts|jar|exe)["']?)(?: file)? (?:was |is |could |can )?(?:not (?:be )?found|does not exist|doesn['’]t exist|missing)\b`,
			`(?i)\b(?:could not|cannot|can['’]t|unable to|failed to) (?:find|locate|open|read)(?: the)? (?:file|directory|folder|project|workspace|database|config\w*)\b`,
		},
		"broken_npm_install": {
			`(?i)\b(?:missing|unmet) (?:\w+ ){0,2}(?:dependency|dependencies|module|library|package)\b|\b(?:dependency|dependencies|module|library|package)s? (?:\S+ )?(?:is |are )?(?:not installed|missing|unavailable)\b`,
		},
		"wrong_command_name": {
			`(?i)\b(?:make sure|ensure|check|verify)(?: that)? [\w. -]{2,30} is installed\b`,
			`(?i)\b(?:command|executable|binary|program|cli)\b[^\n]{0,40}\b(?:not found|not installed|not available|is missing)\b`,
		},
		"wrong_package_name": {
			`(?i)\b(?:package|image|release|crate|gem)\b[^\n]{0,40}\b(?:not found|does not exist|no longer exists|could not be found)\b`,
		},
		"node_engine_too_old": {
			`(?i)\b(?:upgrade|update|requires?|needs?)\b[^\n]{0,30}\b(?:node(?:\.?js)?|python|java|jdk|\.net|ruby|php|macos)\b[^\n]{0,12}\d`,
		},
		"invalid_jsonrpc_message": {
			`(?i)\binvalid (?:response|reply|answer|message)(?: from (?:the )?server| status code)?\b`,
		},
		"session_expired_no_reinit": {
			`(?i)\bsession\b[^\n]{0,30}\b(?:lost|gone|ended|terminated|invalid|expired|unknown)\b`,
		},
		"sse_vs_streamable": {
			`(?i)\b(?:sse|streamable[- ]?http|transport)\b[^\n]{0,30}\b(?:not supported|unsupported|mismatch|deprecated and|no longer supported)\b`,
			`(?i)\b(?:open|start|establish)\w* (?:the )?SSE (?:stream|connection)[^\n]{0,20}\bnot found\b`,
			`(?i)\b(?:only|does not) supports?\b[^\n]{0,20}\b(?:sse|streamable|stdio)\b`,
		},
		"slow_tool_call": {
			`(?i)\btimed out (?:after \d|waiting for)|\b(?:initiali[sz]e|start|connect|respond)\b[^\n]{0,12}\btime ?out\b|\btimeout of \d+ ?ms exceeded\b|\bdid not respond (?:with)?in \d|\bError Message: [^\n]{0,30}timed out\b`,
			`(?i)\b(?:Read|Write|Pool|Socket|Response|Gateway)Timeout(?:Error|Exception)?\b|\bTimeoutException\b|\btimeout (?:of )?\d+ ?ms exceeded|\bdue to (?:\w+ )?timeout\b|\bHttpClient\.Timeout\b|\b(?:exceeded the (?:timeout|time limit))`,
		},
		"tool_name_too_long": {
			`工具名称?过长|ツール名が長すぎ|(?i:\btool names? (?:is |are )?too long\b)`,
		},
		"server_bug_crash": {
			`(?i)\bunhandled (?:promise )?rejection\b|\buncaught exception\b|\binternal server error\b|\b(?:Key|Index|Attribute|Value|Runtime|Name|Assertion|NotImplemented)Error\b|NullPointerException|IndexOutOfBounds\w*|\bthrow new \w*Error\b`,
		},
		"args_json_string_for_object": {
			`(?i)\btool ['"` + "`" + `]?[\w.-]+['"` + "`" + `]? (?:was )?not found\b|\bunknown tool\b`,
		},
		"access_denied": {
			`(?i)\b(?:no|not enough|insufficient|missing|lacks?) (?:file |write |read |system )?permissions?\b`,
		},
	}
	made := map[string][]clue{}
	for cause, all := range clues {
		for _, expr := range all {
			made[cause] = append(made[cause], clue{faint, expr, complaint})
		}
	}
	return made
}

// complaint reports whether a line is about the failure and not routine log output.
func complaint(x *exam, m *match) bool {
	for _, usual := range []string{`"method":`, `"jsonrpc"`, `"capabilities"`, "For troubleshooting guidance", "this is likely due to", "announced", "If you are developing"} {
		if strings.Contains(m.said, usual) {
			return false
		}
	}
	return !harmless.MatchString(m.said) && !announced.MatchString(m.hit) && !strings.HasSuffix(strings.ToLower(m.hit), " mcp")
}

var harmless = &wording{source: `(?i)\b(?:info|debug|trace)\b[^\n]{0,80}$|\bsuccessfully\b|\bauthenticated via\b|may require|^\s+at \S|without error|no errors?\b|0 errors|key: internal server error|\boptional\b`}

// complained reports whether a line is more than a status report, such as a level below warning or
// an announced limit.
func complained(_ *exam, m *match) bool { return !reporting.MatchString(m.said) }

var reporting = &wording{source: `^(?:[\w:.,+-]+ ){0,3}[\[(<]?(?:INFO|DEBUG|TRACE|info|debug|trace|Info|Debug|Trace)[\])>]?(?::|\s|$)[^\n]*?(?:\d|enabled|disabled|configured|loaded|set to)`}

// allIsWell reports whether a line names a problem only to rule it out, or to say what would be
// done about it.
func allIsWell(m *match) bool {
	return wellSaid.MatchString(m.said) && !inEarnest.MatchString(m.said) && !strings.HasPrefix(m.hit, "Unknown")
}

var wellSaid = &wording{source: `(?i)[:=] ?(?:0(?:\.0+)?%?(?: requests?| errors?)?|false|ok|on|off|none|enabled|disabled|passed)\.?$|\b(?:handler|middleware|policy|check|hook|guard|limiter|interceptor)s? (?:is |was )?(?:registered|installed|enabled|loaded|ready|configured|ok|passed)\b|\bretry (?:policy|on|for)\b[^\n]*,`}

var inEarnest = &wording{source: `(?i)exit|exception|error:`}
