package clientconfig

import (
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Revalue changes single arguments and variables of an entry, which may be wrapped. was and now are
// the server itself, without gauze run, as Written returns it. It returns false if something else
// differs, or if a value is not written in the entry in a form that can be replaced.
func (c *Config) Revalue(e *Entry, was, now launch.Spec) (edit Edit, ok bool) {
	if c.Doc == nil || c.Strict != nil || was.Command != now.Command || was.URL != now.URL || was.Dir != now.Dir || len(was.Args) != len(now.Args) {
		return nil, false
	}
	path := e.Path
	if inner, nested := member(e.outer, e.fields.Nest); nested && inner.Kind() == splice.MapKind {
		path = below(path, e.fields.Nest)
	}
	field := e.fields.Args
	if e.fields.Argv {
		field = e.fields.Command
	}
	args, _ := member(e.node, field)
	old := words(args)
	shift := len(old) - len(was.Args)
	for i, word := range now.Args {
		if word == was.Args[i] {
			continue
		}
		if shift < 0 || len(args.Items()) != len(old) || !slices.Equal(old[shift:], was.Args) {
			return nil, false
		}
		edit = append(edit, set(word, path, field, shift+i))
	}
	env, _ := member(e.node, e.fields.Env)
	for _, pair := range now.Env {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(was.Env, pair) {
			continue
		}
		if e.fields.Env == "" || !slices.Contains(was.Env, name+"="+textOf(env, name)) {
			return nil, false
		}
		edit = append(edit, set(value, path, append(steps(e.fields.Env), name)...))
	}
	return edit, len(edit) > 0
}

// SlowStart lets a client wait at least this long for a server to start. It returns false if the
// client has no setting for that, or already waits as long.
func (c *Config) SlowStart(e *Entry, wait time.Duration) (edit Edit, ok bool) {
	t, has := e.fields.start()
	if c.Doc == nil || c.Strict != nil || !has || e.Start >= wait {
		return nil, false
	}
	if m, set := member(e.outer, t.Field); set && m.Kind() == splice.MapKind {
		return nil, false
	}
	return Edit{set(t.count(wait), e.Path, t.Field)}, true
}

// start returns the timeout for the start of a server.
func (f Fields) start() (Timeout, bool) {
	i := slices.IndexFunc(f.Timeouts, func(t Timeout) bool { return t.Start })
	if i < 0 {
		return Timeout{}, false
	}
	return f.Timeouts[i], true
}

// count returns a duration in the units of the timeout, rounded up.
func (t Timeout) count(limit time.Duration) int {
	if t.Max > 0 {
		limit = min(limit, t.Max)
	}
	return int((limit + t.Unit - 1) / t.Unit)
}
