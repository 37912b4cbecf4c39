package clientconfig

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
)

// ReadServers reads any file with servers: as the client that has it among its own files, without
// those of single projects in it; or else as most clients write such files. Then shared says whether
// it belongs to a project, which is the directory of the file.
func (h Home) ReadServers(file string, shared func(file string) bool) (all []*Config) {
	for _, c := range h.ReadAnywhere(file) {
		if slices.Contains(c.Place.Keys[0], inProject) || len(all) > 0 && c.Client != all[0].Client {
			continue
		}
		all = append(all, c)
	}
	if len(all) > 0 {
		return all
	}
	c := plainClient(path.Base(strings.ReplaceAll(file, h.separator(), "/")))
	p := Place{Scope: User, Path: file, Keys: [][]string{{"mcpServers"}, {"servers"}}}
	if h.Project = h.parent(file); shared(file) {
		p.Scope, p.Path = Project, "./"+c.ID
	}
	p.Paths = Paths{}.below(p.Path)
	return []*Config{h.Read(h.look(file, c, p))}
}

// plainClient stands for the clients of a file that no known client has: its entries are read as most
// clients write them.
func plainClient(name string) *Client {
	c := &Client{ID: name, Name: name}
	c.Dialect = reference.Dialect{Forms: reference.Braces | reference.Default | reference.Env, In: reference.Everywhere}
	c.Fields = Fields{
		Command: "command", Args: "args", Env: "env", URL: "url", Headers: "headers", Cwd: "cwd",
		OtherURLs: []string{"serverUrl", "httpUrl"}, Disabled: "disabled", Enabled: "enabled",
		Types: Types{
			Field: "type", Stdio: []string{"stdio", "local"}, SSE: []string{"sse"},
			HTTP: []string{"http", "streamable-http", "streamableHttp", "remote"},
		},
	}
	return c
}

// HasServers reports whether the file has a place for servers, even an empty one.
func (c *Config) HasServers() bool { return c.servers != nil }
