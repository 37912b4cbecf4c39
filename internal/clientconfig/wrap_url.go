package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// wrapURL turns a URL into a command: the fields stay in place and change their names. Header
// values go through the environment.
func (c *Config) wrapURL(e *Entry, gauze string) (Edit, string) {
	f, d := e.fields, e.Client.Dialect
	address, ok := c.locate(member(e.node, f.URL))
	start, sign, keyed := c.key(address, f.URL)
	kind, hasType := c.locate(member(e.node, f.Type))
	switch {
	case c.Format() != splice.JSON && c.Format() != splice.JSONC:
		return nil, "the server is remote, and gauze wraps remote servers only in JSON files"
	case !ok || !keyed || has(e.node, f.Command) || f.Args != "" && has(e.node, f.Args) || has(e.node, f.Env):
		return nil, "the entry has both a URL and fields for a command"
	case slices.ContainsFunc([]string{"oauth", "auth", "headersHelper", "oidc", "oauthClient", "oauthClientId", "apiKey"}, func(name string) bool { return has(e.outer, name) }):
		return nil, "the client manages the server's login"
	case hasType && !isWord(kind, f.HTTP[0]):
		return nil, "gauze could not restore the entry's type exactly"
	case d.In&reference.Args == 0 && len(reference.Find(e.url())) > 0 && d.In&reference.URL != 0:
		return nil, "the client expands references in URLs, but not in arguments"
	}
	var edit Edit
	flags := ""
	if headers, there := member(e.node, f.Headers); there {
		located, ok := c.locate(headers, headers.Kind() == splice.MapKind)
		from, _, keyed := c.key(located, f.Headers)
		if !ok || !keyed || d.In&reference.Headers != 0 && d.In&reference.Environment == 0 {
			return nil, "gauze could not restore the entry's headers exactly"
		}
		edit = append(edit, c.put(from, from+len(quote(f.Headers)), quote(f.Env)))
		i := 0
		for name, n := range headers.Members() {
			value, ok := c.locate(n, n.Kind() == splice.StringKind)
			from, _, keyed := c.key(value, name)
			if !ok || !keyed {
				return nil, "gauze could not restore the entry's headers exactly"
			}
			edit = append(edit, c.put(from, from+len(quote(name)), quote(headerVariable(i))))
			flags += `"--header-env", ` + quote(name+"="+headerVariable(i)) + ", "
			i++
		}
	}
	if hasType {
		edit = append(edit, c.put(kind.from, kind.to, quote(f.Stdio[0])))
	}
	if f.Argv {
		edit = append(edit, c.put(start, address.to, quote(f.Command)+sign+"["+quote(gauze)+`, "run", `+flags+`"--url", `+address.Raw()+"]"))
	} else {
		edit = append(edit, c.put(start, address.to, quote(f.Command)+sign+quote(gauze)+", "+quote(f.Args)+sign+`["run", `+flags+`"--url", `+address.Raw()+"]"))
	}
	return backwards(edit), ""
}

// unwrapURL reverts wrapURL.
func (c *Config) unwrapURL(e *Entry) Edit {
	f := e.fields
	command, ok := c.locate(member(e.node, f.Command))
	argv := command
	if !f.Argv {
		argv, ok = c.locate(member(e.node, f.Args))
	}
	start, sign, keyed := c.key(command, f.Command)
	items, all := c.items(argv)
	if !ok || !keyed || !all || len(items) < 3 || !isWord(items[len(items)-2], "--url") {
		return nil
	}
	edit := Edit{c.put(start, argv.to, quote(f.URL)+sign+items[len(items)-1].Raw())}
	if kind, there := c.locate(member(e.node, f.Type)); there && f.Type != "" {
		edit = append(edit, c.put(kind.from, kind.to, quote(f.HTTP[0])))
	}
	env, there := member(e.node, f.Env)
	if !there {
		return backwards(edit)
	}
	located, ok := c.locate(env, true)
	from, _, keyed := c.key(located, f.Env)
	if !ok || !keyed {
		return nil
	}
	edit = append(edit, c.put(from, from+len(quote(f.Env)), quote(f.Headers)))
	names := map[string]string{}
	for i, item := range items[:len(items)-1] {
		if isWord(item, "--header-env") {
			pair, _ := text(items[i+1].Node)
			name, variable, _ := cutLast(pair, "=")
			names[variable] = name
		}
	}
	for variable, n := range env.Members() {
		value, ok := c.locate(n, true)
		from, _, keyed := c.key(value, variable)
		name, ours := names[variable]
		if !ok || !keyed || !ours {
			return nil
		}
		edit = append(edit, c.put(from, from+len(quote(variable)), quote(name)))
	}
	return backwards(edit)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
