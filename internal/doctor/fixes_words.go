package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// requirementShapes returns the patterns by which tools name the version that they require.
var requirementShapes = sync.OnceValue(func() map[string][]*regexp.Regexp {
	return map[string][]*regexp.Regexp{
		"node": {
			regexp.MustCompile(`required: \{[^}]{0,120}\bnode: '([^'\n]{1,60})'`),
			regexp.MustCompile(`"node" is incompatible with this module\. Expected version "([^"\n]{1,60})"`),
			regexp.MustCompile(`Required: \{[^}]{0,80}"node":"([^"\n]{1,60})"`),
			regexp.MustCompile(`(?i)(?:requires?|needs?|minimum)[^\n]{0,40}\bNode(?:\.?js)?(?: version)?:? ?(?:version )?v?((?:>=|\^|~)? ?\d[\d.]*)`),
			regexp.MustCompile(`(?i)\bNode(?:\.?js)?(?: version)? ((?:>=|\^)? ?v?\d[\d.]*(?:\+| or (?:higher|newer|later|above)))`),
		},
		"python": {
			regexp.MustCompile(`requires a different Python: [\d.]+ not in '([^'\n]{1,60})'`),
			regexp.MustCompile(`satisfy Python ?([<>=~!][^\s\n]{0,40})`),
			regexp.MustCompile(`Requires-Python ([<>=~!][^\s;]{0,40})`),
		},
	}
})

// splitLine splits a command line that was given as one word.
func splitLine(p *plan) []Fix {
	words := SplitCommand(p.spec.Command)
	if assigned.MatchString(p.spec.Command) {
		words = append(words, p.spec.Args...)
	}
	set, words := leadingVariables(words)
	if len(words) < 1 || len(words) < 2 && len(set) == 0 || isFile(p.spec.Command) || strings.Contains(words[0], "://") {
		return nil
	}
	f := Fix{Name: "split-command", Origins: starts(trust.Entry),
		About: "splits the command line, which was given as one string, into the program and its arguments",
		Next:  `Set "command" to the program alone, and write each argument as an element of "args".`,
		Apply: func(s launch.Spec) launch.Spec { return splitCommand(s, p.OS == "windows") }}
	if len(set) > 0 {
		f.About = "passes the variables before the program as variables, and splits the rest into the program and its arguments"
		f.Next = `Set "command" to the program alone, write each argument as an element of "args", and set the variables under "env".`
	}
	return []Fix{f}
}

// leadingVariables splits off the assignments before a program. If one of them decides what code
// runs, it returns no words.
func leadingVariables(words []string) (pairs, rest []string) {
	for len(words) > 0 && assigned.MatchString(words[0]) {
		if name, _, _ := strings.Cut(words[0], "="); loads(name) {
			return nil, nil
		}
		pairs, words = append(pairs, words[0]), words[1:]
	}
	return pairs, words
}

func splitCommand(s launch.Spec, fold bool) launch.Spec {
	s = copied(s)
	pairs, words := leadingVariables(append(SplitCommand(s.Command), s.Args...))
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		s.Env = set(s.Env, name, value, fold)
	}
	s.Command, s.Args = words[0], words[1:]
	return s
}

// homeSpellings are the ways to write the home directory that only shells and some clients expand.
var homeSpellings = []string{"~", "$HOME", "${HOME}", "${userHome}", "${env:HOME}", "%USERPROFILE%", "%HOME%"}

// atHome expands the home directory at the beginning of a word or of an option's value.
func (m *Machine) atHome(word string) string {
	option, path, ok := strings.Cut(word, "=")
	if ok && (strings.HasPrefix(option, "-") || isVariable(option)) {
		return option + "=" + m.atHome(path)
	}
	for _, spelling := range homeSpellings {
		if rest, ok := strings.CutPrefix(word, spelling); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
			return m.Home + rest
		}
	}
	return word
}

// expandTilde expands the home directory in the command, the arguments and the working directory.
func expandTilde(p *plan) []Fix {
	apply := func(s launch.Spec) launch.Spec {
		s = copied(s)
		s.Command, s.Dir = p.atHome(s.Command), p.atHome(s.Dir)
		for i, word := range s.Args {
			s.Args[i] = p.atHome(word)
		}
		return s
	}
	if now := apply(p.spec); p.Home == "" || now.Command == p.spec.Command && now.Dir == p.spec.Dir && slices.Equal(now.Args, p.spec.Args) {
		return nil
	}
	return []Fix{{Name: "expand-home", Origins: starts(trust.Entry, trust.Machine), About: "expands ~ or $HOME to your home directory, as a shell would",
		Next: "Write the full path of your home directory in the configuration: `" + p.quoted(p.Home) + "`", Apply: apply}}
}

// joinSpaces joins a path that was split at its spaces, if it exists.
func joinSpaces(p *plan) []Fix {
	words := append([]string{p.spec.Command}, p.spec.Args...)
	for from := range words {
		if !filepath.IsAbs(words[from]) || isFile(words[from]) || isFolder(words[from]) {
			continue
		}
		for to := from + 2; to <= min(len(words), from+8); to++ {
			path := strings.Join(words[from:to], " ")
			if _, err := os.Stat(path); err != nil {
				continue
			}
			return []Fix{{Name: "join-path", Origins: starts(trust.Entry), About: "joins the path that was split at a space: " + p.quoted(path),
				Next: "Write the path as a single element, without extra quotes: `" + p.quoted(path) + "`",
				Apply: func(s launch.Spec) launch.Spec {
					s = copied(s)
					now := slices.Concat(words[:from], []string{path}, words[to:])
					s.Command, s.Args = now[0], now[1:]
					return s
				}}}
		}
	}
	return nil
}

// retryFromCache starts the server a second time: what a runner has downloaded by now is in its
// cache.
func retryFromCache(p *plan) []Fix {
	if !p.spec.Downloads() {
		return nil
	}
	return []Fix{{Name: "again", Origins: starts(trust.Entry), About: "starts the server again, because the download is now in the cache",
		Next: "Run the command once in a terminal to fill the cache: `" + p.spec.Shown() + "`", Apply: copied}}
}
