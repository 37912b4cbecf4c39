// Package fleet handles the MCP servers of all clients on this machine: it lists, checks and
// changes them, and undoes changes.
//
//	fleet.go      Look: the files of all clients, their servers and problems
//	everywhere.go LookEverywhere: also what gauze changed elsewhere on this machine
//	file.go       LookAt: one file of any name
//	choose.go     selecting servers
//	check.go      testing servers concurrently, with fixes if allowed
//	start.go      the directory and PATH that servers start with
//	use.go        a server whose tools are to be called
//	address.go    addresses that may be reached for an agent
//	whole.go      an entry as shown to the user for confirmation
//	seen.go       whether the user has seen an entry as it is now
//	mask.go       texts and diffs without secrets
//	calls.go      servers that start, but whose calls fail
//	login.go      servers that require a login, and whose it is
//	limits.go     tools that clients cannot use; plugins.go: those of plugins
//	clientlog.go  what the log of a client says about a server
//	verdict.go    the judgement of one server, and what to do
//	health.go     the judgement of all servers, by client
//	plan.go       a change to files: shown, confirmed, then applied
//	change.go     the kinds of change: wrap, unwrap, add, remove, mend
//	gather.go     moving servers to the file of gauze up
//	up.go         the servers of gauze up among the others
//	together.go   one list of servers for all clients, and what differs from it
//	keep.go       saving the fix that made a server work
//	configure.go  a new server: resolved, tested, fixed and planned
//	undo.go       undoing a change, with a diff first
//	lock.go       what servers were like when locked, and what changed; lockkey.go hides values
//	restore.go    back to what a lock has
//	history.go    past changes
//	here.go       the fleet of the current user
//	catalogue.go  every fault, cause and configuration problem with its explanation
//
// Files are written only through a Plan, and only after confirmation of exactly what it shows.
//
// A file in a project, decided by its location, is foreign until a person has seen it as it is
// (seen.go). Its servers are started only if they are named and the user agrees to the whole entry as
// it is written; the user's own servers never start in the project's directory. An entry that runs
// gauze is split into gauze run and the server, in its words as written, so that the server in the
// question is the one that starts. Secrets are hidden by value, those of all entries together, because
// one server may print what another was given.
package fleet

import (
	"cmp"
	"slices"

	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/registry"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// Fleet is where servers are looked for, and what changes need.
type Fleet struct {
	Home     clientconfig.Home
	Store    backup.Store
	Machine  *doctor.Machine
	Calls    doctor.CallLog  // failed calls that gauze run remembered
	Logins   *login.Store    // logins of gauze; nil if there are none
	Seen     *trust.Memory   // what the user has seen and agreed to; nil for nothing
	Registry registry.Source // facts about packages; the zero value queries nothing
	Gauze    string          // path of the gauze binary, as written to files
	Copy     *Copy           // makes the binary at Gauze; nil if it is there
	Version  string          // version of gauze, reported to servers

	Up     UpFile                         // the file of gauze up; nil: its servers are not listed
	Listed func(launch.Spec) []probe.Tool // the tools that gauze remembers of a server; nil: none
}

// View is the state of all files at one moment.
type View struct {
	fleet    *Fleet
	Configs  []*clientconfig.Config
	Servers  []*Server
	Problems []clientconfig.Problem // of files, or of several files together; a server's own are in Server
	unread   []Skip                 // files that LookEverywhere could not read
	secrets  redact.Secrets         // of all entries and of our environment: a server's output may contain another server's secrets
}

// Server is one entry of one file.
type Server struct {
	*clientconfig.Entry
	Config   *clientconfig.Config
	Problems []clientconfig.Problem
	view     *View
	pending  string // why gauze up does not start it before the user has confirmed it
}

// Look reads the files of these clients, by default all, and that of gauze up.
func (f *Fleet) Look(clients ...*clientconfig.Client) *View {
	isUp := func(c *clientconfig.Client) bool { return c.ID == clientconfig.UpID }
	if f.Up != nil && (len(clients) == 0 || slices.ContainsFunc(clients, isUp)) {
		return f.Up.Read(f).beside(f, f.read(clients))
	}
	return f.view(f.read(clients))
}

func (f *Fleet) read(clients []*clientconfig.Client) (all []*clientconfig.Config) {
	home := f.home()
	for _, file := range home.Find(clients...) {
		all = append(all, home.Read(file))
	}
	return all
}

// home returns the home with the path of gauze.
func (f *Fleet) home() clientconfig.Home {
	h := f.Home
	h.Gauze = f.Gauze
	return h
}

// view returns the servers and problems of files.
func (f *Fleet) view(configs []*clientconfig.Config) *View {
	v := &View{fleet: f, Configs: configs}
	var problems []clientconfig.Problem
	var secrets []redact.Secrets
	secrets = append(secrets, redact.EnvironSecrets(f.Home.Environ))
	for _, c := range v.Configs {
		secrets = append(secrets, secretsOf(c)...)
		for _, e := range c.Entries {
			secrets = append(secrets, redact.CommandSecrets(append([]string{e.Spec.Command}, e.Spec.Args...)))
		}
		problems = append(problems, c.Lint()...)
		for i := range c.Entries {
			v.Servers = append(v.Servers, &Server{Entry: &c.Entries[i], Config: c, view: v})
		}
	}
	v.secrets = redact.JoinSecrets(secrets...)
	for _, p := range append(problems, clientconfig.Across(v.Configs)...) {
		if s := v.of(p); s != nil {
			s.Problems = append(s.Problems, p)
		} else if !slices.ContainsFunc(v.Problems, func(q clientconfig.Problem) bool { return same(p, q) }) {
			v.Problems = append(v.Problems, p) // a file may be read for two scopes
		}
	}
	slices.SortStableFunc(v.Servers, func(a, b *Server) int {
		return cmp.Or(cmp.Compare(a.Client.ID, b.Client.ID), cmp.Compare(a.Name, b.Name))
	})
	return v
}

func same(p, q clientconfig.Problem) bool {
	return p.Code == q.Code && p.Client == q.Client && p.File == q.File && p.Line == q.Line && p.Column == q.Column
}

// Files returns the number of files that were read.
func (v *View) Files() int {
	paths := map[string]bool{}
	for _, c := range v.Configs {
		paths[c.Path] = true
	}
	return len(paths)
}

// of returns the server that a problem concerns.
func (v *View) of(p clientconfig.Problem) *Server {
	for _, s := range v.Servers {
		if p.Server != "" && s.Config.Path == p.File && s.Config.Client == p.Client && s.shown() == p.Server {
			return s
		}
	}
	return nil
}

// shown returns the server's name as problems show it.
func (s *Server) shown() string { return redact.Quote(s.Name) }

// ID returns CLIENT/NAME, which identifies a server.
func (s *Server) ID() string { return s.Client.ID + "/" + s.Name }

// Real returns the spec of the server itself, without gauze run.
func (s *Server) Real() launch.Spec {
	if s.Inner != nil {
		return *s.Inner
	}
	return s.Entry.Spec
}

// Shown returns how the server is started or reached, without secrets in its environment, arguments
// or URL.
func (s *Server) Shown() string {
	return s.Hide(plaintext.Clean(s.Real().Shown()))
}

// Secrets returns the values that no output about these servers may contain.
func (v *View) Secrets() redact.Secrets { return v.secrets }

// Errors returns the problems that keep the client from loading the server.
func (s *Server) Errors() (all []clientconfig.Problem) {
	for _, p := range s.Problems {
		if p.Severity == clientconfig.Error {
			all = append(all, p)
		}
	}
	return all
}

// secretsOf returns the secrets of all entries of a file. Values that a project wrote are not
// included, or it could hide its own command; values from the user's environment are.
func secretsOf(c *clientconfig.Config) []redact.Secrets {
	var all []redact.Secrets
	for i := range c.Entries {
		if c.InProject() {
			all = append(all, c.Entries[i].Used())
		} else {
			all = append(all, c.Entries[i].Secrets())
		}
	}
	return all
}
