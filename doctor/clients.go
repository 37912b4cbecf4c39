package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// HealthOptions configures [CheckHealth] and [Heal]. The zero value tests every server of every MCP
// client of the current user, and of the project in the current directory.
type HealthOptions struct {
	// Servers limits the check to servers with these names, as NAME or CLIENT/NAME.
	Servers []string
	// Clients limits the check to clients with these IDs, such as "claude-code" or "cursor".
	Clients []string
	// Static only reads the configuration files. No server is started or reached.
	Static bool
	// Allow decides whether a server that a project configures is started or reached. What is in a
	// project may come from someone else. Default: such servers are not tested.
	Allow func(Entry) bool
	// Timeout is as in TestOptions.
	Timeout time.Duration
	// Progress receives lines that say what is going on with a server, from several goroutines.
	Progress func(server, line string)
}

// Entry is a server in the configuration of a project.
type Entry struct {
	ID     string // ID is CLIENT/NAME.
	Client string // Client is the ID of the client whose configuration it is.
	Name   string // Name is the server's name.
	File   string // File is the configuration file.
	Whole  string // Whole shows everything that would be run, or sent where.
}

// State is the state of a server in the configuration of a client.
type State string

const (
	StateWorks   State = "works"   // the server was tested and works
	StateWarned  State = "warned"  // the server works, or may, but there is a problem
	StateBroken  State = "broken"  // the server does not work, or its client does not load it
	StateUntried State = "untried" // the server was not tested
	StateOff     State = "off"     // the server is disabled
)

// Health is the result of [CheckHealth].
type Health struct {
	Servers   []ServerHealth // Servers lists the servers in the order of their files.
	Problems  []Problem      // Problems lists problems of files that do not belong to one server.
	Conflicts []Conflict     // Conflicts lists tools that several servers of one client have.
}

// Broken reports whether a server or a configuration file does not work.
func (h *Health) Broken() bool {
	for _, s := range h.Servers {
		if s.State == StateBroken {
			return true
		}
	}
	for _, p := range h.Problems {
		if p.Error {
			return true
		}
	}
	return false
}

// ServerHealth is the health of one server.
type ServerHealth struct {
	ID       string    // ID is CLIENT/NAME.
	Client   string    // Client is the ID of the client.
	Name     string    // Name is the server's name.
	File     string    // File is the configuration file.
	Line     int       // Line is the line of the entry in File, or 0 if it is not known.
	State    State     // State is the state of the server.
	Cause    string    // Cause says why the server is in this state.
	Next     string    // Next is what to do about it.
	Report   *Report   // Report is the result of the test, or nil if the server was not tested.
	Problems []Problem // Problems lists what is wrong with the entry.
}

// Problem is something in a configuration file that its client rejects or ignores.
type Problem struct {
	Code    string // Code identifies the kind of problem; gauze explain CODE describes it.
	Error   bool   // Error reports whether the client does not load what the problem is about.
	Client  string // Client is the ID of the client.
	File    string // File is the configuration file.
	Line    int    // Line is the line in File, or 0 if the problem is the whole file.
	Server  string // Server is the name of the server, or empty if it is not about one.
	What    string // What describes the problem.
	Why     string // Why explains why it is one.
	Next    string // Next is what to do about it.
	Fixable bool   // Fixable reports whether Heal can repair it.
}

// Conflict is a tool name that several servers of one client use.
type Conflict struct {
	Client  string   // Client is the ID of the client.
	Tool    string   // Tool is the name that is used several times.
	Servers []string // Servers lists the names of the servers.
}

// CheckHealth reads the configuration of MCP clients, reports what is wrong in it, and tests the
// servers in it. Nothing is written.
func CheckHealth(ctx context.Context, o HealthOptions) (*Health, error) {
	_, _, h, err := check(ctx, o, false)
	if err != nil {
		return nil, err
	}
	return publicHealth(h), nil
}

// Heal is [CheckHealth] that also tries fixes, and plans to repair the configuration and to make
// permanent what helped. Nothing is written before [Plan.Apply].
func Heal(ctx context.Context, o HealthOptions) (*Health, *Plan, error) {
	f, view, h, err := check(ctx, o, true)
	if err != nil {
		return nil, nil, err
	}
	return publicHealth(h), newPlan(f, view.FixAndKeep(h.Servers, h.Whole, fleet.WithReview)), nil
}

func check(ctx context.Context, o HealthOptions, heal bool) (*fleet.Fleet, *fleet.View, fleet.Health, error) {
	fail := func(err error) (*fleet.Fleet, *fleet.View, fleet.Health, error) {
		return nil, nil, fleet.Health{}, err
	}
	if o.Timeout < 0 {
		return fail(negative("HealthOptions.Timeout", o.Timeout))
	}
	f, err := fleet.Here(version())
	if err != nil {
		return fail(err)
	}
	f.Machine = f.Machine.Until(ctx)
	clients, err := fleet.Clients(o.Clients)
	if err != nil {
		return fail(fmt.Errorf("doctor: invalid HealthOptions.Clients: %w", err))
	}
	view := f.Look(clients...)
	servers, err := view.Choose(fleet.Choice{Names: o.Servers, Clients: o.Clients})
	if err != nil {
		return fail(fmt.Errorf("doctor: invalid HealthOptions.Servers: %w", err))
	}
	checked := fleet.Unchecked(servers)
	if !o.Static {
		checked = f.Check(ctx, servers, fleet.CheckOptions{Heal: heal, Timeout: o.Timeout, Ask: o.ask, Tell: o.tell})
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	return f, view, view.Health(checked, len(o.Servers) == 0), nil
}

// ask asks Allow about a server of a project.
func (o HealthOptions) ask(s *fleet.Server) error {
	if o.Allow == nil {
		return s.NotAgreed()
	}
	whole, err := s.Whole()
	if err != nil {
		return err
	}
	if !o.Allow(Entry{ID: s.ID(), Client: s.Client.ID, Name: s.Name, File: s.File, Whole: whole}) {
		return s.NotAgreed()
	}
	return nil
}

func (o HealthOptions) tell(s *fleet.Server, line string) {
	if o.Progress != nil {
		o.Progress(s.ID(), line)
	}
}

// NewServer describes a server for [Configure]. Set Name, and one of Package, Command and URL.
type NewServer struct {
	// Name is the server's name in the configuration.
	Name string
	// Package is npm:NAME, pypi:NAME, oci:IMAGE or @scope/name, with @VERSION for a certain one.
	Package string
	// Args are arguments for Package.
	Args []string
	// Command is the program and its arguments.
	Command []string
	// URL is the address of the server.
	URL string
	// Env lists variables for the server, as NAME=value. NAME alone is written as a reference, so
	// that its value stays out of the file.
	Env []string
	// Header lists headers for URL, as "Name: value". ${NAME} in a value is written as a reference.
	Header []string

	// Clients lists the IDs of the clients to configure. Default: the client in use, if there is
	// only one.
	Clients []string
	// Project writes to the configuration of the project in the current directory instead of that
	// of the user.
	Project bool
	// Replace replaces an entry with the same name.
	Replace bool
	// Gauze is the path of the gauze program. If it is set, the client starts the server through
	// gauze run, which keeps it usable.
	Gauze string
	// Untested plans the entry without testing the server.
	Untested bool
	// Timeout is as in TestOptions.
	Timeout time.Duration
	// Progress receives lines that say what is going on.
	Progress func(string)
}

// Configure tests a new server, tries fixes if it does not work, and plans to add it to clients as it
// was found to work. If it does not work, the plan is empty and the report says why. The report is
// nil if the server was not tested. Nothing is written before [Plan.Apply].
func Configure(ctx context.Context, s NewServer) (*Report, *Plan, error) {
	if s.Timeout < 0 {
		return nil, nil, negative("NewServer.Timeout", s.Timeout)
	}
	f, err := fleet.Here(version())
	if err != nil {
		return nil, nil, err
	}
	f.Machine = f.Machine.Until(ctx)
	if f.Gauze, err = gauzeProgram(s.Gauze); err != nil {
		return nil, nil, err
	}
	r := fleet.Request{
		Name: s.Name, Package: s.Package, Command: s.Command, URL: s.URL, Args: s.Args, Env: s.Env, Header: s.Header,
		Clients: s.Clients, Scope: clientconfig.User, Wrap: s.Gauze != "", Replace: s.Replace, Untried: s.Untested,
		Heal: true, Timeout: s.Timeout, Tell: s.Progress,
	}
	if s.Project {
		r.Scope = clientconfig.Project
	}
	if r.Tell == nil {
		r.Tell = func(string) {}
	}
	c, err := f.Configure(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	plan := newPlan(f, c.Plan)
	if !c.Tried {
		return nil, plan, nil
	}
	return publicReport(c.Spec.Shown(), c.Attempt, c.Report, fleet.Hiding(c.Report.Spec)), plan, nil
}

// gauzeProgram checks the path under which clients find gauze.
func gauzeProgram(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	switch {
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("doctor: invalid NewServer.Gauze %q: must be an absolute path", path)
	case err != nil || info.IsDir():
		return "", fmt.Errorf("doctor: invalid NewServer.Gauze %q: must be the path to the gauze program", path)
	case strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe") != "gauze":
		return "", fmt.Errorf("doctor: invalid NewServer.Gauze %q: the program must be named gauze", path)
	}
	return path, nil
}

// Plan is a change to configuration files that has not been made yet.
type Plan struct {
	Files   []string // Files lists the files that would be written.
	Skipped []Skip   // Skipped lists what stays as it is, and why.

	fleet *fleet.Fleet
	plan  fleet.Plan
}

// Skip is a server or client that a plan leaves unchanged.
type Skip struct {
	Server string // Server is CLIENT/NAME, or the client's name.
	Why    string // Why says why it is not changed.
}

// Change is a change that was made to a file. To undo it, run gauze undo ID.
type Change struct {
	ID    string // ID identifies the change for gauze undo.
	File  string // File is the file that was written.
	About string // About describes the change in one line.
}

// ErrChanged means that a file was modified after the plan was created. Make a new plan.
var ErrChanged = errors.New("doctor: a file was modified after the plan was created")

// Empty reports whether there is nothing to change.
func (p *Plan) Empty() bool { return p.plan.Empty() }

// Diff returns the changes as a unified diff, with secrets redacted.
func (p *Plan) Diff() string { return p.plan.Diff() }
