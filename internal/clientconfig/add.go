package clientconfig

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// Add adds a server to the file, or replaces the one with the same name. The entry is what Render
// returned for this client.
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

// Fields returns the field names of this file.
func (c *Config) Fields() Fields { return c.fields }

// Remove removes a server from the file.
func (c *Config) Remove(e *Entry) Edit { return Edit{remove(e.Path)} }
