package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// required returns the variables that a registry lists as required for the server's package and that
// are not set. It asks only about a command that exited without a reason.
func (m *Machine) required(ctx context.Context, spec launch.Spec, c Case) (names []string) {
	if m.Required == nil || spec.URL != "" || !c.Exit.Known || !Diagnose(c).unexplained() {
		return nil
	}
	x := &exam{Case: c}
	kind := map[string]string{"npx": "npm", "bunx": "npm", "pnpx": "npm", "pnpm": "npm", "yarn": "npm", "uvx": "pypi", "uv": "pypi", "pipx": "pypi"}[x.runner()]
	name := withoutVersion(x.packageName())
	if kind == "" || name == "" {
		return nil
	}
	for _, variable := range m.Required(ctx, kind, name) {
		if isVariable(variable) && !loads(variable) && !slices.Contains(c.Set, variable) && len(names) < maxVariables {
			names = append(names, variable)
		}
	}
	return names
}

// byRegistry reports whether only a registry says that the variables of a match are missing.
func byRegistry(x *exam, m *match) bool {
	return len(x.Required) > 0 && m.names["variables"] == strings.Join(x.Required, ", ")
}

// requiredClue finds the variables that a registry lists. Its entries are not verified, so this is weaker
// than anything that the server says.
func requiredClue(x *exam, m *match) bool {
	if len(x.Required) == 0 || x.Stage >= Initialized {
		return false
	}
	m.names["variable"], m.names["variables"] = x.Required[0], strings.Join(x.Required, ", ")
	m.said = "the registry lists as required: " + m.names["variables"]
	return true
}
