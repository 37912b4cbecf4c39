package clientconfig

import (
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
)

// Client is a program that starts MCP servers, as far as its files go.
type Client struct {
	ID, Name string
	Certain  bool   // it was run, or its source or its maker's own page was read; else only others' word for it
	Doubt    string // what is not certain although the rest is
	Status   Status
	Message  string // said to a person about the status, or about a client without a file

	Sign       string // a folder that is there where the client is in use, if the one of its file says nothing
	Places     []Place
	Precedence []Scope // the strongest first; nil: nobody wrote it down
	Fields     Fields
	Comments   Answer // in its JSON files
	Commas     Answer // trailing ones
	Mark       Answer // a byte order mark at the beginning
	Dialect    reference.Dialect
	Approves   string // what has to be approved before it is used, and where
	Inherits   Inherits
	GUIPath    bool   // on macOS its children do not see what a shell's PATH has
	CmdShim    bool   // on Windows it does not find npx and the like without cmd /c
	Reload     string // how it takes up a change
}

// Status is how alive a client is.
type Status int

const (
	Active     Status = iota
	Renamed           // goes on under another name
	Superseded        // still works; something else took its place
	Ended             // no longer made
)

// Answer is a fact that may be missing.
type Answer int

const (
	Unknown Answer = iota
	Yes
	No
)

// Inherits says what of its own environment a client hands to its servers.
type Inherits int

const (
	Everything Inherits = iota // or nobody wrote it down
	NoSecrets                  // no name that promises a secret
	CommonOnly                        // HOME, PATH and a few more
)

// Scope is for whom a file counts, in the client's own word.
type Scope string

const (
	User      Scope = "user"
	Project   Scope = "project" // shared with everybody who has the folder
	Workspace Scope = "workspace"
	Local     Scope = "local" // one person, one project
	Managed   Scope = "managed"
	System    Scope = "system"
	Agent     Scope = "agent"
	Custom    Scope = "custom"
	Legacy    Scope = "legacy"
)

// Place is where a client looks, or once looked. Paths are templates: ~ is the
// home, a leading ./ the project, ${NAME:-else} a variable, * any file, and
// {a,b} one or the other. An empty path: not on this system.
type Place struct {
	Scope                  Scope
	Linux, Darwin, Windows string
	Keys                   [][]string // ways down to the servers, the first that is there; inProject stands for the project's path
	List                   bool       // the servers are a list, each with a name
	Fields                 *Fields    // if they differ from the client's
	Up                     bool       // looked for in every folder up to the repository's root
	Borrowed               bool       // another client's file that this one reads as well
	Private                bool       // in the project, but nobody else gets it
	Old                    string     // no longer read: what to tell a person
	Note                   string

	Unless string // said where a file of an earlier place is there: then this one is not read
	Reader string // a program that reads the file nevertheless
}

// inProject stands for the absolute path of the project in a key.
const inProject = "<project>"

// Fields are the names an entry's members have.
type Fields struct {
	Command, Args, Env, URL, Headers string // empty: the usual name
	NoRemote                         bool   // the file takes no servers behind a URL
	Argv                             bool   // command is a list, the arguments in it
	OtherURLs                        []string
	Cwd                              string // empty: cannot be said
	Nest                             string // a member that may hold all of these
	Name                             string // in a list
	EnvNames                         string // variables to hand on, by name
	BearerEnv, EnvHeaders            string // the same for headers

	Type             string   // the member that says the transport; empty: there is none
	Stdio, HTTP, SSE []string // its spellings, the one to write first
	TypeFor          TypeRule
	BareURL          Guess // a URL without a type
	BothRefused      bool  // a command and a URL in one entry

	Timeouts          []Timeout
	Disabled, Enabled string // the switch, if the file has one
	Must              []string
	Also              []string // other members it knows
	Exact             bool     // every member it knows is listed here
	OneSpoilsAll      bool     // one bad entry, and none of the file is read
}

// TypeRule says when the type has to be there.
type TypeRule int

const (
	Optional TypeRule = iota
	ForURL
	ForAll
)

// Guess is what a client makes of a URL without a type.
type Guess int

const (
	TriesBoth Guess = iota // or there is no type at all
	Skips
	TakesSSE
	TakesHTTP
)

// Timeout is one of an entry's limits.
type Timeout struct {
	Field             string
	Unit              time.Duration
	Default, Min, Max time.Duration // zero: not known
	Start             bool          // for the start, not for a call
	Text              bool          // a number in quotes is taken as well
}

// Clients lists all that are known, the most used first.
func Clients() []*Client { return slices.Clone(clients) }

// ByID finds a client.
func ByID(id string) (*Client, bool) {
	i := slices.IndexFunc(clients, func(c *Client) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	return clients[i], true
}

// usual gives the members that a table entry does not name their usual names.
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

// known are all members that mean something to the client.
func (f Fields) known() []string {
	all := []string{f.Command, f.Args, f.Env, f.URL, top(f.Headers), f.Cwd, f.Nest, f.Name, f.EnvNames, f.BearerEnv, f.EnvHeaders, f.Type, f.Disabled, f.Enabled}
	all = append(append(append(all, f.OtherURLs...), f.Must...), f.Also...)
	for _, t := range f.Timeouts {
		all = append(all, t.Field)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// headersFromEntry tells whether headers refer to the variables of their own
// entry, as in goose.
func (f Fields) headersFromEntry() bool { return f.EnvNames != "" && f.EnvHeaders == "" }
