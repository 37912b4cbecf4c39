package clientconfig

import (
	"bytes"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/splice"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Config is a file that was read.
type Config struct {
	File
	Home    Home
	Text    []byte
	Doc     *splice.Document // nil: neither read as the client would nor more generously
	Strict  error            // why the client will not read it
	Entries []Entry

	fields  Fields
	servers []any // the way to them; nil: not there
}

// Entry is one server in a file.
type Entry struct {
	Name         string
	Client       *Client
	Scope        Scope
	File         string
	Path         []any // in the document
	Line, Column int

	Spec      upstream.Spec // as the client would start or reach it: secrets are in it
	Transport Transport
	Disabled  bool
	Builtin   string         // the client's own: its word for it
	Wrapped   bool           // the command is gauze run
	Inner     *upstream.Spec // if it is: the server behind it
	Timeout   time.Duration  // of a call; zero: not said
	Start     time.Duration  // of the start
	Unset     []string       // variables it refers to and that are not set
	Waiting   []string       // references that a person, a file or a program answers

	referred []string // values of variables that its headers and variables refer to

	node   splice.Node // the members; those of Nest, if it has one
	outer  splice.Node
	fields Fields
}

// Transport is how a server is spoken to.
type Transport string

const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
	Auto  Transport = "auto" // a URL, and the client finds out
)

// Raw is the entry as it stands in the file.
func (e Entry) Raw() splice.Map {
	m, _ := e.outer.Value().(splice.Map)
	return m
}

// Read reads a file and what its client would make of it. A file that the
// client refuses is read more generously, so that its servers are still seen;
// Lint says what it was refused for.
func (h Home) Read(f File) *Config {
	c := &Config{File: f, Home: h}
	if f.Err == nil {
		c.Text, c.Err = h.disk().ReadFile(f.Path)
	}
	if c.Err == nil && len(c.Text) > largest {
		c.Err = errTooLarge
	}
	if c.Err == nil {
		c.parse()
	}
	return c
}

// ReadText reads a text as if it stood in the file.
func (h Home) ReadText(f File, text []byte) *Config {
	c := &Config{File: f, Home: h, Text: text}
	c.parse()
	return c
}

// Format is how the client would read the file.
func (f File) Format() splice.Format {
	switch strings.ToLower(path.Ext(strings.ReplaceAll(f.Path, `\`, "/"))) {
	case ".toml":
		return splice.TOML
	case ".yaml", ".yml":
		return splice.YAML
	}
	if f.Client.Comments == Yes {
		return splice.JSONC
	}
	return splice.JSON
}

func (c *Config) parse() {
	c.fields = c.Client.Fields
	if c.Place.Fields != nil {
		c.fields = *c.Place.Fields
	}
	c.Doc, c.Strict = splice.Parse(c.Format(), c.Text)
	if c.Strict != nil && c.Format() == splice.JSON {
		c.Doc, _ = splice.Parse(splice.JSONC, c.Text)
	}
	if c.Doc == nil {
		return
	}
	for _, key := range c.keys() {
		if n, ok := c.Doc.At(key...); ok && (len(key) == 1 || holdsServers(n)) {
			c.servers = key
			c.readServers(n)
			return
		}
	}
}

// keys are the ways to the servers in this file, with the project put in.
func (c *Config) keys() (all [][]any) {
	for _, key := range c.Place.Keys {
		names := []string{""}
		if slices.Contains(key, inProject) {
			names = []string{c.Home.Project, strings.ReplaceAll(c.Home.Project, `\`, "/")}
		}
		for _, project := range slices.Compact(names) {
			way := make([]any, 0, len(key))
			for _, step := range key {
				if step == inProject {
					step = project
				}
				way = append(way, step)
			}
			all = append(all, way)
		}
	}
	return all
}

// holdsServers tells a map of servers from an entry that has the same name.
func holdsServers(n splice.Node) bool {
	for name, m := range n.Members() {
		if name == "$schema" {
			continue
		}
		if m.Kind() != splice.MapKind {
			return false
		}
	}
	return n.Kind() == splice.MapKind
}

func (c *Config) readServers(servers splice.Node) {
	at := func(step any) []any { return append(slices.Clone(c.servers), step) }
	for name, n := range servers.Members() {
		if name != "$schema" && !strings.HasPrefix(name, "//") {
			c.Entries = append(c.Entries, c.entry(name, at(name), n))
		}
	}
	for i, n := range servers.Items() {
		c.Entries = append(c.Entries, c.entry(textOf(n, "name"), at(i), n))
	}
}

func (c *Config) entry(name string, at []any, n splice.Node) Entry {
	e := Entry{Name: name, Client: c.Client, Scope: c.Place.Scope, File: c.Path, Path: at, node: n, outer: n, fields: c.fields}
	e.Line, e.Column = n.Place()
	if inner, ok := member(n, c.fields.Nest); ok && inner.Kind() == splice.MapKind {
		e.node = inner
	}
	e.Disabled = e.off()
	e.Timeout, e.Start = e.times()
	e.Transport, e.Builtin = e.transport()
	reader{c.Home, &e}.spec()
	e.Wrapped, e.Inner = unwrapped(e.Spec)
	return e
}

// unwrapped tells what stands behind gauze run, if it is there.
func unwrapped(s upstream.Spec) (bool, *upstream.Spec) {
	if !isGauze(s.Command) || len(s.Args) < 2 || s.Args[0] != "run" {
		return false, nil
	}
	inner := s
	inner.Command, inner.Args = "", nil
	rest := s.Args[1:]
	for i, word := range rest {
		switch {
		case word == "--" && i+1 < len(rest):
			inner.Command, inner.Args = rest[i+1], slices.Clone(rest[i+2:])
			return true, &inner
		case word == "--url" && i+1 < len(rest):
			inner.URL, inner.Header = rest[i+1], headersByEnv(rest[:i], s.Env)
			return true, &inner
		case i == 0 && !strings.HasPrefix(word, "-"):
			inner.Command, inner.Args = word, slices.Clone(rest[1:])
			return true, &inner
		}
	}
	return true, nil
}

// headersByEnv are the headers that --header-env names.
func headersByEnv(flags, env []string) (all []upstream.Header) {
	for i, word := range flags[:max(0, len(flags)-1)] {
		name, variable, ok := strings.Cut(flags[i+1], "=")
		if word != "--header-env" || !ok {
			continue
		}
		for _, pair := range env {
			if value, is := strings.CutPrefix(pair, variable+"="); is {
				all = append(all, upstream.Header{Name: name, Value: value, Source: "the variable " + variable})
			}
		}
	}
	return all
}

func isGauze(command string) bool {
	name := strings.ToLower(path.Base(filepath.ToSlash(strings.ReplaceAll(command, `\`, "/"))))
	return strings.TrimSuffix(name, ".exe") == "gauze"
}

func (e *Entry) off() bool {
	if m, ok := member(e.outer, e.fields.Disabled); ok {
		if off, is := truth(m); is && off {
			return true
		}
	}
	if m, ok := member(e.outer, e.fields.Enabled); ok {
		on, is := truth(m)
		return is && !on
	}
	return false
}

func (e *Entry) times() (call, start time.Duration) {
	for _, t := range e.fields.Timeouts {
		value := t.Default
		if m, ok := member(e.outer, t.Field); ok {
			switch m.Kind() {
			case splice.MapKind: // of opencode's newer form
				if n, ok := member(m, "request"); ok {
					call = duration(n, t.Unit)
				}
				if m, ok = member(m, "startup"); !ok {
					continue
				}
				fallthrough
			default:
				value = duration(m, t.Unit)
			}
		}
		switch {
		case value <= 0:
		case t.Start && start == 0:
			start = value
		case !t.Start && call == 0:
			call = value
		}
	}
	return call, start
}

func duration(n splice.Node, unit time.Duration) time.Duration {
	f, ok := number(n)
	if !ok || f <= 0 || f*float64(unit) > math.MaxInt64/2 {
		return 0
	}
	return time.Duration(f * float64(unit))
}

// transport is what the client would take the entry for. What is neither a
// program nor a URL is the client's own.
func (e *Entry) transport() (t Transport, builtin string) {
	kind := textOf(e.node, e.fields.Type)
	hasURL := e.url() != ""
	switch {
	case e.fields.Type != "" && slices.Contains(e.fields.Stdio, kind):
		return Stdio, ""
	case slices.Contains(e.fields.HTTP, kind):
		if kind == "remote" { // one word for both
			return Auto, ""
		}
		return HTTP, ""
	case slices.Contains(e.fields.SSE, kind):
		return SSE, ""
	case slices.Contains([]string{"builtin", "platform", "frontend", "inline_python", "inMemory"}, kind):
		return "", kind
	case hasURL && e.fields.BareURL == TakesSSE && kind == "":
		return SSE, ""
	case hasURL && has(e.node, "httpUrl") && slices.Contains(e.fields.OtherURLs, "httpUrl"):
		return HTTP, ""
	case hasURL:
		return Auto, ""
	case has(e.node, "settings") && slices.Contains(e.fields.Also, "settings") && !has(e.node, e.fields.Command):
		return "", "extension"
	case has(e.node, "warp_id") && slices.Contains(e.fields.Also, "warp_id"):
		return "", "cloud"
	}
	return Stdio, ""
}

// url is the address the client would take.
func (e *Entry) url() string {
	for _, name := range append([]string{e.fields.URL}, e.fields.OtherURLs...) {
		if address := textOf(e.node, name); address != "" {
			return address
		}
	}
	return ""
}

// reader fills in the Spec of an entry.
type reader struct {
	Home
	*Entry
}

func (r reader) expand(text string, in reference.Part) string {
	got := r.Client.Dialect.Expand(text, in, func(name string) (string, bool) {
		value, ok := r.look(name)
		if (in == reference.Headers || in == reference.Environment) && !slices.Contains(fewNames, strings.ToUpper(name)) {
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

// look finds what a reference names: a folder or a variable.
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
	return r.lookup(name)
}

func (r reader) spec() {
	f := r.fields
	if r.Builtin != "" || r.node.Kind() != splice.MapKind {
		return
	}
	if address := r.url(); address != "" && (r.Transport != Stdio || !has(r.node, f.Command)) && !f.NoRemote {
		r.Spec.URL = r.expand(address, reference.URL)
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
	if !has(r.node, r.fields.Command) {
		return
	}
	args, _ := member(r.node, r.fields.Args)
	switch command.Kind() {
	case splice.StringKind:
		r.Spec.Command = r.expand(textOf(r.node, r.fields.Command), reference.Command)
	case splice.ListKind:
		if argv := words(command); r.fields.Argv && len(argv) > 0 {
			r.Spec.Command = r.expand(argv[0], reference.Command)
			for _, word := range argv[1:] {
				r.Spec.Args = append(r.Spec.Args, r.expand(word, reference.Args))
			}
		}
		return
	case splice.MapKind: // Zed's older form
		r.Spec.Command = textOf(command, "path")
		if args, ok := member(command, "args"); ok {
			r.Spec.Args = words(args)
		}
		return
	}
	if r.fields.Args != "" && has(r.node, r.fields.Args) {
		for _, word := range words(args) {
			r.Spec.Args = append(r.Spec.Args, r.expand(word, reference.Args))
		}
	}
}

func (r reader) headers() {
	add := func(name, value, source string) {
		r.Spec.Header = append(r.Spec.Header, upstream.Header{Name: name, Value: value, Source: source})
	}
	if m, ok := member(r.node, r.fields.Headers); ok {
		for name, value := range m.Members() {
			if s, ok := text(value); ok {
				add(name, r.expand(s, reference.Headers), "the configuration of "+r.Client.Name)
			}
		}
	}
	named := func(variable string) (string, bool) {
		value, ok := r.lookup(variable)
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

// environment is what the server would have: what the client hands on, then
// what the entry says.
func (r reader) environment() []string {
	env := r.inherited()
	if m, ok := member(r.node, r.fields.EnvNames); ok && r.fields.EnvNames != "" {
		for _, name := range words(m) {
			if value, ok := r.lookup(name); ok {
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

// withVariable sets a variable, once.
func withVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
	return append(env, name+"="+value)
}

// fewNames are what a desktop's programs start with, the same that the SDKs
// of the protocol hand on.
var fewNames = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "PROGRAMFILES", "COMSPEC", "PATHEXT"}

// guiPath is what macOS gives to apps that are not started from a shell.
const guiPath = "/usr/bin:/bin:/usr/sbin:/sbin"

func (r reader) inherited() (env []string) {
	for _, pair := range r.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if !r.Client.handsOn(name) || strings.HasPrefix(name, "GAUZE_") {
			continue
		}
		if name == "PATH" && r.OS == "darwin" && r.Client.GUIPath {
			value = guiPath
		}
		env = append(env, name+"="+value)
	}
	return env
}

// handsOn tells whether a client's servers see a variable of the client.
func (c *Client) handsOn(name string) bool {
	upper := strings.ToUpper(name)
	switch c.Inherits {
	case NoSecrets:
		return !slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSWORD", "KEY", "AUTH", "CREDENTIAL"}, func(part string) bool { return strings.Contains(upper, part) })
	case Few:
		return slices.Contains(fewNames, upper)
	case OnlyPath:
		return upper == "PATH"
	}
	return true
}

// marked tells whether the file begins with a byte order mark.
func (c *Config) marked() bool { return bytes.HasPrefix(c.Text, []byte("\ufeff")) }
