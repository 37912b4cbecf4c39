package doctor

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// windowsArgument reports whether one of the server's arguments is a path of Windows, but gauze
// itself saw the failure on a different system.
func windowsArgument(m *match) bool {
	at := slices.IndexFunc(m.x.Command, windowsPath.MatchString)
	if at < 1 || !m.x.Live || m.x.typing().Windows() {
		return false
	}
	m.names = map[string]string{"argument": m.x.Command[at]}
	return true
}

// cutAtSpace reports whether a missing path is the part before a space of a path in the entry.
func cutAtSpace(m *match) bool {
	_, rest, found := strings.Cut(m.x.cmd.line, m.names["path"]+" ")
	rest, _, _ = strings.Cut(rest, " ")
	return found && strings.ContainsAny(m.names["path"], `/\`) && !strings.ContainsAny(rest[:min(1, len(rest))], `-/\`) &&
		strings.ContainsAny(rest, `/\.`) && !strings.Contains(path.Base(strings.ReplaceAll(m.names["path"], `\`, "/")), ".")
}

var relativeCwd = regex.New(`"?\bcwd"?\s*[:=]\s*"(\.{1,2}[/\\][^"\n]*)"`)

// splitArgument reports whether a path among the arguments was split at its spaces: the words after
// it continue it.
func (c command) splitArgument() bool {
	for i, word := range c.words {
		if i == 0 || !strings.HasPrefix(word, "/") && !drivePath.MatchString(word) || strings.Contains(path.Base(word), ".") {
			continue
		}
		rest := c.words[i+1:]
		if len(rest) > 1 && !slices.ContainsFunc(rest, func(word string) bool { return !barePathWord.MatchString(word) }) {
			return true
		}
	}
	return false
}

var barePathWord = regex.New(`^[A-Za-z]\w*$`)

func noSuchDirectory(m *match) bool {
	if m.x.Spawn.Of != "cwd" {
		return false
	}
	m.said, m.names["path"] = "chdir "+m.x.Spawn.Path+": no such file or directory", m.x.Spawn.Path
	return true
}

func relativeDirectory(m *match) bool {
	at := relativeCwd.FindStringSubmatch(m.x.text)
	if at == nil || !m.x.cmd.runs(m.names["command"]) {
		return false
	}
	m.names["path"] = at[1]
	return true
}
