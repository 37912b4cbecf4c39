// Package fleet is every MCP server of every client on this machine, as one
// list: looked at, checked, changed, and given back.
//
//	fleet.go    Look: the files of all clients, their servers and what is wrong in them
//	choose.go   which of them are meant
//	check.go    are they well: tried side by side, healed if allowed
//	start.go    where they start
//	address.go  which addresses are reached for somebody who is not the user
//	whole.go    an entry as a person sees it who is to agree to it
//	mask.go     texts and diffs without secrets
//	verdict.go  what there is to say about one, and to do
//	health.go   all of them together, by client
//	plan.go     a change to files: shown, agreed to, made, or none of it
//	change.go   the changes there are: wrap, unwrap, add, remove, mend
//	keep.go     what healed a server, written down for good
//	configure.go   a server somebody wants: found, tried, healed, and planned as it was found to work
//	undo.go     the way back from a change, shown first
//	lock.go     what servers were like when they were trusted, and what is different now
//	history.go  what was changed in the past
//	here.go     the fleet of whoever runs us
//
// Nothing is written but through a Plan, and no Plan without the consent to
// exactly what it shows.
package fleet

import (
	"cmp"
	"slices"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/registry"
)

// Fleet is where the servers are looked for, and what changes need.
type Fleet struct {
	Home     clientconfig.Home
	Store    backup.Store
	Machine  *doctor.Machine
	Registry registry.Source // what is known of packages; its zero value asks nobody
	Gauze    string          // our program, as files are to name it
	Version  string          // of ours, told to servers
}

// View is what was found at one moment.
type View struct {
	fleet    *Fleet
	Configs  []*clientconfig.Config
	Servers  []*Server
	Problems []clientconfig.Problem // of files, and of several together; those of a server are with it
	secrets  redact.Secrets         // of all entries and of our environment: a server may say what another one was given
}

// Server is one entry of one file.
type Server struct {
	*clientconfig.Entry
	Config   *clientconfig.Config
	Problems []clientconfig.Problem
	view     *View
}

// Look reads the files of all clients, or of these.
func (f *Fleet) Look(clients ...*clientconfig.Client) *View {
	v := &View{fleet: f}
	for _, file := range f.Home.Find(clients...) {
		v.Configs = append(v.Configs, f.Home.Read(file))
	}
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

// Files counts the files that were read.
func (v *View) Files() int {
	paths := map[string]bool{}
	for _, c := range v.Configs {
		paths[c.Path] = true
	}
	return len(paths)
}

// of is the server a problem is about.
func (v *View) of(p clientconfig.Problem) *Server {
	for _, s := range v.Servers {
		if p.Server != "" && s.Config.Path == p.File && s.Config.Client == p.Client && s.shown() == p.Server {
			return s
		}
	}
	return nil
}

// shown is a server's name as problems write it.
func (s *Server) shown() string { return redact.Quote(s.Name) }

// ID names a server among all: its client and its name.
func (s *Server) ID() string { return s.Client.ID + "/" + s.Name }

// Spec is the server itself, without us in between.
func (s *Server) Real() launch.Spec {
	if s.Inner != nil {
		return *s.Inner
	}
	return s.Entry.Spec
}

// Shown is how the server is started or reached, fit to be shown: no secrets
// of its environment, its arguments or its address.
func (s *Server) Shown() string {
	return s.Hide(plaintext.Clean(s.Real().Shown()))
}

// Secrets are the values that no output about any of these servers shows.
func (v *View) Secrets() redact.Secrets { return v.secrets }

// Foreign reports whether the entry comes with a project and the user has not
// agreed to run it. That a file is meant for one person does not keep a project
// from bringing it along. To have approved a server in Claude Code is no
// agreement to send it variables: that approval is for a name, whatever the
// entry says today.
func (s *Server) Foreign() bool {
	approved := s.Client.ID == "claude-code" && len(s.Sends()) == 0 && s.Config.Home.Approved(s.Name)
	return s.Config.InProject() && !approved
}

// HasTwin reports whether the ID of a project's server is also that of a server
// of the user's own. A project chooses the names of its servers.
func (s *Server) HasTwin() bool {
	return s.Config.InProject() && slices.ContainsFunc(s.view.Servers, func(other *Server) bool {
		return !other.Config.InProject() && other.ID() == s.ID()
	})
}

// Errors are the problems that keep the server from being loaded.
func (s *Server) Errors() (all []clientconfig.Problem) {
	for _, p := range s.Problems {
		if p.Severity == clientconfig.Error {
			all = append(all, p)
		}
	}
	return all
}

// secretsOf returns the values of all entries of a file that no output shows.
// What a project wrote hides nothing, or it could hide its own command; what its
// entries take from the user's environment does.
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
