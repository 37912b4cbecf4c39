package clientconfig

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// ToURL makes an entry that starts a command reach a URL instead, in the client's own form; gauze is the
// path of gauze, for clients without URLs. What is not about the command stays. It returns false if the
// client would not read the entry that way.
func (c *Config) ToURL(e *Entry, address string, spoken Transport, gauze string) (edit Edit, ok bool) {
	if c.Doc == nil || c.Strict != nil || e.Wrapped || e.Spec.URL != "" {
		return nil, false
	}
	fields := c.Fields()
	entry, err := c.Client.Render(launch.Spec{URL: address}, RenderOptions{Fields: &fields, Name: e.Name, Transport: spoken, Gauze: c.Program(gauze)})
	if err != nil {
		return nil, false
	}
	f := e.fields
	for _, name := range []string{f.Command, f.Args, f.Env, f.EnvNames, f.Cwd, f.Type, f.Nest} {
		written := slices.ContainsFunc(entry, func(m splice.Member) bool { return m.Name == name })
		if name != "" && has(e.outer, name) && !written {
			edit = append(edit, remove(e.Path, name))
		}
	}
	for _, m := range entry {
		edit = append(edit, set(m.Value, e.Path, m.Name))
	}
	return edit, c.hasEffect([]*Entry{e}, edit, func(_, now *Entry) bool {
		return now.Spec.URL == address || now.Inner != nil && now.Inner.URL == address
	})
}
