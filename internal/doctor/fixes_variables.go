package doctor

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// loads reports whether a variable is known to decide what code runs, what it trusts or where it
// connects. No fix sets one, even from an allowed source; what may be set at all is decided by the
// source alone.
func loads(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"LD_", "DYLD_", "NODE_", "PYTHON", "NPM_CONFIG_", "PIP_", "UV_", "SSL_", "GIT_", "DOCKER_", "BUN_", "DENO_", "BASH_", "PERL5", "RUBY", "JAVA_TOOL", "JDK_JAVA", "_JAVA", "DOTNET_STARTUP", "COMPOSE_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	for _, ending := range []string{"_PROXY", "_BASE_URL", "_CA_BUNDLE", "_CA_CERTS"} {
		if strings.HasSuffix(upper, ending) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "ENV", "SHELL", "HOME", "IFS", "PROMPT_COMMAND", "PS1", "PS2", "PS4", "GCONV_PATH", "CLASSPATH", "PATHEXT", "COMSPEC", "CURL_CA_BUNDLE"}, upper)
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
func (p *plan) given(name string) (source, bool) {
	v, ok := lookup(p.env, name, p.OS == "windows")
	return source{Hidden{v}, name + " in the server's environment", trust.Expansion}, ok && v != "" && !isPlaceholder(v)
}

// inFile looks up a variable in the .env files of one source.
func (p *plan) inFile(name string, from trust.Source) (source, bool) {
	for _, dir := range p.folders() {
		for _, file := range p.Dotenvs(dir) {
			if v, ok := file.Values[name]; ok && p.of(file.Path) == from {
				return source{v, name + " in " + p.quoted(file.Path), from}, true
			}
		}
	}
	return source{}, false
}

// outside looks up a variable where it is not the server's own: in the .env of a project and in
// gauze's environment.
func (p *plan) outside(name string) (source, bool) {
	if s, ok := p.inFile(name, trust.Project); ok {
		return s, true
	}
	v, ok := p.Env(name)
	return source{Hidden{v}, name + " in gauze's own environment", trust.Environment}, ok && v != "" && !isPlaceholder(v)
}

// found looks up a variable by its name, then by its aliases: first where it is the server's own,
// then elsewhere.
func (p *plan) found(name string) (source, bool) {
	own := func(name string) (source, bool) {
		if s, ok := p.given(name); ok {
			return s, true
		}
		return p.inFile(name, trust.OwnFolder)
	}
	names := append([]alias{{name: name}}, aliases(name)...)
	for _, look := range []func(string) (source, bool){own, p.outside} {
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
	for _, name := range listedIn(p.c.words(), p.said) {
		if v, _ := lookup(p.env, name, p.OS == "windows"); isVariable(name) && !loads(name) && (v == "" || isPlaceholder(v)) {
			names = append(names, name)
		}
	}
	return names
}

// findVariable gives the server the variables that it lacks, from where they are set: first those
// that are the server's own, then the others.
func findVariable(p *plan) (fixes []Fix) {
	if p.spec.URL != "" || p.containerRun() >= 0 {
		return nil
	}
	var open []string
	found := map[trust.Verdict]map[string]source{}
	for _, name := range p.wanted() {
		s, ok := p.found(name)
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
	return append(fixes, p.provide(open)...)
}

// give sets variables to values that were found.
func (p *plan) give(values map[string]source) Fix {
	f := filling{plan: p}
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
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for _, name := range f.names {
				s.Env = set(s.Env, name, values[name].value.Reveal(), p.OS == "windows")
			}
			return s
		}}
}

// provide asks a person for values that were not found.
func (p *plan) provide(names []string) []Fix {
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
	return []Fix{{Name: "provide " + strings.Join(names, " "), Risk: Secret, About: fmt.Sprintf("%s %s not set anywhere that gauze may read", inWords(names), verb),
		Next: fmt.Sprintf(`Get %s and set %s under "env" in the server's entry.`, values, it)}}
}

// argumentToVariable moves NAME=value from the arguments to the environment.
func argumentToVariable(p *plan) []Fix {
	name := p.said["variable"]
	given := func(word string) bool { return strings.HasPrefix(strings.TrimLeft(word, "-"), name+"=") }
	if !isVariable(name) || loads(name) || p.containerRun() >= 0 || !slices.ContainsFunc(p.spec.Args, given) {
		return nil
	}
	return []Fix{{Name: "argument-to-variable " + name, Origins: starts(trust.Entry), About: "passes " + name + " as a variable, because the server does not read it from its arguments",
		Next: fmt.Sprintf(`Move %s from "args" to "env" in the server's entry.`, name),
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for _, word := range s.Args {
				if given(word) {
					_, v, _ := strings.Cut(word, "=")
					s.Env = set(s.Env, name, v, p.OS == "windows")
				}
			}
			s.Args = slices.DeleteFunc(s.Args, given)
			return s
		}}}
}

// startInProject starts the server in the directory of its own program, where its .env is. It does
// nothing if there are relative arguments, because their meaning would change.
func startInProject(p *plan) []Fix {
	relative := func(word string) bool {
		return !filepath.IsAbs(word) && !strings.HasPrefix(word, "-") && strings.ContainsAny(word, `./\`)
	}
	if p.spec.Dir != "" || p.spec.URL != "" || p.containerRun() >= 0 || slices.ContainsFunc(p.spec.Args, relative) {
		return nil
	}
	own := p.own()
	if own == "" {
		return nil
	}
	for _, dir := range p.upwards(own) {
		if isFile(filepath.Join(dir, ".env")) {
			return []Fix{{Name: "start-in " + dir, Origins: starts(p.of(filepath.Join(dir, ".env"))), About: "starts the server in its own directory, where its .env is: " + p.quoted(dir),
				Next: "Set the working directory in the server's entry: `\"cwd\": \"" + p.quoted(dir) + "\"`",
				Apply: func(s launch.Spec) launch.Spec {
					s.Dir = dir
					return copied(s)
				}}}
		}
	}
	return nil
}
