package clientconfig

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/splice"
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
	r := reader{Home: c.Home, Entry: &e}
	r.spec()
	e.Wrapped, e.Inner = unwrapped(e.Spec, func(name string) (string, bool) {
		if !slices.Contains(e.Variables(), name) {
			r.variable(name) // it is in the environment already, if the client hands it on
		}
		return "", false
	})
	return e
}

// marked tells whether the file begins with a byte order mark.
func (c *Config) marked() bool { return bytes.HasPrefix(c.Text, []byte("\ufeff")) }
