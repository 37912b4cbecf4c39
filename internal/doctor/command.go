package doctor

import (
	"path"
	"slices"
	"strings"
)

// SplitCommand splits a command line that a person wrote into words. Quotes keep a word together;
// nothing else is interpreted, because the result is never run by a shell.
func SplitCommand(line string) []string {
	const longest = 16 << 10
	line = line[:min(len(line), longest)]
	var words []string
	var word strings.Builder
	var quote rune
	inside := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inside = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inside {
				words = append(words, word.String())
				word.Reset()
			}
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	return words
}

// program returns the name of an executable without its directory and Windows extension.
func program(word string) string {
	word = path.Base(strings.ReplaceAll(word, `\`, "/"))
	lower := strings.ToLower(word)
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		lower = strings.TrimSuffix(lower, ending)
	}
	return lower
}

// withoutShell returns the command that follows `cmd /c`, `sudo` and `env`.
func withoutShell(words []string) []string {
	for len(words) > 0 {
		switch program(words[0]) {
		case "cmd":
			if len(words) > 1 && strings.EqualFold(words[1], "/c") {
				words = words[2:]
				continue
			}
		case "sudo":
			words = words[1:]
			continue
		case "env":
			words = words[1:]
			for len(words) > 0 && strings.Contains(words[0], "=") {
				words = words[1:]
			}
			continue
		}
		break
	}
	return words
}

// runner returns the name of the program that is started.
func (x *exam) runner() string {
	if words := withoutShell(x.Command); len(words) > 0 {
		return program(words[0])
	}
	return ""
}

// runs reports whether the command is one of these programs.
func (x *exam) runs(programs ...string) bool { return slices.Contains(programs, x.runner()) }

// downloads reports whether the command may download a package before the server starts.
func (x *exam) downloads() bool {
	return x.runs("npx", "uvx", "bunx", "pnpx", "pipx", "dnx", "docker", "podman", "uv", "npm", "pnpm", "yarn", "bun", "deno")
}

// container reports whether the server runs in a container.
func (x *exam) container() bool {
	return x.runs("docker", "podman", "docker-compose", "nerdctl") || strings.Contains(x.line, "docker run")
}

// has reports whether one of these words is in the command.
func (x *exam) has(words ...string) bool {
	return slices.ContainsFunc(x.Command, func(word string) bool { return slices.Contains(words, word) })
}

// interactive reports whether a container has a stdin.
func (x *exam) interactive() bool {
	return slices.ContainsFunc(x.Command, func(word string) bool {
		return word == "--interactive" || word == "--interactive=true" || shortFlags.MatchString(word)
	})
}

var shortFlags = &wording{source: `^-[a-zA-Z]*i[a-zA-Z]*$`}

// packageName returns the package that npx, uvx or a similar program runs.
func (x *exam) packageName() string {
	words := withoutShell(x.Command)
	if len(words) < 2 {
		return ""
	}
	takesValue := []string{"-p", "--package", "--from", "--with", "--python", "--directory", "--index-url", "--registry", "-c", "--call", "--spec"}
	switch program(words[0]) {
	case "npx", "uvx", "bunx", "pnpx", "pipx", "dnx", "npm", "pnpm", "yarn", "uv", "bun", "pip", "pip3":
	default:
		return ""
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--from", word == "-p", word == "--package", word == "--spec":
			if i+1 < len(words) {
				return words[i+1]
			}
		case slices.Contains(takesValue, word):
			i++
		case strings.HasPrefix(word, "-"):
		case slices.Contains([]string{"run", "exec", "dlx", "x", "tool", "install", "i", "add"}, word):
		default:
			return word
		}
	}
	return ""
}

// pinned reports whether the entry asks for a particular version of the package.
func (x *exam) pinned() bool {
	name := x.packageName()
	version := strings.TrimPrefix(name, withoutVersion(name))
	return version != "" && version != "@latest" && !strings.HasPrefix(version, "[")
}

// keepPinned is the advice if a different version may help but the entry pins one.
const keepPinned = "The entry pins this version, which may be incomplete or too old for its dependencies. The user decides whether to use a different one."

// address returns the URL that the server is reached by, directly or through a bridge.
func (x *exam) address() string {
	if x.URL != "" {
		return x.URL
	}
	return webAddress.FindString(x.line)
}

var webAddress = &wording{source: `https?://[^\s"'<>,)]+`}

// remote reports whether the server is reached over HTTP.
func (x *exam) remote() bool {
	return x.URL != "" || len(x.Command) > 0 && webAddress.MatchString(x.Command[0]) || x.bridge()
}

// bridge reports whether the command only forwards messages to a URL.
func (x *exam) bridge() bool {
	return strings.Contains(x.line, "mcp-remote") || strings.Contains(x.line, "supergateway") || strings.Contains(x.line, "mcp-proxy")
}

// local matches an address on the same machine.
var local = &wording{source: `(?i)(?:localhost|\b127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0)`}

// placeholder matches a reference to a variable that was not expanded.
var placeholder = &wording{source: `\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_.-]*)(?::?-[^}]*)?\}|\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}|%([A-Z_][A-Z0-9_]+)%|\$\((?:env:)?([A-Z_][A-Z0-9_]+)\)`}

// unexpanded returns the variable in the first placeholder of a string.
func unexpanded(text string) string {
	m := placeholder.FindStringSubmatch(text)
	for i := 1; i < len(m); i++ {
		if m[i] != "" {
			return m[i]
		}
	}
	return ""
}
