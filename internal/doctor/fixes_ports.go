package doctor

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// setting is an address of this machine in an entry.
type setting struct {
	name    string // of its flag or variable, or ""
	address *url.URL
	port    int
	mcp     bool // it is the address of the MCP server itself
}

// otherPort suggests a port instead of one that refuses connections: that of another entry's setting
// of the same kind, or one nearby at which an MCP server responds. Only a person knows whether it is
// the service that is meant.
func otherPort(p *plan) (fixes []Fix) {
	var elsewhere []setting
	for _, entry := range p.Entries {
		elsewhere = append(elsewhere, p.settings(entry)...)
	}
	for _, ours := range p.settings(p.spec) {
		if !p.Refuses(ours.address.Hostname(), ours.port) {
			continue
		}
		for _, other := range elsewhere {
			if other.port != ours.port && (other.kind() == ours.kind() || ours.mcp && other.mcp) && p.serves(ours, other.port) {
				return p.suggestPort(ours, other.port, "another configured server uses port %d, which accepts connections")
			}
		}
		for _, step := range []int{1, -1, 2, -2, 3, -3} {
			if ours.mcp && p.serves(ours, ours.port+step) {
				return p.suggestPort(ours, ours.port+step, "an MCP server responds on port %d")
			}
		}
	}
	return nil
}

// kind returns what two settings have in common that are for the same service: the name of an HTTP
// service's setting, or the scheme of a database.
func (s setting) kind() string {
	if strings.HasPrefix(s.address.Scheme, "http") {
		return cmp.Or(s.name, s.address.String())
	}
	return strings.TrimSuffix(s.address.Scheme, "ql") + "://" // postgres and postgresql
}

// serves reports whether a port can replace that of a setting.
func (p *plan) serves(s setting, port int) bool {
	host := s.address.Hostname()
	if port < 1 || port > 65535 || !p.Accepts(host, port) {
		return false
	}
	at := url.URL{Scheme: s.address.Scheme, Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: s.address.Path} // without a key that may be in the query
	return !s.mcp || p.SpeaksMCP(at.String())
}

func (p *plan) suggestPort(s setting, port int, but string) []Fix {
	return []Fix{{Name: fmt.Sprintf("other-port %d", port), Risk: Config, About: fmt.Sprintf("nothing is listening on port %d, but "+but, s.port, port),
		Next: fmt.Sprintf("Nothing is listening on port %d, but "+but+". If that is the service you mean, change port %d to %d in the server's settings.", s.port, port, s.port, port)}}
}

// settings returns the addresses of this machine that an entry names.
func (p *plan) settings(s launch.Spec) (all []setting) {
	own := p.ownSettings(s)
	bridge := (&exam{line: strings.Join(own.Args, " ")}).bridge()
	note := func(name, text string, mcp bool) {
		u, err := url.Parse(text)
		if err != nil || !launch.IsLoopback(u.Hostname()) {
			return
		}
		if port, _ := strconv.Atoi(cmp.Or(u.Port(), strconv.Itoa(defaultPort(u.Scheme)))); port > 0 {
			all = append(all, setting{name, u, port, mcp})
		}
	}
	note("", own.URL, true)
	for i, word := range own.Args {
		name, value, ok := strings.Cut(word, "=")
		if !ok || !strings.HasPrefix(word, "-") {
			name, value = "", word
			if i > 0 && strings.HasPrefix(own.Args[i-1], "-") {
				name = own.Args[i-1]
			}
		}
		note(name, value, bridge)
	}
	for _, pair := range own.Env {
		name, value, _ := strings.Cut(pair, "=")
		note(name, value, false)
	}
	return all
}
