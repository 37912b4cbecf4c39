package upfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// origin is a server as it is written.
type origin struct {
	fleet    *fleet.Fleet
	file     string         // of gauze up
	where    string         // the directory of the file, if the file is part of a project
	policies *document.Node // nil: none
	limits   []string       // which tools are allowed, and what happens if they change
	private  []string       // variables that it receives only if it refers to them

	entry    *fleet.Server // in a client's file; nil: in the file itself, as follows, or missing
	unusable string        // why the entry cannot be used
	proposed string        // the key that the name of an included entry proposes
	target   string        // of a project's entry: what it starts or reaches in the environment of gauze
	resolved string        // the same, if variables decide it

	line      int // of the key
	given     task.Server
	headers   []launch.Header
	login     launch.Login
	secretEnv string // the variable with the secret of the client
}

// errConnect is why an entry is not served.
var errConnect = errors.New("it runs gauze connect")

// missing reports whether a client's file does not have the entry, or cannot be read.
func (o *origin) missing() bool { return o.entry == nil && o.unusable != "" }

// At returns how a server is started or reached for a session in this directory, with this environment.
// A directory or variable of the server itself takes precedence, and a project's server starts in the
// project.
func (s *Server) At(dir string, environ []string) (launch.Spec, error) {
	if entry := s.origin.entry; entry != nil {
		spec := s.origin.entryAt(dir, environ)
		spec.Others = setBy(entry, spec)
		if entry.Config.InProject() {
			dir = entry.Config.Home.Project
		}
		switch {
		case spec.Command+spec.URL == "":
			return spec, fmt.Errorf("%s cannot be started: the variables that its command or URL refers to are not set", s.Key)
		case runsConnect(append([]string{spec.Command}, spec.Args...)):
			return launch.Spec{}, fmt.Errorf("%s cannot be started: %w", s.Key, errConnect)
		case s.origin.target != "" && target(spec) != s.origin.target:
			return launch.Spec{}, fmt.Errorf("%s is not started: it belongs to a project, and variables make another command or URL of its entry for this client than for gauze up, which is what you confirm; start gauze up with the same variables", s.Key)
		}
		return spec.In(dir), nil
	}
	spec, err := s.origin.givenAt(environ)
	if err != nil {
		err = fmt.Errorf("%s cannot be started: %w", s.Key, err)
	}
	return spec.In(dir), err
}

// entryAt returns the server of a client's entry as the client would start it.
func (o *origin) entryAt(dir string, environ []string) launch.Spec {
	c := o.entry.Config
	home := c.Home
	home.Environ = o.revealed(Private(environ, o.private))
	var again *clientconfig.Entry
	if dir != "" && !c.InProject() {
		there := home
		there.Project = dir
		again = c.Again(there, o.entry.Entry)
	}
	if again == nil { // it is an entry for one project
		again = c.Again(home, o.entry.Entry)
	}
	switch {
	case again == nil:
		return o.entry.Real()
	case again.Inner != nil:
		return *again.Inner
	}
	return again.Spec
}

// givenAt returns a server that is written in the file itself.
func (o *origin) givenAt(environ []string) (spec launch.Spec, err error) {
	environ = Private(environ, o.private)
	lookup := func(name string) (string, bool) { return lookup(environ, name) }
	spec = o.written()
	spec.Others = nil
	if spec.URL == "" {
		set, wrong := o.given.EnvironFrom(lookup)
		spec.Env = append(withoutOurs(environ), set...)
		spec.Others = set
		return spec, wrong
	}
	for i, h := range spec.Header {
		if spec.Header[i].Value, err = task.ExpandEnv(h.Value, lookup); err != nil {
			return spec, fmt.Errorf("header %s: %w", h.Name, err)
		}
		spec.Header[i].Source = "the file of gauze up"
	}
	if o.secretEnv != "" {
		var set bool
		if spec.Login.ClientSecret, set = lookup(o.secretEnv); !set {
			return spec, fmt.Errorf("login: the environment variable %s is not set", o.secretEnv)
		}
	}
	return spec, nil
}

// written returns the server with references as they are written, and what else decides what it may do.
func (o *origin) written() (spec launch.Spec) {
	if o.entry != nil {
		spec = o.entry.Written()
	} else {
		spec = launch.Spec{URL: o.given.URL, Header: slices.Clone(o.headers), Login: o.login, Dir: o.given.Cwd}
		if len(o.given.Command) > 0 {
			spec.Command, spec.Args = o.given.Command[0], o.given.Command[1:]
		}
		for _, name := range slices.Sorted(maps.Keys(o.given.Env)) {
			spec.Env = append(spec.Env, name+"="+o.given.Env[name])
		}
		if o.secretEnv != "" {
			spec.Login.ClientSecret, spec.Login.SecretSource = "${"+o.secretEnv+"}", "the variable "+o.secretEnv
		}
	}
	if o.policies != nil {
		text, _ := json.Marshal(o.policies.JSON()) // it was read from a file
		spec.Others = append(spec.Others, "policies="+string(text))
	}
	return spec
}

// uses returns the variables of the environment that the server receives.
func (o *origin) uses() []string {
	if o.entry != nil {
		return o.entry.Sends()
	}
	all := o.given.Uses()
	for _, h := range o.headers {
		all = append(all, task.EnvReferences(h.Value)...)
	}
	if o.secretEnv != "" {
		all = append(all, o.secretEnv)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Uses returns the variables of the environment that the file refers to, in order.
func (f *File) Uses() (all []string) {
	for i := range f.Servers {
		all = append(all, f.Servers[i].origin.uses()...)
	}
	for _, t := range f.Tokens {
		all = append(all, t.Env)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// unset returns the variables that the server refers to and that the environment does not have.
func (o *origin) unset(environ []string) (names []string) {
	if o.entry != nil {
		return o.entry.Unset
	}
	for _, name := range o.uses() {
		if _, set := lookup(environ, name); !set {
			names = append(names, name)
		}
	}
	return names
}

// sameAs reports whether two entries of clients are the same server with the same settings.
func (o *origin) sameAs(other *origin) bool { return o.identity() == other.identity() }

// identity is equal only for entries that start or reach the same server in every environment, whichever client has them:
// the keys of servers do not depend on where the file is read.
func (o *origin) identity() string {
	s := plainly(o.entry.Config.OneForm(o.entry.Entry))
	s.Env = setBy(o.entry, s)
	return s.Fingerprint()
}

// setBy returns the variables that an entry sets for its command, in order. It is empty, not nil.
func setBy(entry *fleet.Server, spec launch.Spec) []string {
	all, names := []string{}, entry.Variables()
	for _, pair := range spec.Env {
		if name, _, _ := strings.Cut(pair, "="); spec.URL == "" && slices.Contains(names, name) {
			all = append(all, pair)
		}
	}
	slices.Sort(all)
	return all
}

// lookup returns a variable of an environment. The last one with a name counts.
func lookup(environ []string, name string) (string, bool) {
	for _, name := range []string{name, private + name} {
		value := clientconfig.Home{Environ: environ}.Getenv(name)
		if value != "" || slices.Contains(environ, name+"=") {
			return value, true
		}
	}
	return "", false
}

// private precedes the names of variables that only servers that refer to them receive: variables of gauze
// are not passed on.
const private = "GAUZE_PRIVATE_"

// Private returns an environment in which only servers that refer to these variables receive them.
func Private(environ, names []string) []string {
	environ = slices.Clone(environ)
	for i, pair := range environ {
		set, _, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc(names, func(name string) bool {
			return set == name || runtime.GOOS == "windows" && strings.EqualFold(set, name)
		}) {
			environ[i] = private + pair
		}
	}
	return environ
}

// revealed returns an environment with the private variables that a client's entry refers to.
func (o *origin) revealed(environ []string) []string {
	for _, name := range clientconfig.References(o.entry.Entry) {
		if value, set := lookup(environ, private+name); set {
			environ = append(slices.Clip(environ), name+"="+value)
		}
	}
	return environ
}

// withoutOurs returns an environment without the variables of gauze.
func withoutOurs(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool { return strings.HasPrefix(pair, "GAUZE_") })
}
