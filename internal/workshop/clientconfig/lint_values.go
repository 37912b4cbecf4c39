package clientconfig

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

func (l entryLinter) dialect() reference.Dialect { return l.c.Client.Dialect.On(l.c.Home.OS) }

// environment checks the variables of the entry.
func (l entryLinter) environment() {
	path, next := l.e.at(l.fields.Env), "use an object that maps names to values"
	env, ok := member(l.node, l.fields.Env)
	switch kind := env.Kind(); {
	case !ok:
		l.withheld(nil)
	case kind == splice.ListKind:
		byName := pairs(env)
		l.report("env-not-a-map", env, "the variables are a list", next, when(len(byName) > 0, set(byName, path))...).needsReview()
	case kind == splice.NullKind:
		l.report("env-not-a-map", env, "the variables are null", "remove "+quoted(l.fields.Env), remove(path))
	case kind != splice.MapKind:
		l.report("env-not-a-map", env, "the variables are not an object", next)
	default:
		var names []string
		for name, value := range env.Members() {
			names = append(names, name)
			l.textual("env-value-not-text", "the value of variable "+quoted(name), value, below(path, name))
			if matches(name, l.c.Client.RefusedEnv) {
				l.report("env-refused", value, fmt.Sprintf("%s does not allow an entry to set %s", l.client, quoted(name)), "")
			}
		}
		l.withheld(names)
	}
}

// pairs returns a list of NAME=value as a map, or nil if it has anything else.
func pairs(list splice.Node) (all splice.Map) {
	for _, item := range list.Items() {
		pair, _ := text(item)
		name, value, ok := strings.Cut(pair, "=")
		if !ok || slices.ContainsFunc(all, func(m splice.Member) bool { return m.Name == name }) {
			return nil
		}
		all = append(all, splice.Member{Name: name, Value: value})
	}
	return all
}

// oneSpelling reports whether every parser would turn a number into the same string, unlike 1.0,
// 1e3 or 010.
func oneSpelling(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return s == "true" || s == "false" || err == nil && strconv.FormatInt(n, 10) == s
}

// withheld reports secrets of the shell whose names suggest that they are for this server and that
// the client does not pass on.
func (l entryLinter) withheld(given []string) {
	if l.c.Client.Inherits == "" || l.e.Spec.Command == "" || l.e.Wrapped || l.renamed(l.fields.Env) {
		return
	}
	given = append(given, words(mustMember(l.node, l.fields.EnvNames))...)
	for _, v := range l.texts() {
		for _, r := range reference.Find(v.text) {
			given = append(given, r.Name)
		}
	}
	for _, pair := range l.c.Home.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || slices.Contains(given, name) || l.c.Client.passesOn(name) || !redact.NamesSecret(name, value) || !l.needs(name) {
			continue
		}
		fix, next := l.passOn(name)
		l.report("secret-not-inherited", l.outer, fmt.Sprintf("%s does not pass %s to its servers", l.client, quoted(name)), next, fix...)
	}
}

// needs reports whether a variable is for this server, judging by its name or by docker's -e.
func (l entryLinter) needs(variable string) bool {
	args := l.e.Spec.Args
	for i, word := range args {
		if i > 0 && word == variable && (args[i-1] == "-e" || args[i-1] == "--env") {
			return true
		}
	}
	haystack := strings.ToUpper(strings.Join(append([]string{l.e.Name, l.e.Spec.Command}, args...), " "))
	service, _, compound := strings.Cut(strings.ToUpper(variable), "_")
	return compound && len(service) >= 4 && strings.Contains(haystack, service)
}

// passOn passes on a variable by name, without its value.
func (l entryLinter) passOn(name string) (fix Edit, next string) {
	f := l.fields
	handed, isSet := member(l.node, f.EnvNames)
	env, hasEnv := member(l.node, f.Env)
	spelled, ok := l.dialect().Spell(name, reference.Environment)
	switch {
	case f.EnvNames != "":
		fix = when(!isSet || areWords(handed), set(list(append(words(handed), name)), l.e.at(f.EnvNames)))
		return fix, fmt.Sprintf("add %q to %s", name, f.EnvNames)
	case l.dialect().In == 0:
		return nil, "set the variable in the entry, or start the server with gauze run"
	}
	fix = when(ok && (!hasEnv || env.Kind() == splice.MapKind), set(spelled, l.e.at(f.Env, name)))
	return fix, fmt.Sprintf("add a reference to %s to %q", quoted(name), f.Env)
}

// value is a string of an entry and its position.
type value struct {
	part reference.Part
	name string // of the variable or header, or else of the field
	text string
	node splice.Node
	path []any
}

// texts returns all values of the entry that may contain a reference or a secret.
func (l entryLinter) texts() (all []value) {
	one := func(part reference.Part, name string, n splice.Node, path []any) {
		const maxValueLen = 1 << 16 // longer values are not settings, and slow to scan
		if s, ok := text(n); ok && len(s) <= maxValueLen {
			all = append(all, value{part, name, s, n, path})
		}
	}
	field := func(part reference.Part, name string) {
		m, ok := member(l.node, name)
		if !ok {
			return
		}
		path := l.e.at(steps(name)...)
		if part&(reference.Command|reference.URL|reference.Cwd) != 0 {
			one(part, name, m, path)
			return
		}
		for i, item := range m.Items() {
			one(part, name, item, below(path, i))
		}
		for key, n := range m.Members() {
			one(part, key, n, below(path, key))
		}
	}
	f := l.fields
	field(reference.Command, f.Command)
	field(reference.Args, cmp.Or(f.Args, f.Command))
	field(reference.Environment, f.Env)
	for _, name := range f.urls() {
		field(reference.URL, name)
	}
	field(reference.Headers, f.Headers)
	field(reference.Cwd, f.Cwd)
	return all
}

// values checks each of them.
func (l entryLinter) values() {
	if headers, ok := member(l.node, l.fields.Headers); ok && !l.fields.NoRemote {
		for name, n := range headers.Members() {
			path := l.e.at(append(steps(l.fields.Headers), name)...)
			l.textual("header-value-not-text", "the value of header "+quoted(name), n, path)
		}
	}
	asked := l.c.Client.ApprovesVariables == ""
	for _, v := range l.texts() {
		l.references(v)
		refers := len(reference.Find(v.text)) > 0
		switch {
		case isPlaceholder(v.text) && v.part != reference.Command && !refers:
			l.report("placeholder-value", v.node, fmt.Sprintf("the value of %s is a placeholder", quoted(v.name)), "")
		case l.c.shared() && !refers && v.secret():
			next := ""
			if spelled, ok := l.dialect().Spell(variableName(v.name), v.part); ok {
				next = "revoke the secret, create a new one, and refer to it as " + spelled
			}
			what := fmt.Sprintf("the value of %s looks like a secret, and the file is part of the project", quoted(v.name))
			l.report("secret-in-shared-file", v.node, what, next)
		}
		if !asked && refers && strings.Contains(v.text, "${") {
			asked = true
			what := "the entry refers to a variable that requires approval"
			l.report("reference-needs-approval", v.node, what, l.c.Client.ApprovesVariables)
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(l.e.Unset))) {
		shown := "a variable that the entry refers to"
		if isVariable(name) {
			shown = "the variable " + quoted(name)
		}
		l.report("unset-variable", l.outer, shown+" is not set", "")
	}
}

// secret reports whether a value is a secret, judging by its name and its form.
func (v value) secret() bool {
	const minSecretLen = 6
	isNamed := v.part&(reference.Environment|reference.Headers) != 0
	return isNamed && len(v.text) >= minSecretLen && redact.NamesSecret(v.name, v.text) || redact.Text(v.text) != v.text
}

// variableName derives a variable name from a header name.
func variableName(name string) string {
	return strings.ReplaceAll(plainName(strings.ToUpper(plaintext.Clean(name))), "-", "_")
}

// references reports references that the client does not expand.
func (l entryLinter) references(v value) {
	if l.inCode(v) {
		return // the reference belongs to the program's own code
	}
	d := l.dialect()
	foreign := slices.DeleteFunc(d.Foreign(v.text, v.part), func(r reference.Reference) bool {
		return v.part&(reference.Environment|reference.Headers|reference.Args) != 0 && !unmistakable(r)
	})
	if len(foreign) == 0 {
		l.inputs(v)
		return
	}
	what := fmt.Sprintf("%s does not expand %s", l.client, quoted(shownReference(foreign[0])))
	if foreign[0].Form&d.Forms != 0 {
		l.report("reference-not-expanded", v.node, what+" in "+quoted(v.name), "")
		return
	}
	fix, next := l.respell(v, foreign), "use the client's own syntax"
	if fix == nil {
		next = "use the value itself, or start the server with gauze run, which expands the reference"
	}
	p := l.report("foreign-reference", v.node, what, next, fix...)
	if fix == nil && v.part&(reference.Environment|reference.Headers) != 0 {
		p.Severity = Warning // it may be intended literally
	}
}

// unmistakable reports whether a reference cannot be a string with a $ in it, such as a password:
// it has a form that nothing else has, or the name of a variable.
func unmistakable(r reference.Reference) bool {
	return r.Form&(reference.Braces|reference.Default|reference.Bare|reference.Percent) == 0 || isVariable(r.Name)
}

// isWholeReference reports whether a value is a single reference to a variable that is set, apart
// from a header's scheme.
func (l entryLinter) isWholeReference(v value, r reference.Reference) bool {
	before := strings.ToLower(v.text[:r.From])
	isScheme := v.part == reference.Headers && slices.Contains([]string{"bearer ", "basic ", "token "}, before)
	_, set := l.c.Home.lookup(r.Name)
	return (before == "" || isScheme) && r.To == len(v.text) && isVariable(r.Name) && set
}

// inCode reports whether a value is program code for a shell or another interpreter, which has its
// own use of $.
func (l entryLinter) inCode(v value) bool {
	if v.part == reference.Command {
		return codeAt(strings.Fields(v.text)) < math.MaxInt
	}
	at, ok := v.path[len(v.path)-1].(int)
	return ok && v.part == reference.Args && at >= l.code
}

// codeFrom returns the index of the first argument that is, or introduces, program code.
func (s *source) codeFrom() int {
	argv, field := []string{textOf(s.node, s.fields.Command)}, s.fields.Args
	if s.fields.Argv {
		argv, field = nil, s.fields.Command
	}
	first := len(argv)
	for _, item := range mustMember(s.node, field).Items() {
		word, _ := text(item)
		argv = append(argv, word)
	}
	return codeAt(argv) - first
}

// codeAt returns where a command line has a flag that introduces code after an interpreter: -c, -lc, -e,
// --eval, /c and so on. Without one, it returns a number that is larger than any index.
func codeAt(argv []string) int {
	seenInterpreter := false
	for i, word := range argv {
		switch {
		case slices.Contains(common().Interpreters, program(word)):
			seenInterpreter = true
		case seenInterpreter && codeFlag(strings.ToLower(word)):
			return i
		}
	}
	return math.MaxInt
}

func codeFlag(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	const maxFlagLen = 5 // -euxc
	letters, short := strings.CutPrefix(word, "-")
	short = short && len(word) <= maxFlagLen && !strings.HasPrefix(letters, "-")
	return slices.Contains(common().CodeFlags, name) || short && (strings.HasSuffix(letters, "c") || strings.HasSuffix(letters, "e"))
}

// shownReference returns a reference without anything that may be secret: a password with a $ in it
// also looks like one.
func shownReference(r reference.Reference) string {
	if r.Form&(reference.Folder|reference.Input) == 0 && !isVariable(r.Name) {
		r.Name = "…"
	}
	r.Otherwise = "…"
	return r.String()
}

// isVariable reports whether a name has the usual form of a variable name.
func isVariable(name string) bool {
	const maxNameLen, usual = 48, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return name != "" && len(name) <= maxNameLen && strings.Trim(name, usual) == "" && redact.Text(name) == name
}

// respell writes references in the client's own form.
func (l entryLinter) respell(v value, foreign []reference.Reference) Edit {
	d, whole := l.dialect(), foreign[0]
	if v.part&(reference.Environment|reference.Headers) != 0 && !l.isWholeReference(v, whole) {
		return nil
	}
	isVariable := whole.Form&reference.Variables != 0 && whole.Form != reference.Default
	isItself := isVariable && whole.Name == v.name && whole.From == 0 && whole.To == len(v.text)
	if isItself && v.part == reference.Environment && l.fields.EnvNames != "" && !l.fields.headersFromEntry() {
		if fix, _ := l.passOn(v.name); fix != nil {
			return append(fix, remove(v.path)) // by name: the client does not expand references
		}
		return nil
	}
	var b strings.Builder
	last := 0
	for _, r := range foreign {
		spelled, ok := d.Spell(r.Name, v.part)
		isPlain := r.Form&reference.Variables != 0 && (r.Form != reference.Default || d.Forms&reference.Default != 0)
		if !ok || !isPlain || d.Forms&reference.Secret != 0 {
			return nil
		}
		b.WriteString(v.text[last:r.From] + spelled)
		last = r.To
	}
	return Edit{set(b.String()+v.text[last:], v.path)}
}

// inputs checks that the file defines the inputs that a value refers to.
func (l entryLinter) inputs(v value) {
	inputs := mustMember(l.c.Doc.Root(), "inputs")
	for _, r := range reference.Find(v.text) {
		isDefined := slices.ContainsFunc(inputs.Items(), func(n splice.Node) bool { return textOf(n, "id") == r.Name })
		if r.Form&l.dialect().Forms == reference.Input && !isDefined {
			l.report("input-missing", v.node, fmt.Sprintf("the input %s is not defined", quoted(r.Name)), "")
		}
	}
}
