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
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
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

// claim notes the keys in servers, and the entries that have one of them. Those are not included a second time.
func (r *reader) claim(n *document.Node) {
	for _, f := range n.Fields {
		r.written[f.Name] = f.Line
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
			r.includeAll(view, ref)
		}
	}
}

// looked is what a client or a file has: each is read once.
type looked struct {
	view    *fleet.View
	broken  []string // why not all servers could be read
	unknown error    // there is no such client
}

// look returns the servers of a client or a file, as far as they can be read, and why not all can be. The
// view is nil if there is no such client.
func (r *reader) look(ref reference, at document.Position) (view *fleet.View, broken string) {
	from := ref.client + ref.path // one of them is empty
	l, known := r.looked[from]
	if !known {
		l = r.lookOnce(ref)
		r.looked[from] = l
	}
	if l.unknown != nil {
		r.Report(at, "%v", l.unknown)
		r.partial = true
		return nil, ""
	}
	for _, broken = range l.broken {
		r.miss(at, "cannot include %s: %s", redact.Quote(ref.client+ref.file), broken)
	}
	return l.view, broken
}

func (r *reader) lookOnce(ref reference) (l looked) {
	if ref.path != "" {
		r.watch(ref.path)
		view, err := r.fleet.LookAt(ref.path)
		if err != nil {
			return looked{view: &fleet.View{}, broken: []string{err.Error()}}
		}
		return looked{view: view}
	}
	clients, err := fleet.Clients([]string{ref.client})
	if ref.client == clientconfig.UpID {
		err = errors.New("the file of gauze up cannot include itself")
	}
	if err != nil {
		return looked{unknown: err}
	}
	for _, file := range r.fleet.Home.Places(clients...) {
		r.watch(file.Path)
	}
	l.view = r.fleet.Look(clients...)
	for _, c := range l.view.Configs {
		if why := c.Unread(); why != "" && c.Place.Old == "" {
			l.broken = append(l.broken, fmt.Sprintf("%s: %s", r.fleet.Tilde(c.Path), why))
		}
	}
	return l
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
		r.include(entry, why, ref)
	}
}

// includeAll adds the entries that can be used, one for each name.
func (r *reader) includeAll(view *fleet.View, ref reference) {
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
		r.include(entry, "", ref)
	}
}

// notServed returns why an entry is not a server of gauze up, in any environment.
func notServed(entry *fleet.Server) string {
	if spec := entry.Written(); runsConnect(append([]string{spec.Command}, spec.Args...)) {
		return errConnect.Error()
	}
	return entry.Unusable()
}

// runsConnect reports whether a command is gauze connect, which gauze up must not start.
func runsConnect(command []string) bool {
	return len(command) > 1 && launch.ProgramName(command[0]) == "gauze" && command[1] == "connect"
}

// include adds an entry with the key that its name proposes, unless another server has it. A nil entry is missing, and
// why says so.
func (r *reader) include(entry *fleet.Server, why string, ref reference) {
	s := Server{Key: names.Key(ref.name)}
	s.origin.proposed = s.Key
	r.ofEntry(&s, entry, why, ref)
	r.complete(&s)
	if r.isAnother(&s) {
		r.distinguish(&s, ref)
		r.tried = append(r.tried, s.Key)
		r.file.Servers = append(r.file.Servers, s)
	}
}

// isAnother reports whether an entry is a server of its own, and not one that another client has as well. Of two such
// entries the first counts, or the one that may be started. A missing one counts only if it is the only one.
func (r *reader) isAnother(s *Server) bool {
	for i := range r.file.Servers {
		first := &r.file.Servers[i]
		switch {
		case first.origin.proposed != s.Key: // or it is written in the file itself
			continue
		case s.origin.missing():
			return false
		case first.origin.missing():
			s.Key, s.Renamed = first.Key, first.Renamed
			*first = *s
			return false
		case s.origin.sameAs(&first.origin):
			if first.Pending != "" && s.Pending == "" {
				s.Key, s.Renamed = first.Key, first.Renamed
				*first, *s = *s, *first
			}
			r.file.Skipped = append(r.file.Skipped, Skip{s.Source, "the same server as " + first.Source})
			return false
		}
	}
	return true
}

// distinguish gives an entry another key if a server that comes before it has the one that its name proposes, or one
// in the section servers: KEY-CLIENT, or KEY-FILE for that of a file.
func (r *reader) distinguish(s *Server, ref reference) {
	holder := r.holder(s.Key)
	if holder == "" {
		return
	}
	from := ref.client
	if from == "" {
		from = strings.TrimSuffix(filepath.Base(ref.path), filepath.Ext(ref.path))
	}
	key := names.Key(s.Key + "-" + from)
	free := key
	for i := 2; r.holder(free) != ""; i++ {
		free = names.Key(fmt.Sprintf("%s-%d", key, i))
	}
	s.Renamed = fmt.Sprintf("%s has the key %s", holder, s.Key)
	s.Key = free
}

// holder returns where the server with a key is written, or "" if there is none.
func (r *reader) holder(key string) string {
	if line := r.written[key]; line > 0 {
		return fmt.Sprintf("%s:%d", filepath.Base(r.file.Path), line)
	}
	if s := r.file.Server(key); s != nil {
		return s.Source
	}
	return ""
}

// ofEntry makes a server that of a client's entry. A nil entry is missing, and why says so.
func (r *reader) ofEntry(s *Server, entry *fleet.Server, why string, ref reference) {
	s.Source = ref.String()
	s.origin.entry, s.origin.unusable = entry, why
	if entry != nil {
		s.origin.unusable = notServed(entry)
	}
}
