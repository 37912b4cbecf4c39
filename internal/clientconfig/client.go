package clientconfig

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
)

// Client describes a program that starts MCP servers, as far as its configuration files are
// concerned.
type Client struct {
	ID, Name string
	Certain  bool   // confirmed by running it, or from its source or its vendor's documentation
	Doubt    string // what is uncertain although the rest is certain
	Status   Status
	Message  string // a note about the status, or about a client without a file

	Sign       string // a directory that shows that the client is in use, if the one of its file does not
	Places     []Place
	Precedence []Scope // strongest first; nil if undocumented
	Fields     Fields
	Comments   Answer // accepted in its JSON files
	Commas     Answer // trailing commas
	Mark       Answer // a byte order mark at the start
	Dialect    reference.Dialect
	Approves   string // what needs approval before use, and where
	Inherits   Inherits
	GUIPath    bool   // on macOS, its servers do not have the PATH of a shell
	CmdShim    bool   // on Windows, it needs cmd /c to start npx and similar programs
	Reload     string // how to make it reload its configuration
}

// Status says whether a client is still developed.
type Status int

const (
	Active     Status = iota
	Renamed           // continues under another name
	Superseded        // still works; replaced by something else
	Ended             // discontinued
)

// Answer is a fact that may be unknown.
type Answer int

const (
	Unknown Answer = iota
	Yes
	No
)

// Inherits is the part of its environment that a client passes to its servers.
type Inherits int

const (
	Everything Inherits = iota // or undocumented
	NoSecrets                  // all but names that suggest a secret
	CommonOnly                 // HOME, PATH and a few more
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
	Agent     Scope = "agent"
	Custom    Scope = "custom"
	Legacy    Scope = "legacy"
)

// Place is where a client looks, or used to look, for a file. Paths are templates: ~ is the home
// directory, a leading ./ the project, ${NAME:-default} a variable, * any file name, and {a,b}
// alternatives. An empty path means that the place does not exist on that system.
type Place struct {
	Scope                  Scope
	Linux, Darwin, Windows string
	Keys                   [][]string // key paths to the servers, the first that exists; inProject stands for the project's path
	List                   bool       // the servers are a list, each with a name
	Fields                 *Fields    // if different from the client's
	Up                     bool       // look in every directory up to the root of the repository
	Borrowed               bool       // another client's file that this one also reads
	Private                bool       // in the project, but not shared
	Old                    string     // no longer read: the explanation for the user
	Note                   string

	Unless string // the explanation if a file of an earlier place exists: then this one is not read
	Reader string // a program that still reads the file
}

// inProject stands for the absolute path of the project in a key.
const inProject = "<project>"

// Fields are the field names of an entry.
type Fields struct {
	Command, Args, Env, URL, Headers string // empty for the usual name
	NoRemote                         bool   // the file does not support URLs
	NoSSE                            bool   // the client connects to URLs by streamable HTTP only
	Argv                             bool   // the command is a list that includes the arguments
	OtherURLs                        []string
	Cwd                              string // empty if not supported
	Nest                             string // a field that may contain all of these
	Name                             string // in a list
	EnvNames                         string // names of variables to pass on
	BearerEnv, EnvHeaders            string // the same for headers

	Login LoginFields // how an entry configures the client's own login

	Type             string   // the field for the transport; empty if there is none
	Stdio, HTTP, SSE []string // accepted values, the preferred one first
	TypeFor          TypeRule
	BareURL          Guess // how a URL without a type is read
	BothRefused      bool  // an entry with a command and a URL is rejected

	Timeouts          []Timeout
	Disabled, Enabled string // the field that enables or disables a server, if there is one
	Must              []string
	Also              []string // other known fields
	Exact             bool     // all known fields are listed here
	RejectsFile       bool     // one invalid entry makes the client reject the whole file
}

// TypeRule says which entries need a type.
type TypeRule int

const (
	Optional TypeRule = iota
	ForURL
	ForAll
)

// Guess is the transport that a client assumes for a URL without a type.
type Guess int

const (
	TriesBoth Guess = iota // or it has no type field
	Skips
	AssumesSSE
	AssumesHTTP
)

// Timeout is one of the timeouts of an entry.
type Timeout struct {
	Field             string
	Unit              time.Duration
	Default, Min, Max time.Duration // zero if unknown
	Start             bool          // for the start, not for a call
	Text              bool          // a number in quotes is also accepted
}

// Clients returns all known clients, the most used first.
func Clients() []*Client { return slices.Clone(clients) }

// ByID returns the client with this id.
func ByID(id string) (*Client, bool) {
	i := slices.IndexFunc(clients, func(c *Client) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	return clients[i], true
}

// usual fills in the usual names of fields that a table entry does not set.
func usual(f Fields) Fields {
	for _, d := range []struct {
		name  *string
		usual string
	}{{&f.Command, "command"}, {&f.Args, "args"}, {&f.Env, "env"}, {&f.URL, "url"}, {&f.Headers, "headers"}} {
		if *d.name == "" {
			*d.name = d.usual
		}
	}
	if f.Argv {
		f.Args = ""
	}
	return f
}

// known returns all fields that have a meaning for the client.
func (f Fields) known() []string {
	all := []string{f.Command, f.Args, f.Env, f.URL, top(f.Headers), f.Cwd, f.Nest, f.Name, f.EnvNames, f.BearerEnv, f.EnvHeaders, f.Type, f.Disabled, f.Enabled}
	all = append(append(append(all, f.OtherURLs...), f.Must...), f.Also...)
	for _, t := range f.Timeouts {
		all = append(all, t.Field)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// headersFromEntry reports whether headers refer to the variables of their own entry, as in goose.
func (f Fields) headersFromEntry() bool { return f.EnvNames != "" && f.EnvHeaders == "" }
