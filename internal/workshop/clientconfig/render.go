package clientconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// RenderOptions are what a Spec does not contain. The zero value is usable.
type RenderOptions struct {
	Fields    *Fields       // of a place that differs from the client's others
	Name      string        // for clients that expect it in the entry
	Transport Transport     // for a URL: HTTP, unless it is SSE
	Timeout   time.Duration // of a call; zero for the client's default
	Start     time.Duration // least timeout of the start; zero for the client's default
	Gauze     string        // path of gauze, for files that do not support URLs; empty for gauze
}

// ErrNoReference reports that a client does not support a reference where one is needed: the value
// itself would have to be in its file.
var ErrNoReference = errors.New("the client does not support references to variables in this field")

// Render returns an entry for a client. Env contains only what the entry sets. ${NAME} in a value
// is a reference, whatever the client's own form is, which keeps a secret out of the file.
func (c *Client) Render(s launch.Spec, o RenderOptions) (splice.Map, error) {
	f := c.Fields
	if o.Fields != nil {
		f = *o.Fields
	}
	if s.URL != "" && f.NoRemote {
		s = throughGauze(s, o.Gauze)
	}
	w := writer{client: c, f: f}
	if slices.Contains(f.Must, "name") || f.Name != "" {
		w.put("name", o.Name)
	}
	w.server(s, o.Transport)
	if o.Timeout > 0 && len(f.Timeouts) > 0 {
		w.put(f.Timeouts[0].Field, f.Timeouts[0].count(o.Timeout))
	}
	if t, ok := w.f.start(); ok && o.Start > t.Default {
		w.put(t.Field, t.count(o.Start))
	}
	if f.Enabled != "" && slices.Contains(f.Always, f.Enabled) {
		w.put(f.Enabled, true)
	}
	if slices.Contains(f.Must, "tools") {
		w.put("tools", []any{"*"})
	}
	return w.entry, w.err
}

// Alters reports whether the client would expand something that is not a reference of ours, such as
// the $w in a password. Clients that expand $NAME have no way to escape a dollar sign.
func (c *Client) Alters(s launch.Spec) bool {
	w := writer{client: c, f: c.Fields}
	w.server(s, HTTP)
	return w.alters
}

// throughGauze returns the same server, reached by gauze run. Header values go through the
// environment, because any user of the machine can read arguments.
func throughGauze(s launch.Spec, gauze string) launch.Spec {
	local := launch.Spec{Command: cmp.Or(gauze, "gauze"), Args: []string{"run"}}
	for i, h := range s.Header {
		variable := launch.HeaderVariable(i)
		local.Args = append(local.Args, "--header-env", h.Name+"="+variable)
		local.Env = append(local.Env, variable+"="+h.Value)
	}
	local.Args = append(local.Args, "--url", s.URL)
	return local
}

// writer builds an entry.
type writer struct {
	client *Client
	f      Fields
	entry  splice.Map
	err    error
	alters bool // the client would expand what is not a reference of ours
}

func (w *writer) put(name string, value any) {
	outer, inner, nested := strings.Cut(name, "/")
	if nested {
		value = splice.Map{{Name: inner, Value: value}}
	}
	w.entry = append(w.entry, splice.Member{Name: outer, Value: value})
}

func (w *writer) server(s launch.Spec, t Transport) {
	if s.URL != "" {
		w.remote(s, t)
	} else {
		w.local(s)
	}
}

func (w *writer) local(s launch.Spec) {
	f := w.f
	if f.Types.For == "always" {
		w.put(f.Types.Field, f.Types.Stdio[0])
	}
	command := w.spell(s.Command, reference.Command)
	args := make([]any, len(s.Args))
	for i, word := range s.Args {
		args[i] = w.spell(word, reference.Args)
	}
	if f.Argv {
		w.put(f.Command, append([]any{command}, args...))
	} else {
		w.put(f.Command, command)
		if len(args) > 0 || slices.Contains(f.Must, f.Args) || slices.Contains(f.Always, f.Args) {
			w.put(f.Args, args)
		}
	}
	w.environment(s.Env)
	if s.Dir != "" {
		if f.Cwd == "" {
			w.err = errors.Join(w.err, fmt.Errorf("%s does not support a working directory for servers", w.client.Name))
		} else {
			w.put(f.Cwd, w.spell(s.Dir, reference.Cwd))
		}
	}
}

// environment sets variables. A variable that refers to itself is passed on by name if the client
// has a list for that.
func (w *writer) environment(env []string) {
	var set splice.Map
	var handedOn []any
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if w.f.EnvNames != "" && value == "${"+name+"}" {
			handedOn = append(handedOn, name)
			continue
		}
		set = append(set, splice.Member{Name: name, Value: w.spell(value, reference.Environment)})
	}
	if set != nil {
		w.put(w.f.Env, set)
	}
	if handedOn != nil {
		w.put(w.f.EnvNames, handedOn)
	}
}

func (w *writer) remote(s launch.Spec, t Transport) {
	f := w.f
	words := f.Types.spelled(HTTP)
	if t == SSE {
		words = f.Types.spelled(SSE)
		if len(words) == 0 && f.Types.Field != "" {
			w.err = errors.Join(w.err, fmt.Errorf("%s does not support SSE", w.client.Name))
		}
	}
	if len(words) > 0 && (f.Types.For != "" || t == SSE) {
		w.put(f.Types.Field, words[0])
	}
	w.put(f.URL, w.spell(s.URL, reference.URL))
	var plain, fromEnv splice.Map
	for _, h := range s.Header {
		bearer, isBearer := strings.CutPrefix(h.Value, "Bearer ")
		switch {
		case f.BearerEnv != "" && isBearer && strings.EqualFold(h.Name, "Authorization") && wholeReference(bearer) != "":
			w.put(f.BearerEnv, wholeReference(bearer))
		case f.EnvHeaders != "" && wholeReference(h.Value) != "":
			fromEnv = append(fromEnv, splice.Member{Name: h.Name, Value: wholeReference(h.Value)})
		default:
			plain = append(plain, splice.Member{Name: h.Name, Value: w.spell(h.Value, reference.Headers)})
		}
	}
	if plain != nil {
		w.put(f.Headers, plain)
	}
	if fromEnv != nil {
		w.put(f.EnvHeaders, fromEnv)
	}
	if f.headersFromEntry() { // a header may refer only to what the entry passes on
		var names []any
		for _, h := range s.Header {
			for _, r := range reference.Find(h.Value) {
				names = append(names, r.Name)
			}
		}
		if names != nil {
			w.put(f.EnvNames, names)
		}
	}
}

// wholeReference returns the name in a string that is exactly one ${NAME}.
func wholeReference(text string) string {
	all := reference.Find(text)
	if len(all) == 1 && all[0].Form == reference.Braces && all[0].From == 0 && all[0].To == len(text) {
		return all[0].Name
	}
	return ""
}

// spell writes ${NAME} and ${NAME:-default} in the client's form.
func (w *writer) spell(text string, in reference.Part) string {
	d := w.client.Dialect
	var b strings.Builder
	last := 0
	for _, r := range reference.Find(text) {
		w.alters = w.alters || r.Form&d.Forms&reference.Bare != 0 && d.In&in != 0
		if r.Form&(reference.Braces|reference.Default) == 0 || r.Form&d.Forms != 0 && d.In&in != 0 {
			continue
		}
		spelled, ok := d.Spell(r.Name, in)
		if !ok || r.Form == reference.Default {
			w.err = errors.Join(w.err, fmt.Errorf("%s: %w", w.client.Name, ErrNoReference))
			return text
		}
		b.WriteString(text[last:r.From])
		b.WriteString(spelled)
		last = r.To
	}
	b.WriteString(text[last:])
	return b.String()
}
