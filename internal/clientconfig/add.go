package clientconfig

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// Add puts a server into the file, or another in the place of the one that has
// its name. The entry is what Render made for this client.
func (c *Config) Add(name string, entry splice.Map) Edit {
	if i := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return Edit{set(entry, c.Entries[i].Path)}
	}
	at := c.servers
	if at == nil {
		at = c.keys()[len(c.keys())-1]
		if len(at) == 0 {
			at = c.keys()[0]
		}
	}
	if c.Place.List {
		return Edit{set(entry, at, len(c.Entries))}
	}
	return Edit{set(entry, at, name)}
}

// Fields are the names of this file's members.
func (c *Config) Fields() Fields { return c.fields }

// Remove takes a server out of the file.
func (c *Config) Remove(e *Entry) Edit { return Edit{remove(e.Path)} }
