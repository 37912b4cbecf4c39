package upfile

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Admits reports whether a profile has a tool of the server with this key. Its globs may be for the
// tool's own name or for the one that clients see.
func (p *Profile) Admits(key, tool string) bool {
	seen := names.Advertised(key, tool)
	f := p.Tools
	return slices.Contains(p.Servers, key) && (len(f.Allow) == 0 || matches(f.Allow, tool) || matches(f.Allow, seen)) &&
		!matches(f.Deny, tool) && !matches(f.Deny, seen)
}

// profiles reads the section profiles.
func (r *reader) profiles(n *document.Node) { r.named(n, "profiles", "profiles", r.profile) }

func (r *reader) profile(f document.Field) {
	if !names.ValidKey(f.Name) {
		r.Report(f.Position, "invalid name %q of a profile: must have only a-z, 0-9 and -, and at most %d characters; use %q", redact.Quote(f.Name), names.MaxKeyLen, names.Key(f.Name))
	}
	p := Profile{Name: f.Name, List: ListDirect}
	seen := r.FieldsOf(f.Value, "the profile "+redact.Quote(f.Name), map[string]func(*document.Node){
		"servers": func(n *document.Node) { p.Servers = r.members(n) },
		"tools":   func(n *document.Node) { p.Tools = r.filter(n) },
		"list":    func(n *document.Node) { p.List = r.oneOf(n, "list", ListDirect, ListSearch, ListAuto) },
	})
	if f.Value.Kind == document.IsMapping && !seen["servers"] {
		r.Report(f.Position, "the profile has no servers: add servers with at least one key, such as servers: [%s]", strings.Join(r.tried[:min(len(r.tried), 2)], ", "))
	}
	r.file.Profiles = append(r.file.Profiles, p)
}

// members reads the servers of a profile.
func (r *reader) members(n *document.Node) (keys []string) {
	keys = r.Words(n, "servers", "[github, files]")
	for i, item := range n.Items {
		key := word(item)
		switch {
		case key == "":
		case slices.ContainsFunc(n.Items[:i], func(other *document.Node) bool { return other.Scalar == item.Scalar }):
			r.Report(item.Position, "the server %q is listed twice: remove one", redact.Quote(key))
		case !slices.Contains(r.tried, key) && r.left[key] != "":
			r.miss(item.Position, "the server %q does not exist: %s; remove it here, or change the entry", redact.Quote(key), redact.Quote(r.left[key]))
		case !slices.Contains(r.tried, key) && !r.partial:
			r.Report(item.Position, "unknown server %q: must be one of %s%s", redact.Quote(key), strings.Join(r.tried, ", "), document.DidYouMean(key, r.tried))
		}
	}
	return keys
}
