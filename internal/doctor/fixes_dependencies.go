package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// ownSettings returns an entry with variables of its own only.
func (p *plan) ownSettings(s launch.Spec) launch.Spec {
	s = copied(s)
	s.Env = slices.DeleteFunc(s.Env, func(pair string) bool {
		name, v, _ := strings.Cut(pair, "=")
		ours, ok := p.Env(name)
		return ok && ours == v && !isAddress(name) // inherited
	})
	if s.Env == nil {
		s.Env = []string{} // nil would be gauze's own
	}
	return s
}

// localPorts returns the ports of this machine that the entry names, in arguments and variables of
// its own.
func (p *plan) localPorts() (ports []int) {
	own := p.ownSettings(p.spec)
	own.URL = ""
	p.relocated(own, func(a localAddress) (string, int) {
		if a.port > 0 && !slices.Contains(ports, a.port) {
			ports = append(ports, a.port)
		}
		return a.host, 0
	})
	return ports
}

// isAddress reports whether a variable is known to be the address of a database.
func isAddress(name string) bool {
	return slices.ContainsFunc(services(), func(s service) bool { return len(s.schemes) > 0 && slices.Contains(s.names, name) })
}

// startService proposes to start the compose service behind a port that was refused.
func startService(p *plan) []Fix {
	ports := p.localPorts()
	if port, err := strconv.Atoi(p.said["port"]); err == nil {
		ports = append(ports, port)
	}
	return p.downServices(ports)
}

// downServices proposes to start the compose services that publish these ports but do not run. A
// compose file belongs to the author of its project, so only a person starts what it describes.
func (p *plan) downServices(ports []int) (fixes []Fix) {
	for _, s := range p.published() {
		if !slices.Contains(ports, s.Inner) && !slices.Contains(ports, s.Outer) || !p.Refuses("127.0.0.1", s.Outer) || !serviceShape.MatchString(s.Service) {
			continue
		}
		fix := Fix{Name: "compose-up " + s.Service, Risk: Person,
			About:   fmt.Sprintf("nothing is listening on port %d, where %s publishes the service %s", s.Outer, p.quoted(s.File), s.Service),
			Next:    fmt.Sprintf("The user must start the service %s, which %s defines.", s.Service, p.quoted(s.File)),
			Command: p.typing().Line("docker", "compose", "-f", s.File, "up", "-d", s.Service)}
		if !slices.ContainsFunc(fixes, func(f Fix) bool { return f.Name == fix.Name }) {
			fixes = append(fixes, fix)
		}
	}
	return fixes
}

// serviceShape matches the names that compose allows for services.
var serviceShape = &wording{source: `^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`}

// dependencies checks what a silent server may be waiting for: the addresses of this machine that its
// entry names.
func dependencies(p *plan) []Fix {
	if p.spec.URL != "" || p.containerRun() >= 0 {
		return nil
	}
	ports := slices.DeleteFunc(p.localPorts(), func(port int) bool { return !p.Refuses("127.0.0.1", port) || !p.Refuses("::1", port) })
	if fixes := p.downServices(ports); len(fixes) > 0 || len(ports) == 0 {
		return fixes
	}
	return []Fix{{Name: fmt.Sprintf("dependency %d", ports[0]), Risk: Person, About: fmt.Sprintf("nothing is listening on port %d of this machine, which the server's settings name", ports[0]),
		Next: fmt.Sprintf("The server may be waiting for port %d of this machine, where nothing is listening. Start the program that should listen there, or correct the address in the server's settings.", ports[0])}}
}

// published returns the ports that compose files publish: those of the server's own project, then
// those of the project that the user works in.
func (p *plan) published() (all []Published) {
	dirs := p.folders()
	if p.Project != "" && !slices.Contains(dirs, p.Project) {
		dirs = append(dirs, p.Project)
	}
	for _, dir := range dirs {
		for _, one := range p.Published(dir) {
			if !slices.Contains(all, one) && len(all) < maxPublished {
				all = append(all, one)
			}
		}
	}
	return all
}

// maxPublished bounds how many ports of compose files are checked.
const maxPublished = 64
