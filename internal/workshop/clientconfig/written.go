package clientconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Written returns how an entry's server is started or reached as the file says: references are not
// expanded, Env has only what the entry sets, and Others what the client may also read. It contains
// no value of the user's environment. For a wrapped entry it is the server itself, and Others also has
// the flags of gauze run that Wrap does not write.
func (c *Config) Written(e *Entry) launch.Spec {
	plain := *e
	plain.Spec = launch.Spec{}
	r := reader{home: c.Home, Entry: &plain, written: true}
	r.spec()
	spec := plain.Spec
	if e.Wrapped {
		spec = *e.wrap.inner(spec, r.variable)
		if flags := unusual(e.wrap.flags); len(flags) > 0 {
			spec.Others = []string{"gauze run flags=" + canonical(list(flags))}
		}
	}
	others := c.Others(e)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		spec.Others = append(spec.Others, name+"="+others[name])
	}
	return spec
}

// OneForm is Written with references in one form, whichever the client has, and without Others: ${NAME}, or ${NAME:-VALUE}
// with a default, while $${ is a literal ${. Two entries have the same one if they are the same in every environment.
func (c *Config) OneForm(e *Entry) launch.Spec {
	plain := *e
	plain.Spec = launch.Spec{}
	dialect := e.Client.Dialect.On(c.Home.OS)
	literal := func(text string) string { return strings.ReplaceAll(text, "${", "$${") }
	r := reader{home: c.Home, Entry: &plain, written: true, spell: func(text string, in reference.Part) string {
		var b strings.Builder
		last := 0
		for _, ref := range reference.Find(text) {
			if ref.Form&dialect.Forms == 0 || dialect.In&in == 0 {
				continue
			}
			if ref.Form&reference.Variables&^reference.Default != 0 {
				ref.Form = reference.Braces
			}
			b.WriteString(literal(text[last:ref.From]) + ref.String())
			last = ref.To
		}
		return b.String() + literal(text[last:])
	}}
	r.spec()
	if e.Wrapped {
		return *e.wrap.inner(plain.Spec, r.variable)
	}
	return plain.Spec
}

// Sends returns the names of the variables of the user's environment whose values are sent to the
// entry's URL, also by a gauze that is not ours. It returns none for another command.
func (e Entry) Sends() []string {
	if e.Spec.URL == "" && (e.wrap == nil || e.wrap.runs.URL == "") {
		return nil
	}
	return e.refs.names
}

// References returns the names of the variables of the user's environment that an entry refers to.
func References(e *Entry) []string { return e.refs.names }

// SendsFile returns the file whose content is sent, as a token of the user's, to whatever authorization
// server the entry's URL names; empty if there is none.
func (e Entry) SendsFile() string {
	if e.wrap == nil {
		return ""
	}
	return e.wrap.runs.Login.AssertionFile
}

// Used returns the values of the user's environment that an entry refers to.
func (e Entry) Used() redact.Secrets { return redact.KnownSecrets(e.refs.values...) }

// Variables returns the names of the variables that an entry sets or passes on.
func (e Entry) Variables() (names []string) {
	if m, ok := member(e.src.node, e.src.fields.Env); ok {
		for name := range m.Members() {
			names = append(names, name)
		}
	}
	if m, ok := member(e.src.node, e.src.fields.EnvNames); ok {
		names = append(names, words(m)...)
	}
	return names
}

// Variable returns the value of a variable as written, which may be a reference.
func (e Entry) Variable(name string) (string, bool) {
	m, ok := member(e.src.node, e.src.fields.Env)
	if !ok {
		return "", false
	}
	value, ok := member(m, name)
	if !ok {
		return "", false
	}
	return text(value)
}
