package doctor

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// localAddress is an address of this machine found in a string.
type localAddress struct {
	host string
	port int
}

var localShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\b([a-z][a-z0-9+.-]*)://(?:[^/@\s"']*@)?|^|[\s=@"',])(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::(\d{1,5}))?(?:$|[/?\s"',;#])`)
})

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
		at := localShape().FindStringSubmatchIndex(text)
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
func (p *plan) relocated(s launch.Spec, to func(localAddress) (string, int)) launch.Spec {
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
			host, has := lookup(before, prefix+"HOST", p.OS == "windows")
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
