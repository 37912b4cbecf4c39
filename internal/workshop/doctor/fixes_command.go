package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

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
		About: "splits the command line, which is one string, into the program and its arguments",
		Next:  `Set "command" to the program alone, and make each argument an element of "args".`,
		Apply: func(s launch.Spec) launch.Spec { return splitCommand(s, p.m.OS == "windows") }}
	if len(set) > 0 {
		f.About = "passes the assignments before the program as environment variables, and splits the rest into the program and its arguments"
		f.Next = `Set "command" to the program alone, make each argument an element of "args", and set the variables under "env".`
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
	apply := changed(func(s *launch.Spec) {
		s.Command, s.Dir = p.m.atHome(s.Command), p.m.atHome(s.Dir)
		for i, word := range s.Args {
			s.Args[i] = p.m.atHome(word)
		}
	})
	if now := apply(p.spec); p.m.Home == "" || now.Command == p.spec.Command && now.Dir == p.spec.Dir && slices.Equal(now.Args, p.spec.Args) {
		return nil
	}
	return []Fix{{Name: "expand-home", Origins: starts(trust.Entry, trust.Machine),
		About: "expands ~ or $HOME to your home directory, as a shell would",
		Next:  "Use the full path of your home directory in the configuration: `" + p.server().quoted(p.m.Home) + "`", Apply: apply}}
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
			return []Fix{{Name: "join-path", Origins: starts(trust.Entry),
				About: "joins the path that was split at a space: " + p.server().quoted(path),
				Next:  "Make the path a single element, without extra quotes: `" + p.server().quoted(path) + "`",
				Apply: changed(func(s *launch.Spec) {
					now := slices.Concat(words[:from], []string{path}, words[to:])
					s.Command, s.Args = now[0], now[1:]
				})}}
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

// throughCmd starts a Windows script with cmd.exe, which helps only if the script exists: ENOENT may
// also mean that it does not. It does nothing for commands with characters that are special to
// cmd.exe, because not all of them can be quoted.
func throughCmd(p *plan) []Fix {
	if p.c.Spawn.Errno == "ENOENT" && len(p.m.Find(p.missing(), p.env)) == 0 {
		return installProgram(p)
	}
	words := append([]string{p.spec.Command}, p.spec.Args...)
	special := func(word string) bool { return strings.ContainsAny(word, "&|<>^%\"!\r\n()") }
	if p.m.OS != "windows" || program(p.spec.Command) == "cmd" || slices.ContainsFunc(words, special) {
		return nil
	}
	return []Fix{{Name: "cmd-c", Origins: starts(trust.Entry),
		About: "starts " + program(p.spec.Command) + " with cmd /c, because on Windows it is a script",
		Next:  "Start the program with cmd.exe: `cmd /c " + p.spec.ShownIn(p.m.typing()) + "`",
		Apply: changed(func(s *launch.Spec) {
			s.Command, s.Args = "cmd", append([]string{"/c", s.Command}, s.Args...)
		})}}
}

// systemVariables are the variables that programs on Windows expect.
var systemVariables = []string{"APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "SystemRoot", "SystemDrive", "windir",
	"ProgramData", "ProgramFiles", "ProgramFiles(x86)", "ComSpec", "PATHEXT", "TEMP", "TMP"}

// passSystemVariables gives the server the standard Windows variables of gauze's own environment.
func passSystemVariables(p *plan) []Fix {
	var lacking []string
	for _, name := range systemVariables {
		if _, has := lookup(p.env, name, true); !has && p.m.variable(name) != "" {
			lacking = append(lacking, name)
		}
	}
	if p.m.OS != "windows" || len(lacking) == 0 {
		return nil
	}
	list := strings.Join(lacking, ", ")
	return []Fix{{Name: "system-variables", Origins: starts(trust.Machine),
		About: "adds the standard Windows variables that the server lacks: " + list,
		Next:  `Set these variables under "env" in the server's entry: ` + list + ".",
		Apply: changed(func(s *launch.Spec) {
			for _, name := range lacking {
				s.Env = set(s.Env, name, p.m.variable(name), true)
			}
		})}}
}

// quietVariables keep log output off stdout. They change only what is printed.
var quietVariables = [][2]string{
	{"NO_COLOR", "1"}, {"NPM_CONFIG_LOGLEVEL", "silent"}, {"npm_config_update_notifier", "false"},
	{"DOTENV_CONFIG_QUIET", "true"}, {"PYTHONUNBUFFERED", "1"}, {"PYTHONIOENCODING", "utf-8"}, {"PYTHONUTF8", "1"},
}

// quiet asks the server and its runner not to print log output.
func quiet(p *plan) []Fix {
	return p.server().setting("quiet", "turns off banners and log output from the server and its runner", quietVariables)
}

// inUTF8 makes Python write UTF-8 regardless of the console's code page.
func inUTF8(p *plan) []Fix {
	return p.server().setting("utf-8", "switches Python's output to UTF-8", quietVariables[5:])
}

// setting sets variables that are not set yet.
func (srv server) setting(name, about string, variables [][2]string) []Fix {
	var lacking [][2]string
	var list []string
	for _, v := range variables {
		if _, has := lookup(srv.env, v[0], srv.m.OS == "windows"); !has {
			lacking, list = append(lacking, v), append(list, v[0]+"="+v[1])
		}
	}
	if len(lacking) == 0 || srv.spec.URL != "" {
		return nil
	}
	text := strings.Join(list, " ")
	return []Fix{{Name: name, Origins: starts(trust.Entry), About: about + ": " + text,
		Next: "Set these variables under \"env\" in the server's entry: `" + text + "`",
		Apply: changed(func(s *launch.Spec) {
			for _, v := range lacking {
				s.Env = set(s.Env, v[0], v[1], srv.m.OS == "windows")
			}
		})}}
}
