package doctor

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Published is a port of a compose service that is published on this machine.
type Published struct {
	File, Service string
	Inner         int // in the container
	Outer         int // on this machine
}

// Published returns the ports that the compose files of a project publish on loopback.
func (m *Machine) Published(dir string) []Published {
	return once(m, "compose\n"+dir, func() []Published {
		var all []Published
		for _, dir := range m.upwards(dir) {
			for _, name := range []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "compose.override.yaml",
				"compose.override.yml", "docker-compose.override.yml"} {
				path := filepath.Join(dir, name)
				if text, err := readSmall(path); err == nil {
					all = append(all, parseCompose(path, text, func(name string) string { return m.nearby(name, dir) })...)
				}
			}
		}
		return all
	})
}

// nearby returns a variable as compose sees it: from gauze's environment, or from the .env next to
// the file.
func (m *Machine) nearby(name, dir string) string {
	if value, ok := m.Env(name); ok {
		return value
	}
	text, _ := readSmall(filepath.Join(dir, ".env"))
	return parseDotenv(string(text))[name].Reveal()
}

// parseCompose reads only services.*.ports of a compose file.
func parseCompose(path string, text []byte, variable func(string) string) []Published {
	if strings.Count(string(text), "*") > 64 {
		return nil // nested aliases can expand without limit, and ports need few
	}
	var file struct {
		Services map[string]struct {
			Ports []any `yaml:"ports"`
		} `yaml:"services"`
	}
	if yaml.Unmarshal(text, &file) != nil {
		return nil
	}
	var all []Published
	for service, s := range file.Services {
		for _, port := range s.Ports {
			var host, outer, inner string
			if long, ok := port.(map[string]any); ok {
				host, outer, inner = text1(long["host_ip"]), text1(long["published"]), text1(long["target"])
				if protocol := text1(long["protocol"]); protocol != "" && protocol != "tcp" {
					continue
				}
			} else {
				host, outer, inner = shortPort(expandPlain(text1(port), variable))
			}
			switch host {
			case "", "0.0.0.0", "127.0.0.1", "localhost", "::", "::1":
				all = append(all, portPairs(path, service, expandPlain(outer, variable), expandPlain(inner, variable))...)
			}
		}
	}
	return all
}

func text1(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// shortPort splits [HOST:]OUTER:INNER[/PROTOCOL].
func shortPort(text string) (host, outer, inner string) {
	text, protocol, _ := strings.Cut(text, "/")
	at := strings.LastIndexByte(text, ':')
	if protocol != "" && protocol != "tcp" || at < 0 {
		return "", "", "" // without an outer port, docker picks one
	}
	rest, inner := text[:at], text[at+1:]
	if at := strings.LastIndexByte(rest, ':'); at >= 0 {
		return strings.Trim(rest[:at], "[]"), rest[at+1:], inner
	}
	return "", rest, inner
}

// portPairs pairs a port, or a range of ports, with its inner side.
func portPairs(path, service, outer, inner string) []Published {
	first, last := portRange(outer)
	to, end := portRange(inner)
	if first == 0 || to == 0 || last-first != end-to || last-first > 256 {
		return nil
	}
	var pairs []Published
	for i := range last - first + 1 {
		pairs = append(pairs, Published{path, service, to + i, first + i})
	}
	return pairs
}

func portRange(text string) (first, last int) {
	from, to, ok := strings.Cut(text, "-")
	a, err := strconv.ParseUint(from, 10, 16)
	if err != nil {
		return 0, 0
	}
	if !ok {
		return int(a), int(a)
	}
	b, err := strconv.ParseUint(to, 10, 16)
	if err != nil || b < a {
		return 0, 0
	}
	return int(a), int(b)
}
