package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// AllClients stands for all clients that are in use, where ids of clients are expected.
const AllClients = "all"

// inUse returns the clients that are in use and have a file of their own.
func (f *Fleet) inUse() (all []*clientconfig.Client) {
	for _, c := range clientconfig.Clients() {
		if f.Home.Uses(c) {
			all = append(all, c)
		}
	}
	return all
}

// LookWith is Look with the servers of the file of gauze up, as those of a client of its own.
func (f *Fleet) LookWith(up *clientconfig.Config, clients ...*clientconfig.Client) *View {
	return f.view(append(f.read(clients), up))
}

// AddForAll plans a new server for clients: in the file of gauze up for itself and for those that have gauze
// connect, and in their own files for the others.
func (v *View) AddForAll(s NewServer, clients []*clientconfig.Client) (Plan, error) {
	connected := v.connected()
	var direct []*clientconfig.Client
	var through []string
	forUp := false
	for _, c := range clients {
		switch {
		case c.ID == clientconfig.UpID:
			forUp = true
		case connected[c]:
			forUp, through = true, append(through, c.Name)
		default:
			direct = append(direct, c)
		}
	}
	d := v.fleet.draft()
	if err := v.add(d, s, direct); err != nil && !forUp {
		return Plan{}, err
	}
	if !forUp {
		return d.finish(), nil
	}
	up, text, err := v.fleet.Up.Add(v.fleet, s)
	switch {
	case err != nil:
		d.skip("gauze up", err.Error())
	case string(text) == string(up.Text):
		d.skip("gauze up", "it has this server already")
	default:
		d.replace(up, "gauze up", clientconfig.Shown, "add "+s.Name, text)
		if len(through) > 0 {
			d.note(up, fmt.Sprintf("The server is added to gauze up for the clients that have gauze connect: %s.", strings.Join(through, ", ")))
		}
	}
	return d.finish(), nil
}

// connected returns the clients with an entry of gauze connect.
func (v *View) connected() map[*clientconfig.Client]bool {
	all := map[*clientconfig.Client]bool{}
	for _, c := range v.Configs {
		if !c.InProject() && !c.Place.Borrowed && slices.ContainsFunc(c.Entries, connects) {
			all[c.Client] = true
		}
	}
	return all
}

// Connected reports whether a client has an entry of gauze connect.
func (v *View) Connected() bool { return len(v.connected()) > 0 }

// Difference is what keeps the servers of clients apart from those of gauze up, and the command that ends it.
type Difference struct{ What, Next string }

// Apart returns how the servers of clients differ from those of gauze up. They do not have to be the same
// if no client has gauze connect. kept returns why a server stays in its client's file, or "".
func (v *View) Apart(up *clientconfig.Config, kept func(*Server) string) (all []Difference) {
	connected := v.connected()
	if len(connected) == 0 {
		return nil
	}
	var outside []string
	for _, s := range v.Servers {
		if s.Config.Path == up.Path {
			continue
		}
		as, err := s.Config.Move(s.Entry)
		if err != nil || !s.Wrapped && clientLogsIn(as.Spec) || kept(s) != "" {
			continue // gauze wrap --up would leave it as well
		}
		outside = append(outside, redact.Quote(s.ID()))
		if other := up.Entry(s.Name); other != nil {
			if what := difference(as.Spec, up.Written(other)); what != "" {
				all = append(all, Difference{fmt.Sprintf("%s and %s of gauze up differ in %s", redact.Quote(s.ID()), s.shown(), what),
					"gauze remove " + plaintext.Clean(shell.Here().Quote(s.ID()))})
			}
		}
	}
	if len(outside) > 0 {
		all = append(all, Difference{"servers outside of gauze up: " + strings.Join(outside, ", "), "gauze wrap --up"})
	}
	return all
}

// difference says in what two servers differ, without any value.
func difference(a, b launch.Spec) string {
	var all []string
	add := func(differs bool, what string) {
		if differs {
			all = append(all, what)
		}
	}
	names := func(pairs []string) (names []string) {
		for _, pair := range pairs {
			name, _, _ := strings.Cut(pair, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	add(a.Command != b.Command, "the command")
	add(!slices.Equal(a.Args, b.Args), "the arguments")
	add(a.URL != b.URL, "the URL")
	add(!slices.Equal(names(a.Env), names(b.Env)), "the names of variables")
	add(a.Dir != b.Dir, "the working directory")
	return strings.Join(all, " and ")
}
