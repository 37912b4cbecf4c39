package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// Across finds what only several files of a client show together: servers of
// one name, of which one counts.
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
		winner := holders[0]
		certain := client.Precedence != nil
		for _, h := range holders[1:] {
			certain = certain && rank(h) >= 0 && rank(winner) >= 0
			if certain && rank(h) < rank(winner) {
				winner = h
			}
		}
		for _, h := range holders {
			if h == winner && certain {
				continue
			}
			l := linter{Config: h.config}
			what := fmt.Sprintf("%s has a server of this name in %d files, and it is not written down which one counts", client.Name, len(holders))
			if certain {
				what = fmt.Sprintf("the server of the same name in %s (%s) is used instead", winner.config.Path, winner.entry.Scope)
			}
			l.add("shadowed", &h.entry.outer, h.entry, what, "rename one, or take one out")
			all = append(all, l.all...)
		}
	}
	sortProblems(all)
	return all
}

// approval is whether Claude Code may start a server of the project.
func (l entryLinter) approval() {
	if l.Client.ID != "claude-code" || l.Place.Scope != Project {
		return
	}
	switch l.Home.approved(l.e.Name, everyNote) {
	case Yes:
	case No:
		l.report("not-approved", l.e.outer, "somebody said no to this server of the project", "type /mcp in a session, and approve it there")
	default:
		l.report("not-approved", l.e.outer, "nobody approved this server of the project yet", "start claude in the project once, and say yes")
	}
}

// note is a file in which Claude Code keeps what its user said about the
// project's servers.
type note struct {
	file string
	at   func(h Home) []any
}

var (
	atProject = func(h Home) []any { return []any{"projects", h.Project} }
	atTop     = func(Home) []any { return nil }

	// ownNotes lie where only the user writes. The others may have come with
	// the project, which then says yes to itself.
	ownNotes  = []note{{"${CLAUDE_CONFIG_DIR:-~}/.claude.json", atProject}, {"~/.claude/settings.json", atTop}}
	everyNote = append(slices.Clone(ownNotes), note{"./.claude/settings.json", atTop}, note{"./.claude/settings.local.json", atTop})
)

// Agreed tells whether the user of Claude Code has said yes to a server of the
// project, in a file that no project brings along.
func (h Home) Agreed(name string) bool { return h.approved(name, ownNotes) == Yes }

// approved looks into the notes.
func (h Home) approved(name string, notes []note) Answer {
	answer := Unknown
	for _, place := range notes {
		where, ok := h.resolve(place.file, h.Project)
		if !ok {
			continue
		}
		f := h.look(where, clients[0], Place{})
		if !f.Exists || f.Err != nil {
			continue
		}
		file, err := h.disk().ReadFile(where)
		if err != nil || len(file) > largest {
			continue
		}
		d, err := splice.Parse(splice.JSONC, file)
		if err != nil {
			continue
		}
		at := place.at(h)
		n, ok := d.At(at...)
		if !ok && len(at) == 2 {
			n, ok = d.At("projects", strings.ReplaceAll(h.Project, `\`, "/"))
		}
		if !ok {
			continue
		}
		lists := func(key string) bool {
			m, ok := member(n, key)
			return ok && slices.Contains(words(m), name)
		}
		if lists("disabledMcpjsonServers") {
			return No
		}
		every, _ := member(n, "enableAllProjectMcpServers")
		all := false
		if has(n, "enableAllProjectMcpServers") {
			all, _ = truth(every)
		}
		if all || lists("enabledMcpjsonServers") {
			answer = Yes
		}
	}
	return answer
}
