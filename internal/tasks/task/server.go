package task

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
)

var configuredName = regex.New(`^[^/\s]+/\S+$`)

// ReadServer reads one server of a file: CLIENT/NAME, or a mapping with a command or a URL. more are
// further keys of the mapping.
func ReadServer(r *document.Reader, f document.Field, more map[string]func(*document.Node)) (s Server) {
	what := fmt.Sprintf("the server %q", redact.Quote(f.Name))
	if name, ok := f.Value.Scalar.(string); ok && f.Value.Kind == document.IsScalar {
		if !configuredName.MatchString(name) {
			r.Report(f.Value.Position, "%s must be CLIENT/NAME such as cursor/notes, {command: [...]} or {url: ...}, not %q", what, redact.Quote(name))
		}
		s.Configured = name
		return s
	}
	keys := map[string]func(*document.Node){
		"command": func(n *document.Node) { s.Command = r.Words(n, "command", "[npx, -y, some-server]") },
		"url":     func(n *document.Node) { s.URL = r.Text(n, "url") },
		"cwd":     func(n *document.Node) { s.Cwd = r.Text(n, "cwd") },
		"env":     func(n *document.Node) { s.Env = readEnv(r, n) },
	}
	maps.Copy(keys, more)
	seen := r.FieldsOf(f.Value, what, keys)
	switch {
	case f.Value.Kind != document.IsMapping:
	case seen["command"] == seen["url"]:
		r.Report(f.Position, "%s must have either command or url", what)
	case seen["url"] && (seen["env"] || seen["cwd"]):
		r.Report(f.Position, "%s has a url, but env and cwd apply only to a command: remove them", what)
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		r.Report(f.Value.Position, "invalid url of %s: must begin with http:// or https://", what)
	}
	return s
}

func readEnv(r *document.Reader, n *document.Node) map[string]string {
	env := map[string]string{}
	if !r.Expect(n, document.IsMapping, "env", "a mapping of names to values") {
		return nil
	}
	for _, f := range n.Fields {
		switch v := f.Value.Scalar.(type) {
		case string:
			if _, err := ExpandEnv(v, func(string) (string, bool) { return "", true }); err != nil {
				r.Report(f.Value.Position, "env %s: %v", redact.Quote(f.Name), err)
			}
			env[f.Name] = v
		case json.Number:
			env[f.Name] = v.String()
		case bool:
			env[f.Name] = fmt.Sprint(v)
		default:
			r.Report(f.Value.Position, "the variable %q must be a string, not %s", redact.Quote(f.Name), f.Value.Says())
		}
	}
	return env
}
