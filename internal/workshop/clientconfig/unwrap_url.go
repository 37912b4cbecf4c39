package clientconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// urlUnwrap is the edit that reverts wrapURL.
type urlUnwrap struct {
	urlWrap
	words []located         // the arguments
	facts map[string]string // what wrapURL remembered
	names map[string]string // header names by variable
	end   int               // where the fields end that took the place of the URL
}

// unwrapURL reverts wrapURL. It returns nil for an entry that wrapURL did not write.
func (c *Config) unwrapURL(e *Entry) Edit {
	u := &urlUnwrap{urlWrap: urlWrap{layout: c.layout, e: e, fields: e.src.fields, path: e.at()}}
	for _, step := range []func() bool{u.readWords, u.returnType, u.returnHeaders, u.returnVariables, u.returnURL} {
		if !step() {
			return nil
		}
	}
	return backwards(u.edit)
}

func (u *urlUnwrap) readWords() bool {
	f := u.fields
	list, ok := u.locate(member(u.e.src.node, f.Command))
	if !f.Argv {
		list, ok = u.locate(member(u.e.src.node, f.Args))
	}
	items, all := u.items(list)
	if !ok || !all || len(items) < 3 || !isWord(items[len(items)-2], "--url") {
		return false
	}
	u.words, u.facts, u.names, u.end = items, map[string]string{}, map[string]string{}, list.to
	for i, item := range items[:len(items)-1] {
		word, _ := text(item.Node)
		if fact, is := strings.CutPrefix(word, "--entry="); is {
			field, value, _ := strings.Cut(fact, "=")
			u.facts[field] = value
		}
		if word == "--header-env" {
			pair, _ := text(items[i+1].Node)
			name, variable, _ := strings.Cut(pair, "=")
			u.names[variable] = name
		}
	}
	return true
}

// take returns a fact once.
func (u *urlUnwrap) take(field string) (text string, ok bool) {
	text, ok = u.facts[field]
	delete(u.facts, field)
	return text, ok && field != ""
}

func (u *urlUnwrap) returnType() bool {
	name, _ := u.e.src.typeField()
	if name == "" {
		return true
	}
	kind, ok := u.locate(member(u.e.src.node, name))
	if word, known := u.take(name); known {
		u.edit = append(u.edit, u.put(kind.from, kind.to, wordLike(kind.Raw(), word)))
	} else if name == u.fields.Types.Field {
		u.edit = append(u.edit, u.put(kind.from, kind.to, quote(u.fields.Types.HTTP[0])))
	}
	return ok
}

// returnHeaders gives the environment back: it was the headers, or it was added beside them.
func (u *urlUnwrap) returnHeaders() bool {
	f := u.fields
	env, there := member(u.e.src.node, f.Env)
	if !there {
		return true
	}
	if name, was := u.taken(); was && f.Argv {
		raw, _ := u.take(name)
		return u.become(f.Env, name, raw)
	}
	_, kept := u.take(f.Env)
	switch {
	case kept:
		return u.leaveEnvironment(env)
	case has(u.e.src.node, f.Headers) || u.ours(secretVariable):
		located, ok := u.locate(env, true)
		u.end = located.to
		return ok && u.onlyOurs(env)
	case !u.onlyOurs(env):
		return f.headersFromEntry() // they were its own
	}
	for variable := range env.Members() {
		back := u.rename(u.names[variable], f.Env, variable)
		if len(back) == 0 {
			return false
		}
		u.edit = append(u.edit, back...)
	}
	back := u.rename(f.Headers, f.Env)
	u.edit = append(u.edit, back...)
	return len(back) > 0
}

// ours reports whether wrapURL wrote a variable.
func (u *urlUnwrap) ours(variable string) bool {
	_, header := u.names[variable]
	return header || variable == secretVariable && slices.ContainsFunc(u.words, func(w located) bool { return isWord(w, secretVariable) })
}

func (u *urlUnwrap) onlyOurs(env splice.Node) bool {
	for variable := range env.Members() {
		if !u.ours(variable) {
			return false
		}
	}
	return true
}

// leaveEnvironment removes the variables that were added at the start of the entry's own.
func (u *urlUnwrap) leaveEnvironment(env splice.Node) bool {
	from, to := -1, -1
	for variable, n := range env.Members() {
		keys := u.keysAt(below(u.path, u.fields.Env, variable))
		value, ok := u.locate(n, true)
		switch {
		case !ok || len(keys) != 1:
			return false
		case !u.ours(variable):
			to = keys[0].From
		case from < 0:
			from, to = keys[0].From, value.to
		default:
			to = value.to
		}
		if !u.ours(variable) {
			break
		}
	}
	if from < 0 || to < from {
		return false
	}
	u.edit = append(u.edit, u.put(from, to, ""))
	return true
}

// returnVariables gives the names of variables back to the headers that they were for.
func (u *urlUnwrap) returnVariables() bool {
	f := u.fields
	list, there := member(u.e.src.node, f.EnvNames)
	if !there || f.EnvHeaders == "" {
		return true
	}
	located, ok := u.locate(list, true)
	items, all := u.items(located)
	if !ok || !all || len(items) == 0 {
		return false
	}
	variable, _ := text(items[0].Node)
	if name := u.names["Bearer ${"+variable+"}"]; name == "Authorization" {
		return u.become(f.EnvNames, f.BearerEnv, items[0].Raw())
	}
	raw, known := u.take(f.EnvHeaders)
	return known && u.become(f.EnvNames, f.EnvHeaders, raw)
}

// taken returns the field whose place a new field took, if there is one.
func (u *urlUnwrap) taken() (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(u.facts)) {
		if name != "url" && name != u.fields.Env {
			return name, true
		}
	}
	return "", false
}

func (u *urlUnwrap) returnURL() bool {
	f := u.fields
	keys := u.keysAt(below(u.path, f.Command))
	command, ok := u.locate(member(u.e.src.node, f.Command))
	if !ok || len(keys) != 1 || command.from < keys[0].To {
		return false
	}
	field, named := u.take("url")
	if !named {
		field = f.URL
	}
	if name, was := u.taken(); was {
		raw, _ := u.take(name)
		if f.Argv || !u.become(f.Args, name, raw) {
			return false
		}
		u.end = command.to
	}
	if u.end < command.to || len(u.facts) > 0 || !u.onlyNew(command.from, u.end) {
		return false
	}
	sign := string(u.text[keys[0].To:command.from])
	u.edit = append(u.edit, u.put(keys[0].From, u.end, keys[0].Like(field)+sign+u.words[len(u.words)-1].Raw()))
	return true
}

// onlyNew reports whether only fields that wrapURL wrote are in a part of the file.
func (u *urlUnwrap) onlyNew(from, to int) bool {
	f := u.fields
	for name, n := range u.e.src.node.Members() {
		at, ok := u.locate(n, true)
		if !ok {
			continue // a TOML table, which is elsewhere
		}
		if at.from > from && at.to <= to && name != f.Args && name != f.Env && name != f.Command {
			return false
		}
	}
	return true
}
