package agenttools

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
)

// operation is one thing that a tool does: it uses a value from a source in some way.
type operation struct {
	from trust.Source
	use  trust.Use
}

// Operations that several tools share.
var (
	showsOnly   = []operation{{trust.Entry, trust.Show}, {trust.Project, trust.Show}, {trust.Agent, trust.Show}}
	startsOwn   = []operation{{trust.Entry, trust.Start}, {trust.Entry, trust.Send}}
	startsAny   = append(slices.Clone(startsOwn), operation{trust.Project, trust.Start}, operation{trust.Project, trust.Send})
	sendsQuery  = []operation{{trust.Agent, trust.Send}}
	startsGiven = []operation{{trust.Agent, trust.Start}, {trust.Agent, trust.Send}}
	writes      = []operation{{trust.Agent, trust.Write}}
)

// operations lists what every tool may do. A tool without a row cannot be registered, and an
// operation that is not in its row is never performed.
var operations = map[string][]operation{
	"list_servers":     showsOnly,
	"check_health":     startsAny,
	"verify":           startsOwn,
	"diagnose":         showsOnly,
	"repair_arguments": showsOnly,
	"search_servers":   sendsQuery, // the user allows it with --online
	"evaluate_health":  startsOwn,
	"test_connection":  slices.Concat(startsAny, startsGiven),
	"heal_server":      slices.Concat(startsAny, writes),
	"configure_server": slices.Concat(startsAny, startsGiven, writes),
	"remove_server":    writes,
	"wrap_servers":     writes,
	"unwrap_servers":   writes,
	"undo":             writes,
	"run_task":         slices.Concat(startsAny, startsGiven),
	"get_task":         showsOnly,
	"resume_task":      slices.Concat(startsAny, startsGiven),
}

// defaultTools are the tools that are listed unless the user asks for all of them: every session pays
// for the list.
var defaultTools = []string{"list_servers", "check_health", "test_connection", "configure_server", "heal_server", "undo"}

// verdict returns the strictest verdict of package trust on these operations. An operation that is
// not in the tool's row is never allowed.
func (c *call) verdict(all ...operation) (v trust.Verdict) {
	if len(all) == 0 {
		return trust.Never
	}
	for _, d := range all {
		if !slices.Contains(operations[c.tool], d) {
			return trust.Never
		}
		v = max(v, trust.Of(d.from, d.use))
	}
	return v
}
