package fault

import "github.com/gauze-mcp/gauze/internal/text/shell"

// AllIn is All with the commands of a given platform.
var AllIn = allIn

// TerminalIn is Terminal with the commands of a given platform.
func (f *Fault) TerminalIn(words shell.Words, color bool) string { return f.terminalIn(words, color) }
