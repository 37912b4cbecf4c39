package clientconfig

import (
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// reader fills in the Spec of an entry.
type reader struct {
	Home
	*Entry
	written bool // references stay unexpanded, and nothing is inherited
}

func (r reader) expand(text string, in reference.Part) string {
	if r.written {
		return text
	}
	got := r.Client.Dialect.On(r.OS).Expand(text, in, func(name string) (string, bool) {
		value, ok := r.look(name)
		if (in == reference.Headers || in == reference.Environment) && !slices.Contains(commonVariables, strings.ToUpper(name)) {
			r.referred = append(r.referred, value)
		}
		return value, ok
	})
	for _, name := range got.Unset {
		if !slices.Contains(r.Unset, name) {
			r.Unset = append(r.Unset, name)
		}
	}
	for _, w := range got.Waiting {
		r.Waiting = append(r.Waiting, w.String())
	}
	return got.Text
}

// look returns what a reference names: a directory or a variable.
func (r reader) look(name string) (string, bool) {
	switch name {
	case "workspaceFolder", "workspaceRoot", "cwd":
		return r.Project, r.Project != ""
	case "workspaceFolderBasename":
		return path.Base(strings.ReplaceAll(r.Project, `\`, "/")), r.Project != ""
	case "userHome":
		return r.Home.Home, r.Home.Home != ""
	case "pathSeparator", "/":
		return r.separator(), true
	}
	if env, ok := member(r.node, r.fields.Env); ok && r.fields.headersFromEntry() {
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
	value, ok := r.lookup(name)
	if !slices.Contains(r.uses, name) {
		r.uses = append(r.uses, name)
		if ok && !slices.Contains(commonVariables, strings.ToUpper(name)) {
			r.used = append(r.used, value)
		}
	}
	return value, ok
}

func (r reader) spec() {
	f := r.fields
	if r.Builtin != "" || r.node.Kind() != splice.MapKind {
		return
	}
	if r.remote() {
		r.Spec.URL = r.expand(r.url(), reference.URL)
		r.headers()
		return
	}
	r.command()
	r.Spec.Env = r.environment()
	if f.Cwd != "" {
		r.Spec.Dir = r.expand(textOf(r.node, f.Cwd), reference.Cwd)
	}
}

func (r reader) command() {
	command, _ := member(r.node, r.fields.Command)
	for i, word := range r.argv() {
		switch {
		case command.Kind() == splice.MapKind: // not expanded
		case i == 0:
			word = r.expand(word, reference.Command)
		default:
			word = r.expand(word, reference.Args)
		}
		if i == 0 {
			r.Spec.Command = word
		} else {
			r.Spec.Args = append(r.Spec.Args, word)
		}
	}
}

// argv returns the command and its arguments as written.
func (e *Entry) argv() []string {
	command, ok := member(e.node, e.fields.Command)
	switch {
	case !ok:
		return nil
	case command.Kind() == splice.ListKind && e.fields.Argv:
		return words(command)
	case command.Kind() == splice.ListKind:
		return nil
	case command.Kind() == splice.MapKind: // Zed's old form
		return append([]string{textOf(command, "path")}, words(mustMember(command, "args"))...)
	}
	first, _ := text(command)
	args, _ := member(e.node, e.fields.Args)
	return append([]string{first}, words(args)...)
}

func (r reader) headers() {
	add := func(name, value, source string) {
		r.Spec.Header = append(r.Spec.Header, launch.Header{Name: name, Value: value, Source: source})
	}
	if m, ok := member(r.node, r.fields.Headers); ok {
		for name, value := range m.Members() {
			if s, ok := text(value); ok {
				add(name, r.expand(s, reference.Headers), "the configuration of "+r.Client.Name)
			}
		}
	}
	named := func(variable string) (string, bool) {
		value, ok := r.variable(variable)
		if !ok {
			r.Unset = append(r.Unset, variable)
		}
		return value, ok
	}
	if variable := textOf(r.node, r.fields.BearerEnv); variable != "" {
		if value, ok := named(variable); ok {
			add("Authorization", "Bearer "+value, "the variable "+variable)
		}
	}
	if m, ok := member(r.node, r.fields.EnvHeaders); ok {
		for name, value := range m.Members() {
			if variable, ok := text(value); ok {
				if value, ok := named(variable); ok {
					add(name, value, "the variable "+variable)
				}
			}
		}
	}
}

// environment returns the server's environment: what the client passes on, then what the entry
// sets.
func (r reader) environment() []string {
	env := r.inherited()
	if m, ok := member(r.node, r.fields.EnvNames); ok && r.fields.EnvNames != "" {
		for _, name := range words(m) {
			if value, ok := r.variable(name); ok {
				env = withVariable(env, name, value)
			} else {
				r.Unset = append(r.Unset, name)
			}
		}
	}
	set, ok := member(r.node, r.fields.Env)
	if command, nested := member(r.node, r.fields.Command); nested && command.Kind() == splice.MapKind {
		set, ok = member(command, "env")
	}
	if ok {
		for name, value := range set.Members() {
			s, is := text(value)
			if !is {
				s, is = plain(value)
			}
			if is {
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

// commonVariables are those that desktop programs start with, the same that the MCP SDKs pass on.
var commonVariables = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "PROGRAMFILES", "COMSPEC", "PATHEXT"}

// guiPath is the PATH that macOS gives to apps that are not started from a shell.
const guiPath = "/usr/bin:/bin:/usr/sbin:/sbin"

func (r reader) inherited() (env []string) {
	if r.written {
		return nil
	}
	for _, pair := range r.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if !r.Client.passesOn(name) || strings.HasPrefix(name, "GAUZE_") {
			continue
		}
		if name == "PATH" && r.OS == "darwin" && r.Client.GUIPath {
			value = guiPath
		}
		env = append(env, name+"="+value)
	}
	return env
}

// passesOn reports whether a client passes a variable on to its servers.
func (c *Client) passesOn(name string) bool {
	upper := strings.ToUpper(name)
	switch c.Inherits {
	case NoSecrets:
		return !slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSWORD", "KEY", "AUTH", "CREDENTIAL"}, func(part string) bool { return strings.Contains(upper, part) })
	case CommonOnly:
		return slices.Contains(commonVariables, upper)
	}
	return true
}
