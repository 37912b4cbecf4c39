package fleet

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Moved is a server that moves from its client's file to that of gauze up.
type Moved struct {
	*Server
	As clientconfig.Moved // how it is written there
}

// Gathering moves servers to the file of gauze up.
type Gathering struct {
	File   *clientconfig.Config // of gauze up
	Remote bool                 // also servers that their client may be logged in to
	Kept   func(*Server) string // returns why a server stays in its client's file, or ""
	// Write returns the file of gauze up with these servers, and the keys of those that it did not have.
	Write func([]Moved) (text []byte, keys []string, err error)
}

// Gather plans to move the servers of clients to the file of gauze up, and to leave one entry in their
// place, that of gauze connect. All files change, or none. Servers that stay are in the plan's Skipped.
func (v *View) Gather(g Gathering) (Plan, error) {
	d := v.fleet.draft()
	moved := v.movable(d, g)
	connected := v.connected()
	var done []Moved
	for _, group := range byFile(moved) {
		trial := d.trial()
		if err := v.connect(trial, group, connected[group[0].Client]); err != nil {
			for _, m := range group {
				d.skip(m.ID(), err.Error())
			}
			continue
		}
		d, done = trial, append(done, group...)
		connected[group[0].Client] = true
	}
	if len(done) == 0 {
		return d.finish(), nil
	}
	text, keys, err := g.Write(done)
	if err != nil {
		return Plan{}, err
	}
	if string(text) != string(g.File.Text) {
		d.replace(g.File, "gauze up", clientconfig.Shown, "add "+strings.Join(keys, ", "), text)
	}
	plan := d.finish()
	plan.Whole = true
	for i := range plan.Changes { // first, so that no server is without a place
		if c := plan.Changes[i]; c.Path == g.File.Path {
			c.Shared = v.fleet.InRepository(c.Path)
			plan.Changes = slices.Insert(slices.Delete(plan.Changes, i, i+1), 0, c)
		}
	}
	return plan, nil
}

// connects reports whether an entry is that of gauze connect.
func connects(e clientconfig.Entry) bool { return e.Connects() }

// movable returns the servers that can move. The others are skipped in the draft.
func (v *View) movable(d *draft, g Gathering) (all []Moved) {
	for _, c := range v.Configs {
		if why := c.Unread(); why != "" && !c.InProject() && !c.Place.Borrowed && c.Place.Old == "" {
			d.skip(string(v.fleet.Tilde(c.Path)), why)
		}
	}
	for _, s := range v.Servers {
		if s.Connects() || s.Config.Place.Borrowed || s.Config.Place.Old != "" {
			continue
		}
		as, err := s.Config.Move(s.Entry)
		switch {
		case err == nil && g.Kept(s) != "":
			err = errors.New(g.Kept(s))
		case err == nil && !g.Remote && !s.Wrapped && clientLogsIn(as.Spec):
			err = fmt.Errorf("%w; to move it as well: gauze wrap --up --remote", clientconfig.ErrRemote)
		}
		if err != nil {
			d.skip(s.ID(), err.Error())
			continue
		}
		all = append(all, Moved{s, as})
	}
	return all
}

// clientLogsIn reports whether a client may be logged in to a server: it is remote, elsewhere, and its entry
// has no credential.
func clientLogsIn(s launch.Spec) bool {
	u, err := url.Parse(s.URL)
	hasKey := func(h launch.Header) bool { return redact.NamesSecret(h.Name, h.Value) }
	return s.LogsIn() && err == nil && !launch.IsLoopback(u.Hostname()) && !slices.ContainsFunc(s.Header, hasKey)
}

// byFile groups servers by the file that they are in.
func byFile(all []Moved) (groups [][]Moved) {
	for _, m := range all {
		i := slices.IndexFunc(groups, func(g []Moved) bool { return g[0].Config == m.Config })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], m)
	}
	return groups
}

func namesOf(all []Moved) (names []string) {
	for _, m := range all {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// connect plans to replace the servers of one file by gauze connect, unless their client has that.
func (v *View) connect(d *draft, group []Moved, connected bool) error {
	file := group[0].Config
	about := fmt.Sprintf("move %s to gauze up", strings.Join(namesOf(group), ", "))
	needs, lost := passedOn(group)
	usual := file.Fields().CallTimeout()
	wait := longest(group, usual)
	keeps := !connected && wait > usual && usual > 0 // without a timeout of its own, it is not known whether this one is longer
	switch {
	case connected && len(needs) > 0:
		return fmt.Errorf("the entry of gauze connect does not pass on %s; add the variable there and to its --private flag, and try again", strings.Join(needs, ", "))
	case !connected:
		fields, name := file.Fields(), connectName(file)
		spec := launch.Spec{Command: file.Program(v.fleet.Gauze), Args: []string{"connect"}}
		if len(needs) > 0 { // not for the other servers
			spec.Args = append(spec.Args, "--private="+strings.Join(needs, ","))
		}
		for _, name := range needs {
			spec.Env = append(spec.Env, name+"=${"+name+"}")
		}
		options := clientconfig.RenderOptions{Fields: &fields, Name: name}
		if keeps {
			options.Timeout = wait
		}
		entry, err := file.Client.Render(spec, options)
		if err != nil {
			return err
		}
		if err := d.edit(file, file.Client.ID+"/"+name, clientconfig.Shown, about, d.now(file).Add(name, entry)); err != nil {
			return err
		}
		about = ""
	}
	inOrder := slices.Clone(group)
	slices.SortStableFunc(inOrder, func(a, b Moved) int { return b.Line - a.Line }) // removing a list item shifts those after it
	for _, m := range inOrder {
		now := d.now(file)
		entry := now.At(m.Path)
		if entry == nil || entry.Name != m.Name {
			return errors.New("the file has two entries with this name")
		}
		if err := d.edit(file, m.ID(), clientconfig.Shown, about, now.Remove(entry)); err != nil {
			return err
		}
		about = ""
	}
	if wait > usual && !keeps {
		d.note(file, fmt.Sprintf("The timeouts of the moved entries, up to %v, do not move: set one in the entry of gauze connect if it needs it.", wait))
	}
	if len(lost) > 0 {
		d.note(file, fmt.Sprintf("%s will ask again before it uses tools that you allowed in the moved entries (%s).", file.Client.Name, strings.Join(lost, ", ")))
	}
	return nil
}

// longest returns the longest timeout of these entries, if it is longer than usual, what the client has without one.
func longest(group []Moved, usual time.Duration) (wait time.Duration) {
	for _, m := range group {
		wait = max(wait, m.Timeout)
	}
	if wait == usual {
		return 0
	}
	return wait
}

// passedOn returns the variables that a client must pass on to gauze connect for these servers, and the
// fields with approvals that do not move.
func passedOn(group []Moved) (needs, lost []string) {
	for _, m := range group {
		needs, lost = append(needs, m.As.Needs...), append(lost, m.As.Lost...)
	}
	slices.Sort(needs)
	slices.Sort(lost)
	return slices.Compact(needs), slices.Compact(lost)
}

// connectName returns a free name for the entry of gauze connect. With any of them, tools have names that
// clients accept: at most 64 characters with mcp__NAME__.
func connectName(c *clientconfig.Config) string {
	for _, name := range []string{"gauze", "gauzeup", "gauze-2"} {
		if c.Entry(name) == nil {
			return name
		}
	}
	return "gauze-3"
}
