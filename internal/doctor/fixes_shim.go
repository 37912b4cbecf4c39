package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// throughCmd starts a script of Windows through cmd.exe, which helps only if
// the script is there: ENOENT may also mean that nothing of that name is. Words
// that mean something to cmd.exe are left alone: quoting them is not possible
// for all.
func throughCmd(p *plan) []Fix {
	if p.c.Spawn.Errno == "ENOENT" && len(p.Find(p.missing(), p.env)) == 0 {
		return installProgram(p)
	}
	words := append([]string{p.spec.Command}, p.spec.Args...)
	special := func(word string) bool { return strings.ContainsAny(word, "&|<>^%\"!\r\n()") }
	if p.OS != "windows" || program(p.spec.Command) == "cmd" || slices.ContainsFunc(words, special) {
		return nil
	}
	return []Fix{{Name: "cmd-c", Takes: starts(trust.Entry), About: "starts it through cmd /c: on Windows " + program(p.spec.Command) + " is a script",
		Next: "start it through the shell: cmd /c " + p.spec.ShownIn(p.typing()),
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			s.Command, s.Args = "cmd", append([]string{"/c", s.Command}, s.Args...)
			return s
		}}}
}

// systemVariables are what programs on Windows expect to be there.
var systemVariables = []string{"APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "SystemRoot", "SystemDrive", "windir", "ProgramData", "ProgramFiles", "ProgramFiles(x86)", "ComSpec", "PATHEXT", "TEMP", "TMP"}

// passSystemVariables gives the server Windows' own variables as we have them.
func passSystemVariables(p *plan) []Fix {
	var lacking []string
	for _, name := range systemVariables {
		if _, has := lookup(p.env, name, true); !has && p.variable(name) != "" {
			lacking = append(lacking, name)
		}
	}
	if p.OS != "windows" || len(lacking) == 0 {
		return nil
	}
	list := strings.Join(lacking, ", ")
	return []Fix{{Name: "system-variables", Takes: starts(trust.Machine), About: "passes Windows' own variables on, which the server does not get: " + list,
		Next: `add them to the "env" part of the server's entry: ` + list,
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for _, name := range lacking {
				s.Env = set(s.Env, name, p.variable(name), true)
			}
			return s
		}}}
}
