package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// crowd is a home with one file of many servers, each with a secret of its own.
func crowd(t testing.TB, servers int) *Fleet {
	t.Helper()
	dir := t.TempDir()
	var entries []string
	for i := range servers {
		entries = append(entries, fmt.Sprintf(`    "s%d": {"command": "npx", "args": ["-y", "@example/s%d"], "env": {"TOKEN": "sk-live-%016d"}}`, i, i, i))
	}
	path := filepath.Join(dir, ".cursor", "mcp.json")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{\n  \"mcpServers\": {\n"+strings.Join(entries, ",\n")+"\n  }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Fleet{
		Home:  clientconfig.Home{OS: "linux", Home: dir, Environ: []string{"HOME=" + dir}},
		Store: backup.Store{Dir: filepath.Join(dir, "state")}, Gauze: "/usr/bin/gauze",
	}
}

// What gauze wrap --all --yes does.
func BenchmarkWrapAll(b *testing.B) {
	for _, servers := range []int{50, 500, 5000} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				f := crowd(b, servers)
				b.StartTimer()
				view := f.Look()
				plan := view.Wrap(view.Servers, false)
				if len(plan.Diff()) == 0 || len(plan.Skipped) > 0 {
					b.Fatal(plan.Skipped)
				}
				if _, err := f.Apply(plan, plan.Consent()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Twice the servers are twice the work, counted in allocations.
func TestWrappingManyServersIsLinear(t *testing.T) {
	work := func(servers int) float64 {
		view := crowd(t, servers).Look()
		return testing.AllocsPerRun(1, func() {
			if plan := view.Wrap(view.Servers, false); len(plan.Changes) != 1 || len(plan.Changes[0].Servers) != servers {
				t.Fatal(plan.Skipped)
			}
		})
	}
	if once, twice := work(60), work(120); twice > 2.5*once {
		t.Errorf("%.0f allocations for 60 servers, %.0f for 120", once, twice)
	}
}
