package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/splice"
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
			what := fmt.Sprintf("%s finds a server with this name in %d files and does not document which one it uses", client.Name, len(holders))
			if certain {
				what = fmt.Sprintf("the client uses the server with the same name in %s (%s) instead", winner.config.Path, winner.entry.Scope)
			}
			l.add("shadowed", &h.entry.outer, h.entry, what, "")
			all = append(all, l.all...)
		}
	}
	sortProblems(all)
	return all
}

// approval reports a project's server that Claude Code does not start without approval.
func (l entryLinter) approval() {
	if l.Client.ID != "claude-code" || l.Place.Scope != Project {
		return
	}
	if l.answers == nil {
		l.answers = l.Home.answers(claudeState, claudeSettings, claudeShared, claudeLocal)
	}
	switch said(l.answers, l.e.Name) {
	case Yes:
	case No:
		l.report("not-approved", l.e.outer, "this project server was rejected in Claude Code", "approve the server with /mcp in a session")
	default:
		l.report("not-approved", l.e.outer, "this project server is not yet approved in Claude Code", "start claude in the project and approve the server")
	}
}

// answers are the user's approvals and rejections of a project's servers.
type answers struct {
	all     bool
	yes, no []string
}

// said returns the overall answer for one server.
func said(all []answers, name string) Answer {
	switch {
	case slices.ContainsFunc(all, func(a answers) bool { return slices.Contains(a.no, name) }):
		return No
	case slices.ContainsFunc(all, func(a answers) bool { return a.all || slices.Contains(a.yes, name) }):
		return Yes
	}
	return Unknown
}

// The files in which Claude Code stores them. The first two belong to the user; the others may come
// with the project.
const (
	claudeState    = "${CLAUDE_CONFIG_DIR:-~}/.claude.json"
	claudeSettings = "${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json"
	claudeShared   = "./.claude/settings.json"
	claudeLocal    = "./.claude/settings.local.json"
)

// answers reads the files in which Claude Code stores approvals. An approval that could have come
// with the project counts only in a directory that the user trusts: otherwise the project's author
// could approve it. A rejection always counts.
func (h Home) answers(notes ...string) []answers {
	all := []answers{{}}
	trusted := false
	for _, name := range notes {
		where, ok := h.resolve(name, h.Project)
		if f := h.look(where, nil, Place{}); !ok || !f.Exists || f.Err != nil {
			continue
		}
		file, err := h.disk().ReadFile(where)
		if err != nil {
			continue
		}
		d, err := splice.Parse(splice.JSONC, file)
		if err != nil {
			continue
		}
		n := d.Root()
		if name == claudeState {
			if n, ok = d.At("projects", h.Project); !ok {
				if n, ok = d.At("projects", strings.ReplaceAll(h.Project, `\`, "/")); !ok {
					continue
				}
			}
		}
		if m, ok := member(n, "hasTrustDialogAccepted"); ok && name == claudeState {
			trusted, _ = boolean(m)
		}
		var a answers
		if m, ok := member(n, "disabledMcpjsonServers"); ok {
			a.no = words(m)
		}
		if m, ok := member(n, "enableAllProjectMcpServers"); ok {
			a.all, _ = boolean(m)
		}
		if m, ok := member(n, "enabledMcpjsonServers"); ok {
			a.yes = words(m)
		}
		if name != claudeSettings && !trusted {
			a.all, a.yes = false, nil
		}
		all = append(all, a)
	}
	return all
}
