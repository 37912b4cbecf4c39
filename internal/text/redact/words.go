package redact

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/sorting"
)

// MaskWords returns a command line with every secret on it masked: after a flag that suggests one,
// in a header, in an address, in a connection string. It may mask too much: the configuration still
// shows it, and nothing else is hidden because of it.
func MaskWords(argv []string) []string {
	hits := commandHits(argv)
	masked := make([]string, len(argv))
	for i, word := range argv {
		masked[i] = hideHits(word, hits[i])
	}
	return masked
}

// CommandSecrets returns the secrets on a command line, to be hidden wherever they are repeated. A
// value whose flag does not prove that it is one, such as the word after -p, is included only if it
// does not look like a word: hiding the name of a project in every message would make messages
// useless.
func CommandSecrets(argv []string) Secrets {
	known, suspected := commandValues(argv)
	return JoinSecrets(KnownSecrets(known...), SuspectedSecrets(suspected...))
}

// VisibleCommandSecrets is CommandSecrets without values that may be commands themselves. Only
// these are hidden in a diff that a user must approve: what will be run must be visible.
func VisibleCommandSecrets(argv []string) Secrets {
	known, suspected := commandValues(argv)
	return JoinSecrets(KnownSecrets(slices.DeleteFunc(known, runnable)...), SuspectedSecrets(slices.DeleteFunc(suspected, runnable)...))
}

func commandValues(argv []string) (known, suspected []string) {
	for i, hits := range commandHits(argv) {
		for _, s := range hits {
			for _, value := range decoded(argv[i][s.from:s.to]) {
				switch {
				case s.certain:
					known = append(known, value)
				case !wordlike(value):
					suspected = append(suspected, value)
				}
			}
		}
	}
	return known, suspected
}

// hit is a secret in a text. certain means that its place proves it to be one.
type hit struct {
	from, to int
	certain  bool
}

// commandHits finds the secrets in each word of a command line.
func commandHits(argv []string) [][]hit {
	all := make([][]hit, len(argv))
	program := launched(argv)
	for i, word := range argv {
		all[i] = append(addressHits(word), namedHits(word)...)
		if i > 0 && i != program {
			all[i] = append(all[i], flagHits(argv[i-1], word)...)
		}
		if strings.ContainsAny(word, " \t") { // a command line of its own, as for sh -c
			all[i] = append(all[i], nestedHits(word)...)
		}
	}
	return all
}

func nestedHits(line string) (found []hit) {
	var words []string
	var starts []int
	for at := 0; at < len(line); {
		rest := strings.TrimLeft(line[at:], " \t\n\"'")
		start := len(line) - len(rest)
		end := start + len(rest)
		if stop := strings.IndexAny(rest, " \t\n\"'"); stop >= 0 {
			end = start + stop
		}
		if start < end {
			words, starts = append(words, line[start:end]), append(starts, start)
		}
		at = end + 1
	}
	for i := 1; i < len(words); i++ {
		for _, s := range flagHits(words[i-1], words[i]) {
			found = append(found, hit{starts[i] + s.from, starts[i] + s.to, s.certain})
		}
	}
	return found
}

// flagHits finds the secret in a word because of the flag before it or the flag that it begins
// with.
func flagHits(before, word string) []hit {
	if strings.HasPrefix(word, "-") {
		name, value, joined := strings.Cut(word, "=")
		if len(name) > 2 && name[1] != '-' { // -pVALUE, as for mysql
			if found := gluedHits(word[:2], word[2:], name[2:]); found != nil {
				return found
			}
		}
		if joined {
			return valueHits(name, value, len(name)+1)
		}
		return nil
	}
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
		return valueHits(before, word, 0)
	}
	return nil
}

// valueHits finds the secret in the value of a flag; at is where the value begins in its word.
func valueHits(flag, value string, at int) []hit {
	name := strings.TrimLeft(flag, "-")
	whole := []hit{{at, at + len(value), false}}
	after := func(separator string) (from int, rest string) {
		before, rest, ok := strings.Cut(value, separator)
		if !ok {
			return 0, ""
		}
		from = at + len(before) + len(separator)
		return from + len(rest) - len(strings.TrimLeft(rest, " ")), strings.TrimLeft(rest, " ")
	}
	switch {
	case value == "" || reference(value) || isPath(value) || strings.Contains(value, "://"):
		return nil
	case name == "H" || strings.HasSuffix(strings.ToLower(name), "header"): // Name: value
		if from, rest := after(":"); rest != "" && !reference(rest) {
			return []hit{{from, from + len(rest), true}}
		}
	case name == "u" || strings.EqualFold(name, "user"): // name:password
		if from, rest := after(":"); rest != "" && !numeric(value) {
			return []hit{{from, from + len(rest), true}}
		}
	case name == "e" || strings.EqualFold(name, "env"): // NAME=value for a container
		if from, rest := after("="); len(rest) > 7 && !reference(rest) && !isPath(rest) {
			return []hit{{from, from + len(rest), false}}
		}
	case suggestsSecret(name) && !harmless(name, value):
		whole[0].certain = true
		return whole
	case name == "p" || name == "k":
		if !numeric(value) && !isSource(value) {
			return whole
		}
	}
	if len(name) == 1 && opaque(value) {
		return whole
	}
	return nil
}

// gluedHits parses -pVALUE. Lower-case letters alone are the rest of a flag's name, as in -port or
// -port=80.
func gluedHits(flag, value, name string) []hit {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-_") == "" {
		return nil
	}
	switch flag {
	case "-p", "-k", "-u", "-H":
		return valueHits(flag, value, len(flag))
	}
	return nil
}

// launched returns the index of the word that names what a command line runs. Flags before it
// belong to the launcher, as in npx -p PACKAGE, python -u SCRIPT or docker run -p 80:80.
func launched(argv []string) int {
	return slices.IndexFunc(argv, func(word string) bool { return !strings.HasPrefix(word, "-") && !launcher(word) })
}

// launcher reports whether a word names a program that runs the program named by its first argument
// that is not a flag.
func launcher(word string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	return slices.Contains([]string{"npx", "uvx", "bunx", "pnpx", "pipx", "npm", "pnpm", "yarn", "uv", "node", "bun", "deno", "python", "python3", "sh", "bash", "zsh", "cmd",
		"docker", "podman", "run", "exec", "x", "dlx", "tool", "gauze"}, name)
}

// runnable reports whether a value may be a command: it contains spaces or shell characters, or is
// a path.
func runnable(value string) bool {
	return strings.ContainsAny(value, " \t\n;|&<>`$(){}") || isPath(value)
}

func isPath(value string) bool {
	for _, start := range []string{"/", "./", "../", "~", `.\`, `\\`} {
		if strings.HasPrefix(value, start) {
			return true
		}
	}
	return len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
}

// isSource reports whether a value is the name of a source or configuration file.
func isSource(value string) bool {
	dot := strings.LastIndexByte(value, '.')
	return dot > 0 && slices.Contains(sources, value[dot+1:])
}

// numeric reports whether a value is a number, a version, a port mapping or a pair of ids.
func numeric(value string) bool { return strings.Trim(value, "0123456789.:-") == "" }

// reference reports whether a value only refers to a variable, possibly after a scheme.
func reference(value string) bool {
	if _, rest, ok := strings.Cut(value, " "); ok {
		value = rest
	}
	return strings.HasSuffix(value, "}") && (strings.HasPrefix(value, "${") || strings.HasPrefix(value, "{env:")) && strings.Count(value, "}") == 1
}

// wordlike reports whether a value reads as an ordinary word or name.
func wordlike(value string) bool {
	return len(value) < 16 && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz-_.") == ""
}

// hideHits hides hits in a text. They may overlap.
func hideHits(s string, hits []hit) string {
	if len(hits) == 0 {
		return s
	}
	sorting.Stable(hits, func(a, b hit) int { return a.from - b.from })
	var b strings.Builder
	done := 0
	for i := 0; i < len(hits); {
		from, to := hits[i].from, hits[i].to
		for i++; i < len(hits) && hits[i].from <= to; i++ {
			to = max(to, hits[i].to)
		}
		b.WriteString(s[done:from] + mark)
		done = to
	}
	return b.String() + s[done:]
}
