package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// ownSettings returns an entry with variables of its own only.
func (srv server) ownSettings(s launch.Spec) launch.Spec {
	s = copied(s)
	s.Env = slices.DeleteFunc(s.Env, func(pair string) bool {
		name, v, _ := strings.Cut(pair, "=")
		ours, ok := srv.m.Env(name)
		return ok && ours == v && !isAddress(name) // inherited
	})
	if s.Env == nil {
		s.Env = []string{} // nil would be gauze's own
	}
	return s
}

// localPorts returns the ports of this machine that the entry names, in arguments and variables of
// its own.
func (srv server) localPorts() (ports []int) {
	own := srv.ownSettings(srv.spec)
	own.URL = ""
	srv.relocated(own, func(a localAddress) (string, int) {
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
	ports := p.server().localPorts()
	if port, err := strconv.Atoi(p.said["port"]); err == nil {
		ports = append(ports, port)
	}
	return p.server().downServices(ports)
}

// downServices proposes to start the compose services that publish these ports but do not run. A
// compose file belongs to the author of its project, so only a person starts what it describes.
func (srv server) downServices(ports []int) (fixes []Fix) {
	for _, s := range srv.published() {
		if !slices.Contains(ports, s.Inner) && !slices.Contains(ports, s.Outer) || !srv.m.Refuses("127.0.0.1", s.Outer) ||
			!serviceShape.MatchString(s.Service) {
			continue
		}
		fix := Fix{Name: "compose-up " + s.Service, Risk: Person,
			About: fmt.Sprintf("nothing is listening on port %d, where %s publishes the service %s", s.Outer, srv.quoted(s.File), s.Service)}
		fix.Next, fix.Command = srv.composeUp(s)
		if !slices.ContainsFunc(fixes, func(f Fix) bool { return f.Name == fix.Name }) {
			fixes = append(fixes, fix)
		}
	}
	return fixes
}

// composeUp returns how a person starts a service of a compose file: Docker first, if it is not running.
func (srv server) composeUp(s Published) (next, command string) {
	file := srv.quoted(s.File)
	start := func(program string) (next, command string) {
		return fmt.Sprintf("Start the service %s, which is defined in %s.", s.Service, file),
			srv.m.typing().Line(program, "compose", "-f", s.File, "up", "-d", s.Service)
	}
	switch {
	case len(srv.m.Find("docker", srv.env)) > 0 && srv.m.Docker() == dockerDown:
		return fmt.Sprintf("Docker is not running. Start Docker, then the service %s, which is defined in %s.", s.Service, file),
			srv.startDocker()
	case len(srv.m.Find("docker", srv.env)) > 0:
		return start("docker")
	case len(srv.m.Find("podman", srv.env)) > 0:
		return start("podman")
	}
	return fmt.Sprintf("Nothing is listening on port %d. %s publishes the service %s there, but Docker was not found on "+
		"this machine. Start the program that should listen there, or install Docker.", s.Outer, file, s.Service), ""
}

// startDocker returns the command that starts Docker's daemon, as far as it is known.
func (srv server) startDocker() string {
	switch {
	case srv.m.OS == "darwin":
		if exists(srv.m.system("/Applications/Docker.app")) {
			return "open -a Docker"
		}
	case srv.m.usesSystemDocker() && len(srv.m.Find("systemctl", srv.env)) > 0:
		return "sudo systemctl start docker"
	}
	return ""
}

// installModules proposes to install the dependencies of a silent server's project. Node fails without
// them in many ways, and a server that catches the error is silent.
func installModules(p *plan) []Fix {
	missing, ok := p.m.missingModules(p.server().nodeProject())
	if !ok {
		return nil
	}
	if len(p.m.Find(missing.installer, p.env)) == 0 {
		missing.installer = "npm"
	}
	dir := p.server().quoted(missing.dir)
	return []Fix{{Name: "install-modules", Risk: Install, About: "the dependencies for the project in " + dir + " are not installed",
		Next: fmt.Sprintf("The server's dependencies are not installed: %s has a package.json, but no node_modules. "+
			"Install them in that directory: `%s install`", dir, missing.installer)}}
}

// nodeProject returns the directory of a server that is run by Node, or "".
func (srv server) nodeProject() string {
	switch program(srv.spec.Command) {
	case "node", "tsx", "ts-node", "bun":
		return srv.own()
	case "npm", "pnpm", "yarn": // a script of package.json
		return srv.spec.Dir
	}
	return ""
}

// serviceShape matches the names that compose allows for services.
var serviceShape = regex.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// dependencies checks what a silent server may be waiting for: the addresses of this machine that its
// entry names.
func dependencies(p *plan) []Fix {
	if p.spec.URL != "" || p.server().containerRun() >= 0 {
		return nil
	}
	ports := slices.DeleteFunc(p.server().localPorts(),
		func(port int) bool { return !p.m.Refuses("127.0.0.1", port) || !p.m.Refuses("::1", port) })
	if fixes := p.server().downServices(ports); len(fixes) > 0 || len(ports) == 0 {
		return fixes
	}
	return []Fix{{Name: fmt.Sprintf("dependency %d", ports[0]), Risk: Person,
		About: fmt.Sprintf("the server's settings refer to port %d on this machine, but nothing is listening there", ports[0]),
		Next: fmt.Sprintf("The server may be waiting for port %d on this machine, where nothing is listening. Start the "+
			"program that should listen there, or correct the address in the server's settings.", ports[0])}}
}

// published returns the ports that compose files publish: those of the server's own project, then
// those of the project that the user works in.
func (srv server) published() (all []Published) {
	dirs := srv.folders()
	if srv.m.Project != "" && !slices.Contains(dirs, srv.m.Project) {
		dirs = append(dirs, srv.m.Project)
	}
	for _, dir := range dirs {
		for _, one := range srv.m.Published(dir) {
			if !slices.Contains(all, one) && len(all) < maxPublished {
				all = append(all, one)
			}
		}
	}
	return all
}

// maxPublished bounds how many ports of compose files are checked.
const maxPublished = 64
