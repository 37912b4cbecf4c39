package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// containerRun returns the index of "run" in the arguments of docker or podman, or -1.
func (srv server) containerRun() int {
	if name := program(srv.spec.Command); name != "docker" && name != "podman" && name != "nerdctl" {
		return -1
	}
	for i, word := range srv.spec.Args {
		if word == "run" {
			return i
		}
		if !strings.HasPrefix(word, "-") && word != "container" {
			break // compose, exec, mcp
		}
	}
	return -1
}

// options returns the arguments between "run" and the image: up to the first word that is neither an
// option nor, as far as can be told, an option's value.
func (srv server) options() []string {
	run := srv.containerRun()
	if run < 0 {
		return nil
	}
	rest := srv.spec.Args[run+1:]
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		switch {
		case !strings.HasPrefix(word, "-"):
			return rest[:i]
		case strings.Contains(word, "="), flagOfDocker(word):
		default:
			i++
		}
	}
	return rest
}

// flagOfDocker reports whether an option of docker run has no value.
func flagOfDocker(word string) bool {
	switch word {
	case "--rm", "--interactive", "--tty", "--detach", "--init", "--privileged", "--read-only", "--quiet", "--publish-all",
		"--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--help":
		return true
	}
	return !strings.HasPrefix(word, "--") && strings.Trim(word[1:], "itdPq") == ""
}

// keepStdin gives a container a stdin but no terminal. Without -i it reads end-of-file immediately.
func keepStdin(p *plan) []Fix {
	run := p.server().containerRun()
	if run < 0 {
		return nil
	}
	options := p.server().options()
	short := func(word, letter string) bool {
		return len(word) > 1 && !strings.HasPrefix(word, "--") && flagOfDocker(word) && strings.Contains(word, letter)
	}
	interactive := slices.ContainsFunc(options, func(w string) bool { return strings.HasPrefix(w, "--interactive") || short(w, "i") })
	tty := slices.ContainsFunc(options, func(w string) bool { return w == "--tty" || short(w, "t") })
	if interactive && !tty || slices.ContainsFunc(options, func(w string) bool { return w == "--detach" || short(w, "d") }) {
		return nil
	}
	return []Fix{{Name: "container-stdin", Origins: starts(trust.Entry),
		About: "starts the container with -i and without -t, so that the server can read its stdin",
		Next:  `Add "-i" to "args" directly after "run", and remove "-t".`,
		Apply: changed(func(s *launch.Spec) {
			end := run + 1 + len(options)
			now := slices.Clone(s.Args[:run+1])
			if !interactive {
				now = append(now, "-i")
			}
			for _, word := range s.Args[run+1 : end] {
				if short(word, "t") {
					if word = strings.ReplaceAll(word, "t", ""); word == "-" {
						continue
					}
				}
				if word != "--tty" {
					now = append(now, word)
				}
			}
			s.Args = append(now, s.Args[end:]...)
		})}}
}

// forwardVariable passes on a variable that is missing in a container. The value goes through
// docker's own environment; the argument has only the name. A variable that was given to docker was
// not given to the container, so a person decides.
func forwardVariable(p *plan) []Fix {
	run := p.server().containerRun()
	if run < 0 {
		return nil
	}
	f := filling{server: p.server()}
	values, add := map[string]Hidden{}, []string{}
	names := p.wanted()
	for _, name := range names {
		s, ok := p.server().found(name)
		if !ok {
			continue
		}
		values[name] = s.value
		f.note(name, s.where, trust.Environment)
		if !p.server().names(name) {
			add = append(add, "-e", name)
		}
	}
	if len(values) == 0 {
		return provide(names)
	}
	list := strings.Join(f.names, ", ")
	return []Fix{{Name: "forward " + list, Origins: starts(f.sources...), About: "passes " + list + " to the container",
		Next: f.next(fmt.Sprintf(`add "-e", "%s" to "args" directly after "run".`, strings.Join(f.names, `", "-e", "`))),
		Apply: changed(func(s *launch.Spec) {
			s.Args = slices.Insert(s.Args, run+1, add...)
			for name, v := range values {
				s.Env = set(s.Env, name, v.Reveal(), p.m.OS == "windows")
			}
		})}}
}

// names reports whether the options already pass a variable on.
func (srv server) names(name string) bool {
	options := srv.options()
	for i, word := range options {
		given := strings.TrimPrefix(strings.TrimPrefix(word, "--env="), "-e")
		if (word == "-e" || word == "--env") && i+1 < len(options) {
			given = options[i+1]
		}
		if given == name || strings.HasPrefix(given, name+"=") {
			return true
		}
	}
	return false
}

// hostOfContainer lets a container connect to servers on this machine: inside a container, localhost
// is the container itself.
func hostOfContainer(p *plan) []Fix {
	run := p.server().containerRun()
	if run < 0 {
		return localSpelling(p)
	}
	apply := func(s launch.Spec) launch.Spec {
		s = copied(s)
		changed := false
		replace := func(text string) string {
			now := relocate(text, func(a localAddress) (string, int) { return "host.docker.internal", 0 })
			changed = changed || now != text
			return now
		}
		for i := run + 1; i < len(s.Args); i++ {
			if previous := s.Args[i-1]; previous == "-p" || previous == "--publish" || strings.HasPrefix(s.Args[i], "--publish=") ||
				strings.HasPrefix(s.Args[i], "-p") || previous == "--add-host" {
				continue
			}
			s.Args[i] = replace(s.Args[i])
		}
		for i, pair := range s.Env {
			if name, v, _ := strings.Cut(pair, "="); p.server().names(name) && !loads(name) {
				s.Env[i] = name + "=" + replace(v)
			}
		}
		hosts := func(word string) bool { return strings.Contains(word, "host.docker.internal:host-gateway") }
		if changed && p.m.OS == "linux" && !slices.ContainsFunc(s.Args, hosts) {
			s.Args = slices.Insert(s.Args, run+1, "--add-host=host.docker.internal:host-gateway")
		}
		return s
	}
	if sameSpec(apply(p.spec), p.spec, p.env) {
		return nil
	}
	return []Fix{{Name: "host-of-container", Origins: starts(trust.Machine),
		About: "replaces localhost with host.docker.internal, because inside a container localhost is the container itself",
		Next: "Use host.docker.internal instead of localhost in the server's settings (on Linux with " +
			"--add-host=host.docker.internal:host-gateway).", Apply: apply}}
}
