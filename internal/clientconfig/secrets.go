package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Secrets are the values of an entry that no output shows: every variable and
// every header, what a flag promises to be one, what an address carries. They
// are meant as they are used and as they are written: a diff shows the file.
// What may be a command is not among them, whatever stands before it: who
// agrees to run something has to see it whole.
func (e Entry) Secrets() redact.Secrets {
	known, suspected := []string{}, slices.Clone(e.referred)
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
	for _, name := range []string{e.fields.Env, e.fields.Headers, "env", "headers", "http_headers"} {
		if m, ok := member(e.node, name); ok {
			suspected = append(suspected, written(m)...)
		}
	}
	all := []redact.Secrets{
		redact.KnownSecrets(known...), redact.SuspectedSecrets(slices.DeleteFunc(suspected, e.seen)...),
		redact.VisibleCommandSecrets(append([]string{e.Spec.Command}, e.Spec.Args...)),
		redact.AddressSecrets(e.Spec.URL), redact.AddressSecrets(e.url()),
	}
	if e.Inner != nil {
		all = append(all, redact.AddressSecrets(e.Inner.URL), redact.VisibleCommandSecrets(append([]string{e.Inner.Command}, e.Inner.Args...)))
	}
	if args, ok := member(e.node, e.fields.Args); ok {
		all = append(all, redact.VisibleCommandSecrets(append([]string{e.Spec.Command}, words(args)...)))
		if line, ok := text(args); ok { // which is wrong, and happens
			all = append(all, redact.VisibleCommandSecrets(append([]string{e.Spec.Command}, strings.Fields(line)...)))
		}
	}
	return redact.JoinSecrets(all...)
}

// seen are values that whoever agrees to a change has to see: what decides
// which programs are found is no secret.
func (e Entry) seen(value string) bool {
	path, ok := e.Variable("PATH")
	return ok && value == path
}

// written are all texts below a node, as they are meant and as they are spelled.
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
