package clientconfig

import (
	"fmt"
	"slices"
)

// Across returns the problems that only several files together show: servers with the same name, of
// which the client uses one.
func Across(configs []*Config) (all []Problem) {
	type holder struct {
		config *Config
		entry  *Entry
	}
	first := map[string][]holder{}
	var order []string
	for _, c := range configs {
		for i := range c.Entries {
			e := &c.Entries[i]
			key := c.Client.ID + "\x00" + e.Name
			if first[key] == nil {
				order = append(order, key)
			}
			if c.Place.Old == "" {
				first[key] = append(first[key], holder{c, e})
			}
		}
	}
	for _, key := range order {
		holders := first[key]
		if len(holders) < 2 {
			continue
		}
		client := holders[0].config.Client
		rank := func(h holder) int { return slices.Index(client.Precedence, h.entry.Scope) }
		winner := slices.MinFunc(holders, func(a, b holder) int { return rank(a) - rank(b) })
		certain := rank(winner) >= 0
		for _, h := range holders {
			if h == winner && certain {
				continue
			}
			l := linter{c: h.config}
			what := fmt.Sprintf("%s finds a server with this name in %d files, and its documentation does not say which one it uses", client.Name, len(holders))
			if certain {
				what = fmt.Sprintf("the client uses the server with the same name in %s (%s) instead", winner.config.Path, winner.entry.Scope)
			}
			l.add("shadowed", &h.entry.src.outer, h.entry, what, "")
			all = append(all, l.all...)
		}
	}
	sortProblems(all)
	return all
}
