package registry

import (
	"fmt"
	"strings"
	"time"
)

// Server is one entry of a registry: its newest version, cleaned.
type Server struct {
	Name       string    `json:"name"` // io.github.user/weather
	Title      string    `json:"title,omitempty"`
	About      string    `json:"about,omitempty"`
	Version    string    `json:"version,omitempty"`
	Updated    time.Time `json:"updated,omitzero"`
	Deprecated bool      `json:"deprecated,omitempty"`
	Ways       []Facts   `json:"-"`               // to start or reach it, in the publisher's order
	Notes      []string  `json:"notes,omitempty"` // what was left out, and why
}

// Short is a name for the server in somebody's configuration.
func (s Server) Short() string {
	space, own, _ := strings.Cut(s.Name, "/")
	words := telling(own)
	if len(words) == 0 { // com.example/mcp-server
		labels := strings.Split(space, ".")
		words = split(labels[len(labels)-1])
	}
	if len(words) == 0 {
		return "server"
	}
	return strings.Join(words, "-")
}

// Facts are what is known of one way to start or reach a server.
type Facts struct {
	Server  string     `json:"-"` // the entry's name
	Kind    Kind       `json:"kind"`
	Name    string     `json:"package"` // the package, the image, the address
	Version string     `json:"version,omitempty"`
	Env     []Variable `json:"env,omitempty"`
	Headers []Variable `json:"headers,omitempty"`
	Args    []Variable `json:"args,omitempty"`  // of the package itself, for people to read: none is ever added by us
	Notes   []string   `json:"notes,omitempty"` // what was left out, and why
}

// Variable is something a server wants to be told: an environment variable, a header, an argument.
type Variable struct {
	Name     string   `json:"name"` // of an argument without a name: what it stands for
	About    string   `json:"about,omitempty"`
	Required bool     `json:"required,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
	Default  string   `json:"default,omitempty"` // never that of a secret
	Choices  []string `json:"choices,omitempty"`
	Value    string   `json:"value,omitempty"` // as the publisher wants it, with {blanks} to fill: "Bearer {token}"
}

// Required are the variables that must be set.
func Required(variables []Variable) (required []Variable) {
	for _, v := range variables {
		if v.Required {
			required = append(required, v)
		}
	}
	return required
}

// Words are how it is started, or the one address where it is reached. The registry has no say in them but for the name
// and the version: the runner and its options are ours, and a container is handed the variables that the user names.
func (f Facts) Words(env ...string) []string {
	switch f.Kind {
	case NPM:
		return []string{"npx", "-y", f.pinned()}
	case PyPI:
		return []string{"uvx", f.pinned()}
	case OCI:
		words := []string{"docker", "run", "-i", "--rm"}
		for _, name := range env {
			if envName.MatchString(name) && !Loads(name) {
				words = append(words, "-e", name)
			}
		}
		return append(words, f.Name)
	}
	return []string{f.Name}
}

func (f Facts) pinned() string {
	if f.Version == "" || f.Kind == OCI || f.Kind == Remote {
		return f.Name
	}
	return f.Name + "@" + f.Version
}

// Package is the name in one word that says where it comes from, for people to type: npm:airtable-mcp-server@1.9.5. An
// address stands for itself.
func (f Facts) Package() string {
	if f.Kind == Remote {
		return f.Name
	}
	return string(f.Kind) + ":" + f.pinned()
}

// ParsePackage reads what Package writes. A word without a kind is not guessed at: the same name may be two strangers'
// packages. Only a name with a scope can be nothing but npm's.
func ParsePackage(text string) (Facts, error) {
	kind, name, found := strings.Cut(text, ":")
	f := Facts{Kind: Kind(kind), Name: name}
	switch {
	case strings.HasPrefix(text, "https://"):
		f = Facts{Kind: Remote, Name: text}
	case strings.HasPrefix(text, "@"):
		f = Facts{Kind: NPM, Name: text}
	case !found || f.Kind != NPM && f.Kind != PyPI && f.Kind != OCI:
		return Facts{}, fmt.Errorf("%q does not say where it comes from: want npm:NAME, pypi:NAME, oci:IMAGE or an https:// address", text)
	}
	if at := strings.LastIndexByte(f.Name, '@'); at > 0 && (f.Kind == NPM || f.Kind == PyPI) {
		f.Name, f.Version = f.Name[:at], f.Name[at+1:]
		if !validVersion(f.Kind, f.Version) {
			return Facts{}, fmt.Errorf("%q is no version: want a full one, such as 1.2.3", f.Version)
		}
	}
	if !validName(f.Kind, f.Name) {
		return Facts{}, fmt.Errorf("%q cannot be the name of a package of kind %s", f.Name, f.Kind)
	}
	return f, nil
}

func validVersion(kind Kind, version string) bool {
	switch kind {
	case NPM:
		return npmVersion.MatchString(version)
	case PyPI:
		return pypiVersion.MatchString(version)
	}
	return false
}
