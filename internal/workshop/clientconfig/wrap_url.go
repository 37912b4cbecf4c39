package clientconfig

import (
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Reasons why a remote entry is not wrapped.
const (
	hasCommandFields  = "the entry has both a URL and fields for a command"
	headersNotExact   = "gauze could not restore the entry's headers exactly"
	urlReferenceInArg = "the client expands references in URLs, but not in arguments"
)

// urlWrap is the edit that turns an entry with a URL into gauze run --url. Fields stay in place and
// change their names. What the new fields cannot hold is in --entry, which only Unwrap reads.
// Secrets go through the environment, because any user of the machine can read arguments.
type urlWrap struct {
	layout
	e      *Entry
	fields Fields
	path   []any // of the map with the fields
	edit   Edit
	flags  []string // of gauze run, each a word
	facts  []string // what Unwrap needs: FIELD=TEXT

	field   string // the field of the URL
	address located
	copies  []variableCopy // variables to add to the environment
	slot    string         // a field whose place the arguments take
	spare   string         // a field whose place an empty environment takes
}

// variableCopy is a variable whose value is written as in a different field.
type variableCopy struct{ name, raw string }

// wrapURL turns a URL into a command.
func (c *Config) wrapURL(e *Entry, gauze string) (Edit, string) {
	w := &urlWrap{layout: c.layout, e: e, fields: e.src.fields, path: e.at()}
	for _, step := range []func() string{w.takeURL, w.takeType, w.takeLogin, w.takeHeaders, w.takeVariables} {
		if why := step(); why != "" {
			return nil, why
		}
	}
	if !w.writeCommand(gauze) {
		return nil, notReversible
	}
	return backwards(w.edit), ""
}

// tolerant reports whether the client ignores fields that do not apply to an entry.
func (f Fields) tolerant() bool { return !f.Exact && !f.RejectsFile }

func (w *urlWrap) takeURL() string {
	f, d := w.fields, w.e.Client.Dialect
	var present []string
	for _, name := range f.urls() {
		if has(w.e.src.node, name) {
			present = append(present, name)
		}
	}
	// Fields without an effect on a URL would take effect on a command.
	for _, name := range []string{f.Command, f.Args, f.Cwd, "envFile"} {
		if name != "" && has(w.e.src.node, name) {
			return hasCommandFields
		}
	}
	env, there := member(w.e.src.node, f.Env)
	if there && !f.headersFromEntry() && (env.Kind() != splice.MapKind || len(env.Value().(splice.Map)) > 0) {
		return hasCommandFields
	}
	if len(present) != 1 {
		return "the entry has more than one URL"
	}
	w.field = present[0]
	var ok bool
	if w.address, ok = w.locate(member(w.e.src.node, w.field)); !ok || w.address.Kind() != splice.StringKind {
		return notReversible
	}
	if len(reference.Find(w.e.src.url())) > 0 && d.In&reference.URL != 0 && d.In&reference.Args == 0 {
		return urlReferenceInArg
	}
	if err := launch.CheckURL(w.e.Spec.URL); err != nil && len(w.e.Unset)+len(w.e.Waiting) == 0 {
		return "the entry's URL is invalid: " + err.Error()
	}
	if w.field != f.URL {
		w.remember("url", w.field)
	}
	return ""
}

// remember keeps a fact for Unwrap.
func (w *urlWrap) remember(field, text string) { w.facts = append(w.facts, field+"="+text) }

// typeField returns the field that says how a server is reached, and the word for a command.
func (s *source) typeField() (name, stdio string) {
	if s.fields.Types.Field != "" && has(s.node, s.fields.Types.Field) {
		return s.fields.Types.Field, s.fields.Types.Stdio[0]
	}
	for _, name := range []string{"type", "transport", "transportType"} {
		if _, isText := text(mustMember(s.node, name)); isText && has(s.node, name) {
			return name, "stdio"
		}
	}
	return "", ""
}

func (w *urlWrap) takeType() string {
	name, stdio := w.e.src.typeField()
	if name == "" {
		return ""
	}
	kind, ok := w.locate(member(w.e.src.node, name))
	word, _ := text(kind.Node)
	switch {
	case !ok:
		return notReversible
	case transportOf(word) == Stdio || transportOf(word) == "":
		return fmt.Sprintf("the entry's %s is not for a remote server", name)
	}
	w.edit = append(w.edit, w.put(kind.from, kind.to, wordLike(kind.Raw(), stdio)))
	if name != w.fields.Types.Field || kind.Raw() != quote(w.fields.Types.HTTP[0]) {
		w.remember(name, word)
	}
	return ""
}

// wordLike writes a word with the quotes of another.
func wordLike(raw, word string) string {
	switch {
	case strings.HasPrefix(raw, `"`):
		return quote(word)
	case strings.HasPrefix(raw, "'"):
		return "'" + word + "'"
	}
	return word
}

// takeHeaders hands the headers on. Where that is possible, their field becomes the environment and
// their names those of variables; else the values are repeated there.
func (w *urlWrap) takeHeaders() string {
	f, d := w.fields, w.e.Client.Dialect
	headers, there := member(w.e.src.node, f.Headers)
	if !there {
		return ""
	}
	if headers.Kind() != splice.MapKind {
		return headersNotExact
	}
	byName := d.In&reference.Headers != 0 && d.In&reference.Environment == 0
	move := !strings.Contains(f.Headers, "/") && !has(w.e.src.node, f.Env) && len(w.copies) == 0
	var renames Edit
	i := 0
	for name, n := range headers.Members() {
		value, isText := text(n)
		located, ok := w.locate(n, isText)
		if !ok {
			return headersNotExact
		}
		if err := launch.CheckHeader(name, strings.TrimSpace(value)); err != nil {
			return "gauze run cannot send the entry's headers: " + err.Error()
		}
		if byName && len(reference.Find(value)) > 0 {
			if !referenceOnly(value) {
				return headersNotExact
			}
			move = false
			w.flags = append(w.flags, "--header-env", name+"="+value)
			continue
		}
		variable := launch.HeaderVariable(i)
		i++
		w.flags = append(w.flags, "--header-env", name+"="+variable)
		w.copies = append(w.copies, variableCopy{variable, located.Raw()})
		renames = append(renames, w.rename(variable, append(steps(f.Headers), name)...)...)
	}
	switch key := w.rename(f.Env, steps(f.Headers)...); {
	case move && len(key) > 0 && len(renames) >= i:
		w.edit, w.copies = append(append(w.edit, renames...), key...), nil
	case !f.tolerant():
		return headersNotExact
	}
	return ""
}

// referenceOnly reports whether a value is one reference, perhaps after the name of a scheme such as
// Bearer. Anything else may be a secret, which must not be in an argument.
func referenceOnly(value string) bool {
	scheme, rest, two := strings.Cut(value, " ")
	if !two {
		return wholeReference(value) != ""
	}
	letters := strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz") == ""
	return letters && len(scheme) <= len("Negotiate") && wholeReference(rest) != ""
}

// rename returns the edit that renames a member of the entry, in all places where it is written.
func (w *urlWrap) rename(to string, way ...any) (edit Edit) {
	for _, key := range w.keysAt(below(w.path, way...)) {
		edit = append(edit, w.put(key.From, key.To, key.Like(to)))
	}
	return edit
}

// takeVariables hands on the headers that come from variables of the client's environment, as in
// Codex.
func (w *urlWrap) takeVariables() string {
	f := w.fields
	bearer, hasBearer := member(w.e.src.node, f.BearerEnv)
	named, hasNamed := member(w.e.src.node, f.EnvHeaders)
	if !hasBearer && !hasNamed {
		return ""
	}
	if has(w.e.src.node, f.EnvNames) {
		return hasCommandFields
	}
	var variables []string
	variable, _ := text(bearer)
	if hasBearer {
		located, ok := w.locate(bearer, isVariable(variable))
		if !ok {
			return headersNotExact
		}
		variables = append(variables, located.Raw())
		w.flags = append(w.flags, "--header-env", "Authorization=Bearer ${"+variable+"}")
	}
	for name, n := range named.Members() {
		if !hasNamed {
			break
		}
		variable, _ := text(n)
		if !isVariable(variable) {
			return headersNotExact
		}
		if err := launch.CheckHeader(name, ""); err != nil {
			return "gauze run cannot send the entry's headers: " + err.Error()
		}
		variables = append(variables, quote(variable))
		w.flags = append(w.flags, "--header-env", name+"=${"+variable+":-}") // Codex leaves the header out if it is not set
	}
	list := "[" + strings.Join(variables, ", ") + "]"
	switch {
	case hasBearer && hasNamed:
		if !w.fill(&w.slot, f.EnvHeaders) || !w.become(f.BearerEnv, f.EnvNames, list) {
			return headersNotExact
		}
	case hasBearer:
		if !w.become(f.BearerEnv, f.EnvNames, list) {
			return headersNotExact
		}
	default:
		located, ok := w.locate(named, true)
		if !ok || !w.become(f.EnvHeaders, f.EnvNames, list) {
			return headersNotExact
		}
		w.remember(f.EnvHeaders, located.Raw())
	}
	return ""
}

// become replaces a field by a different one.
func (w *urlWrap) become(name, to, value string) bool {
	old, ok := w.locate(member(w.e.src.node, name))
	key := w.rename(to, name)
	if !ok || len(key) != 1 {
		return false
	}
	w.edit = append(append(w.edit, key...), w.put(old.from, old.to, value))
	return true
}

// fill lets a new field take the place of one that the client would reject beside a command. There
// is one such place.
func (w *urlWrap) fill(place *string, name string) bool {
	value, ok := w.locate(member(w.e.src.node, name))
	if !ok || *place != "" || len(w.rename("x", name)) != 1 {
		return false
	}
	*place = name
	w.remember(name, value.Raw())
	return true
}

// writeCommand writes the command in the place of the URL.
func (w *urlWrap) writeCommand(gauze string) bool {
	f := w.fields
	keys := w.keysAt(below(w.path, w.field))
	if len(keys) != 1 || w.address.from < keys[0].To {
		return false
	}
	key := keys[0]
	sign := string(w.text[key.To:w.address.from])
	if trimmed := strings.Trim(sign, " \t"); trimmed != ":" && trimmed != "=" {
		return false
	}
	between, ok := w.between(key)
	if !ok {
		return false
	}
	words := append([]string{quote("run")}, w.e.named()...)
	for _, flag := range w.flags {
		words = append(words, quote(flag))
	}
	if len(w.copies) > 0 && has(w.e.src.node, f.Env) {
		into, ok := w.intoEnvironment()
		if !ok {
			return false
		}
		w.edit = append(w.edit, into)
		w.remember(f.Env, "kept")
		w.copies = nil
	}
	for _, fact := range w.facts {
		words = append(words, quote("--entry="+fact))
	}
	words = append(words, quote("--url"), w.address.Raw())
	command := key.Like(f.Command) + sign
	switch {
	case f.Argv:
		command += "[" + strings.Join(append([]string{quote(gauze)}, words...), ", ") + "]"
	case w.slot != "":
		command += quote(gauze)
		if !w.become(w.slot, f.Args, "["+strings.Join(words, ", ")+"]") {
			return false
		}
	default:
		command += quote(gauze) + between + key.Like(f.Args) + sign + "[" + strings.Join(words, ", ") + "]"
	}
	if w.spare != "" && !w.become(w.spare, f.Env, "{}") {
		return false
	}
	if len(w.copies) > 0 {
		command += between + key.Like(f.Env) + sign + "{" + w.variables(sign, ", ") + "}"
	}
	w.edit = append(w.edit, w.put(key.From, w.address.to, command))
	return true
}

// variables writes the copies as members of a map.
func (w *urlWrap) variables(sign, between string) string {
	var all []string
	for _, v := range w.copies {
		all = append(all, quote(v.name)+sign+v.raw)
	}
	return strings.Join(all, between)
}

// between returns the text that separates a new field from the one before it.
func (w *urlWrap) between(key writtenKey) (string, bool) {
	if strings.HasPrefix(w.e.src.node.Raw(), "{") {
		return ", ", true
	}
	start := strings.LastIndexByte(string(w.text[:key.From]), '\n') + 1
	before := strings.TrimPrefix(string(w.text[start:key.From]), byteOrderMark)
	if w.format == splice.YAML {
		before = strings.ReplaceAll(before, "-", " ")
	}
	blank := strings.Trim(before, " \t") == ""
	return w.newline() + before, blank || w.format == splice.TOML && strings.HasSuffix(before, ".")
}

// intoEnvironment adds the copies to the environment that the entry has.
func (w *urlWrap) intoEnvironment() (Change, bool) {
	env, ok := w.locate(member(w.e.src.node, w.fields.Env))
	if !ok {
		return Change{}, false
	}
	flow := w.text[env.from] == '{'
	sign := ": "
	if w.format == splice.TOML {
		sign = " = "
	}
	for first := range env.Members() {
		keys := w.keysAt(below(w.path, w.fields.Env, first))
		if len(keys) != 1 {
			return Change{}, false
		}
		gap := ", "
		if !flow {
			var ok bool
			if gap, ok = w.between(keys[0]); !ok {
				return Change{}, false
			}
		}
		return w.put(keys[0].From, keys[0].From, w.variables(sign, gap)+gap), true
	}
	return w.put(env.from+1, env.from+1, w.variables(sign, ", ")), flow
}
