package doctor

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Entries lists the causes for the catalogue, in the words for a case of which
// nothing else is known.
func Entries() []fault.Entry {
	knowledge()
	var all []fault.Entry
	unnamed := func(string) string { return "" }
	for _, c := range causes {
		all = append(all, fault.Entry{
			Code: fault.Code(c.name), Kind: fault.KindCause, Title: fill(c.explain, unnamed),
			Do: []fault.Step{{Text: fill(c.fix, unnamed), Command: fill(c.command, unnamed)}},
		})
	}
	for i := range all {
		for _, c := range causes {
			if slices.Contains(c.hides, string(all[i].Code)) {
				all[i].Follows = append(all[i].Follows, fault.Code(c.name))
			}
		}
	}
	return append(all, unnamedEntries...)
}

// unnamedEntries are the causes of which only the outside is known.
var unnamedEntries = []fault.Entry{
	{Code: noAnswer, Kind: fault.KindCause, Title: "The server started, but did not answer in time, and nothing it wrote says why.",
		Do: []fault.Step{{Text: "Check that it is started as an MCP server over stdin and stdout; some servers need an argument for that. If it is only slow, give it more time:", Command: "gauze test --timeout 3m -- COMMAND"}}},
	{Code: justEnded, Kind: fault.KindCause, Title: "The server exited before it answered, and nothing it wrote says why.",
		Do: []fault.Step{{Text: "Start it in a terminal, with its option for verbose output if it has one."}}},
	{Code: serverError, Kind: fault.KindCause, Title: "The server reported an error of its own, such as HTTP 500, without a reason.",
		Do: []fault.Step{{Text: "Nothing on your side is wrong. Report it to the operator of the server, or read its log if that is you."}}},
	{Code: noEvidence, Kind: fault.KindCause, Title: "The evidence does not say why the server failed.",
		Do: []fault.Step{{Text: "Let gauze start the server itself; it keeps what the server writes and how it exits:", Command: "gauze test -- COMMAND"}}},
}
