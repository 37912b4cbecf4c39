package hub

import (
	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/hub/view"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

// Cost is what a list of tools is in the context of a model.
type Cost struct {
	Tools  int `json:"tools"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"` // estimated
}

// CostOf returns the cost of tools.
func CostOf(tools []probe.Tool) (c Cost) {
	for _, t := range tools {
		c = c.Plus(Cost{1, t.Bytes, t.Tokens})
	}
	return c
}

// Plus returns the cost of both.
func (c Cost) Plus(d Cost) Cost {
	return Cost{c.Tools + d.Tools, c.Bytes + d.Bytes, c.Tokens + d.Tokens}
}

// ViewCost is what a client of one profile gets, and what it would get.
type ViewCost struct {
	Profile string `json:"profile"` // empty: all servers
	List    string `json:"list"`    // as the file says
	Direct  Cost   `json:"direct"`
	Search  Cost   `json:"search"`
}

// Costs returns the costs of all servers of a file, and of each profile. tools has those that are known, by key.
func Costs(file *upfile.File, tools map[string][]probe.Tool) (all []ViewCost) {
	everything := upfile.Profile{List: upfile.ListDirect}
	for _, s := range file.Servers {
		everything.Servers = append(everything.Servers, s.Key)
	}
	search := CostOf(probe.ReadTools(view.SearchList()))
	for _, p := range append([]upfile.Profile{everything}, file.Profiles...) {
		one := ViewCost{Profile: p.Name, List: p.List, Search: search}
		for _, s := range file.Servers {
			one.Direct = one.Direct.Plus(listedCost(s, p, tools[s.Key]))
		}
		all = append(all, one)
	}
	return all
}

// ServerCost returns the cost of the tools of one server that clients of everything get.
func ServerCost(s upfile.Server, tools []probe.Tool) Cost {
	return listedCost(s, upfile.Profile{Servers: []string{s.Key}}, tools)
}

// listedCost returns the cost of the tools of a server that a profile has, under the names that they have there.
func listedCost(s upfile.Server, p upfile.Profile, tools []probe.Tool) (c Cost) {
	for _, t := range tools {
		if s.Tools.Admits(t.Name) && p.Admits(s.Key, t.Name) {
			name := names.Advertised(s.Key, t.Name)
			longer := probe.Tokens([]byte(name)) - probe.Tokens([]byte(t.Name))
			c = c.Plus(Cost{1, t.Bytes + len(name) - len(t.Name), t.Tokens + longer})
		}
	}
	return c
}
