package clientconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
)

// Client describes a program that starts MCP servers, as far as its configuration files are
// concerned. Each has a file in clients, whose keys are the names of these fields in lower case.
type Client struct {
	ID      string `key:""` // the name of its file
	Name    string
	Order   int    // among all clients, the most used first
	Status  string `one:"renamed, superseded, ended"`
	Message string // a note about the status, or about a client without a file

	Sign       string            `key:"in use if"` // a directory that shows it, if the one of its file does not
	Places     []Place           `key:"file"`
	Precedence []Scope           // strongest first; nil if undocumented
	Fields     Fields            `key:"entry"`
	Comments   Answer            `one:"yes, no"` // accepted in its JSON files
	Commas     Answer            `key:"trailing commas" one:"yes, no"`
	Mark       Answer            `key:"byte order mark" one:"yes, no"` // at the start
	Dialect    reference.Dialect `key:"expands"`
	Inherits   string            `one:"no secrets, common only"` // what it passes to its servers; empty for everything, or if undocumented
	Names      string            `one:"plain, few underscores"`  // of servers that cause no problems
	RefusedEnv []string          // variables that an entry may not set; LD_* stands for all that begin with LD_

	Approvals         *approvals `key:"approval"` // where it stores which of a project's servers the user approved, if it asks
	ApprovesVariables string     // how the user approves a variable that an entry refers to, if it asks
	RefusedToken      string     // a field with a token, because of which it rejects the entry

	Tools ToolLimits // which tools it cannot use

	Log     Paths  // the log that it keeps of each server; NAME stands for the server
	GUIPath bool   `key:"gui path"` // on macOS, its servers do not have the PATH of a shell
	CmdShim bool   // on Windows, it needs cmd /c to start npx and similar programs
	Reload  string // how to make it reload its configuration
}

// ToolLimits says which tools a client cannot use. What is zero is not known.
type ToolLimits struct {
	Named     string // what it calls a tool for the model; ENTRY and TOOL stand for the two names
	MaxLength int    // characters of that name
	Plain     bool   // the name of a tool may only have letters, digits, _ and -
	Max       int    // tools of all servers together
	Then      string // what it does with others

	Plugins     string // the file in which it lists its plugins, which bring servers
	PluginNamed string // Named for their tools; PLUGIN stands for the name of the plugin
}

// Answer is a fact that may be unknown.
type Answer string

const (
	Unknown Answer = ""
	Yes     Answer = "yes"
	No      Answer = "no"
)

// Scope is where a file applies, in the client's own term.
type Scope string

const (
	User      Scope = "user"
	Project   Scope = "project" // shared with everyone who has the directory
	Workspace Scope = "workspace"
	Local     Scope = "local" // one user, one project
	Managed   Scope = "managed"
	System    Scope = "system"
	Legacy    Scope = "legacy"
)

// Paths is where something is on each system. Paths are templates: ~ is the home directory, a leading
// ./ the project, ${NAME:-default} a variable, * any file name, and {a,b} alternatives. An empty path
// means that there is none on that system.
type Paths struct {
	Linux   string
	Darwin  string `key:"macos"`
	Windows string
}

// on returns the path on a system.
func (p Paths) on(system string) string {
	return map[string]string{"linux": p.Linux, "darwin": p.Darwin, "windows": p.Windows}[system]
}

// below returns a path below these.
func (p Paths) below(path string) Paths {
	return Paths{p.Linux + path, p.Darwin + path, p.Windows + path}
}

// Place is where a client looks, or used to look, for a file.
type Place struct {
	Scope Scope
	Path  string // on all systems
	App   string // in the directory of each system for the settings of desktop programs
	Paths
	Keys     [][]string `key:"servers"` // key paths to the servers, the first that exists; inProject stands for the project's path
	List     bool       // the servers are a list, each with a name
	Fields   *Fields    `key:"entry"` // if different from the client's
	Up       bool       // look in every directory up to the root of the repository
	Borrowed bool       // another client's file that this one also reads
	Private  bool       // in the project, but not shared
	Old      string     // no longer read: the explanation for the user

	Unless string // the explanation if a file of an earlier place exists: then this one is not read
	Reader string // a program that still reads the file
}

// fieldsOf returns the field names of a client's file at this place.
func (p Place) fieldsOf(c *Client) Fields {
	if p.Fields != nil {
		return *p.Fields
	}
	return c.Fields
}

// inProject stands for the absolute path of the project in a key.
const inProject = "<project>"

// Fields are the field names of an entry.
type Fields struct {
	Like string // all of these are as in this client's entries

	Command, Args, Env, URL, Headers string // empty for the usual name
	NoRemote                         bool   // the file does not support URLs
	NoSSE                            bool   // the client connects to URLs by streamable HTTP only
	Argv                             bool   // the command is a list that includes the arguments
	OtherURLs                        []string
	Schemes                          []string // of URLs, other than http and https
	Cwd                              string   // empty if not supported
	Nest                             string   // a field that may contain all of these
	Name                             string   // in a list
	EnvNames                         string   // names of variables to pass on
	BearerEnv, EnvHeaders            string   // the same for headers

	Login LoginFields // how an entry configures the client's own login

	Types       Types `key:"type"`
	BothRefused bool  // an entry with a command and a URL is rejected

	Timeouts          []Timeout `key:"timeout"`
	Disabled, Enabled string    // the field that enables or disables a server, if there is one
	Must              []string
	Always            []string // written although they are not required
	Also              []string // other known fields
	Old               []oldField
	Builtin           Builtin
	Exact             bool // all known fields are listed here
	RejectsFile       bool // one invalid entry makes the client reject the whole file
}

// Types is how an entry says which transport to use.
type Types struct {
	Field            string   // empty if there is none
	Stdio, HTTP, SSE []string // accepted values, the preferred one first
	For              string   `key:"required" one:"for urls, always"`                // the entries that need a type
	Bare             string   `key:"without" one:"skips, assumes sse, assumes http"` // how a URL without a type is read
	Others           []string // transports that gauze does not have
	Gone             []string // accepted in old files, but no longer supported
}

// Builtin is the field of entries for parts of the client, and its term for them.
type Builtin struct{ Field, Term string }

// oldField is a field that the client still reads: a usual field, perhaps with a type, has taken its
// place, or nothing. Without either, it is another way to start a server.
type oldField struct{ Field, Now, Type string }

// Timeout is one of the timeouts of an entry.
type Timeout struct {
	Field             string
	Unit              time.Duration
	Default, Min, Max time.Duration // zero if unknown
	Start             bool          // for the start, not for a call
	Text              bool          // a number in quotes is also accepted
}

// clients are all known clients, the most used first.
var clients = sync.OnceValue(func() []*Client {
	all, err := readClients(knowledge)
	if err != nil {
		panic(err) // a test reads every file
	}
	return all
})

// readClients reads the file of each client.
func readClients(from fs.FS) (all []*Client, err error) {
	names, err := fs.Glob(from, "clients/*.txt")
	for _, name := range names {
		c := &Client{ID: strings.TrimSuffix(path.Base(name), ".txt")}
		if err := parseFile(from, name, c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.complete(all); err != nil {
			name := "clients/" + c.ID + ".txt"
			var missing *missingError
			if errors.As(err, &missing) {
				return nil, fmt.Errorf("%s: %w", missing.place(from, name), err)
			}
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.SortStableFunc(all, func(a, b *Client) int { return a.Order - b.Order })
	return all, err
}

// missingError reports what is missing below a line of a client's file.
type missingError struct{ key, value, text string }

func (e *missingError) Error() string { return e.text }

// place returns the file, and the number of the line if it is in this file.
func (e *missingError) place(from fs.FS, name string) string {
	text, _ := fs.ReadFile(from, name)
	for i, line := range strings.Split(string(text), "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if key == e.key && strings.TrimSpace(value) == e.value {
			return fmt.Sprintf("%s:%d", name, i+1)
		}
	}
	return name
}

// complete fills in what a client's file leaves out because it is usual.
func (c *Client) complete(all []*Client) error {
	if c.Name == "" || c.Reload == "" || c.Order == 0 {
		return errors.New("name, order or reload is missing: every client needs all three")
	}
	if d := &c.Dialect; d.Forms&^reference.Nothing != 0 && d.In == 0 {
		d.In = reference.Everywhere
	}
	if err := c.Fields.complete(all); err != nil {
		return err
	}
	for i := range c.Places {
		p := &c.Places[i]
		switch {
		case p.App != "":
			p.Paths = Paths{"${XDG_CONFIG_HOME:-~/.config}/", "~/Library/Application Support/", "${APPDATA:-~/AppData/Roaming}/"}.below(p.App)
		case p.Path != "":
			p.Paths = Paths{}.below(p.Path)
		}
		if p.Scope == "" || p.Paths == (Paths{}) {
			return &missingError{"file", string(p.Scope), `"file" has no scope or no path: use "file: user", with "path:" or "app:" below it`}
		}
		if p.Keys == nil {
			p.Keys = [][]string{{"mcpServers"}}
		}
		if p.Fields != nil {
			if err := p.Fields.complete(all); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete fills in the usual names of fields.
func (f *Fields) complete(all []*Client) error {
	if f.Like != "" {
		i := slices.IndexFunc(all, func(c *Client) bool { return c.ID == f.Like && c.Fields.Like == "" })
		if i < 0 {
			return fmt.Errorf(`"entry: %s" does not name a client with an entry of its own: use the name of such a client's file`, f.Like)
		}
		*f = all[i].Fields
	}
	for name, usual := range map[*string]string{&f.Command: "command", &f.Args: "args", &f.Env: "env", &f.URL: "url", &f.Headers: "headers"} {
		*name = cmp.Or(*name, usual)
	}
	if f.Argv {
		f.Args = ""
	}
	for _, t := range f.Timeouts {
		if t.Unit == 0 {
			return &missingError{"timeout", t.Field, `"timeout" has no unit: add "unit: 1s" or "unit: 1ms" below it`}
		}
	}
	if f.Types.Field != "" && f.Types.Stdio == nil {
		return &missingError{"type", f.Types.Field, `"type" has no value for local servers: add "stdio: stdio" below it, or use the client's own value`}
	}
	if f.Types.Field != "" && f.Types.HTTP == nil {
		return &missingError{"type", f.Types.Field, `"type" has no value for remote servers: add "http: http" below it, or use the client's own value`}
	}
	return nil
}

// Clients returns all known clients, the most used first.
func Clients() []*Client { return slices.Clone(clients()) }

// ByID returns the client with this id, or what stands for gauze up.
func ByID(id string) (*Client, bool) {
	if id == UpID {
		return up(), true
	}
	i := slices.IndexFunc(clients(), func(c *Client) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	return clients()[i], true
}

// known returns all fields that have a meaning for the client.
func (f Fields) known() []string {
	headers, _, _ := strings.Cut(f.Headers, "/")
	all := []string{f.Command, f.Args, f.Env, f.URL, headers, f.Cwd, f.Nest, f.Name, f.EnvNames, f.BearerEnv, f.EnvHeaders,
		f.Types.Field, f.Disabled, f.Enabled}
	all = slices.Concat(all, f.OtherURLs, f.Must, f.Also, []string{f.Builtin.Field})
	for _, t := range f.Timeouts {
		all = append(all, t.Field)
	}
	for _, o := range f.Old {
		all = append(all, o.Field)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// headersFromEntry reports whether headers refer to the variables of their own entry, as in goose.
func (f Fields) headersFromEntry() bool { return f.EnvNames != "" && f.EnvHeaders == "" }

// urls returns the fields for a URL, the preferred one first.
func (f Fields) urls() []string { return append([]string{f.URL}, f.OtherURLs...) }
