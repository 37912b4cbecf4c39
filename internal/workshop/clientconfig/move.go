package clientconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Moved is the server of an entry as it is written outside of the client's file.
type Moved struct {
	// Spec is the server itself, without gauze run. Env has only what the entry sets. In variables and
	// headers ${NAME} refers to a variable, whatever the client's own form is, and $${ is a literal ${.
	Spec        launch.Spec
	Allow, Deny []string // the tools that the entry selects
	Needs       []string // variables that the server refers to and that the client does not pass on by itself
	Lost        []string // fields with the user's approvals, which are the client's own
}

// Move returns how the server of an entry is written outside of the client's file, where it starts as it
// does now. The error is of type Skipped if the entry says more than can be written there.
func (c *Config) Move(e *Entry) (Moved, error) {
	if why := c.whyNotMoved(e); why != "" {
		return Moved{}, Skipped(why)
	}
	plain := *e
	plain.Spec = launch.Spec{}
	m := &mover{config: c, entry: &plain}
	r := reader{home: c.Home, Entry: &plain, written: true, spell: m.spell}
	r.spec()
	spec := plain.Spec
	if e.Wrapped {
		spec = *e.wrap.inner(spec, r.variable)
		if flags := unusual(e.wrap.flags); len(flags) > 0 {
			m.refuse("it uses " + flags[0] + " of gauze run, which has no place in the file of gauze up")
		}
	}
	if spec.URL != "" {
		spec.Env, spec.Dir = nil, ""
	}
	m.Spec = spec
	m.check()
	m.others(c.Others(e))
	m.needs()
	if m.why != "" {
		return Moved{}, Skipped(m.why)
	}
	return m.Moved, nil
}

// whyNotMoved returns why an entry stays in the client's file whatever is in it, or "".
func (c *Config) whyNotMoved(e *Entry) string {
	switch {
	case c.InProject():
		return "it belongs to the project"
	case c.Place.Scope == Local:
		return "it is for one project only"
	case c.Place.Borrowed:
		return "it is in the file of another client"
	case e.src.switchedOff():
		return "the server is disabled"
	case len(e.Waiting) > 0:
		return "only the client can supply " + e.Waiting[0]
	}
	inner := *e
	if e.Wrapped {
		inner.Wrapped, inner.wrap, inner.Spec = false, nil, *e.Inner
	}
	return c.whyNotWrapped(&inner)
}

// switchedOff reports whether a field says that the server is disabled, even one that its client ignores.
func (s *source) switchedOff() bool {
	for name, value := range s.outer.Members() {
		off, isSwitch := switchOff(name)
		if now, is := boolean(value); isSwitch && is && now == off {
			return true
		}
	}
	return false
}

// mover moves one entry.
type mover struct {
	Moved
	config *Config
	entry  *Entry
	why    string // why the entry stays
}

// refuse notes why the entry stays. The first reason counts.
func (m *mover) refuse(why string) {
	if m.why == "" {
		m.why = why
	}
}

// spell writes the references of the client in our form, and everything that the client does not expand
// as it is.
func (m *mover) spell(text string, in reference.Part) string {
	dialect := m.entry.Client.Dialect.On(m.config.Home.OS)
	refers := in == reference.Environment || in == reference.Headers
	literal := func(text string) string {
		if refers {
			text = strings.ReplaceAll(text, "${", "$${")
		}
		return text
	}
	var b strings.Builder
	last := 0
	for _, r := range reference.Find(text) {
		expanded := r.Form&dialect.Forms != 0 && dialect.In&in != 0
		if !expanded && dialect.Forms == 0 && r.Meant(text) {
			m.refuse(fmt.Sprintf("gauze does not know whether %s expands %s", m.entry.Client.Name, r))
		}
		if !expanded {
			continue
		}
		b.WriteString(literal(text[last:r.From]))
		ours := m.reference(r, refers, in, literal)
		if strings.HasPrefix(ours, "${") && strings.HasSuffix(b.String(), "$") { // $${ is a literal ${
			m.refuse(fmt.Sprintf("gauze up cannot express a $ before %s", r))
		}
		b.WriteString(ours)
		last = r.To
	}
	return b.String() + literal(text[last:])
}

// reference returns a reference that the client expands in our form.
func (m *mover) reference(r reference.Reference, refers bool, in reference.Part, literal func(string) string) string {
	fields := m.entry.src.fields
	own, isOwn := m.entry.Variable(r.Name)
	value, set := m.config.Home.lookup(r.Name)
	switch {
	case in == reference.Headers && fields.headersFromEntry() && isOwn:
		return literal(own)
	case r.Form == reference.Folder && r.Name == "userHome":
		return literal(m.config.Home.Home)
	case r.Form == reference.Folder && (r.Name == "pathSeparator" || r.Name == "/"):
		return m.config.Home.separator()
	case refers && r.Form&reference.Variables&^reference.Default != 0:
		return "${" + r.Name + "}"
	case r.Form&reference.Variables&^reference.Default != 0 && set && (r.Name == "HOME" || r.Name == "USERPROFILE"):
		return value // the same wherever the user is
	}
	m.refuse(fmt.Sprintf("it refers to %s in a place where gauze up does not expand it", r))
	return r.String()
}

// check refuses what the Spec says and the file of gauze up cannot.
func (m *mover) check() {
	s := m.Spec
	switch {
	case s.Login.ClientSecret != "":
		m.refuse("its login has a secret, which gauze up reads only from the environment")
	case s.Dir != "" && !m.config.Home.absolute(s.Dir):
		m.refuse("its working directory is relative")
	}
}

// others moves the fields of the entry that its Spec does not express.
func (m *mover) others(fields map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		tools, isList := valueOf(splice.JSON, fields[name]).([]any)
		switch {
		case name == m.entry.src.fields.Env && m.onlyHeaders():
		case name == "source" && fields[name] == `"custom"`: // not one of an extension
		case slices.Contains(common().Approvals, name):
			m.Lost = append(m.Lost, name)
		case isList && slices.Contains(common().DenyTools, name):
			m.Deny = append(m.Deny, patterns(tools)...)
		case isList && len(tools) > 0 && slices.Contains(common().AllowTools, name):
			m.Allow = append(m.Allow, patterns(tools)...)
		default:
			m.refuse("gauze up has nothing for its " + name + " field")
		}
	}
	if slices.Contains(m.Allow, "*") {
		m.Allow = nil
	}
}

// onlyHeaders reports whether the variables of a wrapped entry are all values of headers.
func (m *mover) onlyHeaders() bool {
	if m.entry.wrap == nil || m.Spec.URL == "" {
		return false
	}
	used := strings.Join(values(m.entry.wrap.flags, "--header-env"), " ")
	return !slices.ContainsFunc(m.entry.Variables(), func(name string) bool { return !strings.Contains(used, name) })
}

// patterns returns the names of tools as patterns that match only them. A * alone is all tools.
func patterns(tools []any) (all []string) {
	for _, tool := range tools {
		name, _ := tool.(string)
		if name != "*" {
			name = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
		}
		all = append(all, name)
	}
	return all
}

// needs notes the variables that the client must pass on for the server.
func (m *mover) needs() {
	listed := words(mustMember(m.entry.src.node, m.entry.src.fields.EnvNames))
	var texts []string
	for _, pair := range m.Spec.Env {
		_, value, _ := strings.Cut(pair, "=")
		texts = append(texts, value)
	}
	for _, h := range m.Spec.Header {
		texts = append(texts, h.Value)
	}
	for _, text := range texts {
		for _, r := range reference.Find(text) {
			escaped := r.From > 0 && text[r.From-1] == '$'
			if r.Form != reference.Braces || escaped || slices.Contains(m.Needs, r.Name) {
				continue
			}
			if !m.entry.Client.passesOn(r.Name) || slices.Contains(listed, r.Name) {
				m.Needs = append(m.Needs, r.Name)
			}
		}
	}
}
