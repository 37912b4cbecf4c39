package doctor

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
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
	for _, entry := range p.m.Entries {
		elsewhere = append(elsewhere, p.server().settings(entry)...)
	}
	for _, ours := range p.server().settings(p.spec) {
		if !p.m.Refuses(ours.address.Hostname(), ours.port) {
			continue
		}
		for _, other := range elsewhere {
			if other.port != ours.port && (other.kind() == ours.kind() || ours.mcp && other.mcp) && p.server().serves(ours, other.port) {
				return suggestPort(ours, other.port, "port %d, which another configured server uses, is accepting connections")
			}
		}
		for _, step := range []int{1, -1, 2, -2, 3, -3} {
			if ours.mcp && p.server().serves(ours, ours.port+step) {
				return suggestPort(ours, ours.port+step, "an MCP server responds on port %d")
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
func (srv server) serves(s setting, port int) bool {
	host := s.address.Hostname()
	if port < 1 || port > 65535 || !srv.m.Accepts(host, port) {
		return false
	}
	// without a key that may be in the query
	at := url.URL{Scheme: s.address.Scheme, Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: s.address.Path}
	return !s.mcp || srv.m.SpeaksMCP(at.String())
}

func suggestPort(s setting, port int, but string) []Fix {
	return []Fix{{Name: fmt.Sprintf("other-port %d", port), Risk: Config,
		About: fmt.Sprintf("nothing is listening on port %d, but "+but, s.port, port),
		Next: fmt.Sprintf("Nothing is listening on port %d, but "+but+". If that is the service you want, change port %d to "+
			"%d in the server's settings.", s.port, port, s.port, port)}}
}

// settings returns the addresses of this machine that an entry names.
func (srv server) settings(s launch.Spec) (all []setting) {
	own := srv.ownSettings(s)
	bridge := newCommand(own.Args, "").bridge()
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

// localAddress is an address of this machine found in a string.
type localAddress struct {
	host string
	port int
}

var localShape = regex.New(`(?i)(?:\b([a-z][a-z0-9+.-]*)://(?:[^/@\s"']*@)?|^|[\s=@"',])(localhost|127\.0\.0\.1|` +
	`\[::1\]|0\.0\.0\.0)(?::(\d{1,5}))?(?:$|[/?\s"',;#])`)

// defaultPort returns the port of a URL that does not name one.
func defaultPort(scheme string) int {
	switch scheme {
	case "postgres", "postgresql":
		return 5432
	case "mysql", "mariadb":
		return 3306
	case "redis":
		return 6379
	case "mongodb":
		return 27017
	case "amqp":
		return 5672
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// relocate replaces the addresses of this machine in a string by what to returns: a host and, unless
// it is 0, a port.
func relocate(text string, to func(localAddress) (host string, port int)) string {
	var b strings.Builder
	for {
		at := localShape.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		a := localAddress{host: text[at[4]:at[5]]}
		end := at[5]
		if at[6] >= 0 {
			a.port, _ = strconv.Atoi(text[at[6]:at[7]])
			end = at[7]
		} else if at[2] >= 0 {
			scheme, _, _ := strings.Cut(strings.ToLower(text[at[2]:at[3]]), "+")
			a.port = defaultPort(scheme)
		}
		b.WriteString(text[:at[4]])
		if host, port := to(a); a.port == 0 {
			b.WriteString(text[at[4]:end])
		} else if b.WriteString(host); port > 0 {
			b.WriteString(":" + strconv.Itoa(port))
		} else {
			b.WriteString(text[at[5]:end])
		}
		text = text[end:]
	}
	b.WriteString(text)
	return b.String()
}

// relocated relocates the addresses of this machine in the arguments, the environment and the URL of
// a Spec, and ports in a variable of their own whose host variable is this machine.
func (srv server) relocated(s launch.Spec, to func(localAddress) (string, int)) launch.Spec {
	s = copied(s)
	s.URL = relocate(s.URL, to)
	for i, word := range s.Args {
		s.Args[i] = relocate(word, to)
	}
	before := s.Environment()
	for i, pair := range s.Env {
		name, v, _ := strings.Cut(pair, "=")
		if loads(name) {
			continue
		}
		s.Env[i] = name + "=" + relocate(v, to)
		if prefix, ok := strings.CutSuffix(name, "PORT"); ok {
			host, has := lookup(before, prefix+"HOST", srv.m.OS == "windows")
			port, err := strconv.Atoi(v)
			if err != nil || has && !local.MatchString(host) || !has && !strings.HasPrefix(name, "PG") && !strings.Contains(name, "_") {
				continue
			}
			if _, moved := to(localAddress{"localhost", port}); moved > 0 {
				s.Env[i] = name + "=" + strconv.Itoa(moved)
			}
		}
	}
	return s
}
