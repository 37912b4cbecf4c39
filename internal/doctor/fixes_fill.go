package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// fillIn puts values in for references that the client left as they are. What
// ends in the environment of the server is ours to do. A secret that would
// have to stand in an argument, where every user of the machine can read it,
// or that goes out in a URL or a header, needs a person's word.
func fillIn(p *plan) (fixes []Fix) {
	inside := filling{plan: p}
	now := inside.fill(p.spec, false)
	if !sameSpec(now, p.spec, p.env) {
		fixes = append(fixes, Fix{Name: "fill-in " + strings.Join(inside.names, " "), Risk: Runtime,
			About: fmt.Sprintf("puts the value in for %s, which the client left as it is written (from %s)", strings.Join(inside.names, ", "), strings.Join(inside.from, ", ")),
			Next:  "use the client's own way to refer to a variable, or start the server with gauze run, which fills in " + strings.Join(inside.names, ", "),
			Apply: func(s upstream.Spec) upstream.Spec { return (&filling{plan: p}).fill(s, false) }})
	}
	outside := filling{plan: p}
	if then := outside.fill(now, true); !sameSpec(then, now, now.Environment()) {
		fixes = append(fixes, Fix{Name: "fill-in-openly " + strings.Join(outside.names, " "), Risk: Secret,
			About: fmt.Sprintf("puts the value of %s into the command line, the URL or a header", strings.Join(outside.names, ", ")),
			Next:  openly(p.spec, outside.names),
			Apply: func(s upstream.Spec) upstream.Spec { return (&filling{plan: p}).fill(s, true) }})
	}
	return fixes
}

// openly is what a person does instead: the value goes where it is not seen.
func openly(s upstream.Spec, names []string) string {
	for _, h := range s.Header {
		if len(references(h.Value)) > 0 {
			return fmt.Sprintf("let gauze read the header from a variable: gauze run --url %s --header-env %s=%s", s, h.Name, names[0])
		}
	}
	return fmt.Sprintf("put the value of %s in yourself, or use the variable the server reads it from", strings.Join(names, ", "))
}

func sameSpec(a, b upstream.Spec, env []string) bool {
	return a.Command == b.Command && a.Dir == b.Dir && a.URL == b.URL && slices.Equal(a.Args, b.Args) && slices.Equal(a.Header, b.Header) && slices.Equal(a.Environment(), env)
}

// filling goes through a Spec and remembers what it put in.
type filling struct {
	*plan
	names, from []string
}

// fill fills in what may stay inside, or also what goes out.
func (f *filling) fill(s upstream.Spec, openly bool) upstream.Spec {
	s = copied(s)
	for i, pair := range s.Env {
		if name, v, ok := strings.Cut(pair, "="); ok && !loads(name) {
			s.Env[i] = name + "=" + expand(v, func(r reference) (string, bool) { return f.resolve(r, name) })
		}
	}
	// What everybody may see, and only what we were given ourselves: a file of a
	// project, which may be anybody's, does not decide what is run.
	plain := func(r reference) (string, bool) {
		v, where, ok := f.look(r, "")
		if !ok || !openly && confidential(r.name, v) || !f.given(r) {
			return "", false
		}
		f.note(r.name, where)
		return v, true
	}
	run := f.containerRun()
	for i, word := range s.Args {
		if run >= 0 && i > 0 && (s.Args[i-1] == "-e" || s.Args[i-1] == "--env") {
			s.Args[i], s.Env = f.forward(word, s.Env)
		} else if f.bridged() {
			s.Env = f.pass(word, s.Env) // the bridge fills in by itself
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

// given tells whether a reference is not answered by a file of a project.
func (f *filling) given(r reference) bool {
	s, found := f.found(r.name)
	return !found || !s.file
}

// forward makes -e NAME of -e NAME=${OTHER}: the value goes in through the
// environment of docker itself.
func (f *filling) forward(word string, env []string) (string, []string) {
	name, v, ok := strings.Cut(word, "=")
	if !ok || loads(name) || len(references(v)) == 0 {
		return word, env
	}
	filled := expand(v, func(r reference) (string, bool) { return f.resolve(r, name) })
	if len(references(filled)) > 0 {
		return word, env
	}
	return name, set(env, name, filled, f.OS == "windows")
}

// bridged tells whether the program fills in references from its environment
// by itself.
func (f *filling) bridged() bool {
	return slices.ContainsFunc(f.spec.Args, func(word string) bool {
		return withoutVersion(word) == "mcp-remote"
	})
}

func (f *filling) pass(word string, env []string) []string {
	for _, r := range references(word) {
		if _, has := lookup(env, r.name, f.OS == "windows"); has || r.bare || loads(r.name) {
			continue
		}
		if v, where, ok := f.look(r, ""); ok {
			env = set(env, r.name, v, f.OS == "windows")
			f.note(r.name, where)
		}
	}
	return env
}

func (f *filling) resolve(r reference, key string) (string, bool) {
	v, where, ok := f.look(r, key)
	if ok {
		f.note(r.name, where)
	}
	return v, ok
}

func (f *filling) note(name, where string) {
	if !slices.Contains(f.names, name) {
		f.names, f.from = append(f.names, name), append(f.from, where)
	}
}

// look finds what a reference means: a folder, a variable, or for a question
// to the user the variable it would have gone into.
func (f *filling) look(r reference, key string) (value, where string, ok bool) {
	switch r.name {
	case "workspaceFolder", "workspaceRoot", "projectRoot", "cwd":
		return f.folders()[0], "the working folder", true
	case "userHome", "HOME", "USERPROFILE":
		return f.Home, "the home folder", f.Home != ""
	case "pathSeparator":
		return "/", "the system", f.OS != "windows"
	}
	names := []string{r.name}
	if r.asked {
		names = []string{key, strings.ToUpper(strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(r.name))}
	}
	for _, name := range names {
		s, found := f.found(name)
		if s.alien && (leads(name) || leads(key)) {
			continue // somebody's project does not say where the server's keys go
		}
		if found && isVariable(name) {
			return s.value.Reveal(), s.where, true
		}
	}
	return r.otherwise, "its default", r.otherwise != ""
}
