package doctor

import (
	"slices"
	"strings"
)

// variableName matches names that can only be variables: API, HTTP and ERROR are words.
var variableName = &wording{source: `^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$`}

var plainVariables = []string{"DSN", "PORT", "TOKEN", "DATABASEURL", "APPDATA", "HOME", "PATH"}

func namesVariable(_ *exam, m *match) bool {
	name := m.names["variable"]
	return variableName.MatchString(name) && !strings.HasPrefix(name, "ERR_") || slices.Contains(plainVariables, name)
}

// isCode reports whether a name is an error code: systems and libraries write these like variables.
func isCode(name string) bool {
	return slices.ContainsFunc([]string{"EAI_", "ERR_", "UND_ERR", "UNABLE_TO_", "DEPTH_ZERO_", "SELF_SIGNED_", "CERT_HAS_", "CERT_NOT_", "HPE_", "ERROR_", "STATUS_", "SSL_ERROR", "NS_ERROR"},
		func(front string) bool { return strings.HasPrefix(name, front) })
}

// environRead reports whether a Python stack trace shows that a name was looked up in the
// environment and not in a dictionary.
func environRead(text string) bool {
	return slices.ContainsFunc([]string{"environ", "getenv", "<frozen os>", `os.py"`, "env[", "config("}, func(sign string) bool { return strings.Contains(text, sign) })
}

// isAside reports whether a line mentions only in passing that something is not set: a warning or a
// note about something optional.
func isAside(m *match) bool {
	return inPassing.MatchString(m.said) && !insisting.MatchString(m.said)
}

var (
	inPassing = &wording{source: `(?i:\boptional(?:ly)?\b|\bdisabled\b|\bdisabling\b|\bskipp(?:ed|ing)\b|\busing (?:the |a |an )?(?:default|in-memory|built-?in|anonymous|/|\./|\w+ instead)|\bdefault(?:s|ing)? to\b|\b(?:falling|fall|falls) back\b|\bwill not be available\b|\bignored\b|\bproceeding without\b|\bcontinuing without\b|\b(?:limited|reduced|unauthenticated|anonymous|demo|read-only) (?:mode|access|functionality)\b)|(?:^|[\s\[|])(?:WARN|WARNING|INFO|DEBUG|NOTICE|NOTE|Warning|Note|Notice|warn|info|debug|warning)(?:\]|:|\s-|\s+[\[|:-]|\s{1,4}[A-Z])`}
	insisting = &wording{source: `(?:^|[\s\[(|])(?i:errors?)(?:\]|:|\s-|\)|,)|\bERROR\b|(?i)\b(?:fatal|critical|exiting|aborting|exception|must|cannot (?:start|run|continue)|panic)\b|\[server stderr\]|\[info\] .*\b(?:required|missing)\b|\bplease set\b|\w+Error:`}
)

// unmet matches a complaint that something required is missing.
var unmet = &wording{source: `(?i)\brequired|\bmissing|\bnot (?:set|provided|given)|\bmust\b`}

// hasDefault matches a line that says what is used instead of a variable that is not set.
var hasDefault = &wording{source: `(?i)\bdefault|\bfall(?:ing|s)? back\b|\boptional|\binstead\b`}

// unset returns the clues that a required variable is not set.
func unset() []clue {
	clues := saidUnset()
	for i, c := range clues {
		when := c.when
		clues[i].when = func(x *exam, m *match) bool {
			return !isAside(m) && !isCode(m.names["variable"]) && !asksForWords(x, m) && (when == nil || when(x, m)) && x.nameDemanded(m)
		}
	}
	return append(clues, clue{faint, `\b(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)['"` + "`" + `]?[^\n]{0,40}? (?i:(?:is |are |was |has )?(?:not (?:been )?(?:set|provided|defined|configured|found|specified)|missing|unset|undefined))\b`,
		func(x *exam, m *match) bool {
			return isAside(m) && namesVariable(x, m) && (!hasDefault.MatchString(m.said) || strings.Contains(m.said, "blank"))
		}})
}

func saidUnset() []clue {
	return []clue{
		{certain, `(?i:environment variables?|env vars?|env variables?):? ['"` + "`" + `(]?(?P<variable>[A-Z][A-Z0-9_]{2,})['"` + "`" + `)]?[^\n]{0,40}(?i:is|was|are|must be|not|missing|required|needs)`, nil},
		{certain, `['"` + "`" + `]?(?P<variable>[A-Z][A-Z0-9_]{2,})['"` + "`" + `]?,? (?i:environment variable|env var|env variable)s?[^\n]{0,60}(?i:required|not set|missing|must|not found|not defined|undefined|empty|is needed|not provided|unset)`, nil},
		{certain, `(?i:missing(?: required)?|required|unset|undefined|set(?: the)?|provide(?: the)?|define(?: the)?|need(?: the)?) (?:env |environment )?(?i:environment variables?|env vars?|env variables?|variables?)[:\s]+['"` + "`" + `(-]{0,2} ?(?P<variable>[A-Z][A-Z0-9_]{2,})`, nil},
		{certain, `(?i:please|must|you need to|ensure|make sure)[^\n]{0,40}(?i:set|provide|define|export|configure|specify)[^\n]{0,30} (?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, nil},
		{certain, `\b(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)['"` + "`" + `]?(?: and| or|,)?[^\n.]{0,60}? (?i:(?:is |are |was |must be |has |env )?(?:not (?:been )?(?:set|provided|defined|configured|found|specified|given)|missing|unset|undefined|required|empty|must be set|must be provided))\b`, namesVariable},
		{certain, `\b(?i:missing(?: required)?|no|required)[: ]+['"` + "`" + `]?(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, namesVariable},
		{certain, `(?i:please set|set one of|set either|set at least one|must set|configure)[^\n]{0,60}:?\s+(?:\S+\s+){0,3}?[-*•] ?(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, namesVariable},
		{certain, `\b(?i:missing|no|undefined|without|lacking)[^\n]{0,40}(?i:\bset|or set|export|via|through) (?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, namesVariable},
		{certain, `(?i:could not|cannot|unable to|failed to|did not) (?i:find|read|load|get) (?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, namesVariable},
		{certain, `\$\{?(?P<variable>[A-Z][A-Z0-9_]{2,})\}? (?i:is |are |was )(?i:not (?:defined|set)|undefined|unset|empty|missing)|(?i:neither) \$(?P<other>[A-Z][A-Z0-9_]{2,}) nor \$[A-Z]`, nil},
		{strong, `KeyError: ['"](?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)['"]`, func(x *exam, m *match) bool {
			return namesVariable(x, m) && (environRead(x.text) || !strings.Contains(x.text, "Traceback") && !strings.Contains(x.text, `File "`))
		}},
		{certain, `(?i:environment variable not found|NotPresent)[^\n]{0,20}(?P<variable>[A-Z][A-Z0-9_]{2,})?`, nil},
		{certain, `(?i)(?:api_key|apiKey) (?:client )?option must be set either by passing`, nil},
		{certain, `(?i:Failed to (?:load|parse|read)|Invalid|Missing)[^\n]{0,20} (?i:environment variables|environment configuration|env(?:ironment)? (?:config|validation))`, nil},
		{strong, `(?s)ZodError:? \[.*?"path": ?\[\s*"(?P<variable>[A-Z][A-Z0-9_]+)"`, nil},
		{strong, `(?s)validation errors? for \w*(?:Settings|Config|Env)\w*\s+(?P<variable>\w+)\s+Field required`, func(x *exam, m *match) bool {
			m.names["variable"] = strings.ToUpper(m.names["variable"]) // pydantic's name for it
			return !slices.Contains([]string{"DEBUG", "LOG_LEVEL", "MOUNT_PATH", "HOST", "PORT"}, m.names["variable"])
		}},
		{certain, `(?:must|should) have required property '(?P<variable>[A-Za-z]\w*(?:[Kk]ey|[Tt]oken|[Ss]ecret|Url|URL|[Pp]assword|[Ii]d)\w*)'`, nil},
		{certain, `(?i)(?:NoRegionError|You must specify a region|region must be provided|Region is missing|AWS_REGION)`, func(_ *exam, m *match) bool {
			m.names = map[string]string{"variable": "AWS_REGION"}
			return true
		}},
		{strong, `The '(?P<variable>[A-Z]\w+)' option must be provided`, nil},
		{strong, `\b(?i:set|export|define|provide) (?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, namesVariable},
		{strong, `\b(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b (?i:must|should|has to|needs to) be (?i:defined|configured|given|specified|present|non-empty)`, namesVariable},
		{strong, `(?i)\b(?:API[ _-]?key|access token|auth(?:entication)? token|api token|bot token|credentials?|connection string|database url|client id|client secret)s? (?:is |are |was |were |must be |has |have )?(?:not (?:been )?(?:set|provided|defined|configured|found|specified|given)|missing|required|undefined|needed)\b`, notAnAnswer},
		{strong, `(?i)\b(?:missing|no|provide (?:an?|your)|requires? an?|must (?:provide|set|specify) (?:an?|your)?) ?(?:required |valid )?(?:API[ _-]?key|access token|auth(?:entication)? token|api token|bot token|connection string|database url|client secret)\b(?: (?:provided|found|set|specified|configured|given))?`, notAnAnswer},
		{likely, `(?i)environment variables? (?:are|is|were|was)? ?(?:not set|missing|required)`, nil},
		{strong, `(?i)\bneither (?P<variable>\w*(?:key|token|secret|credential)\w*)\b[^\n]{0,60}(?:provided|set|given|configured|found)`, nil},
		{strong, `os\.environ\[['"](?P<variable>[A-Z][A-Z0-9_]+)['"]\]`, func(x *exam, _ *match) bool { return strings.Contains(x.text, "KeyError") }},
		{strong, `\(env(?:ironment(?: variable)?)?: ?\$?(?P<variable>[A-Z][A-Z0-9_]{2,})\)`, func(_ *exam, m *match) bool { return unmet.MatchString(m.said) }},
		{strong, `(?i)\b(?:token|api[ _-]?key|secret|password|credentials?|url|host) (?:is|was|are) (?:empty|blank|an empty string)\b|Value cannot be null\. \(Parameter '(?P<parameter>\w*(?:[Kk]ey|[Tt]oken|[Ss]ecret|[Cc]onnection[Ss]tring|[Pp]assword|[Uu]r[il]|[Ee]ndpoint))'\)`, nil},
		{strong, `\bImproperlyConfigured\b[^\n]{0,60}\b(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`, nil},
		{likely, `process\.env\.(?P<variable>[A-Z][A-Z0-9_]+)[^\n]{0,40}(?:undefined|not set|missing)`, nil},
	}
}

// notAnAnswer reports whether a complaint is the server's own and not an HTTP response: a key that
// a service lacks may be set but not sent.
func notAnAnswer(x *exam, m *match) bool {
	return !x.status(&match{}, 401, 403) && !strings.Contains(m.said, "401") && !strings.Contains(strings.ToLower(m.said), "unauthorized") && !strings.Contains(m.said, "error_description")
}

// unsetWhere returns the clues of unset under a further condition, with more confidence: the more
// specific cause is the better one.
func unsetWhere(fits func(x *exam, m *match) bool) []clue {
	var clues []clue
	for _, c := range unset() {
		when := c.when
		clues = append(clues, clue{c.confidence + 0.02, c.expr, func(x *exam, m *match) bool {
			return (when == nil || when(x, m)) && fits(x, m)
		}})
	}
	return clues
}

// envOption matches what docker's -e accepts.
var envOption = &wording{source: `^[A-Z_][A-Z0-9_]*(?:=.*)?$|=|^-`}

// rejected matches responses to a wrong key or token.
var rejected = &wording{source: `(?i)\b(?:401|403|unauthorized|forbidden|invalid (?:x-)?api[- ]?key|invalid token|bad credentials|authentication|access denied)\b`}

// Conditions of the advice about variables.
func isSet(x *exam, m *match) bool   { return slices.Contains(x.Set, m.names["variable"]) }
func unnamed(_ *exam, m *match) bool { return m.names["variable"] == "" }

func environmentCauses() []cause {
	return []cause{
		{
			name: "env_placeholder_not_expanded", category: MissingEnvVar,
			explain: "The server received the reference to {variable|a variable} instead of its value. Either this client does not expand references of that form, or the variable is not set.",
			fix:     "Replace the reference with the value, or refer to {variable|the variable} in the form that this client's documentation describes.",
			clues: []clue{
				{certain, "", func(x *exam, m *match) bool {
					name := unexpanded(x.line)
					if name == "" && len(x.Unfilled) > 0 {
						name = x.Unfilled[0]
					}
					if name == "" || strings.EqualFold(name, "workspaceFolder") {
						return false
					}
					if where := rejected.FindStringIndex(x.text); where != nil {
						m.said, m.names["variable"] = x.page.line(where[0]), name
						return true
					}
					return false
				}},
				{guess, "", func(x *exam, m *match) bool {
					name := unexpanded(x.line)
					if name == "" || strings.HasPrefix(name, "workspaceFolder") || strings.TrimSpace(x.text) == "" || x.bridge() {
						return false
					}
					m.said, _, _ = strings.Cut(x.text, "\n")
					m.names["variable"] = name
					return true
				}},
				{certain, `(?i)(?:no such file or directory|cannot (?:find|access)|does not exist|not found)[^\n]*?\$\{(?:env:)?(?P<variable>[A-Za-z_]\w*)\}`, nil},
				{certain, `(?i)(?:unresolved|unexpanded|could not (?:be )?(?:resolve|expand|substitute)d?|literal|placeholder)[^\n]{0,60}\$\{(?:env:)?(?P<variable>[A-Za-z_]\w*)`, nil},
				{strong, `['"= ](?:\$\{(?:env:)?(?P<variable>[A-Z_][A-Z0-9_]+)\}|\{\{ ?(?P<other>[A-Z_][A-Z0-9_]+) ?\}\})['"\s,]`, nil},
				{strong, `(?i)bearer \$\{?(?P<variable>[A-Z_][A-Z0-9_]+)`, nil},
				{strong, `(?i:invalid|unauthorized|failed|could not|cannot|error)[^\n]*?\$\{(?:env:)?(?P<variable>[A-Z_][A-Z0-9_]+)\}`, nil},
				{strong, `\$\{(?:env:)?(?P<variable>[A-Z_][A-Z0-9_]+)\}[^\n]*?(?i:invalid|unauthorized|failed|not found|error|ENOTFOUND|cannot)`, nil},
				{certain, `(?i)missing environment variables? in (?:config|MCP config)[^\n]{0,40}:? ?(?P<variable>[A-Z_][A-Z0-9_]+)?`, nil},
				{strong, `(?i)(?:substitution|interpolation)[^\n]{0,40}variable[^\n]{0,20}['"$]{0,2}(?P<variable>[A-Z_][A-Z0-9_]+)`, nil},
			},
			hides: []string{"http_unauthorized", "http_forbidden", "invalid_api_key", "env_not_set", "oauth_not_completed", "auth_header_malformed", "hostname_wrong", "wrong_directory_argument", "data_file_missing", "script_missing"},
		},
		{
			name: "env_not_forwarded_to_container", category: MissingEnvVar,
			explain: "{variable|A variable that the server requires} is not set inside the container. Docker passes on only the variables specified with -e.",
			fix:     "Add `-e {variable|NAME}` to the arguments of docker run (the name, not the value), and set the value under \"env\" in the server's entry.",
			clues: append(unsetWhere(func(x *exam, m *match) bool { return x.container() }),
				clue{certain, "", func(x *exam, m *match) bool { // -e accepts NAME or NAME=value; this is neither
					where := rejected.FindStringIndex(x.text)
					for i, word := range x.Command {
						if where != nil && i > 0 && (x.Command[i-1] == "-e" || x.Command[i-1] == "--env") && !envOption.MatchString(word) {
							m.said = x.page.line(where[0])
							return true
						}
					}
					return false
				}}),
			hides: []string{"env_not_set", "invalid_api_key", "http_unauthorized"},
		},
		{
			name: "env_given_as_argument", category: MissingEnvVar,
			explain: "{variable|A variable} was given as an argument, but the server reads it from the environment.",
			fix:     "Move the variable to \"env\" in the server's entry: `\"env\": {{\"{variable|NAME}\": \"VALUE\"}`",
			clues: unsetWhere(func(x *exam, m *match) bool {
				name := m.names["variable"]
				return name != "" && slices.ContainsFunc(withoutShell(x.Command), func(word string) bool {
					return strings.HasPrefix(strings.TrimLeft(word, "-"), name+"=")
				}) && !x.container()
			}),
			hides: []string{"env_not_set"},
		},
		{
			name: "dotenv_not_loaded", category: MissingEnvVar,
			explain: "The server did not read its .env file ({path|expected in the server's working directory}), so {variable|its settings} are missing.",
			fix:     "Set \"cwd\" to the server's directory, or set the variables under \"env\" in the server's entry.",
			clues: []clue{
				{certain, `(?i)(?:could not|cannot|failed to|unable to|no) (?:find|load|read|open)?[^\n]{0,20}\.env(?: file)?\b[^\n]{0,20}(?:not found|missing|found)?`, func(_ *exam, m *match) bool { return !strings.Contains(m.said, "injecting env") }},
				{certain, `(?i)\.env(?: file)? (?:is )?(?:not found|missing|does not exist|could not be (?:found|loaded|read))`, nil},
				{certain, `ENOENT[^\n]{0,60}open '(?P<path>[^'\n]*\.env)'`, nil},
				{certain, `node: (?P<path>\S*\.env): not found`, nil},
				{strong, `docker: (?:--env-file|open) (?P<path>\S*\.env): no such file`, nil},
			},
			hides: []string{"env_not_set", "data_file_missing"},
		},
		{
			name: "env_not_set", category: MissingEnvVar,
			explain: "The server requires {variable|a setting}, which is not set in the environment that the client provides.",
			fix:     "Set the variable under \"env\" in the server's entry: `\"{variable|NAME}\": \"VALUE\"`",
			instead: []advice{
				{when: byRegistry, explain: "The server exited without giving a reason. According to the registry, it requires {variables|settings}, and this is not set.",
					fix: "Set this under \"env\" in the server's entry: `{pairs|\"NAME\": \"VALUE\"}`"},
				{when: isSet, explain: "The server reports {variables|a setting} as missing although it is set: the value does not reach the server, or the server does not accept it.",
					fix: "Check the value of {variable|the variable} under \"env\" in the server's entry: its form, and spaces or quotes in it."},
				{when: several, explain: "The server requires {variables|several settings}, which are not set in the environment that the client provides.",
					fix: "Set the variables under \"env\" in the server's entry: `{pairs|\"NAME\": \"VALUE\"}`"},
				{when: unnamed, explain: "The server requires a setting that is not set. Its output does not name the variable.",
					fix: "Look up the name of the variable in the server's documentation, and set it under \"env\" in the server's entry."},
			},
			clues: append(unset(), clue{guess, "", requiredClue}),
			hides: []string{"server_bug_crash", "stdout_log_pollution", "required_argument_missing"},
		},
	}
}
