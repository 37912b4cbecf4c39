package fleet

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Keep plans to save the fixes that made servers work when they were tested: the arguments and
// variables that changed, the URL that responded, or gauze run, which applies the same fix at every
// start.
func (v *View) Keep(all []*Checked) Plan {
	healed := map[*Server]*Checked{}
	var servers []*Server
	for _, c := range all {
		if c.Report.Healthy && len(c.Report.Steps) > 0 {
			healed[c.Server] = c
			servers = append(servers, c.Server)
		}
	}
	d := v.fleet.draft()
	for _, s := range slices.Backward(inFileOrder(servers)) {
		one := healed[s]
		if v.restate(d, one) {
			continue
		}
		d.change(s, "heal", clientconfig.Shown, func(c *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, error) {
			edit, ok := v.saved(c, e, one)
			switch {
			case ok:
				return edit, nil
			case Through(one.Entry) && !one.agreed():
				return nil, clientconfig.Skipped(through(one.Entry) + " applies the same fix at every start")
			}
			return nil, clientconfig.Skipped(one.byHand())
		})
	}
	slices.Reverse(d.plan.Skipped)
	return d.finish()
}

// byHand says what the user has to do to keep a fix.
func (c *Checked) byHand() string {
	steps := c.healedBy()
	return "the server works only with a manual fix: " + c.hideValues(steps[0].Next)
}

// restate plans to write another program that the user agreed to, or a URL instead of the command. It
// returns false if that is not what made the server work, or if the entry cannot express it.
func (v *View) restate(d *draft, c *Checked) bool {
	if !c.agreed() || c.Config.InProject() && filepath.IsAbs(c.Report.Spec.Command) { // where one person has the program
		return false
	}
	ok := v.inPlace(d, c.Server, "heal", func(config *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, bool) {
		written := config.Written(e)
		with, ok := expressed(written, c.started, c.Report.Spec)
		switch {
		case !ok || with.URL == written.URL && with.Command == written.Command:
			return nil, false
		case with.URL != written.URL:
			return config.ToURL(e, with.URL, clientconfig.Transport(c.Attempt.Found.Transport), v.fleet.Gauze)
		}
		return config.ReplaceSpec(e, with)
	})
	if ok && c.started.URL == "" && c.Report.Spec.URL != "" {
		d.note(c.Config, fmt.Sprintf("Clients no longer start %s. Keep it running yourself: %s", plaintext.Clean(c.ID()), c.Shown()))
	}
	return ok
}

// revalued returns the edit that writes into an entry the arguments and variables in which two Specs
// of its server differ. It returns false if they differ in more than that.
func revalued(config *clientconfig.Config, e *clientconfig.Entry, was, now launch.Spec) (clientconfig.Edit, bool) {
	written := config.Written(e)
	with, ok := withValues(written, was, now)
	if !ok {
		return nil, false
	}
	return config.Revalue(e, written, with)
}

// inEntry returns the edit that makes a server work as its entry is: with different arguments and
// variables, and with more time to start. It returns false if it takes more than that.
func (c *Checked) inEntry(config *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, bool) {
	edit, ok := revalued(config, e, c.started, c.Report.Spec)
	timeOnly := !slices.ContainsFunc(c.healedBy(), func(s doctor.Step) bool { return !s.Waited })
	if c.Report.Wait > 0 && (ok || timeOnly) {
		more, _ := config.SlowStart(e, c.Report.Wait)
		edit = append(edit, more...)
	}
	return edit, len(edit) > 0
}

// Final returns how the server was started or reached in the end, as it would be written. Variables
// that a fix set are in it, without the values of secrets.
func (c *Checked) Final() launch.Spec {
	return withHealed(lasting(c.Written(), c.started, c.Report.Spec, false), c.started, c.Report.Spec, c.view.fleet.Home.Environ)
}

// Final returns how a server that is in no file was started or reached in the end. Its environment has
// only what differs.
func Final(before, healed launch.Spec) launch.Spec {
	before.Env = before.Environment()
	return withHealed(lasting(launch.Spec{}, before, healed, false), before, healed, before.Env)
}

// withHealed returns a spec with the variables that a fix set. A value is a reference to the variable of
// the user's environment that has it, or masked.
func withHealed(s, before, healed launch.Spec, environ []string) launch.Spec {
	if healed.URL != "" {
		return s
	}
	was, now := valuesOf(before.Environment()), valuesOf(healed.Environment())
	s.Env = slices.DeleteFunc(slices.Clone(s.Env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return was[name] != now[name] && !revised(was[name])
	})
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, has := was[name]; (!has || old != now[name]) && !(revised(old) && slices.Contains(s.Env, name+"="+now[name])) {
			s.Env = append(s.Env, name+"="+withoutSecret(name, now[name], environ))
		}
	}
	return s
}

// revised reports whether a fix changed a value of the entry itself, such as a port in it, and did not
// find it elsewhere.
func revised(old string) bool { return old != "" && len(References(old)) == 0 }

// withoutSecret returns the value of a variable as it may be shown. What was found in a file may be a
// secret whatever its name is.
func withoutSecret(name, value string, environ []string) string {
	if name == "PATH" || quietVariable(name) {
		return value
	}
	for _, other := range environ {
		if name, v, _ := strings.Cut(other, "="); v == value && variableName.MatchString(name) {
			return "${" + name + "}"
		}
	}
	return redact.Redacted
}

// saved returns the edit that makes a server work: by its entry if that can express the whole fix, or
// else by gauze run, which applies the same fix at every start.
func (v *View) saved(config *clientconfig.Config, e *clientconfig.Entry, c *Checked) (clientconfig.Edit, bool) {
	if edit, ok := c.inEntry(config, e); ok || Through(c.Entry) {
		return edit, ok
	}
	if edit, ok := rejoined(config, e, c.started, c.Report.Spec); ok {
		return edit, true
	}
	kept := lasting(launch.Spec{}, c.started, c.Report.Spec, false)
	if edit, ok := config.Healed(e, kept, c.otherTransport()); ok && isWhole(c.started, c.Report.Spec, kept) {
		return edit, true
	}
	if v.fleet.Gauze == "" || len(c.healedBy()) == 0 || c.agreed() {
		return nil, false
	}
	edit, err := config.Wrap(e, clientconfig.WrapOptions{Gauze: v.fleet.Gauze, Remote: true})
	return edit, err == nil
}

// rejoined returns the edit that writes the same arguments with other ends: a path that was split at a space.
// It returns false if anything else differs.
func rejoined(config *clientconfig.Config, e *clientconfig.Entry, was, now launch.Spec) (clientconfig.Edit, bool) {
	with := config.Written(e)
	sameWords := was.Command == now.Command && len(was.Args) > len(now.Args) && strings.Join(was.Args, " ") == strings.Join(now.Args, " ")
	sameElse := was.URL == now.URL && was.Dir == now.Dir && maps.Equal(valuesOf(was.Environment()), valuesOf(now.Environment()))
	if !sameWords || !sameElse || with.Command != was.Command || !slices.Equal(with.Args, was.Args) {
		return nil, false
	}
	with.Args = now.Args
	return config.ReplaceSpec(e, with)
}

// isWhole reports whether kept has every variable and the directory that differ between before and
// healed.
func isWhole(before, healed, kept launch.Spec) bool {
	if healed.URL != "" {
		return true // it has neither
	}
	was, saved := valuesOf(before.Environment()), valuesOf(kept.Env)
	for name, value := range valuesOf(healed.Env) {
		if old, has := was[name]; (!has || old != value) && saved[name] != value {
			return false
		}
	}
	return before.Dir == healed.Dir
}

// writeDown plans to save what made a server work: arguments and variables that changed, the full
// path of the program, the URL that responded, the transport, or gauze run. A wrapped server needs
// only the first, because gauze run finds the others at every start.
func (v *View) writeDown(d *draft, c *Checked, allowed func(clientconfig.Problem) bool) {
	if !c.Tried || !c.Report.Healthy || len(c.healedBy()) == 0 && c.otherTransport() == "" {
		return
	}
	now := d.now(c.Config)
	entry := now.Entry(c.Name) // a fix may have moved it
	if entry == nil {
		return
	}
	what := "the server works only with a fix"
	if steps := c.healedBy(); len(steps) > 0 {
		what = steps[0].About
	}
	edit, ok := v.saved(now, entry, c)
	reviewed := allowed(clientconfig.Problem{File: c.File, Consent: clientconfig.Shown})
	switch {
	case !ok && reviewed && v.restate(d, c):
	case !ok && Through(c.Entry) && !c.agreed(): // gauze finds it at every start
	case !ok && !slices.Equal(commandWords(entry.Spec), commandWords(c.Entry.Spec)): // it was just mended
	case !ok:
		if steps := c.healedBy(); len(steps) > 0 && steps[0].Next != "" {
			d.postpone(c.ID(), c.byHand())
		}
	case !reviewed:
		d.postpone(c.ID(), strings.TrimSuffix(c.Hide(what), ".")+"; the fix changes what runs or what it connects to, so you must review the diff first")
	default:
		if err := d.edit(c.Config, c.ID(), clientconfig.Shown, "heal "+c.Name, edit); err != nil {
			d.skip(c.ID(), err.Error())
		}
	}
}

// commandWords returns a program and its arguments.
func commandWords(s launch.Spec) []string { return append([]string{s.Command}, s.Args...) }
