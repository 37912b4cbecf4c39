package main

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// selection returns which recorded names --server selects: those of the server that has this name or
// is configured with it, or if none of these is recorded, all that contain it.
func (f *historyFlags) selection(recorded []string) (selects func(name string) bool) {
	if f.server == "" {
		return func(string) bool { return true }
	}
	names := append(namesInHistory(f.server), f.server)
	exact := func(name string) bool { return slices.Contains(names, name) }
	if slices.ContainsFunc(recorded, exact) {
		return exact
	}
	return func(name string) bool { return exact(name) || strings.Contains(name, f.server) }
}

// chosen returns the recorded names that are selected, nil for all.
func (f *historyFlags) chosen(names []string, selects func(name string) bool) ([]string, error) {
	if f.server == "" {
		return nil, nil
	}
	chosen := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !selects(name) })
	if len(chosen) > 0 || f.follow || len(names) == 0 {
		return append(chosen, f.server), nil
	}
	return nil, notFound("no events for a server named", f.server, names, "; servers with events: "+plaintext.Cap(strings.Join(names, ", "), 300))
}

// namesInHistory returns the names under which events of the servers are recorded that clients know
// as NAME or CLIENT/NAME: CLIENT/NAME by a task, --name or else the command line by gauze run.
func namesInHistory(server string) (names []string) {
	here, err := fleetHere()
	if err != nil {
		return nil // recorded names still match
	}
	_, servers, err := chosen(here, fleet.Choice{Names: []string{server}})
	if err != nil {
		return nil
	}
	return recordedNames(servers)
}

// recordedNames returns the names under which events of configured servers may be recorded.
func recordedNames(servers []*fleet.Server) (names []string) {
	for _, s := range servers {
		names = append(names, s.ID(), redact.Quote(s.Real().Shown()))
		if fleet.OfUp(s.Entry) {
			names = append(names, s.Name)
		}
		if s.Inner != nil {
			names = append(names, givenName(s.Entry.Spec.Args)...)
		}
	}
	return names
}

// givenName returns the value of --name among the arguments of gauze run.
func givenName(args []string) []string {
	for i, word := range args {
		if word == "--" {
			break
		}
		if name, ok := strings.CutPrefix(word, "--name="); ok {
			return []string{name}
		}
		if word == "--name" && i+1 < len(args) {
			return []string{args[i+1]}
		}
	}
	return nil
}
