package clientconfig

import (
	"fmt"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// ErrExists says that a file has a server of that name already.
type ErrExists struct {
	Name, File string
	Line       int
}

func (e *ErrExists) Error() string {
	return fmt.Sprintf("there is a server called %q already, in line %d of %s; --replace writes it anew", e.Name, e.Line, e.File)
}

// Fields are the names of this file's members.
func (c *Config) Fields() Fields { return c.fields }

// Add puts a new entry behind the others, or makes the place for the first.
func (c *Config) Add(name string, entry splice.Map) (Edit, error) {
	for _, e := range c.Entries {
		if e.Name == name {
			return nil, &ErrExists{Name: name, File: c.Path, Line: e.Line}
		}
	}
	if c.Doc == nil && len(c.Text) > 0 {
		return nil, fmt.Errorf("%s cannot be read, so nothing can be added to it: %w", c.Path, c.Strict)
	}
	at := c.servers
	if at == nil {
		at = c.keys()[0]
	}
	switch {
	case !c.Place.List:
		return Edit{set(entry, at, name)}, nil
	case c.servers == nil:
		return Edit{set([]any{entry}, at)}, nil
	}
	return Edit{set(entry, at, len(c.Entries))}, nil
}

// Drop takes an entry out.
func (c *Config) Drop(e *Entry) Edit { return Edit{remove(e.Path)} }

// Replace writes an entry anew, where it stands.
func (c *Config) Replace(name string, entry splice.Map) (Edit, error) {
	for _, e := range c.Entries {
		if e.Name == name {
			return Edit{set(entry, e.Path)}, nil
		}
	}
	return nil, fmt.Errorf("there is no server called %q in %s", name, c.Path)
}
