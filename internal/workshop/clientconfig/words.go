package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// list converts strings for use in a document.
func list(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	return all
}

// takesCommandLine reports whether a program is followed by what it runs.
func takesCommandLine(name string) bool {
	return launch.Fetches(name) || slices.Contains(common().CommandLines, name)
}

// program returns the name of a program without its directory and extension.
func program(command string) string { return launch.ProgramName(command) }

// commandLine splits a command that includes its arguments. A path with a space in it is not split.
func commandLine(command string) []string {
	const maxCommandLen = 4096
	if len(command) > maxCommandLen {
		return nil
	}
	all, ok := shellWords(command)
	if !ok || len(all) < 2 || !takesCommandLine(program(all[0])) {
		return nil
	}
	return all
}

// shellWords splits a line as a shell would, if it uses no other shell syntax.
func shellWords(line string) (all []string, ok bool) {
	var b strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				all = append(all, b.String())
				b.Reset()
			}
			inWord = false
		case strings.ContainsRune("|&;<>`\n\r\\", r):
			return nil, false
		default:
			b.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		all = append(all, b.String())
	}
	return all, quote == 0
}

// isPlaceholder reports whether a value is a placeholder from an example.
func isPlaceholder(value string) bool {
	lower := strings.ToLower(strings.TrimSpace(value))
	lower = strings.TrimPrefix(strings.TrimPrefix(lower, "bearer "), "basic ")
	if slices.ContainsFunc(common().Placeholders, func(sign string) bool { return strings.Contains(lower, sign) }) {
		return true
	}
	return lower == "..." || lower == "todo" || len(lower) > 2 && strings.HasPrefix(lower, "<") && strings.HasSuffix(lower, ">")
}
