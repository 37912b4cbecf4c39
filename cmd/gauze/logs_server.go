package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// nameMatch is what the name of a server on a command line stands for.
type nameMatch struct {
	own        []string // the names that it may have: this one, and those of the entries with this name
	near       []string // of the given names, those that contain it
	configured []*fleet.Server
	view       *fleet.View // nil: the configuration cannot be read
}

// matchName returns what a name, or a CLIENT/NAME, stands for among the names of running and recorded servers.
func matchName(server string, names []string) (m nameMatch) {
	if here, err := fleetHere(); err == nil { // names that are recorded still match
		m.view = here.Look()
		m.configured, _ = m.view.Choose(fleet.Choice{Names: []string{server}})
		tellUp(here, m.view, nil)
	}
	m.own = append(recordedNames(m.configured), server)
	m.near = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, server) })
	return m
}

// isOwn reports whether a server has one of its own names.
func (m nameMatch) isOwn(name string) bool { return slices.Contains(m.own, name) }

// loggedAs returns those of the names of running and recorded servers that belong to a server: the one
// that has this name or is configured with it, or else the only one whose name contains it. If there is
// none, it returns the names that the server would have, and why there is nothing.
func loggedAs(server string, names []string) ([]string, error) {
	m := matchName(server, names)
	if err := severalConfigured(server, m.configured); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(names, m.isOwn) {
		return m.own, nil
	}
	if len(m.configured) > 0 {
		return m.own, notLogged(m.configured[0])
	}
	switch len(m.near) {
	case 0:
		return nil, unknownServer(server, names, m.view)
	case 1:
		return m.near, nil
	}
	return nil, severalNamed(server, m.near)
}

// severalConfigured returns an error if a name stands for servers that differ.
func severalConfigured(server string, configured []*fleet.Server) error {
	var ids []string
	differ := false
	for _, s := range configured {
		differ = differ || s.Real().Shown() != configured[0].Real().Shown()
		ids = append(ids, s.ID())
	}
	if !differ {
		return nil
	}
	return severalNamed(server, ids)
}

func severalNamed(server string, names []string) error {
	text := fmt.Sprintf("several servers match %q; use one of these names:", redact.Foreign(server))
	for _, name := range names {
		text += "\n  " + redact.Quote(name)
	}
	return errors.New(text)
}

// notLogged says why nothing is known about a configured server.
func notLogged(s *fleet.Server) error {
	if fleet.Through(s.Entry) {
		return fmt.Errorf("%s runs through gauze, but it is not running now, and gauze has no record of it", redact.Quote(s.ID()))
	}
	return fmt.Errorf("%s is not wrapped, so gauze does not see its output. To wrap it:\n\n    gauze wrap %s", redact.Quote(s.ID()), redact.Quote(shell.Here().Quote(s.ID())))
}

// unknownServer returns the error about a name that no server has.
func unknownServer(server string, names []string, view *fleet.View) error {
	if view != nil {
		for _, s := range view.Servers {
			names = append(names, s.Name, s.ID())
		}
	}
	return notFound("no server is named", server, names, "\nTo see all servers:\n\n    gauze list")
}
