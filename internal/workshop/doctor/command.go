package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
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
func program(word string) string { return launch.ProgramName(word) }

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

// command is what a server is started or reached by, as configured.
type command struct {
	words []string // program and arguments
	url   string   // instead of words
	line  string   // the words as one line
}

func newCommand(words []string, url string) command {
	return command{words, url, strings.Join(words, " ")}
}

// commandOf returns the command of a Spec.
func commandOf(s launch.Spec) command {
	return newCommand(append([]string{s.Command}, s.Args...), s.URL)
}

// runner returns the name of the program that is started.
func (c command) runner() string {
	if words := withoutShell(c.words); len(words) > 0 {
		return program(words[0])
	}
	return ""
}

// runs reports whether the command is one of these programs.
func (c command) runs(programs ...string) bool { return slices.Contains(programs, c.runner()) }

// downloads reports whether the command may download a package before the server starts. Some runners
// usually run what is there.
func (c command) downloads() bool {
	return launch.Fetches(c.runner()) && !c.runs("cargo", "dotnet", "go", "pip", "pip3")
}

// container reports whether the server runs in a container.
func (c command) container() bool {
	return c.runs("docker", "podman", "docker-compose", "nerdctl") || strings.Contains(c.line, "docker run")
}

// has reports whether one of these words is in the command.
func (c command) has(words ...string) bool {
	return slices.ContainsFunc(c.words, func(word string) bool { return slices.Contains(words, word) })
}

// interactive reports whether a container has a stdin.
func (c command) interactive() bool {
	return slices.ContainsFunc(c.words, func(word string) bool {
		return word == "--interactive" || word == "--interactive=true" || shortFlags.MatchString(word)
	})
}

var shortFlags = regex.New(`^-[a-zA-Z]*i[a-zA-Z]*$`)

// packageName returns the package that npx, uvx or a similar program runs.
func (c command) packageName() string {
	words := withoutShell(c.words)
	if len(words) < 2 {
		return ""
	}
	takesValue := []string{"-p", "--package", "--from", "--with", "--python", "--directory", "--index-url", "--registry", "-c", "--call",
		"--spec"}
	if launch.Registry(program(words[0])) == "" {
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
func (c command) pinned() bool {
	name := c.packageName()
	version := strings.TrimPrefix(name, withoutVersion(name))
	return version != "" && version != "@latest" && !strings.HasPrefix(version, "[")
}

// address returns the URL that the server is reached by, directly or through a bridge.
func (c command) address() string {
	if c.url != "" {
		return c.url
	}
	return webAddress.FindString(c.line)
}

var webAddress = regex.New(`https?://[^\s"'<>,)]+`)

// remote reports whether the server is reached over HTTP.
func (c command) remote() bool {
	return c.url != "" || len(c.words) > 0 && webAddress.MatchString(c.words[0]) || c.bridge()
}

// bridge reports whether the command only forwards messages to a URL.
func (c command) bridge() bool {
	return strings.Contains(c.line, "mcp-remote") || strings.Contains(c.line, "supergateway") || strings.Contains(c.line, "mcp-proxy")
}

// local matches an address on the same machine.
var local = regex.New(`(?i)(?:localhost|\b127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0)`)

// placeholder matches a reference to a variable that was not expanded.
var placeholder = regex.New(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_.-]*)(?::?-[^}]*)?\}|\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}|` +
	`%([A-Z_][A-Z0-9_]+)%|\$\((?:env:)?([A-Z_][A-Z0-9_]+)\)`)

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
