package fleet

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Restore plans to restore the files to the state in the lock: servers that are missing or
// configured differently. Values of variables and headers, which a lock does not hold, are kept
// where they exist and referred to by name where they do not. A lock can come with a project: what
// the user did not record adds no variable or header, and nothing is written that the diff hides.
func (v *View) Restore(l Lock) (Plan, error) {
	d, foreign := v.fleet.draft(), map[string]bool{}
	for _, was := range l.Servers {
		id := was.Client + "/" + was.Name
		client, ok := clientconfig.ByID(was.Client)
		if !ok {
			d.skip(id, "gauze does not support this client")
			continue
		}
		if was.masked() {
			d.skip(id, "the command or URL contains a secret that is not in the lock file; restore the entry by hand")
			continue
		}
		i := slices.IndexFunc(v.Servers, func(s *Server) bool { return s.ID() == id && string(s.Scope) == was.Scope })
		var now Locked
		if i >= 0 {
			now = v.fleet.locked(&Checked{Server: v.Servers[i]}, nil)
			same := true
			configured(was, now, func(string, string) { same = false })
			if other := slices.Concat(without(was.Fields, now.Fields), without(now.Fields, was.Fields)); was.Fields != nil && len(other) > 0 {
				d.postpone(id, "the lock file does not contain values for the fields that differ ("+strings.Join(other, ", ")+"); edit the entry by hand")
			}
			if same {
				continue
			}
		}
		own := v.fleet.recorded(was)
		if added := slices.Concat(without(was.Env, now.Env), without(was.Headers, now.Headers)); !own && len(added) > 0 {
			d.postpone(id, "it would add variables or headers that you did not record on this machine ("+strings.Join(added, ", ")+"); if you want them, edit the entry by hand")
			continue
		}
		trial := d.trial()
		if err := v.restore(trial, client, was, i); err != nil {
			d.skip(id, err.Error())
			continue
		}
		if trial.hides(id, was) {
			d.postpone(id, "the diff would hide part of what the lock file adds; edit the entry by hand")
			continue
		}
		d, foreign[id] = trial, foreign[id] || !own
	}
	plan := d.finish()
	for i := range plan.Changes {
		c := &plan.Changes[i]
		if theirs := slices.DeleteFunc(slices.Clone(c.Servers), func(id string) bool { return !foreign[id] }); len(theirs) > 0 {
			slices.Sort(theirs)
			c.Note = strings.TrimSpace(c.Note + " You did not record " + redact.Quote(strings.Join(slices.Compact(theirs), ", ")) +
				" on this machine: someone else chose what your clients will run or connect to, and it will receive the entry's keys.")
		}
	}
	return plan, nil
}

// restore plans to restore one entry, which is that of the server with this index, or missing if the
// index is negative.
func (v *View) restore(d *draft, client *clientconfig.Client, was Locked, server int) error {
	exists := server >= 0
	s := NewServer{Name: was.Name, Scope: clientconfig.Scope(was.Scope), Replace: exists, Wrapped: exists && v.Servers[server].Wrapped, Spec: launch.Spec{URL: was.URL}}
	if len(was.Command) > 0 {
		s.Spec = launch.Spec{Command: was.Command[0], Args: was.Command[1:]}
	}
	for _, name := range was.Env {
		s.Spec.Env = append(s.Spec.Env, name+"="+v.value(server, name))
	}
	for _, name := range was.Headers {
		s.Spec.Header = append(s.Spec.Header, launch.Header{Name: name, Value: v.header(server, name)})
	}
	if exists && v.replaceInPlace(d, v.Servers[server], was, s.Spec) {
		return nil
	}
	c, err := v.fileFor(client, s.Scope)
	if err != nil {
		return err
	}
	return v.addTo(d, c, s)
}

// hides reports whether the diff would hide a part of a server's restored entry.
func (d *draft) hides(id string, was Locked) bool {
	words := slices.Concat([]string{was.Name, was.URL}, was.Command, was.Env, was.Headers)
	return slices.ContainsFunc(d.trial().finish().Changes, func(c Change) bool {
		return slices.Contains(c.Servers, id) && c.hides(words)
	})
}

// masked reports whether the lock lacks part of the command or URL, or has a part that a diff would
// not show.
func (l Locked) masked() bool {
	return !slices.Equal(redact.MaskWords(l.Command), l.Command) || redact.MaskAddress(l.URL) != l.URL ||
		slices.ContainsFunc(append(slices.Clone(l.Command), l.URL), func(word string) bool { return strings.Contains(word, redact.Redacted) || redact.Text(word) != word })
}

// replaceInPlace changes only what is run or reached, if nothing else is different.
func (v *View) replaceInPlace(d *draft, s *Server, was Locked, spec launch.Spec) bool {
	if now := v.fleet.locked(&Checked{Server: s}, nil); !slices.Equal(was.Env, now.Env) || !slices.Equal(was.Headers, now.Headers) {
		return false
	}
	return v.inPlace(d, s, "restore", func(c *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, bool) {
		return c.ReplaceSpec(e, spec)
	})
}

// inPlace changes the entry of a server as if it did not run through gauze. A wrapped server stays
// wrapped. If the change is not possible, nothing is planned and inPlace returns false.
func (v *View) inPlace(d *draft, s *Server, verb string, change func(*clientconfig.Config, *clientconfig.Entry) (clientconfig.Edit, bool)) bool {
	trial := d.trial()
	step := func(verb string, change func(*clientconfig.Config, *clientconfig.Entry) (clientconfig.Edit, error)) bool {
		now := trial.now(s.Config)
		entry := now.At(s.Path)
		if entry == nil || entry.Name != s.Name {
			return false
		}
		edit, err := change(now, entry)
		return err == nil && trial.edit(s.Config, s.ID(), clientconfig.Shown, verb+" "+s.Name, edit) == nil
	}
	ok := !s.Wrapped || step("unwrap", (*clientconfig.Config).Unwrap)
	ok = ok && step(verb, func(c *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, error) {
		edit, ok := change(c, e)
		if !ok {
			return nil, clientconfig.Skipped("the entry would have to be rewritten")
		}
		return edit, nil
	})
	ok = ok && (!s.Wrapped || step("wrap", func(c *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, error) {
		if e.Wrapped { // the only form that the client supports
			return nil, nil
		}
		return c.Wrap(e, clientconfig.WrapOptions{Gauze: v.fleet.Gauze, Remote: true})
	}))
	if ok {
		*d = *trial
	}
	return ok
}

// value returns the current value of a variable, or a reference to it.
func (v *View) value(server int, name string) string {
	if server >= 0 {
		if value, ok := v.Servers[server].Variable(name); ok {
			return value
		}
	}
	return "${" + name + "}"
}

func (v *View) header(server int, name string) string {
	if server >= 0 {
		for _, h := range v.Servers[server].Real().Header {
			if strings.EqualFold(h.Name, name) {
				return h.Value
			}
		}
	}
	return "${" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "}"
}
