package doctor

import (
	"slices"
	"strings"
)

// A server that lacks a value says so in its own words: "set the NOTES_TOKEN environment variable",
// "pass the path as an argument", "no access token was provided" above a page of usage. demand reads
// from the complaint what the server lacks, whatever the words around it are.

// statement is the line of a complaint together with the list below it, if there is one.
func (x *exam) statement(m *match) string {
	at := strings.Index(x.text, m.said)
	if m.said == "" || at < 0 {
		return m.said
	}
	end := at + len(m.said)
	for end < len(x.text) {
		line, _, _ := strings.Cut(x.text[end+1:], "\n")
		if !listItem.MatchString(line) {
			break
		}
		end += 1 + len(line)
	}
	return x.text[at:end]
}

// listItem matches a line of a list of variables, or of a validator's list of errors before it.
var listItem = &wording{source: `^\s*_errors: \[\],?$|^\s*(?:[-*•·+]|\d{1,2}[.)])?\s*['"` + "`" + `$]?(?:export )?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+['"` + "`" + `]?\s*(?:$|[=:(–—-]| - )`}

// variableWord matches a word that can be the name of a variable.
var variableWord = &wording{source: `\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`}

// listGlue matches what may be between two variables of one list.
var listGlue = &wording{source: `^(?:=\S*)?['"` + "`" + `)]*(?:[ \t]*(?:,|;|/|&|\||\+)|[ \t]*\n\s*(?:[-*•·+]|\d{1,2}[.)])?|[ \t]+(?:and|or|nor|and/or|plus|as well as)\b)+[ \t'"` + "`" + `($]*(?:(?:(?:and|or|set|both|either|the|your|an?|export|optionally)\b|--[\w-]+(?:=\S+)?)[ \t,'"` + "`" + `($]*)*$`}

// oneIsEnough matches a list of alternatives.
var oneIsEnough = &wording{source: `(?i)\b(?:or|nor|either|neither|one of|at least one|any of)\b|[A-Z0-9] ?[/|] ?[A-Z]`}

// demanded returns the variables that a complaint is about: the one that was matched and those
// listed with it, or the first of the statement. Of alternatives it returns one. Variables that are
// set are not returned, unless all are.
func (x *exam) demanded(m *match) []string {
	text := x.statement(m)
	var list []string
	end := 0
	glue := ""
	for _, at := range variableWord.regexp().FindAllStringIndex(text, 16) {
		name := text[at[0]:at[1]]
		if isCode(name) || loads(name) || at[0] > 0 && strings.ContainsRune("=-/.", rune(text[at[0]-1])) {
			continue
		}
		between := text[end:at[0]]
		if len(list) > 0 && !listGlue.MatchString(between) && !(strings.Contains(between, "\n") && listItem.MatchString(text[strings.LastIndexByte(text[:at[0]], '\n')+1:])) {
			if slices.Contains(list, m.names["variable"]) || m.names["variable"] == "" {
				break
			}
			list, glue = nil, ""
		} else if len(list) > 0 {
			glue += between
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
		end = at[1]
	}
	if name := m.names["variable"]; name != "" && !slices.Contains(list, name) {
		return []string{name}
	}
	open := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(x.Set, name) })
	if len(open) == 0 {
		return list
	}
	if oneIsEnough.MatchString(glue) || len(list) > 1 && alternatives.MatchString(m.said) {
		return open[:1]
	}
	return open
}

// alternatives matches the words that introduce a list of which one element is enough.
var alternatives = &wording{source: `(?i)\b(?:either|neither|one of|at least one|any of)\b`}

// credentialNoun matches what a server calls a value that it lacks.
var credentialNoun = &wording{source: `(?i)\b(?:api[ _-]?key|access[ _-]token|auth(?:entication)?[ _-]token|api[ _-]token|bot[ _-]token|connection[ _-]string|database[ _-]ur[il]|client[ _-]id|client[ _-]secret|token|secret|password)\b`}

// elsewhere returns the variable that the rest of the output, such as a page of usage, gives for
// what the complaint calls an "access token" or "API key". Several of them name none.
func (x *exam) elsewhere(m *match) string {
	noun := strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(credentialNoun.FindString(m.hit)))
	if noun == "" {
		return ""
	}
	found := ""
	for _, name := range variableWord.FindAllString(x.text, 64) {
		if !strings.HasSuffix(name, "_"+noun) || isCode(name) || loads(name) || name == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// name adds the variables that a complaint is about to its match. It reports false for a complaint
// that names none and asks for an argument.
func (x *exam) nameDemanded(m *match) bool {
	if m.names == nil {
		m.names = map[string]string{}
	}
	all := x.demanded(m)
	if len(all) == 0 {
		if byArgument.MatchString(m.said) {
			return false
		}
		if name := x.elsewhere(m); name != "" {
			all = []string{name}
		}
	}
	if len(all) > 0 {
		m.names["variable"], m.names["variables"] = all[0], strings.Join(all, ", ")
	}
	return true
}

// byArgument matches a complaint that asks for a word on the command line.
var byArgument = &wording{source: `(?i)\b(?:command[- ]line|cli|positional|first|second|startup) (?:arg(?:ument)?|parameter|option|flag)s?\b|\b(?:as|with|via|using|through|by|pass(?:ing)?) (?:an?|the|one|your)?(?: \w+)? ?(?:arg(?:ument)?|flag|option)s?\b|\s--[a-z][\w-]+`}

// demandClues returns the clues for demands that are not about a variable alone.
func demandClues() map[string][]clue {
	const demand = `(?i:provide|specify|pass|supply|give|requires?|required|missing|expect(?:s|ed)|needs?|must|no)\b`
	return map[string][]clue{
		"env_not_set": {
			{strong, `(?i:\b(?:set|export|define|provide|specify|supply|configure|pass|use|via|through|from|in)) (?i:(?:it|them|one|this) (?:in|as|via|through|with) )?(?i:the |your |an? )?['"` + "`" + `]?(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)['"` + "`" + `]? (?i:environment variable|env(?:ironment)? var)`, func(x *exam, m *match) bool {
				return !isAside(m) && namesVariable(x, m) && !isCode(m.names["variable"]) && x.nameDemanded(m)
			}},
			{strong, `(?i:environment variables?|env(?:ironment)? vars?|\bexport):? +(?i:export |set )?['"` + "`" + `]?(?P<variable>[A-Z][A-Z0-9_]{2,})=`, func(x *exam, m *match) bool {
				return beforeSession(x, m) && x.Exit.Code != 0 && !isAside(m) && !loads(m.names["variable"]) && !slices.Contains(x.Set, m.names["variable"])
			}},
			{likely, `(?s)[(,= ](?P<variable>[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:URL|URI|KEY|TOKEN|HOST|SECRET|PASSWORD|ID|DSN))[,)\s].{0,600}'NoneType' object has no attribute`, func(x *exam, m *match) bool {
				return beforeSession(x, m) && strings.Contains(x.text, "Traceback") && !loads(m.names["variable"]) && !slices.Contains(x.Set, m.names["variable"])
			}},
			{strong, `"message": ?"[^"\n]*",\s*"path": ?\[\s*"\w+"`, func(x *exam, m *match) bool {
				return beforeSession(x, m) && emptyValue.MatchString(m.hit)
			}},
			{strong, `\b(?i:(?:url|uri|host|key|token|secret|password|username|database|region|account|connection string)s? (?:cannot|can't|must not|may not|should not) be (?:empty|blank|null|undefined))\b`, func(x *exam, m *match) bool {
				return beforeSession(x, m) && !isAside(m) && x.nameDemanded(m)
			}},
		},
		"required_argument_missing": {
			{certain, `\b(?i:provide|specify|pass|supply|give|requires?|expects?|needs?) (?i:(?:an?|the|your|at least one|one) )?(?P<option>[a-zA-Z][\w' -]{2,40}?) (?i:as|via|using|with|through|on) (?i:an? |the |your )?(?i:first |second |only |single |positional |required |extra )*(?i:command[- ]line |cli |startup )?(?i:arg(?:ument)?|parameter)s?\b`, asksForWord},
			{certain, `\b` + demand + `[^\n]{0,80}?\b(?i:as|via|using|with|through|on) (?i:an? |the |your )?(?i:first |second |only |single |positional |required |extra )*(?i:command[- ]line |cli |startup )?(?i:arg(?:ument)?|parameter)s?\b`, asksForWord},
			{certain, `\b` + demand + `[^\n]{0,60}\b(?i:command[- ]line|cli|positional) (?i:arg(?:ument)?|parameter|option|flag)s?\b`, asksForWord},
			{strong + 0.01, `\b` + demand + `[^\n]{0,60}?[ '"` + "`" + `(](?P<option>--[a-z][\w-]{2,})`, asksForWord}, // more than a usage line
			{strong, `(?i)\b(?:invalid|wrong|incorrect|insufficient|bad) number of (?:command[- ]line )?arg(?:ument)?s\b|\b(?:not enough|too few) (?:command[- ]line )?arg(?:ument)?s\b`, asksForWord},
			{certain, `(?i)\b(?:unknown|invalid|unsupported|unrecognized|no such) (?:sub-?)?command:? ['"` + "`" + `]?(?:undefined|null|none|nil)\b|\bno (?:sub-?)?command (?:was )?(?:given|specified|provided|supplied)\b`, asksForWord},
			{likely, `(?m)^(?:[^\n]{0,24}[\s\]:|])?(?i:usage): *\n?[^\n<]{0,120}(?P<option><[^>\n]{1,60}>)`, func(x *exam, m *match) bool {
				return x.Live && x.Exit.Known && x.Exit.Code != 0 && asksForWord(x, m)
			}},
		},
		"docker_daemon_down": { // in the words of the libraries that servers use
			{certain, `DockerException: Error while fetching server API version[^\n]*(?:FileNotFoundError|ConnectionRefusedError|[Cc]onnection refused|No such file|CreateFile)`, nil},
			{certain, `\bconnect E(?:NOENT|CONNREFUSED) [^\n]*(?:docker|podman)[\w.-]*\.sock|(?i:could not find a valid docker environment)`, nil},
			{strong, `(?i)\b(?:connect\w*|reach\w*|access\w*|open\w*|dial\w*)\b[^\n]{0,60}(?:docker|podman)[\w.-]*\.sock[^\n]{0,60}(?:no such file|not found|refused|os error (?:2|61|111))`, nil},
		},
		"wrong_directory_argument": {
			{strong, `(?i)\b(?:does(?: not|n't) exist|not found|no such (?:file|directory|path)|not accessible|cannot (?:access|open|read|find)|not a (?:valid )?(?:directory|folder|path|repository|vault|project|file))\b`, namesPathArgument},
		},
		"setting_value_invalid": { // a short verdict, or the validator's own list of problems
			{likely, `(?m)^(?:\w*Error: |\[?(?i:error|fatal)\]?:? )?(?i:invalid) (?P<option>[A-Za-z]\w{2,30})\.?\s*$`, func(x *exam, m *match) bool {
				if wholeConfiguration.MatchString(m.names["option"]) {
					m.names = nil
				}
				return beforeSession(x, m) && x.Exit.Known && x.Exit.Code != 0 && (m.names != nil || !lacksValue.MatchString(x.text))
			}},
			{likely, `"message": ?"(?P<option>[^"\n]{1,120})",\s*"path": ?\[\s*"\w+"`, func(x *exam, m *match) bool {
				return beforeSession(x, m) && !emptyValue.MatchString(x.text)
			}},
		},
		"package_unpublished": {
			{certain, `(?i)No versions available for (?P<package>@?[\w./-]+)|\b(?P<name>[\w.-]+)(?:==\S+)? was yanked\b|all versions of (?P<other>@?[\w./-]+) (?:were|have been|are) (?:yanked|unpublished|removed|withdrawn)`, nil},
		},
		"oauth_not_completed": {
			{certain, `(?i:\b(?:run|start|execute|launch|invoke|use)\b)[^\n]{0,60}?[ '"` + "`" + `](?P<step>auth|login|authenticate|setup|init|configure)['"` + "`" + `]?(?: (?i:argument|command|subcommand|flag|option|step|script|once))* (?i:first|before|once)\b`, func(x *exam, _ *match) bool {
				return x.URL == ""
			}},
		},
	}
}

// wholeConfiguration matches the object of a verdict on everything that a server was given: what is
// wrong with it is said elsewhere.
var wholeConfiguration = &wording{source: `(?i)^(?:config(?:uration)?|settings?|options?|arguments?|args|parameters?|environment|env|input)$`}

// lacksValue matches a complaint about a value that is not there.
var lacksValue = &wording{source: `(?i)\b(?:is|are) (?:required|missing|not set|undefined)\b|\b(?:missing|no) [\w-]+ (?:key|token|variable|argument|option)`}

// emptyValue matches a validator's message about a value that is not set.
var emptyValue = &wording{source: `"message": ?"(?i:required"|[^"\n]*(?:(?:cannot|can't|must not|may not|should not) be (?:empty|blank)|is required|received undefined))`}

// beforeSession reports whether gauze saw the server fail before it opened a session: later, a complaint
// about a value is about a call.
func beforeSession(x *exam, _ *match) bool { return x.Live && x.Stage < Initialized }

// namesPathArgument reports whether a line names a path that the entry passes to the server.
func namesPathArgument(x *exam, m *match) bool {
	for i, word := range x.Command {
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			word = value
		}
		at := strings.Index(m.said, word)
		if i == 0 || at < 0 || !pathArgument.MatchString(word) || scriptFile.MatchString(word) {
			continue
		}
		if end := at + len(word); end == len(m.said) || strings.ContainsRune(" ,;:)'\"`.", rune(m.said[end])) {
			m.names = map[string]string{"path": word}
			return true
		}
	}
	return false
}

var (
	pathArgument = &wording{source: `^(?:~?/|\.{1,2}/|[A-Za-z]:[\\/])[^\s]{2,}$`}
	scriptFile   = &wording{source: `\.(?:[cm]?[jt]s|pyw?|sh|rb|jar|exe|cmd)$`}
)

// asksForWord reports whether a complaint of the server asks for a word on its command line and
// names no variable that would do as well.
func asksForWord(x *exam, m *match) bool {
	if strings.Contains(x.text, "tools/call") || strings.Contains(x.text, "-32602") || toolsOwnAdvice.MatchString(m.said) {
		return false
	}
	option := m.names["option"]
	given := option != "" && slices.ContainsFunc(x.Command, func(word string) bool { return word == option || strings.HasPrefix(word, option+"=") })
	return x.URL == "" && !given && !isAside(m) && len(x.demanded(m)) == 0
}

// toolsOwnAdvice matches lines by runners and interpreters about options of their own.
var toolsOwnAdvice = &wording{source: `^\s*(?:npm|pnpm|yarn|pip|uv|hint|error: externally|\(Use|\(node:|docker:)\b|TypeError|__init__|\bfunction\b|positional arguments? (?:but|were)|\bto use\b`}
