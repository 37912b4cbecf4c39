package upfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// servers reads the section servers.
func (r *reader) servers(n *document.Node) { r.named(n, "servers", "servers", r.server) }

// server reads one server.
func (r *reader) server(f document.Field) {
	before := len(r.Problems)
	r.tried = append(r.tried, f.Name)
	r.checkKey(f)
	s := Server{Key: f.Name, Source: fmt.Sprintf("%s:%d", filepath.Base(r.file.Path), f.Line)}
	s.origin.line = f.Line
	settings := r.settings(&s)
	switch from, has := r.from(f, settings); {
	case !has:
		r.given(f, &s, settings)
	case from != nil:
		r.fromEntry(&s, from)
	}
	if len(r.Problems) == before {
		r.add(s)
	}
}

// fromEntry makes a server that of the entry that a reference names.
func (r *reader) fromEntry(s *Server, from *document.Node) {
	text, _ := from.Scalar.(string)
	ref := r.refer(text)
	if ref.name == "" {
		r.Report(from.Position, "a server must be CLIENT/NAME such as cursor/notes, FILE#NAME such as ./servers.json#notes, {command: [...]} or {url: ...}, not %q", redact.Quote(text))
		return
	}
	if entry, why := r.find(ref, from.Position); entry != nil || why != "" {
		r.ofEntry(s, entry, why, ref)
	}
}

// checkKey checks the key of a server.
func (r *reader) checkKey(f document.Field) {
	switch key := redact.Quote(f.Name); {
	case names.ValidKey(f.Name):
	case len(f.Name) > names.MaxKeyLen:
		r.Report(f.Position, "the key %q is too long: tools are named KEY__tool in at most %d characters, so a key has at most %d; use a shorter one, such as %q", key, names.MaxLen, names.MaxKeyLen, names.Key(f.Name))
	default:
		r.Report(f.Position, "invalid key %q: must have only a-z, 0-9 and -, and begin with a letter or digit; use %q", key, names.Key(f.Name))
	}
}

// from returns the reference of a server to a client's entry, and whether it has one, after it has read
// the settings beside it. The reference is nil if it has a problem.
func (r *reader) from(f document.Field, settings map[string]func(*document.Node)) (from *document.Node, has bool) {
	if _, ok := f.Value.Scalar.(string); ok {
		return f.Value, true
	}
	if !slices.ContainsFunc(f.Value.Fields, func(f document.Field) bool { return f.Name == "from" }) {
		return nil, false
	}
	keys := map[string]func(*document.Node){"from": func(n *document.Node) {
		if r.Text(n, "from") != "" {
			from = n
		}
	}}
	for _, name := range anyServer {
		keys[name] = settings[name]
	}
	r.FieldsOf(f.Value, "a server with from", keys)
	return from, true
}

// given reads a server that the file itself has.
func (r *reader) given(f document.Field, s *Server, settings map[string]func(*document.Node)) {
	o, before := &s.origin, len(r.Problems)
	o.given = task.ReadServer(&r.Reader, f, settings)
	if o.given.Cwd != "" && !filepath.IsAbs(o.given.Cwd) {
		o.given.Cwd = filepath.Join(filepath.Dir(r.file.Path), o.given.Cwd)
	}
	if has := func(name string) bool {
		return slices.ContainsFunc(f.Value.Fields, func(f document.Field) bool { return f.Name == name })
	}; len(o.given.Command) > 0 && (has("headers") || has("login")) {
		r.Report(f.Position, "headers and login apply only to a url: remove them")
	}
	if runsConnect(o.given.Command) {
		r.Report(valueOf(f.Value, "command").Position, "gauze connect connects to gauze up itself: use the command of a server")
	}
	if o.given.URL != "" && len(r.Problems) == before {
		if err := launch.CheckURL(o.given.URL); err != nil {
			r.Report(valueOf(f.Value, "url").Position, "%v", err)
		}
	}
}

// valueOf returns the value of a key that a mapping has.
func valueOf(n *document.Node, name string) *document.Node {
	i := slices.IndexFunc(n.Fields, func(f document.Field) bool { return f.Name == name })
	if i < 0 {
		return n
	}
	return n.Fields[i].Value
}

// add adds a server.
func (r *reader) add(s Server) {
	r.complete(&s)
	r.file.Servers = append(r.file.Servers, s)
}

// complete sets what follows from where a server is written.
func (r *reader) complete(s *Server) {
	environ := r.fleet.Home.Environ
	s.origin.fleet, s.origin.file, s.origin.private = r.fleet, r.file.Path, r.private
	if r.foreign {
		s.origin.where = filepath.Dir(r.file.Path)
	}
	s.Unset = s.origin.unset(environ)
	spec, err := s.At("", environ) // Unset has what is missing
	if s.Spec = spec; errors.Is(err, errConnect) {
		s.origin.unusable = errConnect.Error()
	}
	s.origin.limits = s.limits()
	if entry := s.origin.entry; entry != nil && entry.Config.InProject() {
		s.origin.target = target(s.origin.entryAt("", environ))
		if target(s.origin.entryAt("", nil)) != s.origin.target {
			s.origin.resolved = s.origin.target
		}
	}
	if len(s.origin.things()) > 0 {
		r.watch(r.fleet.Seen.Dir(trust.ServerEntry))
	}
	s.Pending = r.pending(s)
}

// limits returns what a file allows of the server's tools, as the user sees it.
func (s *Server) limits() (all []string) {
	if len(s.Tools.Allow) > 0 {
		all = append(all, fmt.Sprintf("tools.allow=%q", s.Tools.Allow))
	}
	if len(s.Tools.Deny) > 0 {
		all = append(all, fmt.Sprintf("tools.deny=%q", s.Tools.Deny))
	}
	if s.Lock != "" {
		all = append(all, "lock="+s.Lock)
	}
	return all
}
