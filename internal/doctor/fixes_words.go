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

// requirementShapes are how tools say which version they want.
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

// splitLine takes a command line that was given as one word apart.
func splitLine(p *plan) []Fix {
	words := SplitCommand(p.spec.Command)
	if len(words) < 2 || isFile(p.spec.Command) || strings.Contains(words[0], "://") {
		return nil
	}
	return []Fix{{Name: "split-command", Takes: starts(trust.Entry),
		About: "takes the command line, which was given as one word, apart into the program and its arguments",
		Next:  `write the program alone as "command" and each argument as an entry of "args"`,
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			words := SplitCommand(s.Command)
			s.Command, s.Args = words[0], append(words[1:], s.Args...)
			return s
		}}}
}

// homeSpellings are how people write their home folder; only a shell knows.
var homeSpellings = []string{"~", "$HOME", "${HOME}", "${userHome}", "${env:HOME}", "%USERPROFILE%", "%HOME%"}

// atHome puts the home folder in where a word begins with it, or where the
// value of an option does.
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

// expandTilde puts the home folder in for ~ in command, arguments and folder.
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
	return []Fix{{Name: "expand-home", Takes: starts(trust.Entry, trust.Machine), About: "puts your home folder in for ~ or $HOME: no shell does it here",
		Next: "write the whole path in the configuration: " + p.Home + "/...", Apply: apply}}
}

// joinSpaces puts a path together that was cut at its spaces, if it is there.
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
			return []Fix{{Name: "join-path", Takes: starts(trust.Entry), About: "puts the path together that was cut at its space: " + path,
				Next: "give the path as one entry, without quotes of its own: " + path,
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

// again starts the server once more: what a runner has fetched by now is in
// its cache.
func again(p *plan) []Fix {
	if !p.spec.Downloads() {
		return nil
	}
	return []Fix{{Name: "again", Takes: starts(trust.Entry), About: "starts it once more: what was downloaded is in the cache now",
		Next: "run it once in a terminal, so that it is in the cache: " + p.spec.Shown(), Apply: copied}}
}
