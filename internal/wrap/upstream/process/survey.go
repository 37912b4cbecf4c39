package process

import (
	"path/filepath"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// Limits on a survey.
const (
	maxProcesses = 32
	maxPorts     = 16
)

// surveyed is one process.
type surveyed struct {
	pid, parent int
	args        []string
	listens     []int
	talksTo     []int // remote ports of established connections
	moved       int64 // bytes read and written
}

// surveyOf evaluates the processes. remote has the ports that downloads come from.
func surveyOf(leader int, all []surveyed, remote map[int]bool) life.Survey {
	s := life.Survey{Surveyed: true}
	for _, first := range []bool{true, false} {
		for _, p := range all {
			if (p.pid == leader) == first && len(s.Processes) < maxProcesses {
				s.Processes = append(s.Processes, commandName(p.args))
			}
		}
	}
	for _, p := range all {
		s.Moved += p.moved
		for _, port := range p.listens {
			if len(s.Ports) < maxPorts {
				s.Ports = append(s.Ports, port)
			}
		}
		if s.Downloading == "" && installs(p.args) && !hasLaunched(p.pid, all) {
			for _, port := range p.talksTo {
				if remote[port] {
					s.Downloading = commandName(p.args) + " is connected to a package registry"
				}
			}
		}
	}
	return s
}

// hasLaunched reports whether a launcher has started something that is neither a shell nor a
// launcher. A connection that it still has is left over from its download.
func hasLaunched(launcher int, all []surveyed) bool {
	for _, p := range all {
		if p.parent != launcher {
			continue
		}
		if launch.IsShell(baseName(first(p.args))) || installs(p.args) {
			if hasLaunched(p.pid, all) {
				return true
			}
			continue
		}
		return true
	}
	return false
}

var interpreters = map[string]bool{"node": true, "nodejs": true, "python": true, "python3": true, "ruby": true, "perl": true}

// installs reports whether the command may fetch a package before it starts it.
func installs(args []string) bool {
	if launch.Installs(baseName(first(args))) {
		return true
	}
	if len(args) > 2 && args[1] == "-m" {
		return launch.Installs(args[2])
	}
	return launch.Installs(baseName(script(args)))
}

// launches reports whether the command only starts the server and waits for it, so that no message
// depends on it. docker is not such a command: its server runs elsewhere, and it passes messages on.
func launches(args []string) bool {
	switch name := baseName(first(args)); name {
	case "docker", "podman":
		return false
	case "go", "sudo", "timeout", "op", "doppler":
		return true
	default:
		return launch.IsShell(name) || installs(args)
	}
}

// commandName returns a name that can be shown: without arguments, which may contain a secret.
func commandName(args []string) string {
	name := filepath.Base(first(args))
	if file := script(args); file != "" {
		name += " " + filepath.Base(file)
	}
	return name[:min(len(name), 80)]
}

// script returns the script that an interpreter runs, or "".
func script(args []string) string {
	if len(args) < 2 || !interpreters[strings.TrimRight(baseName(args[0]), "0123456789.")] && !interpreters[baseName(args[0])] {
		return ""
	}
	if strings.HasPrefix(args[1], "-") {
		return ""
	}
	return args[1]
}

// first returns the command. npm writes a whole command line there for ps.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if word, _, ok := strings.Cut(args[0], " "); ok && !strings.HasPrefix(args[0], "/") {
		return word
	}
	return args[0]
}

// baseName returns the name of a command without directory and extension.
func baseName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ending := range []string{".exe", ".cmd", ".cjs", ".js", ".py", "-cli"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}
