package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// Secrets returns the values of an entry that no output may show: variables, headers, the values of
// secret flags, and secrets in a URL. They are included both as used and as written, because a diff
// shows the file. Anything that may be a command is not included: the user must see all of what
// they confirm.
func (e Entry) Secrets() redact.Secrets {
	known, suspected := []string{}, slices.Clone(e.refs.sent)
	own := e.Variables()
	for _, pair := range e.Spec.Env {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case redact.NamesSecret(name, value):
			known = append(known, value)
		case slices.Contains(own, name) && !strings.HasPrefix(value, "/"):
			suspected = append(suspected, value)
		default:
			continue
		}
		known = append(known, redact.InnerSecrets(value)...)
	}
	for _, h := range e.Spec.Header {
		known = append(known, h.Value)
	}
	for _, name := range []string{e.src.fields.Env, e.src.fields.Headers, "env", "headers", "http_headers"} {
		if m, ok := member(e.src.node, name); ok {
			suspected = append(suspected, written(m)...)
		}
	}
	all := []redact.Secrets{
		redact.KnownSecrets(known...), redact.SuspectedSecrets(slices.DeleteFunc(suspected, e.mustBeShown)...),
		redact.VisibleCommandSecrets(append([]string{e.Spec.Command}, e.Spec.Args...)),
		redact.AddressSecrets(e.Spec.URL), redact.AddressSecrets(e.src.url()),
	}
	if e.Inner != nil {
		all = append(all, redact.AddressSecrets(e.Inner.URL), redact.VisibleCommandSecrets(append([]string{e.Inner.Command}, e.Inner.Args...)))
	}
	if args, ok := member(e.src.node, e.src.fields.Args); ok {
		all = append(all, redact.VisibleCommandSecrets(append([]string{e.Spec.Command}, words(args)...)))
		if line, ok := text(args); ok { // invalid, but it happens
			all = append(all, redact.VisibleCommandSecrets(append([]string{e.Spec.Command}, strings.Fields(line)...)))
		}
	}
	return redact.JoinSecrets(all...)
}

// mustBeShown reports whether the user must see a value to confirm a change: PATH determines which
// programs are found.
func (e Entry) mustBeShown(value string) bool {
	path, ok := e.Variable("PATH")
	return ok && value == path
}

// written returns all strings below a node, decoded and as written.
func written(n splice.Node) (all []string) {
	switch n.Kind() {
	case splice.MapKind:
		for _, value := range n.Members() {
			all = append(all, written(value)...)
		}
	case splice.ListKind:
		for _, value := range n.Items() {
			all = append(all, written(value)...)
		}
	case splice.StringKind:
		value, _ := text(n)
		all = append(all, value, strings.Trim(n.Raw(), `"'`))
	}
	return all
}
