package upfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// reference is what an include or a from names: CLIENT, CLIENT/NAME, FILE or FILE#NAME.
type reference struct {
	client string
	file   string // as written
	path   string // absolute
	name   string // of one entry; empty: all
}

// refer reads a reference.
func (r *reader) refer(text string) (ref reference) {
	if file, name, _ := cutLast(text, "#"); isPath(file) {
		ref = reference{file: file, path: file, name: name}
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			ref.path = filepath.Join(r.fleet.Home.Home, rest)
		} else if !filepath.IsAbs(file) {
			ref.path = filepath.Join(filepath.Dir(r.file.Path), file)
		}
		return ref
	}
	ref.client, ref.name, _ = strings.Cut(text, "/")
	return ref
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// isPath reports whether a reference names a file and not a client.
func isPath(text string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(text), "/")
	return first == "." || first == ".." || first == "~" || filepath.IsAbs(text) ||
		slices.Contains([]string{".json", ".jsonc", ".toml", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(text)))
}

// String returns the reference to one entry, as a file would have it.
func (ref reference) String() string {
	if ref.client != "" {
		return ref.client + "/" + ref.name
	}
	return ref.file + "#" + ref.name
}

// id identifies the entry, however the reference is written.
func (ref reference) id() string {
	if ref.client != "" {
		return ref.String()
	}
	return ref.path + "#" + ref.name
}

// claim notes the entries that have a key of their own in servers. They are not included a second time.
func (r *reader) claim(n *document.Node) {
	for _, f := range n.Fields {
		text, ok := f.Value.Scalar.(string)
		if from, mapping := valueOf(f.Value, "from").Scalar.(string); mapping {
			text, ok = from, true
		}
		if ok {
			r.claimed[r.refer(text).id()] = true
		}
	}
}

// includes reads the section include.
func (r *reader) includes(n *document.Node) {
	r.Words(n, "include", "[cursor, claude-code/notes, ./servers.json]")
	for _, item := range n.Items {
		text := word(item)
		if text == "" {
			continue
		}
		ref := r.refer(text)
		if ref.name != "" {
			r.includeOne(ref, item.Position)
		} else if view, _ := r.look(ref, item.Position); view != nil {
			r.includeAll(view, ref, item.Position)
		}
	}
}

// look returns the servers of a client or a file, as far as they can be read, and why not all can be. The
// view is nil if there is no such client.
func (r *reader) look(ref reference, at document.Position) (view *fleet.View, broken string) {
	if ref.path != "" {
		r.watch(ref.path)
		view, err := r.fleet.LookAt(ref.path)
		if err != nil {
			r.miss(at, "cannot include %s: %v", redact.Quote(ref.file), err)
			return &fleet.View{}, err.Error()
		}
		return view, ""
	}
	clients, err := fleet.Clients([]string{ref.client})
	if err != nil {
		r.Report(at, "%v", err)
		r.partial = true
		return nil, ""
	}
	for _, file := range r.fleet.Home.Places(clients...) {
		r.watch(file.Path)
	}
	view = r.fleet.Look(clients...)
	for _, c := range view.Configs {
		if why := c.Unread(); why != "" && c.Place.Old == "" {
			broken = fmt.Sprintf("%s: %s", r.fleet.Tilde(c.Path), why)
			r.miss(at, "cannot include %s: %s", ref.client, broken)
		}
	}
	return view, broken
}

// miss reports that something in another file is missing.
func (r *reader) miss(at document.Position, format string, args ...any) {
	r.missing.Report(at, format, args...)
	r.partial = true
}

func (r *reader) watch(path string) {
	if path == "" || slices.Contains(r.file.Watch, path) {
		return
	}
	r.file.Watch = append(r.file.Watch, path)
	if r.told != nil {
		r.told(path)
	}
}

// find returns the entry that a reference names. If there is none, why says so after it was reported; it
// is empty if the reference itself is wrong.
func (r *reader) find(ref reference, at document.Position) (entry *fleet.Server, why string) {
	view, broken := r.look(ref, at)
	if view == nil || broken != "" && view.Named(ref.name) == nil {
		return nil, broken
	}
	if entry := view.Named(ref.name); entry != nil {
		return entry, ""
	}
	_, err := view.Choose(fleet.Choice{Names: []string{ref.name}})
	if notFound := (*fleet.NotFoundError)(nil); errors.As(err, &notFound) && len(notFound.Near)+len(notFound.Have) == 0 {
		err = errors.New("its file does not have any servers")
	}
	r.miss(at, "%s does not exist: %v", redact.Quote(ref.String()), err)
	return nil, "the entry does not exist"
}

// includeOne adds one entry, which stays among the servers if it cannot be used now.
func (r *reader) includeOne(ref reference, at document.Position) {
	if r.claimed[ref.id()] {
		return
	}
	if entry, why := r.find(ref, at); entry != nil || why != "" {
		r.include(entry, why, ref, at)
	}
}

// includeAll adds the entries that can be used, one for each name.
func (r *reader) includeAll(view *fleet.View, ref reference, at document.Position) {
	done := map[string]bool{}
	for _, s := range view.Servers {
		ref.name = s.Name
		if done[s.Name] || r.claimed[ref.id()] {
			continue
		}
		done[s.Name] = true
		entry := view.Named(s.Name)
		if why := notServed(entry); why != "" {
			r.file.Skipped = append(r.file.Skipped, Skip{ref.String(), why})
			r.left[names.Key(s.Name)] = ref.String() + " is left out, because " + why
			continue
		}
		r.include(entry, "", ref, at)
	}
}

// notServed returns why an entry is not a server of gauze up.
func notServed(entry *fleet.Server) string {
	if spec := entry.Real(); runsConnect(append([]string{spec.Command}, spec.Args...)) {
		return "it runs gauze connect"
	}
	return entry.Unusable()
}

// runsConnect reports whether a command is gauze connect, which gauze up must not start.
func runsConnect(command []string) bool {
	return len(command) > 1 && launch.ProgramName(command[0]) == "gauze" && command[1] == "connect"
}

// include adds an entry with the key that its name proposes. A nil entry is missing, and why says so.
func (r *reader) include(entry *fleet.Server, why string, ref reference, at document.Position) {
	s := Server{Key: names.Key(ref.name)}
	r.tried = append(r.tried, s.Key)
	r.ofEntry(&s, entry, why, ref)
	shown := redact.Quote(s.Source)
	if entry != nil {
		shown = fmt.Sprintf("%s (%s:%d)", shown, r.fleet.Tilde(entry.File), entry.Line)
	}
	r.add(s, place{shown, true}, at)
}

// ofEntry makes a server that of a client's entry. A nil entry is missing, and why says so.
func (r *reader) ofEntry(s *Server, entry *fleet.Server, why string, ref reference) {
	s.Source = ref.String()
	s.origin.entry, s.origin.unusable = entry, why
	if entry != nil {
		s.origin.unusable = notServed(entry)
	}
}
