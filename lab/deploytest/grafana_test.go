package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

const grafanaFile = "../../deploy/grafana/gauze.json"

type panel struct {
	Title, Type string
	Targets     []struct{ Expr string }
	Options     json.RawMessage
}

func dashboard(t *testing.T) (text []byte, panels []panel, variables []string) {
	t.Helper()
	text, err := os.ReadFile(grafanaFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels     []panel
		Templating struct {
			List []struct {
				Type  string
				Query json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil || len(d.Panels) == 0 {
		t.Fatal(err)
	}
	for _, v := range d.Templating.List {
		var q struct{ Query string }
		if v.Type != "query" {
			continue
		}
		if err := json.Unmarshal(v.Query, &q); err != nil {
			t.Fatal(err)
		}
		variables = append(variables, q.Query)
	}
	return text, d.Panels, variables
}

// filled returns a query as Grafana sends it.
func filled(query string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$server", ".*", "$client", ".*").Replace(query)
}

func TestGrafanaReadsWhatGauzeExports(t *testing.T) {
	names := exports(t)
	_, panels, variables := dashboard(t)
	for _, p := range panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			names.check(t, p.Title, filled(target.Expr))
		}
	}
	for _, v := range variables { // label_values(SELECTOR, LABEL)
		inner := strings.TrimSuffix(strings.TrimPrefix(filled(v), "label_values("), ")")
		at := strings.LastIndex(inner, ", ")
		names.check(t, v, fmt.Sprintf("sum by (%s) (%s)", inner[at+2:], inner[:at]))
	}
}

// optionTypes are the names that Grafana's schema has for the options of each kind of panel.
var optionTypes = map[string]string{"stat": "Stat", "state-timeline": "StateTimeline", "timeseries": "TimeSeries", "heatmap": "Heatmap"}

// compile compiles the dashboard as a constant of the schema's type, which allows no unknown fields.
func compile(t *testing.T, text []byte, panels []panel) (problems string, valid bool) {
	t.Helper()
	compiler, modules := realparts.NeedGrafana(t)
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	source.WriteString("import type {Dashboard} from '@grafana/schema';\n")
	for _, kind := range slices.Sorted(maps.Keys(optionTypes)) {
		fmt.Fprintf(&source, "import type * as %[1]s from '@grafana/schema/dist/esm/raw/composable/%[2]s/panelcfg/x/%[1]sPanelCfg_types.gen';\n",
			optionTypes[kind], strings.ReplaceAll(kind, "-", ""))
	}
	// JSON has the values of the schema's enumerations, not their names.
	source.WriteString("type Json<T> = T extends string ? `${T}` : T extends (infer U)[] ? Json<U>[] : T extends object ? {[K in keyof T]: Json<T[K]>} : T;\n")
	fmt.Fprintf(&source, "export const dashboard: Json<Dashboard> = %s;\n", text)
	for i, p := range panels {
		fmt.Fprintf(&source, "export const options%d: Json<%s.Options> = %s;\n", i, optionTypes[p.Type], p.Options)
	}
	file := filepath.Join(dir, "dashboard.ts")
	if err := os.WriteFile(file, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), compiler[0], append(compiler[1:], "--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck", file)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestGrafanaFileMatchesItsSchema(t *testing.T) {
	text, panels, _ := dashboard(t)
	if problems, valid := compile(t, text, panels); !valid {
		t.Error(problems)
	}
	for _, change := range [][2]string{{`"graphTooltip": 1`, `"graphTooltips": 1`}, {`"showPoints": "never"`, `"showPoints": "never"}, "unknown": {"a": 1`}, {`"mode": "absolute"`, `"mode": "relative"`}} {
		broken := strings.Replace(string(text), change[0], change[1], 1)
		if broken == string(text) {
			t.Fatalf("the file does not contain %s", change[0])
		}
		if _, valid := compile(t, []byte(broken), panels); valid {
			t.Errorf("%s was accepted", change[1])
		}
	}
}
