package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// fillIn expands references that the client did not expand. Values that are the server's own and end
// up in its environment are filled in by gauze itself. Values found elsewhere need a person's
// consent, and so does a secret that would be in an argument, where every user of the machine can
// read it, or that is sent in a URL or a header.
func fillIn(p *plan) (fixes []Fix) {
	own := func(from trust.Source) bool { return trust.Of(from, trust.Start) == trust.Allowed }
	any := func(trust.Source) bool { return true }
	now := p.spec
	for _, may := range []func(trust.Source) bool{own, any} {
		inside := filling{server: p.server(), may: may}
		before := now
		if now = inside.fill(before, false); sameSpec(now, before, before.Environment()) {
			continue
		}
		list := strings.Join(inside.names, ", ")
		fixes = append(fixes, Fix{Name: "fill-in " + strings.Join(inside.names, " "), Origins: starts(inside.sources...),
			About: fmt.Sprintf("expands the reference to %s, which the client did not expand (value from %s)", list,
				strings.Join(inside.from, ", ")),
			Next:  inside.next("use the client's own syntax for variables, or start the server with gauze run, which expands " + list + "."),
			Apply: func(s launch.Spec) launch.Spec { return (&filling{server: p.server(), may: may}).fill(s, false) }})
	}
	outside := filling{server: p.server(), may: any}
	if then := outside.fill(now, true); !sameSpec(then, now, now.Environment()) {
		fixes = append(fixes, Fix{Name: "fill-in-openly " + strings.Join(outside.names, " "), Risk: Secret,
			Origins: append(starts(outside.sources...), sends(outside.sources...)...),
			About:   fmt.Sprintf("inserts the value of %s into the command line, the URL or a header", strings.Join(outside.names, ", ")),
			Next:    outside.next(openly(p.spec, outside.names)),
			Apply:   func(s launch.Spec) launch.Spec { return (&filling{server: p.server(), may: any}).fill(s, true) }})
	}
	return fixes
}

// openly returns the step for a person that keeps the value where others cannot see it.
func openly(s launch.Spec, names []string) string {
	for _, h := range s.Header {
		if len(references(h.Value)) > 0 {
			return fmt.Sprintf("let gauze read the header from a variable: `gauze run --url %s --header-env %s=%s`", s, h.Name, names[0])
		}
	}
	return fmt.Sprintf("put the value of %s in the entry yourself, or use the variable that the server reads it from.",
		strings.Join(names, ", "))
}

// sameSpec reports whether a equals b with environment env.
func sameSpec(a, b launch.Spec, env []string) bool {
	return a.Command == b.Command && a.Dir == b.Dir && a.URL == b.URL && slices.Equal(a.Args, b.Args) && slices.Equal(a.Header, b.Header) &&
		slices.Equal(a.Environment(), env)
}

// filling expands the references in a Spec and records what it filled in.
type filling struct {
	server      server
	may         func(trust.Source) bool // whether values from a source may be used
	names, from []string
	sources     []trust.Source
}

// next returns the step for a person: text itself if every value was the server's own, or else what
// was found where, for the person to decide. text starts in lower case.
func (f *filling) next(text string) string {
	var elsewhere []string
	for i, from := range f.sources {
		if trust.Of(from, trust.Start) != trust.Allowed {
			elsewhere = append(elsewhere, f.from[i])
		}
	}
	if len(elsewhere) == 0 {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return fmt.Sprintf("Gauze found %s, which is not configured for this server, and does not use it without your "+
		"consent. If the server should have it, %s", strings.Join(elsewhere, ", "), text)
}

// fill expands the references whose values stay on this machine and, with openly, also those that
// others can see.
func (f *filling) fill(s launch.Spec, openly bool) launch.Spec {
	s = copied(s)
	for i, pair := range s.Env {
		if name, v, ok := strings.Cut(pair, "="); ok && !loads(name) {
			s.Env[i] = name + "=" + expand(v, func(r reference) (string, bool) { return f.resolve(r, name) })
		}
	}
	plain := func(r reference) (string, bool) { // for places that others can read
		v, where, from, ok := f.look(r, "")
		if !ok || !openly && !folder(r.name) && confidential(r.name, v) {
			return "", false
		}
		f.note(r.name, where, from)
		return v, true
	}
	run := f.server.containerRun()
	for i, word := range s.Args {
		if run >= 0 && i > 0 && (s.Args[i-1] == "-e" || s.Args[i-1] == "--env") {
			s.Args[i], s.Env = f.forward(word, s.Env)
		} else if f.bridged() {
			s.Env = f.pass(word, s.Env) // the bridge expands references itself
		}
		s.Args[i] = expand(s.Args[i], plain)
	}
	s.Command, s.Dir = expand(s.Command, plain), expand(s.Dir, plain)
	if openly {
		s.URL = expand(s.URL, plain)
		for i := range s.Header {
			s.Header[i].Value = expand(s.Header[i].Value, plain)
		}
	}
	return s
}

// forward turns -e NAME=${OTHER} into -e NAME: the value goes through docker's own environment.
func (f *filling) forward(word string, env []string) (string, []string) {
	name, v, ok := strings.Cut(word, "=")
	if !ok || loads(name) || len(references(v)) == 0 {
		return word, env
	}
	filled := expand(v, func(r reference) (string, bool) { return f.resolve(r, name) })
	if len(references(filled)) > 0 {
		return word, env
	}
	return name, set(env, name, filled, f.server.m.OS == "windows")
}

// bridged reports whether the program expands references from its environment itself.
func (f *filling) bridged() bool {
	return slices.ContainsFunc(f.server.spec.Args, func(word string) bool {
		return withoutVersion(word) == "mcp-remote"
	})
}

// pass returns env with the variables that word refers to.
func (f *filling) pass(word string, env []string) []string {
	for _, r := range references(word) {
		if _, has := lookup(env, r.name, f.server.m.OS == "windows"); has || r.bare || loads(r.name) {
			continue
		}
		if v, where, from, ok := f.look(r, ""); ok {
			env = set(env, r.name, v, f.server.m.OS == "windows")
			f.note(r.name, where, from)
		}
	}
	return env
}

// resolve returns the value of a reference and records it.
func (f *filling) resolve(r reference, key string) (string, bool) {
	v, where, from, ok := f.look(r, key)
	if ok {
		f.note(r.name, where, from)
	}
	return v, ok
}

// note records a value that was filled in.
func (f *filling) note(name, where string, from trust.Source) {
	if !slices.Contains(f.names, name) {
		f.names, f.from, f.sources = append(f.names, name), append(f.from, where), append(f.sources, from)
	}
}

// folder reports whether a reference is to a directory and not to a variable.
func folder(name string) bool {
	switch name {
	case "workspaceFolder", "workspaceRoot", "projectRoot", "cwd", "userHome", "HOME", "USERPROFILE", "pathSeparator":
		return true
	}
	return false
}

// look returns the value of a reference from the sources that may be used.
func (f *filling) look(r reference, key string) (value, where string, from trust.Source, ok bool) {
	value, where, from, ok = f.meaning(r, key)
	if ok && !f.may(from) {
		return r.fallback, "its default", trust.Entry, r.fallback != ""
	}
	return value, where, from, ok
}

// meaning returns what a reference stands for: a directory, a variable, or for a prompt the variable
// that the answer would be stored in.
func (f *filling) meaning(r reference, key string) (value, where string, from trust.Source, ok bool) {
	switch r.name {
	case "workspaceFolder", "workspaceRoot", "projectRoot", "cwd":
		dir, from := f.server.start()
		return dir, "the working directory " + f.server.quoted(dir), from, true
	case "userHome", "HOME", "USERPROFILE":
		return f.server.m.Home, "the home directory", trust.Machine, f.server.m.Home != ""
	case "pathSeparator":
		return "/", "the system", trust.Machine, f.server.m.OS != "windows"
	}
	names := []string{r.name}
	if r.asked {
		names = []string{key, strings.ToUpper(strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(r.name))}
	}
	for _, name := range names {
		if s, found := f.server.found(name); found && isVariable(name) {
			return s.value.Reveal(), s.where, s.from, true
		}
	}
	return r.fallback, "its default", trust.Entry, r.fallback != ""
}

// reference is a reference to a variable, in the syntax of one of the clients or shells.
type reference struct {
	from, to int
	name     string
	fallback string // ${NAME:-fallback}
	asked    bool   // ${input:NAME}: the client should have asked the user for it
	bare     bool   // $NAME, which may also be part of a password
}

var referenceShape = regex.New(`\$\{(?:env:)?([A-Za-z_][\w.]*)(?::?-([^}]*))?\}` + // Claude, VS Code, Cursor, compose
	`|\$?\{input:([\w.-]+)\}` + // VS Code
	`|\{env:([A-Za-z_]\w*)\}` + // OpenCode
	`|\{\{\s*(?:env\.)?([A-Za-z_]\w*)\s*\}\}` +
	`|%([A-Za-z_]\w+)%` + // cmd.exe
	`|\$(?:env:)?([A-Za-z_]\w*)`) // shells

// references returns the references in a string, at most 32.
func references(text string) []reference {
	if !strings.ContainsAny(text, "${%") {
		return nil
	}
	var all []reference
	for _, at := range referenceShape.FindAllStringSubmatchIndex(text, 32) {
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		r := reference{from: at[0], to: at[1], fallback: group(2), asked: group(3) != "", bare: group(7) != ""}
		for _, n := range []int{1, 3, 4, 5, 6, 7} {
			r.name += group(n)
		}
		// A bare reference counts only where a whole value is expected.
		if before := text[:r.from]; r.bare && (r.to < len(text) && !strings.ContainsRune(`/\: `, rune(text[r.to])) ||
			before != "" && !strings.ContainsRune("=: ", rune(before[len(before)-1]))) {
			continue
		}
		all = append(all, r)
	}
	return all
}

// expand replaces the known references in a string and leaves the others.
func expand(text string, known func(reference) (string, bool)) string {
	var b strings.Builder
	last := 0
	for _, r := range references(text) {
		if value, ok := known(r); ok {
			b.WriteString(text[last:r.from])
			b.WriteString(value)
			last = r.to
		}
	}
	b.WriteString(text[last:])
	return b.String()
}

// expandPlain expands as compose does: a reference becomes its variable or its fallback.
func expandPlain(text string, variable func(string) string) string {
	return expand(text, func(r reference) (string, bool) {
		if value := variable(r.name); value != "" {
			return value, true
		}
		return r.fallback, true
	})
}
