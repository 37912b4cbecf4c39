package clientconfig

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// reader fills in the Spec of an entry.
type reader struct {
	home Home
	*Entry
	written bool // references stay unexpanded, and nothing is inherited

	spell func(text string, in reference.Part) string // if set, writes references in another form
}

func (r reader) expand(text string, in reference.Part) string {
	switch {
	case r.spell != nil:
		return r.spell(text, in)
	case r.written:
		return text
	}
	got := r.Client.Dialect.On(r.home.OS).Expand(text, in, func(name string) (string, bool) {
		value, ok := r.look(name)
		if (in == reference.Headers || in == reference.Environment) && !slices.Contains(common().CommonVariables, strings.ToUpper(name)) {
			r.refs.sent = append(r.refs.sent, value)
		}
		return value, ok
	})
	for _, name := range got.Unset {
		r.unset(name)
	}
	for _, w := range got.Waiting {
		r.Waiting = append(r.Waiting, w.String())
	}
	return got.Text
}

// unset records a variable without a value.
func (r reader) unset(name string) {
	if !slices.Contains(r.Unset, name) {
		r.Unset = append(r.Unset, name)
	}
}

// look returns what a reference names: a directory or a variable.
func (r reader) look(name string) (string, bool) {
	switch name {
	case "workspaceFolder", "workspaceRoot", "cwd":
		return r.home.Project, r.home.Project != ""
	case "workspaceFolderBasename":
		return path.Base(strings.ReplaceAll(r.home.Project, `\`, "/")), r.home.Project != ""
	case "userHome":
		return r.home.Home, r.home.Home != ""
	case "pathSeparator", "/":
		return r.home.separator(), true
	}
	if env, ok := member(r.src.node, r.src.fields.Env); ok && r.src.fields.headersFromEntry() {
		if value := textOf(env, name); value != "" {
			return value, true
		}
	}
	return r.variable(name)
}

// variable returns a variable of the client's environment and records its use.
func (r reader) variable(name string) (string, bool) {
	if r.written {
		return "${" + name + "}", true
	}
	value, ok := r.home.lookup(name)
	if !slices.Contains(r.refs.names, name) {
		r.refs.names = append(r.refs.names, name)
		if ok && !slices.Contains(common().CommonVariables, strings.ToUpper(name)) {
			r.refs.values = append(r.refs.values, value)
		}
	}
	return value, ok
}

func (r reader) spec() {
	f := r.src.fields
	if r.Builtin != "" || r.src.node.Kind() != splice.MapKind {
		return
	}
	if r.remote() {
		r.Spec.URL = r.expand(r.src.url(), reference.URL)
		r.headers()
		return
	}
	r.command()
	r.Spec.Env = r.environment()
	if f.Cwd != "" {
		r.Spec.Dir = r.expand(textOf(r.src.node, f.Cwd), reference.Cwd)
	}
}

func (r reader) command() {
	expand := r.expand
	if r.src.oldForm() {
		expand = func(text string, _ reference.Part) string { return text }
	}
	for i, word := range r.src.argv() {
		if i == 0 {
			r.Spec.Command = expand(word, reference.Command)
		} else {
			r.Spec.Args = append(r.Spec.Args, expand(word, reference.Args))
		}
	}
}

// argv returns the command and its arguments as written.
func (s *source) argv() []string {
	command, ok := member(s.node, s.fields.Command)
	switch {
	case !ok:
		return nil
	case command.Kind() == splice.ListKind && s.fields.Argv:
		return words(command)
	case command.Kind() == splice.ListKind:
		return nil
	case s.oldForm():
		return append([]string{textOf(command, "path")}, words(mustMember(command, "args"))...)
	}
	return append([]string{textOf(s.node, s.fields.Command)}, words(mustMember(s.node, s.fields.Args))...)
}

// oldForm reports whether the command is an object with path, args and env, as in old versions of Zed.
func (s *source) oldForm() bool {
	command, ok := member(s.node, s.fields.Command)
	return ok && command.Kind() == splice.MapKind
}

func (r reader) headers() {
	add := func(name, value, source string) {
		r.Spec.Header = append(r.Spec.Header, launch.Header{Name: name, Value: value, Source: source})
	}
	if m, ok := member(r.src.node, r.src.fields.Headers); ok {
		for name, value := range m.Members() {
			if s, ok := text(value); ok {
				add(name, r.expand(s, reference.Headers), "the configuration of "+r.Client.Name)
			}
		}
	}
	fromVariable := func(name, scheme, variable string) {
		if value, ok := r.variable(variable); ok {
			add(name, scheme+value, "the variable "+variable)
		} else {
			r.unset(variable)
		}
	}
	if variable := textOf(r.src.node, r.src.fields.BearerEnv); variable != "" {
		fromVariable("Authorization", "Bearer ", variable)
	}
	if m, ok := member(r.src.node, r.src.fields.EnvHeaders); ok {
		for name, value := range m.Members() {
			if variable, ok := text(value); ok {
				fromVariable(name, "", variable)
			}
		}
	}
}

// environment returns the server's environment: what the client passes on, then what the entry
// sets.
func (r reader) environment() []string {
	env := r.inherited()
	for _, name := range words(mustMember(r.src.node, r.src.fields.EnvNames)) {
		if value, ok := r.variable(name); ok {
			env = withVariable(env, name, value)
		} else {
			r.unset(name)
		}
	}
	field := r.src.fields.Env
	if r.src.oldForm() {
		field = r.src.fields.Command + "/env"
	}
	if set, ok := member(r.src.node, field); ok {
		for name, value := range set.Members() {
			if s, ok := plain(value); ok {
				env = withVariable(env, name, r.expand(s, reference.Environment))
			}
		}
	}
	return env
}

// withVariable sets a variable once.
func withVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
	return append(env, name+"="+value)
}

// guiPath is the PATH that macOS gives to apps that are not started from a shell.
const guiPath = "/usr/bin:/bin:/usr/sbin:/sbin"

func (r reader) inherited() (env []string) {
	if r.written {
		return nil
	}
	for _, pair := range r.home.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if !r.Client.passesOn(name) || strings.HasPrefix(name, "GAUZE_") {
			continue
		}
		if name == "PATH" && r.home.OS == "darwin" && r.Client.GUIPath {
			value = guiPath
		}
		env = append(env, name+"="+value)
	}
	return env
}

// passesOn reports whether a client passes a variable on to its servers.
func (c *Client) passesOn(name string) bool {
	switch c.Inherits {
	case "no secrets":
		return !matches(name, common().SecretVariables)
	case "common only":
		return matches(name, common().CommonVariables)
	}
	return true
}
