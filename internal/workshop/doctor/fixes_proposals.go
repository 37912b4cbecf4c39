package doctor

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// installProgram proposes the command that installs a missing program.
func installProgram(p *plan) []Fix {
	name := p.missing()
	how := p.m.installation(name)
	if how == "" || len(p.m.Find(name, p.env)) > 0 {
		return nil
	}
	return []Fix{{Name: "install " + name, Risk: Install,
		About: name + " is not installed, or is not in one of the usual directories", Next: how}}
}

// installCurrent proposes the command that installs a current interpreter.
func installCurrent(p *plan, kind string) []Fix {
	how := p.m.installation(kind)
	if kind == "python" && strings.HasPrefix(p.server().runner(), "uv") {
		how = "Install a current Python: `uv python install 3.13`"
	}
	return []Fix{{Name: "install " + kind, Risk: Install,
		About: "this machine has no version of " + kind + " that the server supports", Next: how}}
}

// npxCache proposes to delete the broken entry of npx's cache. It is always in the user's own cache,
// whatever path the evidence names.
func npxCache(p *plan) []Fix {
	entries := p.m.NpxEntries(newCommand(p.c.Command, "").packageName())
	if hash := p.said["hash"]; shapes["hash"].MatchString(hash) {
		if entry := filepath.Join(p.m.npxFolder(), hash); isFolder(entry) {
			entries = []string{entry}
		}
	}
	return p.removal("npx", entries)
}

// uvCache proposes to delete the entries of uv's cache that belong to the package.
func uvCache(p *plan) []Fix {
	name := withoutVersion(newCommand(p.c.Command, "").packageName())
	if len(p.m.UvEntries(name)) == 0 {
		return nil
	}
	return []Fix{{Name: "clean-uv-cache", Risk: Install, About: "uv's cached copy of " + shown(p.c.Secrets, name) + " is broken",
		Next: "Delete the cached copy: `uv cache clean " + p.m.typing().Quote(shown(p.c.Secrets, name)) + "`"}}
}

// removal proposes to delete the first entry of a cache.
func (p *plan) removal(whose string, entries []string) []Fix {
	if len(entries) == 0 {
		return nil
	}
	return []Fix{{Name: "clean-" + whose + "-cache", Risk: Install,
		About: whose + "'s cached copy of the package is broken: " + p.server().quoted(entries[0]),
		Next:  "Delete the cached copy: `" + p.m.typing().RemoveAll(p.server().quoted(entries[0])) + "`"}}
}

// pinLibrary proposes to start the server with the older library.
func pinLibrary(p *plan) []Fix {
	if p.server().runner() != "uvx" || program(p.spec.Command) != "uvx" || slices.Contains(p.spec.Args, "--with") ||
		!olderMCP(p.c.words(), p.said) {
		return p.advice(Config)
	}
	apply := changed(func(s *launch.Spec) {
		s.Args = slices.Insert(s.Args, 0, "--with", "mcp<2")
	})
	return []Fix{{Name: "pin mcp<2", Risk: Config, Origins: starts(trust.Entry),
		About: "the server was written for an older version of the mcp library than the installed one",
		Next:  "Start the server with the older library: `" + p.m.typing().Line("uvx", "--with", "mcp<2") + " " + p.server().shownLine() + "`",
		Apply: apply}}
}

// shownLine returns the server's arguments as they are typed in a shell.
func (srv server) shownLine() string {
	return shown(srv.secrets, strings.TrimPrefix(srv.spec.ShownIn(srv.m.typing()), srv.m.typing().Quote(srv.spec.Command)+" "))
}

// advice returns the diagnosis' own fix, for a person.
func (p *plan) advice(risk Risk) []Fix {
	return []Fix{{Name: "advice", Risk: risk, About: p.d.Explanation, Next: p.d.Fix, Command: p.d.Command}}
}

// authority proposes the variable and, if there is one, the file that make a program trust a private
// authority. Certificate checks stay enabled.
func authority(p *plan) []Fix {
	file := p.m.AuthorityFile()
	if file == "" {
		file = p.m.typing().Path("path", "to", "ca.pem")
	}
	variable := "NODE_EXTRA_CA_CERTS"
	if r := p.server().runner(); strings.HasPrefix(r, "uv") || strings.HasPrefix(r, "python") || p.spec.URL != "" {
		variable = "SSL_CERT_FILE"
	}
	about := "the server's certificate is signed by a certificate authority (CA) that this machine does not trust"
	if address := p.server().address(); address != "" {
		if seen := p.m.Reach(address).TLS; seen.Issuer != "" {
			about += ": " + shown(p.c.Secrets, seen.Issuer)
		}
	}
	return []Fix{{Name: "authority", Risk: Config, About: about,
		Next: fmt.Sprintf("Do not disable certificate checks. Set the variable that points to the CA's certificate: `%s=%s`", variable,
			p.server().quoted(file))}}
}

// address returns the server's URL, or "".
func (srv server) address() string {
	if srv.spec.URL != "" {
		return srv.spec.URL
	}
	for _, word := range srv.spec.Args {
		if launch.CheckURL(word) == nil {
			return word
		}
	}
	return ""
}

// certificate proposes what to do about an invalid certificate.
func certificate(p *plan) []Fix {
	address := p.server().address()
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return p.advice(Person)
	}
	switch seen := p.m.Reach(address).TLS; {
	case !seen.Expired.IsZero():
		return []Fix{{Name: "certificate", Risk: Person, About: "the server's certificate expired on " + seen.Expired.Format("2006-01-02"),
			Next: "Have the certificate for " + p.server().quoted(u.Hostname()) + " renewed, or correct this machine's clock."}}
	case seen.Mismatch && len(seen.Names) > 0:
		return []Fix{{Name: "certificate", Risk: Person,
			About: "the server's certificate is issued for " + shown(p.c.Secrets, strings.Join(seen.Names, ", ")),
			Next:  "Use a host name that the certificate is issued for: `" + shown(p.c.Secrets, seen.Names[0]) + "`"}}
	}
	return p.advice(Person)
}

// proxies proposes to exempt the server's host from the proxy.
func proxies(p *plan) []Fix {
	names := proxyVariables(p.env)
	if len(names) == 0 {
		return p.advice(Config)
	}
	host := "HOST"
	if u, err := url.Parse(p.server().address()); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return []Fix{{Name: "proxy", Risk: Config, About: "connections go through the proxy set in " + strings.Join(names, ", "),
		Next: fmt.Sprintf("To exempt the host from the proxy, add this under \"env\" in the server's entry: `\"NO_PROXY\": \"%s\"`",
			shown(p.c.Secrets, host))}}
}

// portOwner names the process that uses a port. Only a person may stop it.
func portOwner(p *plan) []Fix {
	port, _ := strconv.Atoi(p.said["port"])
	if u, err := url.Parse(p.spec.URL); port == 0 && err == nil && u.Host != "" {
		port, _ = strconv.Atoi(portOf(u))
	}
	owner, ok := p.m.Listener(port)
	if !ok {
		return p.advice(Person)
	}
	return []Fix{{Name: "port-owner", Risk: Person, About: fmt.Sprintf("port %d is in use by %s", port, shown(p.c.Secrets, owner.String())),
		Next:    fmt.Sprintf("Configure another port for the server, or stop process %d if it is yours.", owner.PID),
		Command: p.m.typing().Kill(owner.PID)}}
}

// execBit proposes to mark a file as executable.
func execBit(p *plan) []Fix {
	path := p.c.Spawn.Path
	if path == "" {
		path = p.spec.Command
	}
	if !filepath.IsAbs(path) || !isFile(path) || p.m.OS == "windows" {
		return p.advice(Person)
	}
	return []Fix{{Name: "exec-bit", Risk: Person, About: p.server().quoted(path) + " is not marked as executable",
		Next:    "Start " + p.server().quoted(path) + " with its interpreter, or, if you trust it, make it executable.",
		Command: "chmod +x " + p.m.typing().Quote(path)}}
}
