package clientconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func (f Fields) harmless(name string) bool {
	_, isSwitch := switchOff(name)
	return isSwitch || name == f.Disabled || name == f.Enabled || slices.Contains(common().Harmless, name) || strings.HasPrefix(name, "//") ||
		slices.ContainsFunc(f.Timeouts, func(t Timeout) bool { return t.Field == name })
}

// Others returns the fields of an entry that its Spec does not express and that are not known to be
// harmless: envFile, trust, oauth and all that gauze does not know. Values are as written, in JSON
// with sorted keys and no blanks. A server that Wrap wraps has the same ones as before.
func (c *Config) Others(e *Entry) map[string]string {
	all := map[string]string{}
	for _, m := range e.beside(e.src.outer, e.expressed(), "") {
		all[m.Name] = canonical(m.Value)
	}
	if e.Inner == nil || e.Inner.URL == "" {
		return all
	}
	f := e.src.fields
	for _, fact := range values(e.wrap.flags, "--entry") {
		name, raw, _ := strings.Cut(fact, "=")
		isExpressed := name == "url" || name == f.Env || name == f.EnvHeaders || e.src.isType(name)
		if !isExpressed && !f.harmless(name) && !has(e.src.outer, name) {
			all[name] = canonical(valueOf(c.Format(), raw))
		}
	}
	return all
}

// beside returns the members of a map that are neither expressed by the Spec nor harmless. at is the
// path of the map.
func (e *Entry) beside(n splice.Node, expressed map[string]func(splice.Node) bool, at string) (left splice.Map) {
	own, paths := at == "" || at == e.src.fields.Nest+"/", slices.Collect(maps.Keys(expressed))
	for name, value := range n.Members() {
		path := at + name
		fits := expressed[path]
		switch {
		case own && e.src.fields.harmless(name), own && e.typeSaysSo(name, value), fits != nil && fits(value) && !strings.Contains(name, "/"):
		case value.Kind() == splice.MapKind && slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, path+"/") }):
			if inner := e.beside(value, expressed, path+"/"); len(inner) > 0 {
				left = append(left, splice.Member{Name: name, Value: inner})
			}
		default:
			left = append(left, splice.Member{Name: name, Value: value.Value()})
		}
	}
	return left
}

// expressed returns the paths of the fields that the Spec expresses. A value that does not have the
// form that the function checks is not read completely.
func (e *Entry) expressed() map[string]func(splice.Node) bool {
	f, all := e.src.fields, map[string]func(splice.Node) bool{}
	at := ""
	if has(e.src.outer, f.Nest) {
		at = f.Nest + "/"
	}
	read := func(fits func(splice.Node) bool, names ...string) {
		for _, name := range names {
			if name != "" {
				all[at+name] = fits
			}
		}
	}
	switch {
	case e.Builtin != "":
		return all
	case e.remote():
		read(isText, e.src.urlField(), f.BearerEnv)
		read(areTexts, f.Headers, f.EnvHeaders)
		read(isNothing, f.Env+"/")
		return all
	case e.Inner != nil && e.Inner.URL != "": // the variables are for gauze, and without a URL headers have no effect
		read(isText, f.Env+"/"+secretVariable, f.BearerEnv)
		read(areTexts, f.Headers, f.EnvHeaders)
		for _, pair := range values(e.wrap.flags, "--header-env") {
			if _, variable, _ := strings.Cut(pair, "="); launch.IsHeaderVariable(variable) {
				read(isText, f.Env+"/"+variable)
			}
		}
	default:
		read(areValues, f.Env)
	}
	switch {
	case !has(e.src.node, f.Command):
	case e.src.oldForm():
		read(isText, f.Command+"/path")
		read(areWords, f.Command+"/args")
		read(areValues, f.Command+"/env")
		delete(all, at+f.Env)
	case f.Argv:
		read(areWords, f.Command)
	default:
		read(isText, f.Command)
		read(areWords, f.Args)
	}
	read(areWords, f.EnvNames)
	if e.Inner == nil || e.Inner.URL == "" {
		read(isText, f.Cwd)
	}
	return all
}

// isType reports whether a field is the one for the transport, in the client or in others.
func (s *source) isType(name string) bool {
	return name != "" && name == s.fields.Types.Field || name == "type" || name == "transport" || name == "transportType"
}

// typeSaysSo reports whether a field says only what the Spec also says: that there is a command, or
// that there is a URL.
func (e *Entry) typeSaysSo(name string, n splice.Node) bool {
	word, ok := text(n)
	if !ok || !e.src.isType(name) || e.Builtin != "" {
		return false
	}
	if e.remote() {
		return transportOf(word) == HTTP || transportOf(word) == SSE
	}
	return transportOf(word) == Stdio
}

func isText(n splice.Node) bool    { return n.Kind() == splice.StringKind }
func isNothing(n splice.Node) bool { return false }
func isValue(n splice.Node) bool   { _, ok := plain(n); return ok }
func areWords(n splice.Node) bool {
	return n.Kind() == splice.ListKind && len(words(n)) == len(n.Items())
}
func areTexts(n splice.Node) bool  { return areMembers(n, isText) }
func areValues(n splice.Node) bool { return areMembers(n, isValue) }

func areMembers(n splice.Node, fit func(splice.Node) bool) bool {
	for _, value := range n.Members() {
		if !fit(value) {
			return false
		}
	}
	return n.Kind() == splice.MapKind
}

// valueOf parses a value as it is written in a file. What cannot be parsed stays a string.
func valueOf(f splice.Format, raw string) any {
	text := `{"x": ` + raw + `}`
	if f == splice.TOML {
		text = "x = " + raw
	}
	if d, err := splice.Parse(f, []byte(text)); err == nil {
		if n, ok := d.At("x"); ok {
			return n.Value()
		}
	}
	return raw
}

// canonical writes a value so that equal values are equal strings, in all formats.
func canonical(v any) string {
	var parts []string
	switch v := v.(type) {
	case splice.Map:
		for _, m := range v {
			parts = append(parts, quote(m.Name)+":"+canonical(m.Value))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, canonical(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return quote(v)
	case splice.Clock:
		return quote(string(v))
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}
