package fleet

import (
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// Health is the result of checking several servers.
type Health struct {
	Servers   []*Checked
	Problems  []clientconfig.Problem // of whole files
	Conflicts []Conflict
	Limits    []Limit
	Whole     bool // everything was checked, not only named servers
}

// Group is the part of a Health that concerns one client.
type Group struct {
	Client  *clientconfig.Client
	State   State // the worst state in the group
	Servers []*Checked
	Files   []FileVerdict
}

// FileVerdict is the judgement of a file.
type FileVerdict struct {
	Verdict
	File string
}

// Unchecked returns servers of which only the entries were read.
func Unchecked(servers []*Server) (all []*Checked) {
	for _, s := range servers {
		all = append(all, &Checked{Server: s, Not: "the entry has no errors"})
	}
	return all
}

// Health summarizes the results. Set whole if they cover the whole view.
func (v *View) Health(all []*Checked, whole bool) Health {
	h := Health{Servers: all, Conflicts: Conflicts(all), Limits: v.Limits(all), Whole: whole}
	if whole {
		h.Limits = append(h.Limits, v.pluginLimits(all)...)
	}
	for _, p := range v.Problems {
		if whole || slices.ContainsFunc(all, func(c *Checked) bool { return c.File == p.File && c.Client == p.Client }) {
			h.Problems = append(h.Problems, p)
		}
	}
	return h
}

// HasBroken reports whether anything is broken.
func (h Health) HasBroken() bool {
	return h.Count()[Broken] > 0 || h.BrokenFiles() > 0
}

// HasUnconfirmed reports whether a server was left out because its entry was not confirmed.
func (h Health) HasUnconfirmed() bool {
	return slices.ContainsFunc(h.Servers, func(c *Checked) bool { return !c.Tried && c.Not != "" && c.Foreign() })
}

// BrokenFiles returns the number of files that their client rejects, wholly or in part.
func (h Health) BrokenFiles() int {
	files := map[string]bool{}
	for _, p := range h.Problems {
		if ofFile(p).State == Broken {
			files[p.File] = true
		}
	}
	return len(files)
}

// Count returns the number of servers in each state.
func (h Health) Count() map[State]int {
	n := map[State]int{}
	for _, c := range h.Servers {
		n[c.Verdict().State]++
	}
	return n
}

// Totals counts every server exactly once.
type Totals struct {
	Working int // known to work
	Broken  int
	Untried int // not tried, and not known to be broken
	Off     int
}

// Totals returns how many servers work, are broken, were not tried or are off.
func (h Health) Totals() (n Totals) {
	for _, c := range h.Servers {
		switch state := c.Verdict().State; {
		case state == Broken:
			n.Broken++
		case state == Off:
			n.Off++
		case c.Tried:
			n.Working++
		default:
			n.Untried++
		}
	}
	return n
}

// Working returns how many servers are known to work.
func (h Health) Working() int { return h.Totals().Working }

// Groups returns the servers and files by client, in the order of the servers.
func (h Health) Groups() (all []*Group) {
	of := func(client *clientconfig.Client) *Group {
		for _, g := range all {
			if g.Client == client {
				return g
			}
		}
		all = append(all, &Group{Client: client, State: Off})
		return all[len(all)-1]
	}
	for _, c := range h.Servers {
		g := of(c.Client)
		g.Servers = append(g.Servers, c)
		g.State = worse(g.State, c.Verdict().State)
	}
	for _, p := range h.Problems {
		g, v := of(p.Client), ofFile(p)
		g.Files = append(g.Files, v)
		g.State = worse(g.State, v.State)
	}
	return all
}

func worse(a, b State) State {
	order := []State{Off, Untried, Works, Warned, Broken}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

func ofFile(p clientconfig.Problem) FileVerdict {
	v := FileVerdict{Verdict{State: Warned, Cause: p.What, Action: ByHand, Next: p.Next}, p.File}
	if p.Line > 0 {
		v.Cause = fmt.Sprintf("%s (line %d)", p.What, p.Line)
	}
	if p.Severity == clientconfig.Error {
		v.State = Broken
	}
	if p.Fix != nil && WithReview(p) {
		v.Action, v.Next = Repair, "gauze doctor --fix --client "+p.Client.ID
	}
	return v
}
