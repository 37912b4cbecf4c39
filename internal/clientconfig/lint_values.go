package clientconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/splice"
)

func (l entryLinter) dialect() reference.Dialect { return l.Client.Dialect.On(l.Home.OS) }

// environment checks the variables of the entry.
func (l entryLinter) environment() {
	f := l.e.fields
	env, ok := member(l.e.node, f.Env)
	if !ok {
		l.withheld(nil)
		return
	}
	switch env.Kind() {
	case splice.ListKind:
		byName, fits := splice.Map{}, true
		for _, item := range env.Items() {
			pair, isText := text(item)
			name, value, isPair := strings.Cut(pair, "=")
			fits = fits && isText && isPair && !slices.ContainsFunc(byName, func(m splice.Member) bool { return m.Name == name })
			byName = append(byName, splice.Member{Name: name, Value: value})
		}
		var fix Edit
		if fits && len(byName) > 0 {
			fix = Edit{set(byName, l.at(f.Env))}
		}
		l.report("env-not-a-map", env, "the variables are a list", "write an object that maps names to values", fix...).needsReview()
		return
	case splice.MapKind:
	case splice.NullKind:
		l.report("env-not-a-map", env, "the variables are null", "remove "+quoted(f.Env), remove(l.at(f.Env)))
		return
	default:
		l.report("env-not-a-map", env, "the variables are not an object", "write an object that maps names to values")
		return
	}
	var names []string
	for name, value := range env.Members() {
		names = append(names, name)
		l.textual("env-value-not-text", "the variable", name, value, l.at(f.Env, name))
		if l.Client.ID == "goose" && gooseRejects(name) {
			l.report("env-refused", value, fmt.Sprintf("goose does not allow an entry to set %s", quoted(name)), "")
		}
	}
	l.withheld(names)
}

// textual checks that a value is a string.
func (l entryLinter) textual(code Code, what, name string, value splice.Node, path []any) {
	if value.Kind() == splice.StringKind {
		return
	}
	var fix Edit
	s, ok := plain(value)
	if ok {
		fix = Edit{set(s, path)}
	}
	p := l.report(code, value, fmt.Sprintf("the value of %s %s is not a string", what, quoted(name)), "put the value in quotes", fix...)
	if !oneSpelling(s) {
		p.needsReview()
	}
}

// oneSpelling reports whether every parser would turn a number into the same string, unlike 1.0,
// 1e3 or 010.
func oneSpelling(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return s == "true" || s == "false" || err == nil && strconv.FormatInt(n, 10) == s
}

// gooseRejects reports whether goose rejects a variable because it controls what a program loads.
func gooseRejects(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains([]string{"PATH", "PATHEXT", "SYSTEMROOT", "WINDIR", "APPINIT_DLLS", "COMSPEC", "TEMP", "TMP", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
		"NODE_OPTIONS", "RUBYOPT", "GEM_PATH", "GEM_HOME", "CLASSPATH", "GO111MODULE", "GOROOT", "PYTHONPATH", "PYTHONHOME"}, upper) ||
		strings.HasPrefix(upper, "LD_") || strings.HasPrefix(upper, "DYLD_")
}

// withheld reports secrets of the shell whose names suggest that they are for this server and that
// the client does not pass on.
func (l entryLinter) withheld(given []string) {
	f := l.e.fields
	if l.Client.Inherits == Everything || l.e.Spec.Command == "" || l.e.Wrapped || l.renamed(f.Env) {
		return
	}
	if m, ok := member(l.e.node, f.EnvNames); ok {
		given = append(given, words(m)...)
	}
	for _, v := range l.texts() {
		for _, r := range reference.Find(v.text) {
			given = append(given, r.Name)
		}
	}
	haystack := strings.ToUpper(strings.Join(append([]string{l.e.Name, l.e.Spec.Command}, l.e.Spec.Args...), " "))
	for _, pair := range l.Home.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || slices.Contains(given, name) || l.Client.passesOn(name) || !redact.NamesSecret(name, value) || !meantFor(name, haystack, l.e.Spec.Args) {
			continue
		}
		l.report("secret-not-inherited", l.e.outer, fmt.Sprintf("%s does not pass %s to its servers", l.Client.Name, quoted(name)), l.passOnHint(name), l.passOn(name)...)
	}
}

// meantFor reports whether a variable is for a server, judging by its name or by docker's -e.
func meantFor(name, haystack string, args []string) bool {
	for i, word := range args {
		if i > 0 && word == name && (args[i-1] == "-e" || args[i-1] == "--env") {
			return true
		}
	}
	service, _, compound := strings.Cut(strings.ToUpper(name), "_")
	return compound && len(service) >= 4 && strings.Contains(haystack, service)
}

func (l entryLinter) passOnHint(name string) string {
	switch f := l.e.fields; {
	case f.EnvNames != "":
		return fmt.Sprintf("add %q to %s", name, f.EnvNames)
	case l.dialect().Forms != 0:
		return fmt.Sprintf("add a reference to %s to %q", quoted(name), f.Env)
	}
	return "set the variable in the entry, or start the server with gauze run"
}

// passOn passes on a variable by name, without its value.
func (l entryLinter) passOn(name string) Edit {
	f := l.e.fields
	if f.EnvNames != "" {
		m, ok := member(l.e.node, f.EnvNames)
		if ok && (m.Kind() != splice.ListKind || len(words(m)) != len(m.Items())) {
			return nil
		}
		return Edit{set(list(append(words(m), name)), l.at(f.EnvNames))}
	}
	spelled, ok := l.dialect().Spell(name, reference.Environment)
	if env, there := member(l.e.node, f.Env); !ok || there && env.Kind() != splice.MapKind {
		return nil
	}
	return Edit{set(spelled, l.at(f.Env, name))}
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
	f := l.e.fields
	one := func(part reference.Part, name string, n splice.Node, path []any) {
		const maxValueLen = 1 << 16 // longer values are not settings, and slow to scan
		if s, ok := text(n); ok && len(s) <= maxValueLen {
			all = append(all, value{part, name, s, n, path})
		}
	}
	single := func(part reference.Part, name string) {
		if m, ok := member(l.e.node, name); ok {
			one(part, name, m, l.at(name))
		}
	}
	many := func(part reference.Part, name string) {
		m, ok := member(l.e.node, name)
		if !ok {
			return
		}
		path := l.at(steps(name)...)
		for i, item := range m.Items() {
			one(part, name, item, below(path, i))
		}
		for key, n := range m.Members() {
			one(part, key, n, below(path, key))
		}
	}
	single(reference.Command, f.Command)
	if f.Argv {
		many(reference.Args, f.Command)
	} else {
		many(reference.Args, f.Args)
	}
	many(reference.Environment, f.Env)
	for _, name := range append([]string{f.URL}, f.OtherURLs...) {
		single(reference.URL, name)
	}
	many(reference.Headers, f.Headers)
	single(reference.Cwd, f.Cwd)
	return all
}

// values checks each of them.
func (l entryLinter) values() {
	if headers, ok := member(l.e.node, l.e.fields.Headers); ok && !l.e.fields.NoRemote {
		for name, n := range headers.Members() {
			l.textual("header-value-not-text", "the header", name, n, l.at(append(steps(l.e.fields.Headers), name)...))
		}
	}
	asked := false
	for _, v := range l.texts() {
		l.references(v)
		refers := len(reference.Find(v.text)) > 0
		switch {
		case isPlaceholder(v.text) && v.part != reference.Command && !refers:
			l.report("placeholder-value", v.node, fmt.Sprintf("the value of %s is a placeholder", quoted(v.name)), "")
		case l.shared() && !refers && secretValue(v):
			l.report("secret-in-shared-file", v.node, fmt.Sprintf("the value of %s looks like a secret, and the file is part of the project", quoted(v.name)), l.secretRemedy(v))
		}
		if l.Client.ID == "kiro" && !asked && l.dialect().Forms != 0 && strings.Contains(v.text, "${") && refers {
			asked = true
			l.report("reference-needs-approval", v.node, "the entry refers to a variable that requires approval", "approve the variable in the settings, under Approved environment variables")
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(l.e.Unset))) {
		shown := "a variable that the entry refers to"
		if isVariable(name) {
			shown = "the variable " + quoted(name)
		}
		l.report("unset-variable", l.e.outer, shown+" is not set", "")
	}
}

// secretValue reports whether a value is a secret, judging by its name and its form.
func secretValue(v value) bool {
	const minSecretLen = 6
	switch v.part {
	case reference.Environment, reference.Headers:
		if len(v.text) >= minSecretLen && redact.NamesSecret(v.name, v.text) {
			return true
		}
	}
	return redact.Text(v.text) != v.text
}

func (l entryLinter) secretRemedy(v value) string {
	if spelled, ok := l.dialect().Spell(variableName(v.name), v.part); ok {
		return fmt.Sprintf("revoke the secret, create a new one, and refer to it as %s", spelled)
	}
	return ""
}

// variableName derives a variable name from a header name.
func variableName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToUpper(plaintext.Clean(name)))
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
	r := foreign[0]
	if r.Form&d.Forms != 0 {
		l.report("reference-not-expanded", v.node, fmt.Sprintf("%s does not expand %s in %s", l.Client.Name, quoted(shownReference(r)), quoted(v.name)), "")
		return
	}
	fix := l.respell(v, foreign)
	next := "use the client's own syntax"
	if fix == nil {
		next = "write the value itself, or start the server with gauze run, which expands the reference"
	}
	p := l.report("foreign-reference", v.node, fmt.Sprintf("%s does not expand %s", l.Client.Name, quoted(shownReference(r))), next, fix...)
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
	before := v.text[:r.From]
	if scheme := strings.ToLower(before); v.part == reference.Headers && (scheme == "bearer " || scheme == "basic " || scheme == "token ") {
		before = ""
	}
	_, set := l.Home.lookup(r.Name)
	return before == "" && r.To == len(v.text) && isVariable(r.Name) && set
}

// inCode reports whether a value is program code for a shell or another interpreter, which has its
// own use of $.
func (l entryLinter) inCode(v value) bool {
	switch v.part {
	case reference.Command:
		return hasCode(strings.Fields(v.text))
	case reference.Args:
	default:
		return false
	}
	at, ok := v.path[len(v.path)-1].(int)
	return ok && at >= l.codeFrom()
}

// codeFrom returns the index of the first argument that is, or introduces, program code.
func (l entryLinter) codeFrom() int {
	if from, known := l.code[l.e]; known {
		return from
	}
	f := l.e.fields
	field, argv := f.Args, []string{textOf(l.e.node, f.Command)}
	if f.Argv {
		field, argv = f.Command, nil
	}
	first := len(argv)
	for _, item := range mustMember(l.e.node, field).Items() {
		word, _ := text(item)
		argv = append(argv, word)
	}
	from := math.MaxInt
	if at := codeAt(argv); at >= 0 {
		from = at - first
	}
	if l.code == nil {
		l.code = map[*Entry]int{}
	}
	l.code[l.e] = from
	return from
}

var interpreters = []string{"bash", "sh", "zsh", "dash", "ksh", "fish", "cmd", "pwsh", "powershell", "node", "python", "python3", "perl", "ruby", "php", "bun", "deno", "tsx"}

// hasCode reports whether a command line contains an interpreter followed by a flag that introduces
// code: -c, -lc, -e, --eval, /c and so on.
func hasCode(argv []string) bool { return codeAt(argv) >= 0 }

// codeAt returns the index of that flag, or -1.
func codeAt(argv []string) int {
	seenInterpreter := false
	for i, word := range argv {
		switch {
		case slices.Contains(interpreters, program(word)):
			seenInterpreter = true
		case seenInterpreter && codeFlag(strings.ToLower(word)):
			return i
		}
	}
	return -1
}

func codeFlag(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch name {
	case "--eval", "--print", "--command", "-command", "/c", "/k", "eval":
		return true
	}
	const maxFlagLen = 5 // -euxc
	letters, short := strings.CutPrefix(word, "-")
	return short && len(word) <= maxFlagLen && !strings.HasPrefix(letters, "-") && (strings.HasSuffix(letters, "c") || strings.HasSuffix(letters, "e"))
}

// shownReference returns a reference without anything that may be secret: a password with a $ in it
// also looks like one.
func shownReference(r reference.Reference) string {
	switch {
	case r.Form&(reference.Folder|reference.Input) != 0:
	case !isVariable(r.Name):
		r.Name = "…"
	}
	r.Otherwise = "…"
	return r.String()
}

// isVariable reports whether a name has the usual form of a variable name.
func isVariable(name string) bool {
	const maxNameLen = 48
	return name != "" && len(name) <= maxNameLen && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && redact.Text(name) == name
}

// respell writes references in the client's own form.
func (l entryLinter) respell(v value, foreign []reference.Reference) Edit {
	d, f := l.dialect(), l.e.fields
	if v.part&(reference.Environment|reference.Headers) != 0 && !l.isWholeReference(v, foreign[0]) {
		return nil
	}
	if whole := foreign[0]; f.EnvNames == "env_vars" && v.part == reference.Environment && whole.Form&reference.Variables != 0 && whole.Form != reference.Default &&
		whole.From == 0 && whole.To == len(v.text) && whole.Name == v.name {
		if fix := l.passOn(v.name); fix != nil {
			return append(fix, remove(v.path)) // by name: the client does not expand references
		}
		return nil
	}
	var b strings.Builder
	last := 0
	for _, r := range foreign {
		spelled, ok := d.Spell(r.Name, v.part)
		if r.Form == reference.Default && d.Forms&reference.Default == 0 || r.Form&reference.Variables == 0 || !ok || d.Forms&reference.Secret != 0 {
			return nil
		}
		b.WriteString(v.text[last:r.From])
		b.WriteString(spelled)
		last = r.To
	}
	b.WriteString(v.text[last:])
	return Edit{set(b.String(), v.path)}
}

// inputs checks that the file defines the inputs that a value refers to.
func (l entryLinter) inputs(v value) {
	for _, r := range reference.Find(v.text) {
		if r.Form != reference.Input || l.dialect().Forms&reference.Input == 0 {
			continue
		}
		described := false
		if inputs, ok := l.Doc.At("inputs"); ok {
			for _, input := range inputs.Items() {
				described = described || textOf(input, "id") == r.Name
			}
		}
		if !described {
			l.report("input-missing", v.node, fmt.Sprintf("the input %s is not defined", quoted(r.Name)), "")
		}
	}
}
