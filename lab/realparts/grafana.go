package realparts

import (
	"path/filepath"
	"testing"
)

var grafanaUnit = npmUnitOf("grafana", minNode, pinsGrafanaPackage, pinsGrafanaLock)

// NeedGrafana returns the command of the TypeScript compiler and the node_modules directory with the
// types of Grafana's schema. A missing part is handled as in Need.
func NeedGrafana(t testing.TB) (compiler []string, modules string) {
	t.Helper()
	place := need(t, grafanaUnit)
	return []string{place.Node, filepath.Join(place.Modules, "typescript", "bin", "tsc")}, place.Modules
}
