package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
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
var listItem = regex.New(`^\s*_errors: \[\],?$|^\s*(?:[-*•·+]|\d{1,2}[.)])?\s*['"` + "`" +
	`$]?(?:export )?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+['"` + "`" + `]?\s*(?:$|[=:(–—-]| - )`)

// variableWord matches a word that can be the name of a variable.
var variableWord = regex.New(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// listGlue matches what may be between two variables of one list.
var listGlue = regex.New(`^(?:=\S*)?['"` + "`" + `)]*(?:[ \t]*(?:,|;|/|&|\||\+)|[ \t]*\n\s*(?:[-*•·+]|\d{1,2}[.)])?|` +
	`[ \t]+(?:and|or|nor|and/or|plus|as well as)\b)+[ \t'"` + "`" + `($]*(?:(?:(?:and|or|set|both|either|the|your|an?|` +
	`export|optionally)\b|--[\w-]+(?:=\S+)?)[ \t,'"` + "`" + `($]*)*$`)

// oneIsEnough matches a list of alternatives.
var oneIsEnough = regex.New(`(?i)\b(?:or|nor|either|neither|one of|at least one|any of)\b|[A-Z0-9] ?[/|] ?[A-Z]`)

// demanded returns the variables that a complaint is about: the one that was matched and those
// listed with it, or the first of the statement. Of alternatives it returns one. Variables that are
// set are not returned, unless all are.
func (x *exam) demanded(m *match) []string {
	text := x.statement(m)
	var list []string
	end := 0
	glue := ""
	for _, at := range variableWord.FindAllStringIndex(text, 16) {
		name := text[at[0]:at[1]]
		if isCode(name) || loads(name) || at[0] > 0 && strings.ContainsRune("=-/.", rune(text[at[0]-1])) {
			continue
		}
		between := text[end:at[0]]
		if len(list) > 0 && !listGlue.MatchString(between) &&
			!(strings.Contains(between, "\n") && listItem.MatchString(text[strings.LastIndexByte(text[:at[0]], '\n')+1:])) {
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
var alternatives = regex.New(`(?i)\b(?:either|neither|one of|at least one|any of)\b`)

// credentialNoun matches what a server calls a value that it lacks.
var credentialNoun = regex.New(`(?i)\b(?:api[ _-]?key|access[ _-]token|auth(?:entication)?[ _-]token|api[ _-]token|` +
	`bot[ _-]token|connection[ _-]string|database[ _-]ur[il]|client[ _-]id|client[ _-]secret|token|secret|password)\b`)

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

// nameDemanded adds the variables that a complaint is about to its match. It reports false for a complaint
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
var byArgument = regex.New(`(?i)\b(?:command[- ]line|cli|positional|first|second|startup) (?:arg(?:ument)?|parameter|` +
	`option|flag)s?\b|\b(?:as|with|via|using|through|by|pass(?:ing)?) (?:an?|the|one|your)?(?: \w+)? ?(?:arg(?:ument)?|` +
	`flag|option)s?\b|\s--[a-z][\w-]+`)

// wholeConfiguration matches the object of a verdict on everything that a server was given: what is
// wrong with it is said elsewhere.
var wholeConfiguration = regex.New(`(?i)^(?:config(?:uration)?|settings?|options?|arguments?|args|parameters?|environment|env|input)$`)

// lacksValue matches a complaint about a value that is not there.
var lacksValue = regex.New(`(?i)\b(?:is|are) (?:required|missing|not set|undefined)\b|\b(?:missing|no) [\w-]+ (?:key|` +
	`token|variable|argument|option)`)

// beforeSession reports whether gauze saw the server fail before it opened a session: later, a complaint
// about a value is about a call.
func beforeSession(m *match) bool { return m.x.Live && m.x.Stage < Initialized }

// namesPathArgument reports whether a line names a path that the entry passes to the server.
func namesPathArgument(m *match) bool {
	for i, word := range m.x.Command {
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
	pathArgument = regex.New(`^(?:~?/|\.{1,2}/|[A-Za-z]:[\\/])[^\s]{2,}$`)
	scriptFile   = regex.New(`\.(?:[cm]?[jt]s|pyw?|sh|rb|jar|exe|cmd)$`)
)

// asksForWord reports whether a complaint of the server asks for a word on its command line and
// names no variable that would do as well.
func asksForWord(m *match) bool {
	if m.x.mentions("tools/call", "-32602") || toolsOwnAdvice.MatchString(m.said) {
		return false
	}
	option := m.names["option"]
	given := option != "" && slices.ContainsFunc(m.x.Command,
		func(word string) bool { return word == option || strings.HasPrefix(word, option+"=") })
	return m.x.URL == "" && !given && !isAside(m) && len(m.x.demanded(m)) == 0
}

// toolsOwnAdvice matches lines by runners and interpreters about options of their own.
var toolsOwnAdvice = regex.New(`^\s*(?:npm|pnpm|yarn|pip|uv|hint|error: externally|\(Use|\(node:|docker:)\b|` +
	`TypeError|__init__|\bfunction\b|positional arguments? (?:but|were)|\bto use\b`)

// variableList matches names of variables that are listed together: "A_B, C_D and E_F", or one per
// line with a bullet.
var variableList = regex.New(`\b` + variableShape + "(?:['\"`)\\]}]*" +
	`(?:\s*(?:,|;|/|&|\+|\band\b|\bor\b)|\s*\n\s*(?:[-*•]|\d+[.)]))+\s*` + "['\"`(\\[]*\\$?\\{?" + variableShape + `\b)*`)

const variableShape = `[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+`

var oneVariable = regex.New(variableShape)

// maxVariables bounds how many variables one message may name.
const maxVariables = 12

// listedWith returns the variables that a text lists together with name, which may be alone.
func listedWith(text, name string) []string {
	for _, list := range variableList.FindAllString(text, -1) {
		names := oneVariable.FindAllString(list, maxVariables)
		if !slices.Contains(names, name) {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return isCode(name) || loads(name) })
		if len(names) > 1 {
			return unique(names)
		}
	}
	return []string{name}
}

func unique(names []string) (all []string) {
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// inWords returns a list as it is written in a sentence: "A, B and C".
func inWords(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// listed returns the variables that the evidence of a cause names.
func (x *exam) listed(m *match) []string { return listedIn(x.text, m.names) }

// listedIn is listed for what a clue captured in a text.
func listedIn(text string, names map[string]string) []string {
	name := names["variable"]
	if !shapes["variable"].MatchString(name) || loads(name) {
		return nil
	}
	all := strings.Split(names["variables"], ", ") // see nameDemanded
	if all[0] == name && !slices.ContainsFunc(all, func(name string) bool { return !isVariable(name) || loads(name) }) {
		return all
	}
	return listedWith(text, name)
}

// required returns the variables that a registry lists as required for the server's package and that
// are not set. It asks only about a command that exited without a reason.
func (m *Machine) required(ctx context.Context, spec launch.Spec, c Case) (names []string) {
	if m.Required == nil || spec.URL != "" || !c.Exit.Known || !Diagnose(c).Unexplained() {
		return nil
	}
	cmd := newCommand(c.Command, c.URL)
	kind, name := launch.Registry(cmd.runner()), withoutVersion(cmd.packageName())
	if kind != "npm" && kind != "pypi" || name == "" {
		return nil
	}
	for _, variable := range m.Required(ctx, kind, name) {
		if isVariable(variable) && !loads(variable) && !slices.Contains(c.Set, variable) && len(names) < maxVariables {
			names = append(names, variable)
		}
	}
	return names
}

// requiredClue finds the variables that a registry lists. Its entries are not verified, so this is weaker
// than anything that the server says.
func requiredClue(m *match) bool {
	if len(m.x.Required) == 0 || m.x.Stage >= Initialized {
		return false
	}
	m.names["variable"], m.names["variables"] = m.x.Required[0], strings.Join(m.x.Required, ", ")
	m.said = "required according to the registry: " + m.names["variables"]
	return true
}
