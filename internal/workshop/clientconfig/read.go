package clientconfig

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// Config is a file that was read.
type Config struct {
	File
	Home    Home
	Text    []byte
	Doc     *splice.Document // nil if the file cannot be parsed, not even leniently
	Strict  error            // why the client rejects the file
	Entries []Entry

	// The identity of the file that was read: of the path itself, and of the file it links to. Both
	// are nil if there is none.
	Named, Behind fs.FileInfo

	layout  layout
	fields  Fields
	servers []any       // path to the servers; nil if there are none
	index   map[any]int // index of an entry by the last step of its path; the first of equal ones
	utf8    bool        // the text is valid UTF-8
}

// Read reads a file as its client would. A file that the client rejects is parsed leniently, so
// that its servers are still found; Lint reports why it was rejected.
func (h Home) Read(f File) *Config {
	c := &Config{File: f, Home: h}
	if f.Err == nil {
		// Before the text: a file that is swapped meanwhile does not have this identity.
		c.Named, _ = files.Pin(h.disk().Lstat(f.Path))
		c.Behind, _ = files.Pin(h.disk().Stat(f.Path))
		c.Text, c.Err = h.disk().ReadFile(f.Path)
	}
	if c.Err == nil && len(c.Text) > maxFileBytes {
		c.Err = errTooLarge
	}
	if c.Err == nil {
		c.parse()
	}
	return c
}

// ReadText reads text as if it were the content of the file.
func (h Home) ReadText(f File, text []byte) *Config {
	c := &Config{File: f, Home: h, Text: text}
	c.parse()
	return c
}

// Format returns how the client parses the file. A client that is not known to reject comments or
// trailing commas may accept them: Lint warns about them, and no other command refuses the file.
func (f File) Format() splice.Format {
	switch strings.ToLower(path.Ext(strings.ReplaceAll(f.Path, `\`, "/"))) {
	case ".toml":
		return splice.TOML
	case ".yaml", ".yml":
		return splice.YAML
	}
	if f.Client.Comments == No && f.Client.Commas == No {
		return splice.JSON
	}
	return splice.JSONC
}

func (c *Config) parse() {
	c.utf8 = utf8.Valid(c.Text)
	c.fields = c.Place.fieldsOf(c.Client)
	c.Doc, c.Strict = splice.Parse(c.Format(), c.Text)
	switch {
	case c.Strict == nil:
		c.Strict = c.rejected()
	case c.Format() == splice.JSON:
		c.Doc, _ = splice.Parse(splice.JSONC, c.Text)
	}
	c.layout = layout{text: c.Text, doc: c.Doc, format: c.Format(), crlf: bytes.Contains(c.Text, []byte("\r\n"))}
	if c.marked() {
		c.layout.shift = len(byteOrderMark)
	}
	if c.Doc != nil {
		c.findServers()
	}
}

// unparsed reports whether the client cannot parse the file.
func (c *Config) unparsed() bool { return c.Strict != nil || c.Doc == nil }

// findServers reads the servers of the file.
func (c *Config) findServers() {
	if key, n := c.place(); key != nil {
		c.servers = key
		c.readServers(n)
	}
}

// place returns the first of the places in the file that has servers, or nil.
func (c *Config) place() (key []any, servers splice.Node) {
	for _, key := range c.keys() {
		if n, ok := c.Doc.At(key...); ok && (len(key) == 1 || holdsServers(n)) {
			return key, n
		}
	}
	return nil, servers
}

// rejected returns why the client rejects a file that is valid JSON with comments.
func (c *Config) rejected() error {
	if c.Format() != splice.JSONC || c.Client.Comments != No && c.Client.Commas != No {
		return nil
	}
	comments, commas := looseParts(string(c.Text))
	switch {
	case c.Client.Comments == No && len(comments) > 0:
		return errors.New(hasComment)
	case c.Client.Commas == No && len(commas) > 0:
		return errors.New(hasTrailingComma)
	}
	return nil
}

// keys returns the paths to the servers in this file, with the project's path filled in.
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

// holdsServers reports whether a value is a collection of servers and not an entry with the same
// name.
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
	c.index = map[any]int{}
	read := func(name string, step any, n splice.Node) {
		if _, known := c.index[step]; !known {
			c.index[step] = len(c.Entries)
		}
		c.Entries = append(c.Entries, c.readEntry(name, below(c.servers, step), n, c.ours))
	}
	for name, n := range servers.Members() {
		if name != "$schema" && !strings.HasPrefix(name, "//") {
			read(name, name, n)
		}
	}
	for i, n := range servers.Items() {
		read(textOf(n, "name"), i, n)
	}
}

// At returns the entry at a path of the document, or nil.
func (c *Config) At(path []any) *Entry {
	last := len(path) - 1
	if last < 0 || !slices.Equal(path[:last], c.servers) {
		return nil
	}
	i, ok := c.index[path[last]]
	if !ok {
		return nil
	}
	return &c.Entries[i]
}

// Again returns an entry of the file as its client reads it with another environment or in another project, or nil if it
// does not have it there. The file is not parsed again, and nothing is read from the disk.
func (c *Config) Again(h Home, e *Entry) *Entry {
	there := *c
	there.Home = h
	if key, _ := there.place(); !slices.Equal(key, c.servers) {
		return nil
	}
	again := there.readEntry(e.Name, e.Path, e.src.outer, func(*Entry, []string) bool { return e.Wrapped || !c.InProject() })
	return &again
}

// readEntry reads one entry. ours reports whether the gauze that it runs is this one.
func (c *Config) readEntry(name string, at []any, n splice.Node, ours func(e *Entry, inherited []string) bool) Entry {
	e := Entry{Name: name, Client: c.Client, Scope: c.Place.Scope, File: c.Path, Path: at, src: source{n, n, c.fields}}
	e.Line, _ = n.Place()
	if inner, ok := member(n, c.fields.Nest); ok && inner.Kind() == splice.MapKind {
		e.src.node = inner
	}
	e.Disabled = e.src.off()
	e.Timeout, e.Start = e.src.times()
	e.Transport, e.Builtin = e.src.transport()
	r := reader{home: c.Home, Entry: &e}
	r.spec()
	if e.wrap = r.wrap(); e.wrap == nil {
		return e
	}
	e.wrap.runs = e.wrap.inner(e.Spec, func(name string) (string, bool) {
		if !slices.Contains(e.Variables(), name) {
			r.variable(name) // it is already in the environment if the client passes it on
		}
		return "", false
	})
	if ours(&e, r.inherited()) {
		e.Wrapped, e.Inner = true, e.wrap.runs
	}
	return e
}

const byteOrderMark = "\ufeff"

// marked reports whether the file starts with a byte order mark.
func (c *Config) marked() bool { return bytes.HasPrefix(c.Text, []byte(byteOrderMark)) }
