package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Wrap plans to run servers through gauze run, including remote servers if remote is set. Servers
// that stay as they are are in the plan's Skipped with a reason.
func (v *View) Wrap(servers []*Server, remote bool) Plan {
	plan := v.together(servers, "wrap", func(c *clientconfig.Config, entries []*clientconfig.Entry) (clientconfig.Edit, []error) {
		if c.Client.ID == clientconfig.UpID {
			return stay(entries, "gauze up wraps it already")
		}
		return c.WrapAll(entries, clientconfig.WrapOptions{Gauze: v.fleet.Gauze, Remote: remote})
	}, nil)
	plan.noteLogins(servers)
	return plan
}

// stay changes no entry, for this reason.
func stay(entries []*clientconfig.Entry, why string) (clientconfig.Edit, []error) {
	return nil, slices.Repeat([]error{clientconfig.Skipped(why)}, len(entries))
}

// noteLogins notes the servers to which gauze run logs in instead of the client. A login is for a
// URL, whichever client uses it.
func (p *Plan) noteLogins(servers []*Server) {
	seen := map[string]bool{}
	for i := range p.Changes {
		change := &p.Changes[i]
		for _, s := range servers {
			if s.Spec.LogsIn() && !seen[s.Spec.URL] && s.Config.Path == change.Path && slices.Contains(change.Servers, s.ID()) {
				seen[s.Spec.URL] = true
				change.Logins = append(change.Logins, s.ID())
			}
		}
	}
}

// whyNot returns why a server stays as it is, and what to run to change that.
func whyNot(s *Server, err error) string {
	if errors.Is(err, clientconfig.ErrRemote) {
		return err.Error() + "; to wrap it: gauze wrap --remote " + shell.Here().Quote(s.ID())
	}
	isGone := func(p clientconfig.Problem) bool { return p.Code == "gauze-missing" && p.Fix != nil }
	if s.Wrapped && slices.ContainsFunc(s.Problems, isGone) {
		return err.Error() + ", but the gauze binary in its entry is missing; to repair it: gauze doctor --fix " + shell.Here().Quote(s.ID())
	}
	return err.Error()
}

// Unwrap plans to undo Wrap.
func (v *View) Unwrap(servers []*Server) Plan {
	plan := v.together(servers, "unwrap", func(c *clientconfig.Config, entries []*clientconfig.Entry) (clientconfig.Edit, []error) {
		if c.Client.ID == clientconfig.UpID {
			return stay(entries, "gauze up runs it; to restore the entries of clients, undo the change of gauze wrap --up: gauze undo")
		}
		return c.UnwrapAll(entries)
	}, (*clientconfig.Config).Unwrap)
	plan.Skipped = append(plan.Skipped, v.unread...)
	return plan
}

// Remove plans to remove servers from their files.
func (v *View) Remove(servers []*Server) Plan {
	return v.each(servers, "remove", clientconfig.Shown, func(c *clientconfig.Config, e *clientconfig.Entry) (clientconfig.Edit, error) {
		switch {
		case e.Builtin != "":
			return nil, clientconfig.Skipped("the server is built into the client (" + e.Builtin + ")")
		case c.Place.Scope == clientconfig.Managed || c.Place.Scope == clientconfig.System:
			return nil, clientconfig.Skipped("the file is managed by the administrator")
		}
		return c.Remove(e), nil
	})
}

// together plans the same change for several servers, with one edit for all that are in the same
// file. Entries that were wrapped by hand are changed one at a time if one is not nil.
func (v *View) together(servers []*Server, verb string,
	all func(*clientconfig.Config, []*clientconfig.Entry) (clientconfig.Edit, []error),
	one func(*clientconfig.Config, *clientconfig.Entry) (clientconfig.Edit, error),
) Plan {
	d := v.fleet.draft()
	var rest []*Server
	for _, group := range byConfig(servers) {
		file := group[0].Config
		now := d.now(file)
		var present []*Server
		var entries []*clientconfig.Entry
		for _, s := range slices.Backward(group) {
			if entry := d.present(now, s); entry != nil {
				present, entries = append(present, s), append(entries, entry)
			}
		}
		edit, skipped := all(now, entries)
		text, err := edit.Apply(file.Format(), now.Text)
		for i, s := range present {
			switch {
			case one != nil && clientconfig.ByHand(skipped[i]):
				rest = append(rest, s)
			case skipped[i] != nil:
				d.skip(s.ID(), whyNot(s, skipped[i]))
			case err != nil:
				d.skip(s.ID(), err.Error())
			default:
				d.replace(file, s.ID(), clientconfig.Shown, verb+" "+s.Name, text)
			}
		}
	}
	for _, s := range rest {
		d.change(s, verb, clientconfig.Shown, one)
	}
	slices.Reverse(d.plan.Skipped)
	return d.finish()
}

// byConfig groups servers by the file that they were read from, last file first.
func byConfig(servers []*Server) (groups [][]*Server) {
	at := map[*clientconfig.Config]int{}
	for _, s := range inFileOrder(servers) {
		i, known := at[s.Config]
		if !known {
			i = len(groups)
			at[s.Config] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	slices.Reverse(groups)
	return groups
}

// present returns the entry of a server in the file as planned so far. It skips a server that is no
// longer there.
func (d *draft) present(now *clientconfig.Config, s *Server) *clientconfig.Entry {
	entry := now.At(s.Path)
	if entry == nil || entry.Name != s.Name {
		d.skip(s.ID(), "the entry was already changed for another client that reads the same file")
		return nil
	}
	return entry
}

// each plans the same change for several servers one at a time, each on the file as the previous
// changes leave it.
func (v *View) each(servers []*Server, verb string, consent clientconfig.Consent, change func(*clientconfig.Config, *clientconfig.Entry) (clientconfig.Edit, error)) Plan {
	d := v.fleet.draft()
	// From the end of a file to its start: removing a list item shifts the ones after it.
	for _, s := range slices.Backward(inFileOrder(servers)) {
		d.change(s, verb, consent, change)
	}
	slices.Reverse(d.plan.Skipped)
	return d.finish()
}

// change plans a change to one server.
func (d *draft) change(s *Server, verb string, consent clientconfig.Consent, change func(*clientconfig.Config, *clientconfig.Entry) (clientconfig.Edit, error)) {
	now := d.now(s.Config)
	entry := d.present(now, s)
	if entry == nil {
		return
	}
	edit, err := change(now, entry)
	if err == nil {
		err = d.edit(s.Config, s.ID(), consent, verb+" "+s.Name, edit)
	}
	if err != nil {
		d.skip(s.ID(), err.Error())
	}
}

func inFileOrder(servers []*Server) []*Server {
	sorted := slices.Clone(servers)
	slices.SortStableFunc(sorted, func(a, b *Server) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return sorted
}

// Mend plans to fix the problems in these servers' entries and, if files is set, in all files. It
// plans only what allowed accepts; the rest is in the plan's Skipped.
func (v *View) Mend(servers []*Server, files bool, allowed func(clientconfig.Problem) bool) Plan {
	d := v.fleet.draft()
	v.mend(d, servers, files, allowed)
	return d.finish()
}

// FixAndKeep plans what Mend does, and also saves the fixes that made servers work.
func (v *View) FixAndKeep(all []*Checked, files bool, allowed func(clientconfig.Problem) bool) Plan {
	d := v.fleet.draft()
	var servers []*Server
	for _, c := range all {
		servers = append(servers, c.Server)
	}
	v.mend(d, servers, files, allowed)
	for _, c := range all {
		v.writeDown(d, c, allowed)
		v.reword(d, c, allowed)
	}
	return d.finish()
}

// WithoutReview reports whether a fix needs only a general confirmation.
func (v *View) WithoutReview(p clientconfig.Problem) bool {
	shared := slices.ContainsFunc(v.Configs, func(c *clientconfig.Config) bool { return c.Path == p.File && c.InProject() })
	return p.Consent <= clientconfig.Form && !shared
}

// WithReview reports whether a program may apply a fix once the user has reviewed the diff.
func WithReview(p clientconfig.Problem) bool { return p.Consent < clientconfig.Person }

func (v *View) mend(d *draft, servers []*Server, files bool, allowed func(clientconfig.Problem) bool) {
	for _, c := range v.Configs {
		chosen := func(p clientconfig.Problem) bool {
			named := func(s *Server) bool { return s.Config == c && s.shown() == p.Server }
			switch {
			case p.Server == "":
				return files || slices.ContainsFunc(servers, func(s *Server) bool { return s.Config == c })
			case slices.ContainsFunc(servers, named):
				return true
			}
			return files && !slices.ContainsFunc(v.Servers, named) // it only appears now that its file is fixed
		}
		mended, made, refused := d.now(c).MendIf(func(p clientconfig.Problem) bool { return chosen(p) && allowed(p) })
		for i, p := range made {
			d.replace(c, problemID(c, p), p.Consent, aboutFix(made, i), mended.Text)
		}
		for _, r := range refused {
			d.postpone(problemID(c, r.Problem), manualFix(r))
		}
		for _, p := range mended.Lint() {
			if chosen(p) && p.Fix != nil && !allowed(p) {
				d.postpone(problemID(c, p), p.What+"; "+whyPostponed(p, c))
			}
		}
	}
}

// aboutFix describes a fix. The first that updates the path to gauze names the servers of all that do.
func aboutFix(made []clientconfig.Problem, i int) string {
	moved := func(p clientconfig.Problem) bool { return p.Code == "gauze-missing" || p.Code == "gauze-by-name" }
	if !moved(made[i]) {
		return "fix " + string(made[i].Code)
	}
	var servers []string
	for at, p := range made {
		switch {
		case !moved(p):
		case at < i:
			return ""
		default:
			servers = append(servers, p.Server)
		}
	}
	return "update the path to gauze for " + strings.Join(servers, ", ")
}

// manualFix says why a fix cannot be applied and where to make it by hand.
func manualFix(r clientconfig.Refused) string {
	why := fmt.Sprintf("%s, and gauze cannot fix this (%v)", r.What, r.Because)
	if r.Line == 0 {
		return why + "; edit the file by hand"
	}
	return fmt.Sprintf("%s; edit line %d by hand", why, r.Line)
}

func problemID(c *clientconfig.Config, p clientconfig.Problem) string {
	if p.Server == "" {
		return c.Client.ID
	}
	return c.Client.ID + "/" + p.Server
}

func whyPostponed(p clientconfig.Problem, c *clientconfig.Config) string {
	switch {
	case c.InProject():
		return "the file belongs to a project, so you must review the diff first"
	case p.Consent == clientconfig.Person:
		return "this requires a manual change: " + p.Next
	}
	return "the fix changes what runs or what is sent, so you must review the diff first"
}

// NewServer is a server to add.
type NewServer struct {
	Name      string
	Spec      launch.Spec // Env has only what the entry sets; ${NAME} is a reference
	Transport clientconfig.Transport
	Timeout   time.Duration
	Start     time.Duration // how long the client must wait for it to start, if that is long
	Wrapped   bool
	Scope     clientconfig.Scope // default User
	Replace   bool               // overwrite an entry with the same name
}

// Add plans a new server in the files of clients, each in the client's own format.
func (v *View) Add(s NewServer, clients []*clientconfig.Client) (Plan, error) {
	d := v.fleet.draft()
	if err := v.add(d, s, clients); err != nil {
		return Plan{}, err
	}
	return d.finish(), nil
}

// add adds a new server to a draft. It returns an error if there is only one client.
func (v *View) add(d *draft, s NewServer, clients []*clientconfig.Client) error {
	if s.Scope == "" {
		s.Scope = clientconfig.User
	}
	for _, client := range clients {
		c, err := v.fileFor(client, s.Scope)
		if err == nil && client.Alters(s.Spec) {
			err = fmt.Errorf("%s would interpret a $ in a value as the start of a variable name; store the value in an environment variable and refer to it as ${NAME}", client.Name)
		}
		if err == nil {
			err = v.addTo(d, c, s)
		}
		if err != nil {
			if len(clients) == 1 {
				return err
			}
			d.skip(client.ID+"/"+s.Name, err.Error())
		}
	}
	return nil
}

// fileFor returns the file that a client reads in this scope, whether it exists or not.
func (v *View) fileFor(client *clientconfig.Client, scope clientconfig.Scope) (*clientconfig.Config, error) {
	var fresh *clientconfig.File
	for _, file := range v.fleet.Home.Places(client) {
		if file.Place.Old != "" || file.Place.Borrowed || !fits(file.Place.Scope, scope) {
			continue
		}
		if file.Exists {
			c := v.fleet.Home.Read(file)
			return c, c.Err
		}
		if fresh == nil {
			fresh = &file
		}
	}
	if fresh == nil {
		if client.Message != "" {
			return nil, errors.New(client.Message)
		}
		return nil, fmt.Errorf("%s has no configuration file for scope %q", client.Name, scope)
	}
	return v.fleet.Home.ReadText(*fresh, nil), nil
}

// fits reports whether a scope is the wanted one. Clients have two names for the project's.
func fits(have, want clientconfig.Scope) bool {
	return have == want || want == clientconfig.Project && have == clientconfig.Workspace
}

func (v *View) addTo(d *draft, c *clientconfig.Config, s NewServer) error {
	now := d.now(c)
	verb := "add "
	switch old := now.Entry(s.Name); {
	case old != nil && s.Replace:
		verb = "replace "
	case old != nil:
		return fmt.Errorf("a server named %q already exists on line %d of %s; use --replace to overwrite it", s.Name, old.Line, c.Path)
	}
	if c.Strict != nil {
		return fmt.Errorf("cannot add a server to %s: %w; gauze doctor --fix may repair the file", c.Path, c.Strict)
	}
	fields := c.Fields()
	entry, err := c.Client.Render(s.Spec, clientconfig.RenderOptions{Fields: &fields, Name: s.Name, Transport: s.Transport, Timeout: s.Timeout, Start: s.Start, Gauze: c.Program(v.fleet.Gauze)})
	if err != nil {
		return err
	}
	if err := d.edit(c, c.Client.ID+"/"+s.Name, clientconfig.Shown, verb+s.Name, now.Add(s.Name, entry)); err != nil || !s.Wrapped {
		return err
	}
	now = d.now(c)
	added := now.Entry(s.Name)
	if added == nil {
		return fmt.Errorf("%s would not read the new entry", c.Client.Name)
	}
	edit, err := now.Wrap(added, clientconfig.WrapOptions{Gauze: v.fleet.Gauze})
	var stays clientconfig.Skipped
	if errors.As(err, &stays) { // a remote server, or one that already runs through gauze
		return nil
	}
	if err != nil {
		return err
	}
	return d.edit(c, c.Client.ID+"/"+s.Name, clientconfig.Shown, "wrap "+s.Name, edit)
}
