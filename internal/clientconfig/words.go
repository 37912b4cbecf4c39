package clientconfig

import (
	"path"
	"slices"
	"strings"
)

// list converts strings for use in a document.
func list(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	return all
}

// runners are programs that take a command line.
var runners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "python", "python3", "node", "deno", "docker", "podman",
	"go", "cargo", "dotnet", "java", "ruby", "php", "cmd", "sh", "bash", "zsh", "gauze"}

// program returns the name of a program without its directory and extension.
func program(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// commandLine splits a command that includes its arguments. A path with a space in it is not split.
func commandLine(command string) []string {
	const maxCommandLen = 4096
	if len(command) > maxCommandLen {
		return nil
	}
	all, ok := shellWords(command)
	if !ok || len(all) < 2 || !slices.Contains(runners, program(all[0])) {
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
	for _, sign := range []string{"your_", "your-", "<your", "yourapikey", "yourtoken", "changeme", "change_me", "change-me", "replace_me", "replace-me", "replace_with", "insert_", "xxxx", "placeholder", "api_key_here", "token_here", "key-here", "_here"} {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return lower == "..." || lower == "todo" || len(lower) > 2 && strings.HasPrefix(lower, "<") && strings.HasSuffix(lower, ">")
}
