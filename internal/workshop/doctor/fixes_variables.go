package doctor

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// loads reports whether a variable is known to decide what code runs, what it trusts or where it
// connects. No fix sets one, even from an allowed source; what may be set at all is decided by the
// source alone.
func loads(name string) bool {
	return trust.Loads(name) || trust.Named(name, []string{"NODE_", "GIT_", "DOCKER_"}, []string{"_BASE_URL"}, nil)
}

// confidential reports whether a value must not be where others can read it.
func confidential(name, value string) bool {
	return value != "" && (redact.EnvironSecrets([]string{name + "=" + value}).Redact(value) != value || redact.Text(value) != value)
}

// source is where a value was found.
type source struct {
	value Hidden
	where string // for people
	from  trust.Source
}

// given looks up a variable in the environment that the server already has.
func (srv server) given(name string) (source, bool) {
	v, ok := lookup(srv.env, name, srv.m.OS == "windows")
	return source{Hidden{v}, name + " in the server's environment", trust.Expansion}, ok && v != "" && !isPlaceholder(v)
}

// inFile looks up a variable in the .env files of one source.
func (srv server) inFile(name string, from trust.Source) (source, bool) {
	for _, dir := range srv.folders() {
		for _, file := range srv.m.Dotenvs(dir) {
			if v, ok := file.Values[name]; ok && srv.of(file.Path) == from {
				return source{v, name + " in " + srv.quoted(file.Path), from}, true
			}
		}
	}
	return source{}, false
}

// outside looks up a variable where it is not the server's own: in the .env of a project and in
// gauze's environment.
func (srv server) outside(name string) (source, bool) {
	if s, ok := srv.inFile(name, trust.Project); ok {
		return s, true
	}
	v, ok := srv.m.Env(name)
	return source{Hidden{v}, name + " in gauze's own environment", trust.Environment}, ok && v != "" && !isPlaceholder(v)
}

// found looks up a variable by its name, then by its aliases: first where it is the server's own,
// then elsewhere.
func (srv server) found(name string) (source, bool) {
	own := func(name string) (source, bool) {
		if s, ok := srv.given(name); ok {
			return s, true
		}
		return srv.inFile(name, trust.OwnFolder)
	}
	names := append([]alias{{name: name}}, aliases(name)...)
	for _, look := range []func(string) (source, bool){own, srv.outside} {
		for _, name := range names {
			if s, ok := look(name.name); ok && name.fits(s.value.Reveal()) {
				return s, true
			}
		}
	}
	return source{}, false
}

// wanted returns the variables that the evidence says are missing, without those that are set. Other
// variables in the evidence are foreign text.
func (p *plan) wanted() (names []string) {
	said := p.said["variable"]
	if !isVariable(said) {
		return nil
	}
	srv := p.server()
	inContainer := srv.containerRun() >= 0
	for _, name := range listedIn(p.c.words(), p.said) {
		v := value(p.env, name, p.m.OS == "windows")
		has := v != "" && !isPlaceholder(v) && (!inContainer || srv.names(name))
		if isVariable(name) && !loads(name) && !has {
			names = append(names, name)
		}
	}
	return names
}

// findVariable gives the server the variables that it lacks, from where they are set: first those
// that are the server's own, then the others.
func findVariable(p *plan) (fixes []Fix) {
	if p.spec.URL != "" || p.server().containerRun() >= 0 {
		return nil
	}
	var open []string
	found := map[trust.Verdict]map[string]source{}
	for _, name := range p.wanted() {
		s, ok := p.server().found(name)
		if !ok {
			open = append(open, name)
			continue
		}
		verdict := trust.Of(s.from, trust.Start)
		if found[verdict] == nil {
			found[verdict] = map[string]source{}
		}
		found[verdict][name] = s
	}
	for _, verdict := range slices.Sorted(maps.Keys(found)) {
		fixes = append(fixes, p.give(found[verdict]))
	}
	return append(fixes, provide(open)...)
}

// give sets variables to values that were found.
func (p *plan) give(values map[string]source) Fix {
	f := filling{server: p.server()}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f.note(name, values[name].where, values[name].from)
	}
	from := f.sources
	if len(p.c.Required) > 0 && p.said["variables"] == strings.Join(p.c.Required, ", ") { // only a registry asks for them
		from = append(slices.Clone(from), trust.Registry)
	}
	list := strings.Join(f.names, ", ")
	return Fix{Name: "set " + strings.Join(f.names, " "), Origins: starts(from...),
		About: fmt.Sprintf("sets %s for the server (value from %s)", list, strings.Join(f.from, ", ")),
		Next:  f.next(fmt.Sprintf(`set %s under "env" in the server's entry.`, list)),
		Apply: changed(func(s *launch.Spec) {
			for _, name := range f.names {
				s.Env = set(s.Env, name, values[name].value.Reveal(), p.m.OS == "windows")
			}
		})}
}

// provide asks a person for values that were not found.
func provide(names []string) []Fix {
	if len(names) == 0 {
		return nil
	}
	values, verb, it := "a value for "+inWords(names), "is", "it"
	if len(names) > 1 {
		values, verb, it = "values for "+inWords(names), "are", "them"
	}
	var pages []string
	for _, name := range names {
		if page := keyPage(name); page != "" && !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	if len(pages) > 0 {
		values += " at " + strings.Join(pages, " and ")
	}
	return []Fix{{Name: "provide " + strings.Join(names, " "), Risk: Secret,
		About: fmt.Sprintf("%s %s not set anywhere that gauze is allowed to read", inWords(names), verb),
		Next:  fmt.Sprintf(`Get %s and set %s under "env" in the server's entry.`, values, it)}}
}

// argumentToVariable moves NAME=value from the arguments to the environment.
func argumentToVariable(p *plan) []Fix {
	name := p.said["variable"]
	given := func(word string) bool { return strings.HasPrefix(strings.TrimLeft(word, "-"), name+"=") }
	if !isVariable(name) || loads(name) || p.server().containerRun() >= 0 || !slices.ContainsFunc(p.spec.Args, given) {
		return nil
	}
	return []Fix{{Name: "argument-to-variable " + name, Origins: starts(trust.Entry),
		About: "passes " + name + " as a variable, because the server does not read it from its arguments",
		Next:  fmt.Sprintf(`Move %s from "args" to "env" in the server's entry.`, name),
		Apply: changed(func(s *launch.Spec) {
			for _, word := range s.Args {
				if given(word) {
					_, v, _ := strings.Cut(word, "=")
					s.Env = set(s.Env, name, v, p.m.OS == "windows")
				}
			}
			s.Args = slices.DeleteFunc(s.Args, given)
		})}}
}

// startInProject starts the server in the directory of its own program, where its .env is. It does
// nothing if there are relative arguments, because their meaning would change.
func startInProject(p *plan) []Fix {
	relative := func(word string) bool {
		return !filepath.IsAbs(word) && !strings.HasPrefix(word, "-") && strings.ContainsAny(word, `./\`)
	}
	if p.spec.Dir != "" || p.spec.URL != "" || p.server().containerRun() >= 0 || slices.ContainsFunc(p.spec.Args, relative) {
		return nil
	}
	own := p.server().own()
	if own == "" {
		return nil
	}
	for _, dir := range p.m.upwards(own) {
		if isFile(filepath.Join(dir, ".env")) {
			return []Fix{{Name: "start-in " + dir, Origins: starts(p.server().of(filepath.Join(dir, ".env"))),
				About: "starts the server in its own directory, which contains its .env file: " + p.server().quoted(dir),
				Next:  "Set the working directory in the server's entry: `\"cwd\": \"" + p.server().quoted(dir) + "\"`",
				Apply: func(s launch.Spec) launch.Spec {
					s.Dir = dir
					return copied(s)
				}}}
		}
	}
	return nil
}

// renewKey names the variable whose value was rejected, and where a person gets a new one.
func renewKey(p *plan) []Fix {
	name := p.rejectedVariable()
	if p.spec.URL != "" || name == "" {
		return nil
	}
	return []Fix{{Name: "renew " + name, Risk: Secret, About: "the value of " + name + " was rejected",
		Next: getKey("Create a new key", name) + fmt.Sprintf(` and set %s to it under "env" in the server's entry.`, name)}}
}

// getKey returns an instruction to get a value for a variable, with the page if it is known.
func getKey(verb, name string) string {
	if page := keyPage(name); page != "" {
		return verb + " at " + page
	}
	return verb
}

// rejectedVariable returns the variable of the server's key: the one that the evidence names, or
// else the only one that the entry sets, or "".
func (p *plan) rejectedVariable() string {
	var set, named []string
	text := p.c.words()
	for _, pair := range p.env {
		name, v, _ := strings.Cut(pair, "=")
		if loads(name) || !isVariable(name) || isPlaceholder(v) || !redact.NamesSecret(name, v) ||
			keyPage(name) == "" && !variableName.MatchString(name) {
			continue
		}
		if ours, ok := p.m.Env(name); !ok || ours != v { // not simply inherited
			set = append(set, name)
		}
		if slices.Contains(oneVariable.FindAllString(text, -1), name) {
			named = append(named, name)
		}
	}
	for _, names := range [][]string{unique(named), unique(set)} {
		if len(names) == 1 {
			return names[0]
		}
	}
	return ""
}
