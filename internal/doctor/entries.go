package doctor

import (
	"slices"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// Entries returns the causes for the catalogue, with the fallbacks of all templates.
func Entries() []fault.Entry {
	knowledge()
	var all []fault.Entry
	unnamed := func(string) string { return "" }
	for _, c := range causes {
		all = append(all, fault.Entry{
			Code: fault.Code(c.name), Kind: fault.KindCause, Permanent: !c.passes, Title: fill(c.explain, unnamed),
			Do: fault.Steps(WithCommand(fill(c.fix, unnamed), fill(c.command, unnamed))),
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

// Permanent reports whether a cause lasts until something is changed: a program, a file, a credential.
// Trying again does not help against it. An unknown code is not permanent.
func Permanent(code string) bool {
	knowledge()
	return slices.ContainsFunc(causes, func(c cause) bool { return c.name == code && !c.passes })
}

// unnamedEntries are the causes of failures whose reason is not known.
var unnamedEntries = []fault.Entry{
	{Code: noAnswer, Kind: fault.KindCause, Title: "The server started but did not respond in time, and its output does not show why.",
		Do: []fault.Step{{Text: "Check that the server is started in stdio mode; some servers require an argument for this. If it is only slow, raise the timeout:", Command: "gauze test --timeout 3m -- COMMAND"}}},
	{Code: exitedSilently, Kind: fault.KindCause, Title: "The server exited before it responded, and its output does not show why.",
		Do: []fault.Step{{Text: "Start the server in a terminal, with verbose output if the server has an option for it."}}},
	{Code: serverError, Kind: fault.KindCause, Title: "The server returned an internal error, such as HTTP 500, without giving a reason.",
		Do: []fault.Step{{Text: "Nothing is wrong on your side. Report this to the server's operator, or check the server's log if you run it."}}},
	{Code: noEvidence, Kind: fault.KindCause, Title: "The evidence does not show why the server failed.",
		Do: []fault.Step{{Text: "Let gauze start the server and record its output and exit status:", Command: "gauze test -- COMMAND"}}},
}
