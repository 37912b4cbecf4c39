package upfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/tasks/task"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// anyServer are the settings that every server has, also one from a client's file.
var anyServer = []string{"tools", "policies", "share", "idle", "max-in-flight", "lock"}

// maxCalls limits max-in-flight.
const maxCalls = 10_000

// settings returns the readers of what a file says about a server besides its command or URL.
func (r *reader) settings(s *Server) map[string]func(*document.Node) {
	return map[string]func(*document.Node){
		"tools":         func(n *document.Node) { s.Tools = r.filter(n) },
		"policies":      func(n *document.Node) { s.Policies = r.policies(n); s.origin.policies = n },
		"share":         func(n *document.Node) { s.Share = r.oneOf(n, "share", ShareSession, SharePrincipal) },
		"idle":          func(n *document.Node) { s.Idle = r.Duration(n, "idle") },
		"max-in-flight": func(n *document.Node) { s.MaxInFlight = r.Count(n, "max-in-flight", maxCalls) },
		"lock":          func(n *document.Node) { s.Lock = r.oneOf(n, "lock", proxy.LockWarn, proxy.LockAsk, proxy.LockBlock) },
		"headers":       func(n *document.Node) { s.origin.headers = r.headers(n) },
		"login":         func(n *document.Node) { s.origin.login, s.origin.secretEnv = r.login(n) },
	}
}

// oneOf returns one of several words.
func (r *reader) oneOf(n *document.Node, what string, words ...string) string {
	for _, word := range words {
		if n.Scalar == word {
			return word
		}
	}
	text, _ := n.Scalar.(string)
	r.Report(n.Position, "invalid %s: must be %s%s", what, either(words), document.DidYouMean(text, words))
	return ""
}

// either joins words as in "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// filter reads tools: {allow: [...], deny: [...]}.
func (r *reader) filter(n *document.Node) (f Filter) {
	globs := func(to *[]string, what string) func(*document.Node) {
		return func(n *document.Node) {
			*to = r.Words(n, what, `["get_*", create_issue]`)
			for _, item := range n.Items {
				glob, _ := item.Scalar.(string)
				if _, err := path.Match(plain(glob), ""); err != nil {
					r.Report(item.Position, "invalid pattern %q: a [ has no ], or a \\ has nothing after it; to match the character itself, put a \\ before it", redact.Quote(glob))
				}
			}
		}
	}
	r.FieldsOf(n, "tools", map[string]func(*document.Node){"allow": globs(&f.Allow, "allow"), "deny": globs(&f.Deny, "deny")})
	return f
}

// policies reads the policies of tools, as those in the file of gauze run --policy-file.
func (r *reader) policies(n *document.Node) map[string]proxy.Policy {
	all := map[string]proxy.Policy{}
	r.named(n, "policies", "settings", func(f document.Field) {
		var p proxy.Policy
		r.policy(&p, f.Name, "", f.Value)
		all[f.Name] = p
	})
	return all
}

// policy reads the settings of a tool. The keys of an inner mapping follow its own key and a dot, as in
// correct.enabled.
func (r *reader) policy(p *proxy.Policy, tool, prefix string, n *document.Node) {
	if !r.Expect(n, document.IsMapping, "the policy of a tool", "a mapping such as {timeout: 20s}") {
		return
	}
	for _, f := range n.Fields {
		value := fmt.Sprint(f.Value.Scalar)
		switch {
		case f.Value.Kind == document.IsMapping && prefix == "":
			r.policy(p, tool, f.Name+".", f.Value)
			continue
		case f.Value.Kind == document.IsList:
			value = strings.Join(r.Words(f.Value, f.Name, "[a, b]"), ",")
		case f.Value.Kind == document.IsMapping || f.Value.Scalar == nil:
			r.Report(f.Value.Position, "%s must be a single value, not %s", redact.Quote(f.Name), f.Value.Says())
			continue
		}
		if err := p.SetFor(tool, prefix+f.Name, value); err != nil {
			r.Report(f.Position, "%v%s", err, nearSetting(prefix, f.Name))
		}
	}
}

// nearSetting returns a suggestion for a setting that does not exist.
func nearSetting(prefix, name string) string {
	known := []string{"replay", "timeout", "max-in-flight", "repair", "correct"}
	if prefix != "" || slices.Contains(known, name) {
		return ""
	}
	return document.DidYouMean(name, known)
}

// headers reads the headers that are sent to a URL. Their values may contain ${NAME}.
func (r *reader) headers(n *document.Node) (all []launch.Header) {
	r.named(n, "headers", "values", func(f document.Field) {
		value := r.Text(f.Value, "a header")
		if _, err := task.ExpandEnv(value, func(string) (string, bool) { return "", true }); err != nil {
			r.Report(f.Value.Position, "%v", err)
		}
		if err := launch.CheckHeader(f.Name, value); err != nil {
			r.Report(f.Position, "%v", err)
		}
		all = append(all, launch.Header{Name: f.Name, Value: value, Source: r.file.Path})
	})
	return all
}
