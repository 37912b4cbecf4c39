package shared

import (
	_ "embed"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// proven has the packages whose servers answer several clients of one process as they answer each alone, one on a
// line as REGISTRY:NAME. The evidence is in lab/sharing.
//
//go:embed proven.txt
var proven string

// Proven reports whether a server is shared unless the user says otherwise. Only a command that npx or uvx runs without
// options says which package it is.
func Proven(spec launch.Spec) bool {
	args := spec.Args
	program := launch.ProgramName(spec.Command)
	switch program {
	case "npx":
		for len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
			args = args[1:]
		}
	case "uvx":
	default:
		return false
	}
	if len(args) == 0 || args[0] == "" || spec.URL != "" {
		return false
	}
	name := args[0]
	if i := strings.IndexByte(name[1:], '@'); i >= 0 { // not that of a scope
		name = name[:1+i]
	}
	name, _, _ = strings.Cut(name, "==")
	for line := range strings.Lines(proven) {
		if strings.TrimSpace(line) == launch.Registry(program)+":"+name {
			return true
		}
	}
	return false
}
