package registry

import (
	"fmt"
	"strings"
	"time"
)

// Server is the latest version of a registry entry, cleaned.
type Server struct {
	Name       string    `json:"name"` // io.github.user/weather
	Title      string    `json:"title,omitempty"`
	About      string    `json:"about,omitempty"`
	Version    string    `json:"version,omitempty"`
	Updated    time.Time `json:"updated,omitzero"`
	Deprecated bool      `json:"deprecated,omitempty"`
	Ways       []Facts   `json:"-"`               // how to start or reach it, in the publisher's order
	Notes      []string  `json:"notes,omitempty"` // what was ignored, and why
}

// Short returns a short name for the server, for use in a client's configuration.
func (s Server) Short() string {
	space, own, _ := strings.Cut(s.Name, "/")
	words := distinctive(own)
	if len(words) == 0 { // com.example/mcp-server
		labels := strings.Split(space, ".")
		words = split(labels[len(labels)-1])
	}
	if len(words) == 0 {
		return "server"
	}
	return strings.Join(words, "-")
}

// Facts describe one way to start or reach a server.
type Facts struct {
	Server  string     `json:"-"` // name of the entry
	Kind    Kind       `json:"kind"`
	Name    string     `json:"package"` // package, image or address
	Version string     `json:"version,omitempty"`
	Env     []Variable `json:"env,omitempty"`
	Headers []Variable `json:"headers,omitempty"`
	Args    []Variable `json:"args,omitempty"`  // of the package itself, for display only: gauze never adds them
	Notes   []string   `json:"notes,omitempty"` // what was ignored, and why
}

// Variable is a setting of a server: an environment variable, a header or an argument.
type Variable struct {
	Name     string   `json:"name"` // for a positional argument, what it stands for
	About    string   `json:"about,omitempty"`
	Required bool     `json:"required,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
	Default  string   `json:"default,omitempty"` // never set for a secret
	Choices  []string `json:"choices,omitempty"`
	Value    string   `json:"value,omitempty"` // as the publisher writes it, with {placeholders}: "Bearer {token}"
}

// Required returns the variables that must be set.
func Required(variables []Variable) (required []Variable) {
	for _, v := range variables {
		if v.Required {
			required = append(required, v)
		}
	}
	return required
}

// Words returns the command that starts the server, or its address. Only the name and the version
// come from the registry: gauze chooses the runner and its options, and a container gets the
// variables that the user names.
func (f Facts) Words(env ...string) []string {
	switch f.Kind {
	case NPM:
		return []string{"npx", "-y", f.pinned()}
	case PyPI:
		return []string{"uvx", f.pinned()}
	case OCI:
		words := []string{"docker", "run", "-i", "--rm"}
		for _, name := range env {
			if envName.MatchString(name) && !loads(name) {
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

// Package returns the name with its origin, as users type it: npm:airtable-mcp-server@1.9.5. For a
// remote it is the address.
func (f Facts) Package() string {
	if f.Kind == Remote {
		return f.Name
	}
	return string(f.Kind) + ":" + f.pinned()
}

// ParsePackage parses the result of Package. The kind is required, because the same name may be
// different packages on npm and PyPI; a name with a scope can only be npm.
func ParsePackage(text string) (Facts, error) {
	kind, name, found := strings.Cut(text, ":")
	f := Facts{Kind: Kind(kind), Name: name}
	switch {
	case strings.HasPrefix(text, "https://"):
		f = Facts{Kind: Remote, Name: text}
	case strings.HasPrefix(text, "@"):
		f = Facts{Kind: NPM, Name: text}
	case !found || f.Kind != NPM && f.Kind != PyPI && f.Kind != OCI:
		return Facts{}, fmt.Errorf("invalid package %q: must be npm:NAME, pypi:NAME, oci:IMAGE or an https:// address", text)
	}
	if at := strings.LastIndexByte(f.Name, '@'); at > 0 && (f.Kind == NPM || f.Kind == PyPI) {
		f.Name, f.Version = f.Name[:at], f.Name[at+1:]
		if !validVersion(f.Kind, f.Version) {
			return Facts{}, fmt.Errorf("invalid version %q: must be a full version, such as 1.2.3", f.Version)
		}
	}
	if !validName(f.Kind, f.Name) {
		return Facts{}, fmt.Errorf("%q is not a valid %s package name", f.Name, f.Kind)
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
