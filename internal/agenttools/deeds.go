package agenttools

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/trust"
)

// deed is one thing a tool does: a value from a source, put to a use.
type deed struct {
	from trust.Source
	use  trust.Use
}

// Deeds that tools have in common.
var (
	onlyTells = []deed{{trust.Entry, trust.Show}, {trust.Project, trust.Show}, {trust.Agent, trust.Show}}
	triesOwn  = []deed{{trust.Entry, trust.Start}, {trust.Entry, trust.Send}}
	triesAny  = append(slices.Clone(triesOwn), deed{trust.Project, trust.Start}, deed{trust.Project, trust.Send})
	asksHost  = []deed{{trust.Agent, trust.Send}}
	runsAny   = []deed{{trust.Agent, trust.Start}, {trust.Agent, trust.Send}}
	writes    = []deed{{trust.Agent, trust.Write}}
)

// deeds lists what every tool may do. A tool without a row cannot be added, and
// what is not in its row is never done.
var deeds = map[string][]deed{
	"list_servers":     onlyTells,
	"check_health":     triesAny,
	"verify":           triesOwn,
	"diagnose":         onlyTells,
	"repair_arguments": onlyTells,
	"search_servers":   asksHost, // the user agrees with --online
	"test_connection":  slices.Concat(triesAny, runsAny),
	"heal_server":      slices.Concat(triesAny, writes),
	"configure_server": slices.Concat(triesOwn, runsAny, writes),
	"remove_server":    writes,
	"wrap_servers":     writes,
	"unwrap_servers":   writes,
	"undo":             writes,
}

// verdict is the strictest answer that package trust has for any of these. What
// the tool has no row for is never done.
func (c *call) verdict(all ...deed) (v trust.Verdict) {
	if len(all) == 0 {
		return trust.Never
	}
	for _, d := range all {
		if !slices.Contains(deeds[c.tool], d) {
			return trust.Never
		}
		v = max(v, trust.Of(d.from, d.use))
	}
	return v
}
