package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// variableName matches names that can only be variables: API, HTTP and ERROR are words.
var variableName = regex.New(`^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$`)

var plainVariables = []string{"DSN", "PORT", "TOKEN", "DATABASEURL", "APPDATA", "HOME", "PATH"}

func namesVariable(m *match) bool {
	name := m.names["variable"]
	return variableName.MatchString(name) && !strings.HasPrefix(name, "ERR_") || slices.Contains(plainVariables, name)
}

// isCode reports whether a name is an error code: systems and libraries write these like variables.
func isCode(name string) bool {
	return slices.ContainsFunc([]string{"EAI_", "ERR_", "UND_ERR", "UNABLE_TO_", "DEPTH_ZERO_", "SELF_SIGNED_", "CERT_HAS_", "CERT_NOT_",
		"HPE_", "ERROR_", "STATUS_", "SSL_ERROR", "NS_ERROR"},
		func(front string) bool { return strings.HasPrefix(name, front) })
}

// environRead reports whether a Python stack trace shows that a name was looked up in the
// environment and not in a dictionary.
func environRead(text string) bool {
	return slices.ContainsFunc([]string{"environ", "getenv", "<frozen os>", `os.py"`, "env[", "config("},
		func(sign string) bool { return strings.Contains(text, sign) })
}

// isAside reports whether a line mentions only in passing that something is not set: a warning or a
// note about something optional.
func isAside(m *match) bool {
	return inPassing.MatchString(m.said) && !insisting.MatchString(m.said)
}

var (
	inPassing = regex.New(`(?i:\boptional(?:ly)?\b|\bdisabled\b|\bdisabling\b|\bskipp(?:ed|ing)\b|\busing (?:the |a |an )?(?:default|` +
		`in-memory|built-?in|anonymous|/|\./|\w+ instead)|\bdefault(?:s|ing)? to\b|\b(?:falling|fall|falls) back\b|\bwill not be ` +
		`available\b|\bignored\b|\bproceeding without\b|\bcontinuing without\b|\b(?:limited|reduced|unauthenticated|anonymous|demo|` +
		`read-only) (?:mode|access|functionality)\b)|(?:^|[\s\[|])(?:WARN|WARNING|INFO|DEBUG|NOTICE|NOTE|Warning|Note|Notice|warn|info|` +
		`debug|warning)(?:\]|:|\s-|\s+[\[|:-]|\s{1,4}[A-Z])`)
	insisting = regex.New(`(?:^|[\s\[(|])(?i:errors?)(?:\]|:|\s-|\)|,)|\bERROR\b|(?i)\b(?:fatal|critical|exiting|aborting|exception|` +
		`must|cannot (?:start|run|continue)|panic)\b|\[server stderr\]|\[info\] .*\b(?:required|missing)\b|\bplease set\b|\w+Error:`)
)

// envOption matches what docker's -e accepts.
var envOption = regex.New(`^[A-Z_][A-Z0-9_]*(?:=.*)?$|=|^-`)

// rejected matches responses to a wrong key or token.
var rejected = regex.New(`(?i)\b(?:401|403|unauthorized|forbidden|invalid (?:x-)?api[- ]?key|invalid token|bad credentials|` +
	`authentication|access denied)\b`)

// wholeReference returns the variable whose unexpanded reference is a whole argument or the whole
// value of one. Bridges expand references in headers themselves.
func (c command) wholeReference() string {
	for _, word := range c.words {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if c.bridge() && strings.Contains(word, ":${") {
			continue
		}
		if name := unexpanded(word); name != "" && !editorVariable(name) && len(word) <= len(name)+len("${env:}") {
			return name
		}
	}
	return ""
}

// editorVariable reports whether editors, not shells, define the variable.
func editorVariable(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "workspace") || lower == "userhome" || strings.HasPrefix(lower, "input") || lower == "__dirname" ||
		lower == "claude_plugin_root"
}

// namedNotGiven returns a variable that docker run passes on by name but that the entry does not
// set, or "".
func (x *exam) namedNotGiven() string {
	if !x.cmd.container() || x.Env == nil {
		return ""
	}
	for i := 1; i < len(x.Command); i++ {
		name := x.Command[i]
		if before := x.Command[i-1]; (before == "-e" || before == "--env") && variableName.MatchString(name) && !slices.Contains(x.Env, name) {
			return name
		}
	}
	return ""
}

func referenceRejected(m *match) bool {
	name := unexpanded(m.x.cmd.line)
	if name == "" && len(m.x.Unfilled) > 0 {
		name = m.x.Unfilled[0]
	}
	if name == "" || strings.EqualFold(name, "workspaceFolder") {
		return false
	}
	if where := rejected.FindStringIndex(m.x.text); where != nil {
		m.said, m.names["variable"] = m.x.page.line(where[0]), name
		return true
	}
	return false
}

func referenceInCommand(m *match) bool {
	name := unexpanded(m.x.cmd.line)
	if name == "" || strings.HasPrefix(name, "workspaceFolder") || strings.TrimSpace(m.x.text) == "" || m.x.cmd.bridge() {
		return false
	}
	m.said, _, _ = strings.Cut(m.x.text, "\n")
	m.names["variable"] = name
	return true
}

func referenceAsArgument(m *match) bool {
	name := m.x.cmd.wholeReference()
	if name == "" || !m.x.onlySymptom(m, nil) {
		return false
	}
	m.names["variable"] = name
	return true
}

func valueWithoutName(m *match) bool { // -e accepts NAME or NAME=value; this is neither
	where := rejected.FindStringIndex(m.x.text)
	for i, word := range m.x.Command {
		if where != nil && i > 0 && (m.x.Command[i-1] == "-e" || m.x.Command[i-1] == "--env") && !envOption.MatchString(word) {
			m.said = m.x.page.line(where[0])
			return true
		}
	}
	return false
}

func namedButNotGiven(m *match) bool {
	name := m.x.namedNotGiven()
	if name == "" || !strings.Contains(m.x.text, name) && !rejected.MatchString(m.x.text) {
		return false
	}
	m.said, m.names["variable"] = "-e "+name, name
	return true
}

func assignedInArguments(m *match) bool {
	name := m.names["variable"]
	return name != "" && slices.ContainsFunc(withoutShell(m.x.Command), func(word string) bool {
		return strings.HasPrefix(strings.TrimLeft(word, "-"), name+"=")
	}) && !m.x.cmd.container()
}

func settingsField(m *match) bool {
	m.names["variable"] = strings.ToUpper(m.names["variable"]) // pydantic's name for it
	return !slices.Contains([]string{"DEBUG", "LOG_LEVEL", "MOUNT_PATH", "HOST", "PORT"}, m.names["variable"])
}
