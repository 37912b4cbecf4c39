package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// throughCmd starts a Windows script with cmd.exe, which helps only if the script exists: ENOENT may
// also mean that it does not. It does nothing for commands with characters that are special to
// cmd.exe, because not all of them can be quoted.
func throughCmd(p *plan) []Fix {
	if p.c.Spawn.Errno == "ENOENT" && len(p.Find(p.missing(), p.env)) == 0 {
		return installProgram(p)
	}
	words := append([]string{p.spec.Command}, p.spec.Args...)
	special := func(word string) bool { return strings.ContainsAny(word, "&|<>^%\"!\r\n()") }
	if p.OS != "windows" || program(p.spec.Command) == "cmd" || slices.ContainsFunc(words, special) {
		return nil
	}
	return []Fix{{Name: "cmd-c", Origins: starts(trust.Entry), About: "starts " + program(p.spec.Command) + " with cmd /c, because on Windows it is a script",
		Next: "Start the program with cmd.exe: `cmd /c " + p.spec.ShownIn(p.typing()) + "`",
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			s.Command, s.Args = "cmd", append([]string{"/c", s.Command}, s.Args...)
			return s
		}}}
}

// systemVariables are the variables that programs on Windows expect.
var systemVariables = []string{"APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "SystemRoot", "SystemDrive", "windir", "ProgramData", "ProgramFiles", "ProgramFiles(x86)", "ComSpec", "PATHEXT", "TEMP", "TMP"}

// passSystemVariables gives the server the standard Windows variables of gauze's own environment.
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
	return []Fix{{Name: "system-variables", Origins: starts(trust.Machine), About: "passes on the standard Windows variables that the server lacks: " + list,
		Next: `Set these variables under "env" in the server's entry: ` + list + ".",
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for _, name := range lacking {
				s.Env = set(s.Env, name, p.variable(name), true)
			}
			return s
		}}}
}
